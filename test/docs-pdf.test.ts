import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { examplesOf, exampleWith, ROOT, readDocument } from './fixtures/documents.js';
import { ofFile } from './fixtures/of-file.js';
import { startService } from './fixtures/start-service.js';
import { folderOfFile } from './fixtures/temporary-folder.js';
import { rememberBrowsers } from './render/install/any-browser.js';
import { pageSizes, printedTexts } from './render/picture/pdf-pages.js';

const PDF = readDocument('docs/pdf.md');
const DOCUMENTS = readDocument('docs/documents.md');
const service = await ofFile(startService());
const folder = folderOfFile();
rememberBrowsers(folder);
writeFileSync(join(folder, 'invoice.html'), exampleWith(PDF, 'html', 'letterhead'));
writeFileSync(join(folder, 'report.html'), exampleWith(PDF, 'html', '@page'));
writeFileSync(join(folder, 'annual.html'), exampleWith(DOCUMENTS, 'html', 'Annual report'));

/** The size and the texts of each page of the file that an example of the document makes. */
async function print(example: string) {
  const program = `stillframe() { "${process.execPath}" "${join(ROOT, 'dist/main.js')}" "$@"; }`;
  const env = { ...process.env, STILLFRAME_DATA_DIR: folder, STILLFRAME_LISTS: 'false', STILLFRAME_KEY: service.key };
  const command = `${program}\n${example.replaceAll('http://127.0.0.1:3000', service.url)}`;
  await promisify(execFile)('bash', ['-c', command], { cwd: folder, env });
  const file = /-o (\S+)/.exec(example)?.[1] ?? '';
  const content = await readFile(join(folder, file));
  const texts = (await printedTexts(content)).map((page) => page.map(({ text }) => text).join(''));
  return { content: content.toString('latin1'), sizes: await pageSizes(content), texts };
}

const A4 = { width: 793, height: 1123 };

it('the invoice has its letterhead on the first page, and a footer, on A4', async () => {
  const { sizes, texts } = await print(exampleWith(PDF, 'sh', 'capture invoice.html'));
  expect(sizes).toEqual([A4]);
  for (const text of ['Example Ltd', 'Total', 'Page 1 of 1']) expect(texts[0]).toContain(text);
});

it('the invoice of the API has no header on its first page', async () => {
  const { sizes, texts } = await print(exampleWith(PDF, 'sh', '"headers"'));
  expect(sizes).toEqual([A4]);
  expect(texts[0]).toContain('Page 1 of 1');
  expect(texts[0]).not.toContain('continued');
});

it('the report has margin boxes that differ on the first page, bookmarks and links', async () => {
  const { content, sizes, texts } = await print(exampleWith(PDF, 'sh', 'report.html'));
  expect(sizes).toEqual([A4, A4]);
  expect(texts[0]).toContain('Page 1 of 2');
  expect(texts[0]?.match(/Annual report/g)).toHaveLength(1);
  expect(texts[1]).toMatch(/Annual report.*Costs|Costs.*Annual report/);
  expect(texts[1]).toContain('Page 2 of 2');
  expect(content).toMatch(/\/Title \(Costs\)/);
  expect(content).toMatch(/\/Subtype \/Link/);
});

it('the report has a table of contents with page numbers, and footers that differ on left and right pages', async () => {
  const { texts } = await print(exampleWith(DOCUMENTS, 'sh', 'annual.html'));
  expect(texts[0]).toMatch(/Annual report.*Sales.*2.*Costs.*3.*on page 3/);
  expect(texts[0]).not.toContain('·');
  expect(texts.slice(1).map((text) => text.slice(-17))).toEqual(['2 · Annual report', 'Annual report · 3']);
});

it('the book has one PDF of its documents, with page numbers, bookmarks and links of the whole', async () => {
  const { content, sizes, texts } = await print(exampleWith(DOCUMENTS, 'sh', 'book.pdf'));
  const [upright, across] = [
    { width: 560, height: 793 },
    { width: 793, height: 560 },
  ];
  expect(sizes).toEqual([upright, upright, upright, upright, across, across]);
  expect(texts[0]).toMatch(/3.*6.*The book.*One.*The end/);
  expect(texts.slice(1)).toEqual([
    '',
    expect.stringContaining('3 / 6'),
    '',
    expect.stringContaining('5 / 6'),
    expect.stringContaining('The end'),
  ]);
  for (const title of ['Contents', 'One', 'Two']) expect(content).toContain(`/Title (${title})`);
  expect(content).not.toContain('/URI (https://book.example.com/two');
});

it('a document of several that cannot be captured is named', async () => {
  const pages = [{ html: '<p>x' }, { html: '<p>y', pdf: { page_ranges: '9' } }];
  const { status, body } = await service.post({ format: 'pdf', pdf: { pages } });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^Document 2 of 2 \(about:html\): `pdf.page_ranges` names pages/),
    details: { document: { index: 1, url: 'about:html' } },
  });
});

it('a PDF of the view, which few people mean, has a warning that names the way to paper', async () => {
  const { body } = await service.post({ html: '<p>x', format: 'pdf' });
  expect(body.data).toMatchObject({ width: 1280, height: 720 });
  const [warning] = body.data.diagnostics.warnings;
  expect(warning).toEqual({ code: 'pdf_not_on_paper', message: expect.stringContaining('`pdf: {}`') });
  const printed = await service.post({ html: '<p>x', format: 'pdf', pdf: {} });
  expect(printed.body.data).toMatchObject({ width: 816, height: 1056 });
  expect(printed.body.data.diagnostics?.warnings).toBeUndefined();
});

it('has no other example', () => {
  expect([...examplesOf(PDF, 'sh'), ...examplesOf(PDF, 'html')]).toHaveLength(5);
});
