import { CaptureError } from '../../contract/capture-error.js';
import type { PdfOption } from '../../contract/capture-request.js';
import { CSS_PX_PER_INCH } from '../../contract/pdf-schema.js';
import { PDF_PAPER_INCHES, PDF_SCALE } from '../../contract/limits.js';
import { monotonicNow } from '../monotonic-now.js';
import { type BoundedPage, boundedPage, untilDeadline } from './bounded-page.js';
import { withoutFirstHeader } from './first-page.js';
import { MEASURE_SCALE, setDensity } from './metrics.js';
import { withLanguage } from './pdf-language.js';
import type { Picture, PictureOrder } from './picture.js';
import { type PrintOptions, printStream } from './print-stream.js';
import { EMPTY_TEMPLATE, type Margins, printTemplate } from './print-template.js';
import { readPdf } from './read-pdf.js';
import { type Sheet, sheetOf } from './sheet.js';

/**
 * Prints a PDF on sheets of paper, with margins, headers and footers (extensions.md, `pdf`).
 * @throws CaptureError `invalid_request` for page ranges beyond the document, margins that leave no room, and templates that
 * cannot be printed; `render_timeout`
 */
export async function takePagedPdf(order: PictureOrder, pdf: PdfOption): Promise<Picture> {
  const { session, options, deadline } = order;
  const begun = performance.now();
  const leftMs = deadline - monotonicNow();
  const page = boundedPage(session, deadline);
  const { pageHeight } = await page.call('scroll.measure');
  await untilDeadline(session, deadline, () => session.page.emulateMedia({ media: pdf.media }));
  const sheet = sheetOf(pdf, await page.call('rules.ownPage'));
  const fit = pdf.fitWidth ? await fitWidth(order, page, { scale: pdf.scale, sheet }) : null;
  if (!pdf.fitWidth) await page.call('print.keepWidth');
  const { language } = await page.call('print.documentNames');
  const print = () => printStream(session.cdp, toPrintOptions(pdf, { scale: fit?.scale ?? pdf.scale, margins: sheet.margins }));
  const printed = await untilDeadline(session, deadline, print).catch((error: unknown) => {
    throw error instanceof CaptureError && error.code === 'render_timeout' ? tooLong(leftMs) : asRefusal(error, pdf);
  });
  const content = withLanguage(pdf.firstPageHeader ? printed : await withoutHeaderOnFirst(printed, pdf, sheet), language);
  const { width, height, pages } = readPdf(content);
  return {
    content,
    width,
    height,
    ...(fit?.fitted === undefined ? {} : { fitted: fit.fitted }),
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

function toPrintOptions(pdf: PdfOption, { scale, margins }: { scale: number; margins: Margins }): PrintOptions {
  const { headerTemplate, footerTemplate } = pdf;
  const templates = {
    headerTemplate: headerTemplate === null ? EMPTY_TEMPLATE : printTemplate('header', headerTemplate, margins),
    footerTemplate: footerTemplate === null ? EMPTY_TEMPLATE : printTemplate('footer', footerTemplate, margins),
  };
  return {
    ...(headerTemplate === null && footerTemplate === null ? {} : { displayHeaderFooter: true, ...templates }),
    printBackground: pdf.printBackground,
    preferCSSPageSize: pdf.preferCssPageSize,
    scale,
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

/** Only page 1 of the document is affected, which `page_ranges` may exclude. */
async function withoutHeaderOnFirst(printed: Buffer, pdf: PdfOption, { margins }: Sheet): Promise<Buffer> {
  const { headerTemplate, footerTemplate, pageRanges } = pdf;
  const hasFirst = pageRanges === null || pageRanges.split(',').some((range) => Number.parseInt(range, 10) === 1);
  if (!hasFirst || (headerTemplate === null && footerTemplate === null)) return printed;
  return await withoutFirstHeader(printed, { hasMargins: Object.values(margins).some((margin) => margin > 0) });
}

/**
 * Rounds inches to the nearest point. Chromium rounds the paper's sides up to whole points, which makes A4 596 points wide
 * instead of 595.
 */
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

/** Translates the browser's message about options that it cannot print with. For a template, it only says that printing failed. */
function asRefusal(error: unknown, { headerTemplate, footerTemplate }: PdfOption): unknown {
  const reason = error instanceof Error ? error.message : '';
  const isPlain = headerTemplate === null && footerTemplate === null;
  const template = headerTemplate === null ? 'pdf.footer_template' : footerTemplate === null ? 'pdf.header_template' : 'pdf';
  const [, path, message] =
    (
      [
        [/page range/i, 'pdf.page_ranges', 'names pages that the document does not have'],
        [/content area is empty|invalid print parameters/i, 'pdf.margin', 'leaves no room on the paper'],
        [/printing failed/i, isPlain ? null : template, 'has HTML that cannot be printed: templates load nothing from the network'],
      ] as const
    ).find(([pattern]) => pattern.test(reason)) ?? [];
  if (typeof path !== 'string' || message === undefined) return error;
  return new CaptureError({
    code: 'invalid_request',
    message: `\`${path}\` ${message}.`,
    details: { issues: [{ path, message }] },
    cause: error,
  });
}

/** Chromium shrinks a page that is wider than its paper by itself, up to this factor. */
const CHROMIUM_SHRINK_MAX = 1.5;
/** The page is measured several times, since a wider layout may make it wider again. */
const MEASURES_MAX = 5;
/** Chromium rounds the paper to whole points, so a page that is wider by less than this factor fits. */
const TOLERANCE = 1.01;
/** A page that remains wider than its layout by about the same factor never fits. */
const SAME_FACTOR = 0.9;

/**
 * The scale at which the page's content fits the paper's width. Chromium's own shrinking is left to it, since it knows the
 * paper best; `fitted` is the resulting scale.
 */
async function fitWidth(
  order: PictureOrder,
  page: BoundedPage,
  { scale, sheet }: { scale: number; sheet: Sheet },
): Promise<{ scale: number } & Pick<Picture, 'fitted'>> {
  // A page's own `@page` rule may leave no room, or request more than any paper has.
  if (!(sheet.contentWidth > 0 && sheet.contentWidth <= PDF_PAPER_INCHES.max)) return { scale };
  const paper = (sheet.contentWidth * CSS_PX_PER_INCH) / scale;
  const widest = (paper * scale * CHROMIUM_SHRINK_MAX) / PDF_SCALE.min;
  let width = paper;
  let content = await contentWidth(order, page, width);
  const first = content / paper;
  for (let measures = 1; measures < MEASURES_MAX && content > width * TOLERANCE && width < widest; measures++) {
    width = Math.min(content, widest);
    content = await contentWidth(order, page, width);
  }
  const { view } = order.options;
  await setDensity(order.session, { view, density: view.deviceScaleFactor, deadline: order.deadline });
  if (width === paper && sheet.shrink <= TOLERANCE) return { scale };
  const neverFits = width > paper && content / width > first * SAME_FACTOR;
  const shrink = neverFits ? Math.min(first, CHROMIUM_SHRINK_MAX) : width / paper;
  return {
    scale: shrink <= CHROMIUM_SHRINK_MAX ? scale : Math.max(PDF_SCALE.min, scale / shrink),
    fitted: { scale: scale / shrink / sheet.shrink, isCut: content > width * TOLERANCE },
  };
}

/** The content's width in CSS px, with the page laid out at this width as on paper. */
async function contentWidth({ session, options, deadline }: PictureOrder, page: BoundedPage, width: number): Promise<number> {
  const view = { ...options.view, width: Math.max(1, Math.round(width)), isMobile: false };
  await setDensity(session, { view, density: options.view.deviceScaleFactor, scale: MEASURE_SCALE, deadline });
  return await page.call('print.contentWidth');
}
