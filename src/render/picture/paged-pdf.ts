import { CaptureError } from '../../contract/capture-error.js';
import type { PdfOption } from '../../contract/extension-options.js';
import { monotonicNow } from '../monotonic-now.js';
import { boundedPage, within } from './bounded-page.js';
import type { Picture, PictureOrder } from './picture.js';
import { type PrintOptions, printStream } from './print-stream.js';
import { readPdf } from './read-pdf.js';

/** Chromium prints a date and the title where a template is not given. */
const EMPTY_TEMPLATE = '<span></span>';
/** Without it, text of a template without a size of its own is too small to read. A template's own style wins. */
const TEMPLATE_STYLE = '<style>#header,#footer{font-size:10px}</style>';

/**
 * A PDF as a browser prints it: on sheets of paper, with margins, headers and footers (extensions.md, `pdf`).
 *
 * @throws CaptureError `invalid_request` for page ranges beyond the document, margins that leave no room, and templates that cannot be printed;
 *   `render_timeout`
 */
export async function takePagedPdf(order: PictureOrder, pdf: PdfOption): Promise<Picture> {
  const { session, options, deadline } = order;
  const begun = performance.now();
  const leftMs = deadline - monotonicNow();
  const page = boundedPage(session, deadline);
  const { pageHeight } = await page.call('scroll.measure');
  await within(session, deadline, () => session.page.emulateMedia({ media: pdf.media }));
  const content = await within(session, deadline, () => printStream(session.cdp, toPrintOptions(pdf))).catch((error: unknown) => {
    throw error instanceof CaptureError && error.code === 'render_timeout' ? tooLong(leftMs) : asRefusal(error, pdf);
  });
  const { width, height, pages } = readPdf(content);
  return {
    content,
    width,
    height,
    diagnostics: {
      algorithm: 'native',
      sections: pages,
      deviceScaleFactor: options.view.deviceScaleFactor,
      scrollHeight: pageHeight,
      stoppedReason: 'end_of_page',
      truncated: false,
    },
    timings: { begun, shoot: performance.now() - begun, encode: 0 },
  };
}

function toPrintOptions(pdf: PdfOption): PrintOptions {
  const { headerTemplate, footerTemplate } = pdf;
  const templates = { headerTemplate: templateOf(headerTemplate), footerTemplate: templateOf(footerTemplate) };
  return {
    ...(headerTemplate === null && footerTemplate === null ? {} : { displayHeaderFooter: true, ...templates }),
    printBackground: pdf.printBackground,
    preferCSSPageSize: pdf.preferCssPageSize,
    scale: pdf.scale,
    paperWidth: toWholePoints(pdf.paper.width),
    paperHeight: toWholePoints(pdf.paper.height),
    marginTop: pdf.margin.top,
    marginBottom: pdf.margin.bottom,
    marginLeft: pdf.margin.left,
    marginRight: pdf.margin.right,
    pageRanges: pdf.pageRanges ?? '',
    generateTaggedPDF: pdf.tagged || pdf.outline,
    generateDocumentOutline: pdf.outline,
  };
}

function templateOf(html: string | null): string {
  return html === null ? EMPTY_TEMPLATE : TEMPLATE_STYLE + html;
}

/** Inches as the nearest point. Chromium rounds the sides of the paper up to whole points, which makes A4 596 points wide instead of 595. */
function toWholePoints(inches: number): number {
  return Math.round(inches * 72) / 72;
}

function tooLong(leftMs: number): CaptureError {
  const seconds = Math.round(leftMs / 1_000);
  return new CaptureError({
    code: 'render_timeout',
    message: `The document could not be printed within ${seconds} s, which is what \`timeout\` leaves for it. Print a long one in parts, with \`pdf.page_ranges\`, or raise \`timeout\`.`,
    details: { waited_for: 'pdf' },
  });
}

/** The browser's message for options that it cannot print with. Of a template it says only that the printing failed. */
function asRefusal(error: unknown, { headerTemplate, footerTemplate }: PdfOption): unknown {
  const said = error instanceof Error ? error.message : '';
  const isPlain = headerTemplate === null && footerTemplate === null;
  const template = headerTemplate === null ? 'pdf.footer_template' : footerTemplate === null ? 'pdf.header_template' : 'pdf';
  const [, path, message] =
    (
      [
        [/page range/i, 'pdf.page_ranges', 'names pages that the document does not have'],
        [/content area is empty|invalid print parameters/i, 'pdf.margin', 'leaves no room on the paper'],
        [/printing failed/i, isPlain ? null : template, 'has HTML that cannot be printed: templates load nothing from the network'],
      ] as const
    ).find(([pattern]) => pattern.test(said)) ?? [];
  if (typeof path !== 'string' || message === undefined) return error;
  return new CaptureError({
    code: 'invalid_request',
    message: `\`${path}\` ${message}.`,
    details: { issues: [{ path, message }] },
    cause: error,
  });
}
