import { z } from 'zod';
import { documentFields, withDocumentRules } from './document-schema.js';
import { isObject, limited } from './field-rules.js';
import * as limits from './limits.js';

/** `pdf` of a capture request (extensions.md). CSS lengths are as Playwright accepts them: a number is CSS px. */

export const CSS_PX_PER_INCH = 96;
const UNITS_PER_INCH: Record<string, number> = { px: CSS_PX_PER_INCH, in: 1, cm: 2.54, mm: 25.4, pt: 72 };

/** @returns inches; null if it is not a length of 0 or more */
export function lengthToInches(length: number | string): number | null {
  if (typeof length === 'number') return Number.isFinite(length) && length >= 0 ? length / CSS_PX_PER_INCH : null;
  const [, amount = '', unit = 'px'] =
    /^(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})(px|in|cm|mm|pt)?$/.exec(length.trim().toLowerCase()) ?? [];
  const perInch = UNITS_PER_INCH[unit];
  return amount === '' || perInch === undefined ? null : Number(amount) / perInch;
}

/** ISO 216 sizes to a ten-thousandth of an inch: rounded to a hundredth, A4 would be a point too wide and too high. */
export const PAPER_INCHES = {
  a0: { width: 33.1102, height: 46.811 },
  a1: { width: 23.3858, height: 33.1102 },
  a2: { width: 16.5354, height: 23.3858 },
  a3: { width: 11.6929, height: 16.5354 },
  a4: { width: 8.2677, height: 11.6929 },
  a5: { width: 5.8268, height: 8.2677 },
  a6: { width: 4.1339, height: 5.8268 },
  letter: { width: 8.5, height: 11 },
  legal: { width: 8.5, height: 14 },
  tabloid: { width: 11, height: 17 },
  ledger: { width: 17, height: 11 },
} as const;
const DEFAULT_PAPER = 'letter';
const PAPER_NAMES = Object.keys(PAPER_INCHES) as (keyof typeof PAPER_INCHES)[];

const length = (description: string, example: string, range = { min: 0, max: 200 }) =>
  z
    .union([z.number(), limited(limits.PDF_LENGTH_MAX_CHARS)], {
      error: 'must be a length such as 10mm, or a number of CSS px',
    })
    .refine((value) => lengthToInches(value) !== null, 'must be a length such as 10mm, 1cm, 0.4in, 12px or 9pt')
    .refine((value) => {
      const inches = lengthToInches(value) ?? range.min;
      return inches >= range.min && inches <= range.max;
    }, `must be between ${range.min} and ${range.max} inches`)
    .meta({ description, example });

const template = (subject: string) =>
  limited(limits.PDF_TEMPLATE_MAX_CHARS)
    .superRefine((text, context) => {
      const construct = loadingConstruct(text);
      if (construct === null) return;
      const message = `must not contain ${construct} with a URL: a template loads nothing from the network; use a <style> element, system fonts and data: URLs`;
      context.addIssue({ code: 'custom', message });
    })
    .optional()
    .meta({
      description: `HTML of the ${subject} on each page. Elements with the classes date, title, url, pageNumber and totalPages are filled in. Visible only within a page margin. Text is 10px high and begins and ends where the page's text does, unless the template sets a font size, or a padding or margin of 0.1in or more on that side. Runs no scripts, and loads nothing but data: URLs`,
      example: '<span style="font-size:9px">Page <span class="pageNumber"></span></span>',
      form: 'long',
    });

const PAGE_CHOICE_RULE =
  'must be page numbers, ranges such as 2-, and the words first, last, left, right, even and odd';

