import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PDFDict, PDFDocument, PDFName, type PDFString } from 'pdf-lib';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { startService } from '../fixtures/start-service.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';

/** Poppler reads the text, pdf-lib the rest. */
const HAS_POPPLER = spawnSync('pdftotext', ['-v']).error === undefined;

const service = await ofFile(startService());
const dir = folderOfFile();

/** The text of each page. */
function readPages(bytes: Buffer): string[] {
  const file = join(dir, 'read.pdf');
  writeFileSync(file, bytes);
  return execFileSync('pdftotext', [file, '-'], { encoding: 'utf8' }).split('\f').slice(0, -1);
}

/** The titles of the first level, in order. */
function outlineOf(document: PDFDocument): string[] {
  const outline = document.catalog.lookupMaybe(PDFName.of('Outlines'), PDFDict);
  const titles: string[] = [];
  let entry = outline?.lookupMaybe(PDFName.of('First'), PDFDict);
  while (entry !== undefined) {
    const title = entry.lookup(PDFName.of('Title'));
    titles.push(title !== undefined && 'decodeText' in title ? (title as PDFString).decodeText() : '');
    entry = entry.lookupMaybe(PDFName.of('Next'), PDFDict);
  }
  return titles;
}

it('a report has a page and an entry of the outline for each chapter, with its header and footer', async () => {
  const chapters = Array.from({ length: 12 }, (_, index) => `Chapter ${index + 1}`);
  const style =
    'h1 { break-before: page } h1:first-of-type { break-before: auto } @media print { .no-print { display: none } }';
  const html = `<style>${style}</style>${chapters.map((title) => `<h1>${title}</h1><p class="no-print">Press here`).join('')}`;
  const pdf = {
    paper: 'a4',
    landscape: true,
    outline: true,
    tagged: true,
    margin: { top: '20mm', bottom: '20mm', left: '15mm' },
    header_template: '<div style="font-size: 9px">Annual report</div>',
    footer_template:
      '<div style="font-size: 9px"><span class="pageNumber"></span> of <span class="totalPages"></span></div>',
  };
  const answer = await service.post({ html, format: 'pdf', pdf, cache_ttl: 0 });
  expect(answer.body.error ?? null).toBeNull();
  const bytes = await service.picture(answer);
  const document = await PDFDocument.load(bytes);
  expect(document.getPages().map((page) => [page.getWidth(), page.getHeight()].map(Math.round))).toEqual(
    chapters.map(() => [842, 595]),
  );
  expect(outlineOf(document)).toEqual(chapters);
  expect(document.catalog.lookupMaybe(PDFName.of('StructTreeRoot'), PDFDict)).toBeDefined();
  for (const [index, text] of HAS_POPPLER ? readPages(bytes).entries() : []) {
    expect(text).toMatch(new RegExp(`Chapter ${index + 1}\\b`));
    expect(text).toContain('Annual report');
    expect(text).toContain(`${index + 1} of 12`);
    expect(text).not.toContain('Press here');
  }
});

describe('a template that the browser cannot print', () => {
  it.each([
    [{ footer_template: '<style>@\\69mport url(http://127.0.0.2/a.css);</style>x' }, 'pdf.footer_template'],
    [{ header_template: '<link title=">" rel=stylesheet href="http://127.0.0.2/a.css">', footer_template: 'x' }, 'pdf'],
  ])('is an invalid request even if the check of submissions has missed it: %j', async (templates, path) => {
    const { status, body } = await service.post({
      html: '<p>x',
      format: 'pdf',
      pdf: { ...templates, margin: { bottom: '20mm' } },
    });
    expect({ status, ...body.error }).toMatchObject({ status: 400, code: 'invalid_request', retriable: false });
    expect(body.error.details.issues).toMatchObject([{ path }]);
  });
});
