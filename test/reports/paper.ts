import { expect } from 'vitest';
import type { Rendering } from '../../src/render/capture.js';
import { pdfNames, printedTexts } from '../render/picture/pdf-pages.js';
import type { Report } from './report.js';

const POINTS_PER_PX = 72 / 96;
const POINTS_PER_MM = 72 / 25.4;
const MARGIN = { top: '25mm', right: '20mm', bottom: '25mm', left: '20mm' };
const LEFT = 20 * POINTS_PER_MM;
const A4_WIDTH = 595;
const near = (points: number) => expect.closeTo(points, -0.3);

const pageOf = (body: string, style = '') =>
  `<!doctype html><style>body{margin:0;font:16px/1 sans-serif}${style}</style>${body}`;
const PAGES = pageOf('Body one<p style="break-before:page">Body two<p style="break-before:page">Body three');
const NUMBERS = '<span class=pageNumber></span>/<span class=totalPages></span>';
/** Chromium draws it in several blocks, some of them after the footer. */
const DRAWN =
  '<b style="position:absolute;top:3mm;right:20mm">Head</b><div style="overflow:hidden;border-radius:3px">Clipped</div>';
/** As wide as given, with a word at its end. */
const wide = (width: string) => pageOf(`Start<div style="width:${width};text-align:right">End</div>`);

const NAMED = `<html lang="de-CH"><meta charset=utf-8><title>Größe (1) – 測試</title><p>Text<img width=9 height=9 alt="Ein Bild (rot)" src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><rect width='9' height='9' fill='red'/></svg>">`;

function print(pdf: object): Report['request'] {
  return { format: 'pdf', pdf: { paper: 'a4', margin: MARGIN, ...pdf } };
}

async function textsOf({ content }: Rendering): Promise<string[][]> {
  return (await printedTexts(content)).map((page) => page.map(({ text }) => text.trim()).filter((text) => text !== ''));
}

/** Where a text begins on the first page, and how large it is. */
async function find({ content }: Rendering, wanted: string) {
  const [page = []] = await printedTexts(content);
  return page.find(({ text }) => text.trim() === wanted);
}