export const pdfFields = z.strictObject({
  paper: z
    .union(
      [
        z.preprocess((name) => (typeof name === 'string' ? name.toLowerCase() : name), z.enum(PAPER_NAMES)),
        z.strictObject({
          width: length('Paper width.', '210mm', limits.PDF_PAPER_INCHES),
          height: length('Paper height.', '297mm', limits.PDF_PAPER_INCHES),
        }),
      ],
      {
        error: `must be one of ${PAPER_NAMES.join(', ')}, or an object of \`width\` and \`height\` between 0.3 and 200 inches`,
      },
    )
    .default(DEFAULT_PAPER)
    .meta({
      description: `paper size: ${PAPER_NAMES.join(', ')} (case does not matter), or width and height`,
      example: 'a4',
    }),
  landscape: z.boolean().default(false).meta({ description: 'turn the paper by 90 degrees', example: false }),
  margin: z
    .union([
      length('All four margins.', '10mm'),
      z.strictObject({
        top: length('Top margin.', '10mm').default(0),
        right: length('Right margin.', '10mm').default(0),
        bottom: length('Bottom margin.', '10mm').default(0),
        left: length('Left margin.', '10mm').default(0),
      }),
    ])
    .prefault({})
    .meta({
      description:
        'page margins: top, right, bottom and left, or one length for all of them; a number is CSS px (default: none)',
      example: { top: '10mm', bottom: '10mm' },
    }),
  scale: z
    .number()
    .min(limits.PDF_SCALE.min)
    .max(limits.PDF_SCALE.max)
    .default(1)
    .meta({ description: 'scale of the rendering, before `fit_width`', example: 1 }),
  print_background: z
    .boolean()
    .default(true)
    .meta({ description: 'print background colors and images', example: true }),
  page_ranges: limited(256)
    .refine(isPageRanges, 'must be page numbers and ranges from 1 up, such as 1-3,5')
    .optional()
    .meta({ description: 'pages to keep (default: all)', example: '1-3,5' }),
  header_template: template('header'),
  footer_template: template('footer'),
  headers: z
    .array(
      z
        .strictObject({
          pages: limited(limits.PDF_PAGE_CHOICE_MAX_CHARS).refine(isPageChoice, PAGE_CHOICE_RULE).meta({
            description:
              'pages that it is for: numbers and ranges such as 1, 3-7, 2- or -3, and the words first, last, left (or even) and right (or odd), separated by commas',
            example: 'first',
          }),
          header: template('header'),
          footer: template('footer'),
        })
        .refine(({ header, footer }) => (header ?? footer) !== undefined, 'needs `header` or `footer`'),
    )
    .max(limits.PDF_HEADERS_MAX)
    .optional()
    .meta({
      description:
        'other headers and footers for some pages: on each page, the first entry that is for the page and has a `header` replaces `header_template`, and likewise for the footer; empty text prints none. Pages are counted in any case',
      example: [{ pages: 'first', header: '' }],
      links: false,
    }),
  fit_width: z.boolean().default(true).meta({
    description:
      'scale content that is wider than the paper down to its width, from `scale` to no less than about 0.07, with the warning `scaled_to_fit`; if false, what is too wide is cut off',
    example: false,
  }),
  prefer_css_page_size: z
    .boolean()
    .default(false)
    .meta({ description: "prefer the page's own @page size over `paper`", example: false }),
  single_page: z.boolean().optional().meta({
    description: 'make the paper as high as the document needs, so that it has one page, up to 200 inches',
    example: true,
  }),
  media: z.enum(['print', 'screen']).default('print').meta({ description: 'CSS media type', example: 'print' }),
  outline: z.boolean().default(false).meta({ description: 'embed an outline made from the headings', example: true }),
  tagged: z.boolean().default(false).meta({ description: 'make a tagged (accessible) PDF', example: true }),
  ...documentFields,
});

export const pdfSchema = withDocumentRules(pdfFields);

const LAYOUT_FIELDS = [
  'paper',
  'landscape',
  'margin',
  'scale',
  'print_background',
  'page_ranges',
  'header_template',
  'footer_template',
  'headers',
  'fit_width',
  'prefer_css_page_size',
  'single_page',
  'media',
] as const;

export type WirePdfLayout = Partial<Pick<WirePdf, (typeof LAYOUT_FIELDS)[number]>>;

/** The layout of one document of several: the fields of `pdf` without their defaults. */
export const pdfLayoutSchema = z.strictObject(
  Object.fromEntries(
    LAYOUT_FIELDS.map((name) => {
      const field = pdfFields.shape[name];
      const { description, example } = field.meta() ?? {};
      const own = field instanceof z.ZodDefault || field instanceof z.ZodPrefault ? field.unwrap() : field;
      return [name, own.optional().meta({ description, example })];
    }),
  ),
) as unknown as z.ZodType<WirePdfLayout>;

