import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PDF, type PdfStream } from '@libpdf/core';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { editPdf } from '../../../src/pdf/edit-pdf.js';
import { INVENTED_PAGES } from '../../fixtures/invented-pages.js';
import { invoiceXml } from '../../fixtures/invoices.js';
import { folderOfFile } from '../../fixtures/temporary-folder.js';
import { brokenRules, fetchValidators } from '../../fixtures/validators/validate-pdfs.js';
import { browserOfFile } from './a-page-session.js';

const FORGED = '\n9 0 obj\n<</Type /Page\n/MediaBox [0 0 9 9]\n';

const HAS_POPPLER = spawnSync('pdftotext', ['-v']).error === undefined;

const browser = await browserOfFile();
const folder = folderOfFile();
const WHOLE_INVOICE = readFileSync(new URL('../../fixtures/validators/invoice.xml', import.meta.url), 'utf8');
const INVOICE = invoiceXml('urn:cen.eu:en16931:2017');
const EFFECTS = `<html lang="en"><title>Effects</title><style>div { opacity: 0.5; border: 1px solid; filter: drop-shadow(1px 1px red) }</style>
<h1>ffi Überschrift</h1><ul style="background: red"><li><p>One<li>Two <em>strong</em></ul><a href="https://a.test/">link</a>
<div>half</div><div style="mask: linear-gradient(#000, #0000)">mask</div><img alt="A dot" width="9" src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E">
<table><tr><th>A<th>B<tr><td>1<td>2</table><input value="text">`;

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

const plain = await printed('<html lang="en"><title>A title</title><p>Text with <a href="https://a.test/">a link</a>');

/** The metadata of the information dictionary and of XMP. */
async function told(content: Uint8Array) {
  const pdf = await PDF.load(content);
  const stream = pdf.getCatalog().get('Metadata', (ref) => pdf.getObject(ref));
  return { ...pdf.getMetadata(), xmp: Buffer.from((stream as PdfStream).getDecodedData()).toString() };
}

it('metadata stands in the information dictionary and in XMP', async () => {
  const metadata = {
    author: 'Ada <&> Łovelace',
    keywords: ['a', 'b'],
    created: '2026-11-28T15:03:00+01:00',
    custom: { CostCenter: '"R&D"' },
  };
  const { content } = await editPdf({ content: plain, edits: { metadata } });
  const { xmp, ...info } = await told(content);
  const creationDate = new Date('2026-11-28T14:03:00Z');
  expect(info).toMatchObject({
    title: 'A title',
    author: metadata.author,
    creationDate,
    modificationDate: creationDate,
  });
  for (const part of [
    '<rdf:li xml:lang="x-default">A title</rdf:li>',
    '<dc:creator><rdf:Seq><rdf:li>Ada &lt;&amp;&gt; Łovelace</rdf:li></rdf:Seq></dc:creator>',
    '<dc:subject><rdf:Bag><rdf:li>a</rdf:li><rdf:li>b</rdf:li></rdf:Bag></dc:subject>',
    '<xmp:CreateDate>2026-11-28T15:03:00+01:00</xmp:CreateDate>',
    '<pdfx:CostCenter>&quot;R&amp;D&quot;</pdfx:CostCenter>',
  ])
    expect(xmp).toContain(part);
});

it('a title of a page with control characters, half an emoji and 100,000 letters is cleaned and cut', async () => {
  const title = `\u0001a\ud83d]]>\u0000${'x'.repeat(100_000)}`;
  const { content } = await editPdf({ content: plain, edits: { metadata: { title, author: '\n' } } });
  const { xmp, ...info } = await told(content);
  expect(info.title).toMatch(/^a \]\]> x{1990,2000}$/);
  expect(info.author).toBeUndefined();
  expect(xmp).toContain('a ]]&gt; xxx');
});

it('a password encrypts the document, with the permissions of the request', async () => {
  const password = { user: 'geheim', permissions: ['copy' as const] };
  const { content } = await editPdf({ content: plain, edits: { password } });
  expect(Buffer.from(content).includes('a.test')).toBe(false);
  expect((await PDF.load(content)).isAuthenticated).toBe(false);
  const opened = await PDF.load(content, { credentials: 'geheim' });
  expect(opened.getPermissions()).toMatchObject({ copy: true, print: false, modify: false });
  expect(opened.getTitle()).toBe('A title');
});