export const PAPER: Record<string, Report> = {
  'a footer without styles is of a readable size, and begins where the page’s text does': {
    source: 'https://github.com/spatie/laravel-pdf/issues/59',
    page: PAGES,
    request: print({ footer_template: '<div>Foot</div>' }),
    async right(rendering) {
      expect(await find(rendering, 'Foot')).toMatchObject({ size: near(10 * POINTS_PER_PX), left: near(LEFT) });
      expect(await find(rendering, 'Body one')).toMatchObject({ left: near(LEFT) });
    },
  },
  'a header stays above the text in a small margin, in landscape and at any scale': {
    source: 'https://github.com/microsoft/playwright/issues/5029',
    page: PAGES,
    request: print({
      header_template: 'Head',
      landscape: true,
      scale: 2,
      margin: { top: '0.22in', right: '10mm', left: '10mm' },
    }),
    async right(rendering) {
      const head = await find(rendering, 'Head');
      expect(head).toMatchObject({ size: near(10 * POINTS_PER_PX), left: near(10 * POINTS_PER_MM) });
      expect(head?.top).toBeGreaterThan(7);
      expect(head?.top).toBeLessThan(0.22 * 72);
      expect(await find(rendering, 'Body one')).toMatchObject({
        size: near(2 * 16 * POINTS_PER_PX),
        left: near(10 * POINTS_PER_MM),
      });
    },
  },
  'a header begins and ends where the text does that the page’s own @page rule places': {
    source: 'https://github.com/microsoft/playwright/issues/14441',
    page: pageOf('Body one', '@media print{@page{size:a5;margin:1in 0.5in}}@media screen{@page{margin:3in}}'),
    request: print({
      header_template:
        '<div style="width:100%;display:flex"><i>Head</i><b style="flex:1;text-align:right">End</b></div>',
    }),
    async right(rendering) {
      const body = await find(rendering, 'Body one');
      expect(await find(rendering, 'Head')).toMatchObject({ left: near(body?.left ?? 0) });
      // A5 is centered on A4.
      expect(body?.left).toBeCloseTo((A4_WIDTH - 420) / 2 + 36, -0.3);
      expect((await find(rendering, 'End'))?.left).toBeLessThan(A4_WIDTH - (body?.left ?? 0));
      expect((await find(rendering, 'End'))?.left).toBeGreaterThan(A4_WIDTH - (body?.left ?? 0) - 30);
    },
  },
  'templates keep the font size, padding and margin that they have': {
    source: 'https://github.com/puppeteer/puppeteer/issues/1822',
    page: PAGES,
    request: print({
      header_template:
        '<style>.head{padding:0 1cm}</style><div class=head style="font-size:20px;width:100%">Head</div>',
      footer_template: '<div style="margin-left:15mm">Foot</div>',
    }),
    async right(rendering) {
      expect(await find(rendering, 'Head')).toMatchObject({
        size: near(20 * POINTS_PER_PX),
        left: near(10 * POINTS_PER_MM),
      });
      expect(await find(rendering, 'Foot')).toMatchObject({ left: near(15 * POINTS_PER_MM) });
    },
  },
  'the first page has neither header nor footer, and is counted': {
    source: 'https://github.com/puppeteer/puppeteer/issues/2089',
    page: PAGES,
    request: print({
      header_template: 'Head',
      footer_template: NUMBERS,
      headers: [{ pages: 'first', header: '', footer: '' }],
    }),
    async right(rendering) {
      const [first, ...others] = await textsOf(rendering);
      expect(first).toEqual(['Body one']);
      expect(others.map((texts) => texts.join(''))).toEqual(['Body twoHead2/3', 'Body threeHead3/3']);
      // Its table of objects is read, which pdf-lib does without.
      expect(rendering.diagnostics.sections).toBe(3);
    },
  },
  'left, right and last pages have headers of their own, however they are drawn, over a page with margin boxes': {
    source: 'https://github.com/puppeteer/puppeteer/issues/3672',
    page: pageOf(
      'Body one<dialog open style="visibility:visible">Top</dialog><p style="break-before:page">Body two<p style="break-before:page">Body three<p style="break-before:page">Body four',
      '@page{@top-left{content:"Box"}}:root{background:#fee}body *{visibility:visible}',
    ),
    request: print({
      footer_template: `<div style="opacity:.5">${NUMBERS}</div>`,
      headers: [
        { pages: 'last', header: 'Last', footer: '' },
        { pages: 'left, 1', header: DRAWN },
        { pages: 'right', header: 'Right' },
      ],
    }),
    async right(rendering) {
      expect((await textsOf(rendering)).map((texts) => texts.join(''))).toEqual([
        'BoxBody oneTopClippedHead1/4',
        'BoxBody twoClippedHead2/4',
        'BoxBody threeRight3/4',
        'BoxBody fourLast',
      ]);
    },
  },
  'headers of some pages leave the tags, links and outline as they are': {
    source: 'https://github.com/puppeteer/puppeteer/issues/9672',
    page: pageOf(
      '<h1>One</h1><a href="https://example.com/">out</a><p style="opacity:.5">Faint</p><h1 style="break-before:page">Two</h1>',
    ),
    request: print({
      header_template: '<b>Head</b>',
      headers: [{ pages: 'first', header: '' }],
      tagged: true,
      outline: true,
    }),
    async right({ content }) {
      const [first, second] = await printedTexts(content);
      expect(first?.map(({ text }) => text)).toEqual(['One', 'out', 'Faint']);
      expect(second?.map(({ text }) => text)).toEqual(['Two', 'Head']);
      const text = Buffer.from(content).toString('latin1');
      expect(text.match(/\/Title \((One|Two)\)/g)).toHaveLength(2);
      expect(text).toContain('/URI (https://example.com/)');
      expect(text.match(/\/S \/H1/g)).toHaveLength(2);
    },
  },
  'pages keep their numbers and headers in page ranges': {
    source: 'https://github.com/puppeteer/puppeteer/issues/4879',
    page: PAGES,
    request: print({
      header_template: NUMBERS,
      headers: [
        { pages: '1', header: '' },
        { pages: 'last', footer: 'End' },
      ],
      page_ranges: '2-3',
    }),
    async right(rendering) {
      expect((await textsOf(rendering)).map((texts) => texts.join(''))).toEqual(['Body two2/3', 'Body three3/3End']);
    },
  },
  'a table of contents has the page numbers of what it links to, after its own pages have moved them': {
    source: 'https://github.com/puppeteer/puppeteer/issues/1778',
    page: pageOf(
      `<p>See page <b data-page-number-of="#größe 1">?</b>, <i data-page-number-of="#gone">none</i></p><ul data-toc>${[
        1, 2, 3,
      ]
        .map((nth) => `<li style="height:13cm"><a href="#ch-${nth}">Chapter ${nth}</a>`)
        .join('')}</ul>
      <h2 id=ch-1 style="break-before:page">One</h2><h2 id=ch-2 style="break-before:page">Two</h2><p id="größe 1">Here</p>
      <div style="height:795px"></div><h2 id=ch-3>Three</h2><p>Kept with its heading`,
    ),
    request: print({}),
    async right(rendering) {
      const [first, second, third, fourth, fifth] = (await textsOf(rendering)).map((texts) => texts.join('|'));
      expect([first, second]).toEqual(['3|4|See page|4|,|none|Chapter 1|Chapter 2', '5|Chapter 3']);
      expect([third, fourth, fifth]).toEqual(['One', 'Two|Here', 'Three|Kept with its heading']);
    },
  },
  'page numbers that move what they count by themselves are a warning': {
    source: 'https://github.com/puppeteer/puppeteer/issues/1778',
    page: pageOf(
      '<style>[data-page-number="1"] { display: block; height: 20cm }</style><p><a data-toc href="#end">End</a></p><p style="height: 20cm">Text</p><p id=end>End',
    ),
    request: print({}),
    async right({ warnings }) {
      expect(warnings).toEqual([{ code: 'page_numbers_unsettled', message: expect.stringContaining('fixed width') }]);
    },
  },
  'an empty cover without a header stays a page, and templates that print nothing take no content away': {
    source: 'https://github.com/westy92/html-pdf-chrome/issues/236',
    page: pageOf('<div style="break-after:page"></div>Body two'),
    request: print({ header_template: 'Head', headers: [{ pages: 'first', header: '' }] }),
    async right(rendering) {
      expect(await textsOf(rendering)).toEqual([[], ['Body two', 'Head']]);
    },
  },
  'a page a little wider than the paper is scaled to it, with a warning': fitted(
    'https://github.com/jsreport/jsreport-chrome-pdf/issues/16',
    { width: '771px', scale: 0.83 },
  ),
  'a page that is wider at its own scale is scaled further': fitted(
    'https://github.com/wkhtmltopdf/wkhtmltopdf/issues/2863',
    { width: '1285px', scale: 0.5 },
    { scale: 1.5 },
  ),
  'a page that no scale fits is not made ever smaller': {
    source: 'https://github.com/chromiumembedded/cef/issues/1228',
    page: wide('150%'),
    request: print({}),
    async right(rendering) {
      expect((await find(rendering, 'Start'))?.size).toBeCloseTo((16 * POINTS_PER_PX) / 1.5, 1);
      expect(rendering.warnings).toMatchObject([
        { code: 'scaled_to_fit', message: expect.stringContaining('is cut off') },
      ]);
    },
  },
  'with fit_width false a page that is too wide keeps its size': {
    source: 'https://github.com/wkhtmltopdf/wkhtmltopdf/issues/4467',
    page: wide('771px'),
    request: print({ fit_width: false }),
    right: keepsSize,
  },
  'a page that fits on the paper is printed in its size, whatever the view’s width, without a warning': {
    source: 'https://github.com/browserless/browserless/issues/2899',
    page: `<meta name=viewport content="width=1200">${wide('600px')}`,
    request: { ...print({}), viewport: { width: 400, height: 600, deviceScaleFactor: 1, isMobile: true } },
    right: keepsSize,
  },
  'a tagged PDF has the title, the language and the alternative texts': named(
    'https://github.com/puppeteer/puppeteer/issues/7509',
    print({ tagged: true }),
    ['Ein Bild (rot)'],
  ),
  'a PDF of the view has the title, the language and the alternative texts': named(
    'https://github.com/browserless/browserless/issues/1376',
    { format: 'pdf' },
    ['Ein Bild (rot)'],
  ),
  'a PDF of pictures has the title and the language': named(
    'https://github.com/danfickle/openhtmltopdf/issues/591',
    { format: 'pdf', full_page: true },
    [],
  ),
  'a page rule that leaves no room, or is wider than any paper, does not fail the PDF': {
    source: 'https://github.com/puppeteer/puppeteer/issues/4418',
    page: pageOf('Body one', '@page{size:200000in 10in}'),
    request: print({}),
    right: async (rendering) => expect(rendering).toMatchObject({ format: 'pdf', warnings: [] }),
  },
};