/**
 * The construct of a template that asks for a style sheet, script module or font by a URL, with which Chromium fails to print; null if there
 * is none. Found by its usual spelling: what is disguised fails when it is printed.
 */
function loadingConstruct(template: string): string | null {
  const [html] = separate(template, '<!--', '-->');
  if (separate(html, /<link(?=[\s/])/i, '>')[1].some((tag) => /\bhref\s*=(?!["'\s]*data:)/i.test(tag))) return '<link>';
  const [css] = separate(separate(html, /<style(?=[\s/>])/i, /<\/style/i)[1].join('\n'), '/*', '*/');
  if (/@import(?!\s*url\(["'\s]*data:|["'\s]*data:)/i.test(css)) return '@import';
  return separate(css, /@font-face/i, '}')[1].some((rule) => /url\((?!["'\s]*data:)/i.test(rule)) ? '@font-face' : null;
}

/** The text outside of passages with these delimiters, and the passages. Takes time in proportion to the text. */
function separate(text: string, open: string | RegExp, close: string | RegExp): [outside: string, passages: string[]] {
  const [first = '', ...parts] = text.split(open);
  const passages = parts.map((part) => part.split(close, 1)[0] ?? '');
  return [first + parts.map((part, index) => part.slice(passages[index]?.length)).join(''), passages];
}

const PAGE_WORDS: Readonly<Record<string, (page: number, last: number) => boolean>> = {
  first: (page) => page === 1,
  last: (page, last) => page === last,
  left: (page) => page % 2 === 0,
  even: (page) => page % 2 === 0,
  right: (page) => page % 2 === 1,
  odd: (page) => page % 2 === 1,
};

/** The tests of a choice such as `first, 3-7`; null for a part that is none. */
function pageTests(choice: string): (((page: number, last: number) => boolean) | null)[] {
  return choice.split(',').map((part) => {
    const word = part.trim().toLowerCase();
    if (Object.hasOwn(PAGE_WORDS, word)) return PAGE_WORDS[word] ?? null;
    const [found, from = '', dash, to = ''] = /^(\d{0,6})(?:\s*(-)\s*(\d{0,6}))?$/.exec(word) ?? [];
    const least = from === '' ? 1 : Number(from);
    const most = to !== '' ? Number(to) : dash === undefined ? least : Number.POSITIVE_INFINITY;
    return found === undefined || from + to === '' || least < 1 || most < least
      ? null
      : (page) => least <= page && page <= most;
  });
}

function isPageChoice(text: string): boolean {
  return pageTests(text).every((test) => test !== null);
}

/** Whether one of `pdf.headers` is for a page, as a function of the page and the document's number of pages. */
export function pageChooser(choice: string): (page: number, pages: number) => boolean {
  const tests = pageTests(choice);
  return (page, pages) => tests.some((test) => test?.(page, pages) === true);
}

/** As printToPDF parses them: `1-3,5`, each range ascending. */
export function isPageRanges(text: string): boolean {
  return text.split(',').every((part) => {
    const [, from, to] = /^\s*([1-9]\d{0,5})(?:\s*-\s*([1-9]\d{0,5}))?\s*$/.exec(part) ?? [];
    return from !== undefined && (to === undefined || Number(to) >= Number(from));
  });
}

export type WirePdf = z.output<typeof pdfSchema>;

/**
 * A request of somebody who wants a document: a PDF that is not of the full page is printed on paper. The paper is named, since a signed
 * link cannot say that `pdf` is there but empty. The API prints what it is told.
 */
export function printedOnPaper(request: Record<string, unknown>): Record<string, unknown> {
  const { format, full_page: fullPage, pdf = {}, template } = request;
  // A template has a paper of its own.
  if (template !== undefined) return request;
  if (format !== 'pdf' || (fullPage === true && request.pdf === undefined) || !isObject(pdf)) return request;
  return { ...request, pdf: { paper: DEFAULT_PAPER, ...pdf } };
}
