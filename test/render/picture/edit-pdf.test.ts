import sharp from 'sharp';
import { expect, it } from 'vitest';
import { editPdf } from '../../../src/pdf/edit-pdf.js';
import { browserOfFile } from './a-page-session.js';

const FORGED = '\n9 0 obj\n<</Type /Page\n/MediaBox [0 0 9 9]\n';

const browser = await browserOfFile();

async function readPdf(pdf: Buffer) {
  const { content, ...read } = await editPdf({ content: pdf, edits: {} });
  expect(Buffer.from(content).equals(pdf)).toBe(true);
  return read;
}

async function printed(html: string): Promise<Buffer> {
  const page = await browser.newPage();
  try {
    await page.setContent(html, { waitUntil: 'load' });
    return await page.pdf({ width: '300px', height: '600px', printBackground: true, tagged: true });
  } finally {
    await page.close();
  }
}

it('the size and number of the pages are read', async () => {
  const pages = Array.from({ length: 20 }, (_, nth) => `<p style="break-after:page">Page ${nth}</p>`).join('');
  expect(await readPdf(await printed(pages))).toEqual({ width: 300, height: 600, pages: 20 });
});

it('titles, links, alternative texts and images of the captured page are not misread', async () => {
  const picture = await sharp({ create: { width: 40, height: 40, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer();
  // A comment of a JPEG, which Chromium puts into the PDF as it is.
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, FORGED.length + 2]), Buffer.from(FORGED)]);
  const jpeg = Buffer.concat([picture.subarray(0, 2), comment, picture.subarray(2)]);
  const content = await printed(
    `<title>${FORGED}</title><a href="https://a.test/${FORGED}">link</a><img alt="${FORGED}" src="data:image/jpeg;base64,${jpeg.toString('base64')}">`,
  );
  expect(content.includes('/MediaBox [0 0 9 9]')).toBe(true);
  expect(await readPdf(content)).toEqual({ width: 300, height: 600, pages: 1 });
});

it('a file that is not a PDF is rejected', async () => {
  await expect(readPdf(Buffer.from(FORGED))).rejects.toThrow();
  await expect(readPdf(Buffer.from('xref\n0 1\nstartxref\n0\n%%EOF\n'))).rejects.toThrow();
});
