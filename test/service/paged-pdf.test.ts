import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PDFArray, PDFDict, PDFDocument, PDFName, PDFNumber, PDFString } from 'pdf-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../fixtures/start-service.js';

/** Poppler reads the words and where they stand; pdf-lib, which has no text, reads the rest on every machine. */
const HAS_POPPLER = spawnSync('pdftotext', ['-v']).error === undefined;
const POINTS_PER_MM = 72 / 25.4;
const A4 = [595, 842];

let service: TestService;
let dir: string;

beforeAll(async () => {
  service = await startService();
  dir = mkdtempSync(join(tmpdir(), 'stillframe-pdf-'));
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

interface Printed {
  document: PDFDocument;
  /** Empty without poppler. */
  pages: PageOfWords[];
}

interface PageOfWords {
  text: string;
  /** Points from the left and the top edge. */
  words: { text: string; left: number; right: number; top: number; bottom: number }[];
}

async function print(html: string, pdf: object): Promise<Printed> {
  const answer = await service.post({ html, format: 'pdf', pdf, cache_ttl: 0 });
  expect(answer.body.error ?? null).toBeNull();
  const bytes = await service.picture(answer);
  return { document: await PDFDocument.load(bytes), pages: HAS_POPPLER ? readWords(bytes) : [] };
}

function readWords(bytes: Buffer): PageOfWords[] {
  const file = join(dir, 'read.pdf');
  writeFileSync(file, bytes);
  const output = execFileSync('pdftotext', ['-bbox', file, '-'], { encoding: 'utf8', maxBuffer: 64_000_000 });
  return output
    .split('<page ')
    .slice(1)
    .map((page) => {
      const found = page.matchAll(/<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">([^<]*)</g);
      const words = [...found].map(([, left, top, right, bottom, text = '']) => ({
        text,
        left: Number(left),
        top: Number(top),
        right: Number(right),
        bottom: Number(bottom),
      }));
      return { text: words.map((word) => word.text).join(' '), words };
    });
}

function sizes(document: PDFDocument): number[][] {
  return document.getPages().map((page) => [Math.round(page.getWidth()), Math.round(page.getHeight())]);
}

function linksOf(document: PDFDocument): string[] {
  return document.getPages().flatMap((page) => {
    const annotations = page.node.lookupMaybe(PDFName.of('Annots'), PDFArray);
    return (annotations?.asArray() ?? []).flatMap((reference) => {
      const action = document.context.lookupMaybe(reference, PDFDict)?.lookupMaybe(PDFName.of('A'), PDFDict);
      const target = action?.lookupMaybe(PDFName.of('URI'), PDFString);
      return target === undefined ? [] : [target.asString()];
    });
  });
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

describe('an invoice on A4', () => {
  const rows = [
    ['Hosting, October', '1', '49.00'],
    ['Support', '3', '240.00'],
  ];
  const invoice = `<style>body { margin: 0; font: 11pt sans-serif } table { width: 100% } .no-print { color: red } @media print { .no-print { display: none } }</style>
    <h1>Invoice 2026-117</h1><p class="no-print">Press here to print</p>
    <table>${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}`).join('')}`).join('')}</table>
    <p>Total: 289.00 EUR</p><p><a href="https://example.com/pay/117">Pay online</a>`;
  const margin = { top: '25mm', right: '20mm', bottom: '25mm', left: '20mm' };

  it('is one page of the right size, with its link', async () => {
    const { document } = await print(invoice, { paper: 'a4', margin });
    expect(sizes(document)).toEqual([A4]);
    expect(linksOf(document)).toEqual(['https://example.com/pay/117']);
  });

  it.skipIf(!HAS_POPPLER)('has its text inside the margins, and none that is for the screen only', async () => {
    const { pages } = await print(invoice, { paper: 'a4', margin });
    const page = pages[0];
    const words = page?.words ?? [];
    const expected = ['Invoice', '2026-117', ...rows.flat().flatMap((cell) => cell.split(' ')), 'Total:', '289.00', 'EUR', 'Pay', 'online'];
    expect(words.map((word) => word.text).sort()).toEqual(expected.sort());
    expect(Math.min(...words.map((word) => word.left))).toBeCloseTo(20 * POINTS_PER_MM, 0);
    expect(Math.max(...words.map((word) => word.right))).toBeLessThanOrEqual(595 - 20 * POINTS_PER_MM + 1);
    // Poppler's box of a word is that of its font, which is a little higher than its line.
    expect(Math.min(...words.map((word) => word.top))).toBeGreaterThanOrEqual(25 * POINTS_PER_MM - 2);
  });
});

describe('a report of 60 pages', () => {
  const CHAPTERS = Array.from({ length: 60 }, (_, index) => `Chapter ${index + 1}`);
  const report = `<style>h1 { break-before: page } h1:first-of-type { break-before: auto }</style>${CHAPTERS.map(
    (title) => `<h1>${title}</h1><p>${'lorem ipsum dolor sit amet '.repeat(60)}`,
  ).join('')}`;
  const pdf = {
    paper: 'a4',
    margin: { top: '20mm', bottom: '20mm', left: '15mm', right: '15mm' },
    header_template: '<div style="font-size: 9px; margin-left: 15mm">Annual report</div>',
    footer_template:
      '<div style="font-size: 9px; margin-left: 15mm"><span class="pageNumber"></span> of <span class="totalPages"></span></div>',
    outline: true,
    tagged: true,
  };

  it('has a page and an entry of the outline for each chapter', async () => {
    const { document, pages } = await print(report, pdf);
    expect(sizes(document)).toEqual(CHAPTERS.map(() => A4));
    expect(outlineOf(document)).toEqual(CHAPTERS);
    expect(document.catalog.lookupMaybe(PDFName.of('StructTreeRoot'), PDFDict)).toBeDefined();
    const count = document.catalog.lookup(PDFName.of('Pages'), PDFDict).lookup(PDFName.of('Count'), PDFNumber);
    expect(count.asNumber()).toBe(60);
    pages.forEach((page, index) => {
      expect(page.text).toContain('Annual report');
      expect(page.text).toContain(`Chapter ${index + 1} `);
      expect(page.text).toContain(`${index + 1} of 60`);
    });
  });

  it('prints the requested pages with their own numbers', async () => {
    const { document, pages } = await print(report, { ...pdf, page_ranges: '2-3,60' });
    expect(document.getPageCount()).toBe(3);
    expect(pages.map((page) => /\d+ of \d+/.exec(page.text)?.[0])).toEqual(HAS_POPPLER ? ['2 of 60', '3 of 60', '60 of 60'] : []);
  });
});

describe('a landscape table', () => {
  const COLUMNS = Array.from({ length: 12 }, (_, index) => `Column${index + 1}`);
  const row = (n: number) => `<tr>${COLUMNS.map((_, column) => `<td>${n * 100 + column}`).join('')}`;
  const table = `<style>body { margin: 0; font: 9pt sans-serif } table { width: 100%; border-collapse: collapse } td, th { border: 1px solid #999; text-align: left }</style>
    <table><thead><tr>${COLUMNS.map((name) => `<th>${name}`).join('')}</thead><tbody>${Array.from({ length: 120 }, (_, n) => row(n + 1)).join('')}</table>`;

  it('keeps every column on the paper and repeats the head on each page', async () => {
    const { document, pages } = await print(table, {
      paper: 'a4',
      landscape: true,
      margin: { top: '10mm', right: '10mm', bottom: '10mm', left: '10mm' },
    });
    expect(document.getPageCount()).toBeGreaterThan(2);
    expect(sizes(document)).toEqual(document.getPages().map(() => [842, 595]));
    for (const page of pages) {
      expect(page.text).toContain(COLUMNS.join(' '));
      expect(Math.max(...page.words.map((word) => word.right))).toBeLessThanOrEqual(842 - 10 * POINTS_PER_MM + 1);
    }
    const cells = pages.flatMap((page) => page.words.map((word) => word.text)).filter((text) => /^\d+$/.test(text));
    expect(cells).toHaveLength(HAS_POPPLER ? 120 * COLUMNS.length : 0);
  });
});

describe('a template that the browser cannot print', () => {
  it.each([
    [{ footer_template: '<style>@\\69mport url(http://127.0.0.2/a.css);</style>x' }, 'pdf.footer_template'],
    [{ header_template: '<link title=">" rel=stylesheet href="http://127.0.0.2/a.css">', footer_template: 'x' }, 'pdf'],
  ])('is an invalid request even if the check of submissions has missed it: %j', async (templates, path) => {
    const { status, body } = await service.post({ html: '<p>x', format: 'pdf', pdf: { ...templates, margin: { bottom: '20mm' } } });
    expect({ status, ...body.error }).toMatchObject({ status: 400, code: 'invalid_request', retriable: false });
    expect(body.error.details.issues).toMatchObject([{ path }]);
  });
});
