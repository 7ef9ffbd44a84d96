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
const service = await ofFile(startService());
const folder = folderOfFile();
rememberBrowsers(folder);
writeFileSync(join(folder, 'invoice.html'), exampleWith(PDF, 'html', 'letterhead'));
writeFileSync(join(folder, 'report.html'), exampleWith(PDF, 'html', '@page'));

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