it('attachments replace those of the same name, and belong to the document', async () => {
  const file = { name: 'dätä.csv', mimeType: 'text/csv', relationship: 'data' as const, description: null };
  const once = await editPdf({ content: plain, edits: { attachments: [{ ...file, content: Buffer.from('old') }] } });
  const attachments = [
    { ...file, content: Buffer.from('new') },
    { ...file, name: 'b', content: Buffer.alloc(100_000) },
  ];
  const twice = await editPdf({ content: once.content, edits: { attachments } });
  const pdf = await PDF.load(twice.content);
  expect([...pdf.getAttachments().keys()]).toEqual(['b', 'dätä.csv']);
  expect(Buffer.from(pdf.getAttachment('dätä.csv') ?? []).toString()).toBe('new');
  expect(pdf.getCatalog().getArray('AF')?.length).toBe(2);
});

it('a document that cannot conform is refused with the rule and its remedy', async () => {
  const boxes = await printed('<p>\u{e0000}\u{10fffd}\u{e123}');
  const edits = { conformance: ['pdf/a-2b' as const] };
  await expect(editPdf({ content: boxes, edits })).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/pdf\/a-2b: page 1 has characters that no font has.*6\.2\.11\.8\)\. Install fonts/),
  });
  const { content } = await editPdf({ content: plain, edits: { password: { user: 'a' } } });
  await expect(editPdf({ content, edits })).rejects.toThrow();
});

it('a document that is not accessible is refused with what its author can do', async () => {
  const edits = { conformance: ['pdf/ua-1' as const], language: 'en' };
  for (const [html, reason] of [
    ['<html lang="en"><h1>No title', /no title/],
    ['<html lang="en"><title>T</title><h1>One</h1><h3>Three</h3>', /h3 follows h1.*7\.4\.2/],
    [
      '<html lang="en"><title>T</title><img width="9" height="9" src="data:image/svg+xml,%3Csvg xmlns=\'http://www.w3.org/2000/svg\'%3E%3Crect width=\'9\' height=\'9\'/%3E%3C/svg%3E">',
      /alternative text.*7\.3/,
    ],
    ['<html lang="en"><title>T</title><table><tr><th>1<th>2<tr><td>3</table>', /different lengths/],
  ] as const)
    await expect(editPdf({ content: await printed(html), edits })).rejects.toThrow(reason);
});

function textOf(pdf: Uint8Array): string {
  return HAS_POPPLER ? execFileSync('pdftotext', ['-', '-'], { input: pdf, encoding: 'utf8' }) : '';
}

const validators = fetchValidators();
const classPath = 'classPath' in validators ? validators.classPath : '';
if ('missing' in validators) console.warn(validators.missing);

// Starts veraPDF and Mustang, for all files at once.
it.skipIf(classPath === '')(
  'pages of others conform, or are refused, and read as before, and invoices are valid',
  async () => {
    const pages = [...INVENTED_PAGES.map(({ html }) => html), EFFECTS];
    const files: [string, Uint8Array][] = [];
    const refused: string[] = [];
    for (const [index, html] of pages.entries()) {
      const before = await printed(html);
      for (const edits of [
        { conformance: ['pdf/a-3b' as const], facturx: { xml: INVOICE } },
        { conformance: ['pdf/a-2u' as const, 'pdf/ua-1' as const] },
      ]) {
        try {
          const { content } = await editPdf({ content: Buffer.from(before), edits });
          expect(textOf(content)).toBe(textOf(before));
          for (const one of edits.conformance)
            files.push([one.replace('pdf/a-', '').replace('pdf/ua-', 'ua'), content]);
        } catch (error) {
          refused.push(`${index}: ${(error as Error).message}`);
        }
      }
    }
    for (const xml of [WHOLE_INVOICE, INVOICE]) {
      const { content } = await editPdf({ content: Buffer.from(plain), edits: { facturx: { xml } } });
      files.push(['facturx', content]);
    }
    const broken = brokenRules({ folder, classPath }, files);
    // An invoice without amounts.
    expect(broken.pop()).toContain('SupplyChainTradeTransaction');
    expect(broken).toEqual(broken.map(() => ''));
    expect(refused.filter((reason) => !/ISO (?:19005-[23]|14289-1), [\d.]+\)/.test(reason))).toEqual([]);
    expect(files.filter(([flavour]) => flavour === 'ua1').length).toBeGreaterThan(1);
  },
);