/** A page so wide, of which the word at the end is within the paper's margins. */
function fitted(source: string, { width, scale }: { width: string; scale: number }, pdf = {}): Report {
  const right = async (rendering: Rendering) => {
    expect((await find(rendering, 'Start'))?.size).toBeCloseTo(16 * POINTS_PER_PX * scale, 0);
    const end = await find(rendering, 'End');
    expect(end?.left).toBeLessThan(A4_WIDTH - LEFT - 20 * scale);
    expect(end?.left).toBeGreaterThan(A4_WIDTH - LEFT - 40 * scale);
    const message = expect.stringContaining(`a scale of ${scale} to fit. `);
    expect(rendering.warnings).toMatchObject([{ code: 'scaled_to_fit', message }]);
  };
  return { source, page: wide(width), request: print(pdf), right };
}

async function keepsSize(rendering: Rendering): Promise<void> {
  expect(await find(rendering, 'Start')).toMatchObject({ size: near(16 * POINTS_PER_PX) });
  expect(rendering.warnings).toEqual([]);
}

function named(source: string, request: Report['request'], alts: string[]): Report {
  const names = { title: 'Größe (1) – 測試', language: 'de-CH', alts };
  return {
    source,
    page: NAMED,
    ...(request && { request }),
    right: async ({ content }) => expect(await pdfNames(content)).toEqual(names),
  };
}
