import { buffer } from 'node:stream/consumers';
import type { StoppedReason } from '../../contract/capture-data.js';
import { CaptureError, refusedField } from '../../contract/capture-error.js';
import {
  type CaptureOptions,
  defaultOptions,
  isOwnDocument,
  type PdfOption,
  type View,
} from '../../contract/capture-request.js';
import { conformancesOf } from '../../contract/document-schema.js';
import { PDF_PAGE_MAX_PX, PDF_PAPER_INCHES, PDF_SCALE } from '../../contract/limits.js';
import { CSS_PX_PER_INCH, lengthToInches, PAPER_INCHES } from '../../contract/pdf-schema.js';
import type { Overlay } from '../../pdf/draw-over.js';
import type { PdfEdits } from '../../pdf/edit-pdf.js';
import type { PdfFile } from '../../pdf/pdf-files.js';
import { monotonicNow } from '../deadlines.js';
import { encodeStrips, encodingOf, SectionStore, type Strips } from '../encode/encode.js';
import type { PageBox } from '../in-page/print.js';
import { advanceTime, type TimedPage } from '../page/page-clock.js';
import { type BoundedPage, boundedPage, untilDeadline } from '../page-session.js';
import { arrangeFullPage, capturedHeight, fitScrollers, keepMissing, type ScrollReport } from './full-page.js';
import { pagesAlike, printedPages, rangesOf } from './page-headers.js';
import { showPictures } from './paper-pictures.js';
import { type PrintOptions, printStream } from './print-stream.js';
import {
  diagnosticsOf,
  MEASURE_SCALE,
  type Picture,
  type PictureTask,
  setDensity,
  takeRows,
} from './region-picture.js';

/** Scripts that react to the viewport's size do so before the next frame is painted, or after this time, in ms. */
const NO_FRAME_MS = 100;

/**
 * Makes one of three kinds of PDF (decisions.md, PDF): printed on pages of the view's size, printed on one continuous page,
 * or made of the whole page's rendered pixels. A page that cannot be printed faithfully on one page is made of pixels too.
 */
export async function takePdf(task: PictureTask, scroll: ScrollReport): Promise<Picture> {
  task.pdfs.prepare();
  const { page, session, options, deadline } = task;
  const { view, fullPage, fullPageAlgorithm, maxHeight } = options;
  if (fullPage && fullPageAlgorithm === 'by_sections') return packPixels(task, scroll);
  await page.call('print.endTransitions');
  await setDensity(page, view);
  await untilDeadline(session, deadline, () => session.page.emulateMedia({ media: 'screen' }));
  await page.call('print.overridePageRules');
  if (await page.call('print.placeFixed', { isForPaper: true })) await page.call('print.hideUnseen');
  await page.call('scrollers.expandAgain');
  await showPictures(task, view, { backgrounds: true });
  const { pageHeight } = await page.call('scroll.measure');
  const hides = await page.callAll(['scrollers.hidesContent'], ...LACKS);
  const lacks = scroll.lacksContent || hides.includes(true);
  const height = capturedHeight(scroll, pageHeight, maxHeight);
  const fits = height <= PDF_PAGE_MAX_PX;
  const paperHeight = !fullPage ? view.height : fits ? height : PDF_PAGE_MAX_PX;
  if (!fullPage) await page.call('print.placePinned', height);
  else if (!(await prepareForPaper(task, { pageHeight, height, paperHeight }))) {
    await page.call('print.restoreStyles');
    return packPixels({ ...task, options: { ...options, fullPageAlgorithm: 'by_sections' } }, scroll);
  }
  if (height < pageHeight || (fullPage && fits)) await page.call('print.fixPageHeight', height);
  const content = await printStream(page, {
    paperWidth: view.width / CSS_PX_PER_INCH,
    paperHeight: paperHeight / CSS_PX_PER_INCH,
    pageRanges: fullPage && fits ? '1' : '',
  });
  return printedPicture(task, await finish(task, content, {}), {
    pageHeight,
    stoppedReason: !fullPage && pageHeight <= view.height ? 'viewport' : scroll.stoppedReason,
    truncated: lacks || height < pageHeight - 0.5 || scroll.stoppedReason !== 'end_of_page',
    lacksContent: lacks,
  });
}

/** Edits a PDF of the browser within the time limit, large ones one at a time. */
function edit({ pdfs, encodes, deadline, deadlines }: PictureTask, content: Buffer, edits: PdfEdits): Promise<PdfFile> {
  const limits = { timeoutMs: Math.max(1, deadline - monotonicNow()), signal: deadlines.signal };
  return encodes.run(content.length, () => pdfs.edit(content, edits, limits));
}

/** Makes the last edits, for which the page is not needed any more. */
function finish(task: PictureTask, content: Buffer, edits: PdfEdits): Promise<PdfFile> {
  task.onShot?.();
  return edit(task, content, edits);
}

/** The picture of a PDF that the browser has printed. */
function printedPicture(
  { options, begun }: PictureTask,
  { pages, ...file }: PdfFile,
  printed: { pageHeight: number; stoppedReason: StoppedReason; truncated: boolean } & Pick<
    Picture,
    'lacksContent' | 'fitted' | 'isUnsettled'
  >,
): Picture {
  const { pageHeight, stoppedReason, truncated, ...found } = printed;
  return {
    ...file,
    ...found,
    diagnostics: {
      algorithm: 'native',
      sections: pages,
      deviceScaleFactor: options.view.deviceScaleFactor,
      scrollHeight: pageHeight,
      stoppedReason,
      truncated,
    },
    timings: { begun, shoot: performance.now() - begun, encode: 0 },
  };
}

/**
 * Makes the layout independent of the viewport's height, since print makes the paper the viewport: `100vh` would be the
 * whole page's height. All heights are in CSS px.
 * @returns whether the page looks the same on paper as in the view
 */
async function prepareForPaper(
  { page, options: { view } }: PictureTask,
  { pageHeight, height, paperHeight }: { pageHeight: number; height: number; paperHeight: number },
): Promise<boolean> {
  const onPaper = async <Result>(look: () => Promise<Result>): Promise<Result> => {
    await setDensity(page, { ...view, height: Math.ceil(paperHeight) }, { scale: MEASURE_SCALE });
    const result = await look();
    await setDensity(page, view);
    await page.call('frames.passFrames', 1, NO_FRAME_MS);
    return result;
  };
  await page.call('print.recordQueries');
  await onPaper(() => page.call('print.keepChangedQueries'));
  await page.call('print.fixHeights');
  await page.call('print.placePinned', height);
  await page.call('print.recordLayout');
  return await onPaper(() => page.call('print.hasSameLayout', pageHeight));
}

async function packPixels(task: PictureTask, scroll: ScrollReport): Promise<Picture> {
  const { page, session, begun, encodes } = task;
  await using store = await SectionStore.open(session.temporaryDir, false, task.debug);
  const { region, apart, lacks, ...reason } = await arrangeFullPage(task, scroll, 'png');
  const taken = await takeRows(task, region, { store, apart });
  const names = await page.call('print.documentNames');
  const strips = await store.strips();
  const shot = performance.now();
  const content = await encodes.run(strips.width * strips.height, () =>
    pixelPdf(strips, { density: region.density, ...names }),
  );
  const { pages, ...file } = await edit(task, content, {});
  return {
    ...file,
    ...lacks,
    diagnostics: diagnosticsOf(region, taken, reason),
    timings: { begun, shoot: shot - begun, encode: performance.now() - shot },
  };
}

const POINTS_PER_CSS_PX = 72 / 96;

/**
 * Makes a PDF of rendered pixels with one image per page, and as few pages as the format's largest page allows.
 * @param options.density px per CSS px
 * @param options.title the document's title; empty if it has none
 * @param options.language the document's declared language; empty if it declares none
 */
async function pixelPdf(
  strips: Strips,
  { density, title, language }: { density: number; title: string; language: string },
): Promise<Buffer> {
  // Loaded when first needed, since it would cost every start 20 MB and a tenth of a second.
  const { default: PDFDocument } = await import('pdfkit');
  const document = new PDFDocument({
    autoFirstPage: false,
    margin: 0,
    ...(title === '' ? {} : { info: { Title: title }, displayTitle: true }),
    ...(language === '' ? {} : { lang: language }),
  });
  const whole = buffer(document);
  const mostRows = Math.floor(PDF_PAGE_MAX_PX * density);
  for (let top = 0; top < strips.height; top += mostRows) {
    const rows = { top, height: Math.min(mostRows, strips.height - top) };
    // interface.md has `quality` for jpeg and webp only, so the request's is not used.
    const { content } = await encodeStrips(strips, encodingOf(defaultOptions(), 'jpeg'), rows);
    const [width, height] = [strips.width, rows.height].map((px) => (px / density) * POINTS_PER_CSS_PX) as [
      number,
      number,
    ];
    document.addPage({ size: [width, height], margin: 0 });
    document.image(content, 0, 0, { width, height });
  }
  document.end();
  return await whole;
}

/** The page's time for what its scripts do before it is printed, such as drawing charts at the paper's width, in ms. */
const BEFORE_PRINT_MS = 500;
const BEFORE_PRINT_MAX_MS = 2_000;

/**
 * Lays a running page out as on paper, and lets its scripts react: to the medium, to the paper's width, and to `beforeprint`.
 * @param deadline ms by `monotonicNow`
 * @returns false for a page in which nothing can react, and which was not scrolled through either
 */
export async function prepareToPrint(
  timed: TimedPage,
  { pdf, view }: CaptureOptions,
  deadline: number,
): Promise<boolean> {
  const { session } = timed;
  const page = boundedPage(session, deadline);
  const emulate = async () => {
    if (pdf !== null) await untilDeadline(session, deadline, () => session.page.emulateMedia({ media: pdf.media }));
  };
  const [isStill] = await page.callAll(['scroll.isStill'], ['print.noteFixed']);
  if (!isStill) await keepMissing(timed, page, monotonicNow() + (deadline - monotonicNow()) / 2);
  await emulate();
  if (isStill) return false;
  const sheet = pdf === null ? null : sheetOf(pdf, await page.call('print.ownPage'));
  const width = sheet === null || pdf === null ? 0 : (sheet.contentWidth * CSS_PX_PER_INCH) / pdf.scale;
  const onPaper = sheet !== null && isOnPaper(sheet) && Math.round(width) > 0;
  if (onPaper) {
    const isSet = sheet.mediaShare !== 1 && (await page.call('print.setWidth', Math.round(width)));
    const told = Math.max(1, Math.round(isSet ? width * sheet.mediaShare : width));
    await setDensity(page, { ...view, width: told, isMobile: false });
  }
  const since = performance.now();
  await page.call('print.announce', 'beforeprint');
  const react = () =>
    advanceTime(timed, BEFORE_PRINT_MS, { realMs: BEFORE_PRINT_MAX_MS, sliceMs: BEFORE_PRINT_MS / 2, holds: false });
  await react();
  if (onPaper && pdf?.fitWidth === true) {
    const content = await page.call('print.contentWidth');
    // Chromium shrinks the page by itself. Its media queries and its window remain as they are.
    if (content > width * TOLERANCE && content <= width * CHROMIUM_SHRINK_MAX) {
      await page.call('print.setWidth', content);
      await react();
    }
  }
  if (await page.call('scrollers.hasExpanded')) await fitScrollers(timed, page, since);
  return true;
}

/** Whether a page lacks, as it will be printed, something that it has shown. */
const LACKS = [['putBack.lacksPart'], ['virtualized.hasEmptyParts'], ['transformedContent.hidesPart']] as const;

/** Puts parts that were visible while scrolling, and are hidden again, back into a stopped page. */
export async function putBackSeen(page: Pick<BoundedPage, 'call'>): Promise<void> {
  await page.call('putBack.putBackMissing');
  await page.call('frames.endMotion');
}

/** Whether the browser prints the PDF of these options, and does not join pictures. */
export function isPrinted({ format, pdf, fullPage, fullPageAlgorithm }: CaptureOptions): boolean {
  return format === 'pdf' && (pdf !== null || !fullPage || fullPageAlgorithm === 'native');
}

/**
 * Prints a PDF on sheets of paper, with margins, headers and footers (extensions.md, `pdf`).
 * @throws CaptureError `invalid_request` for page ranges beyond the document, margins that leave no room, and templates that
 * cannot be printed; `render_timeout`
 */
export async function takePagedPdf(task: PictureTask, pdf: PdfOption): Promise<Picture> {
  const { page, deadline } = task;
  task.pdfs.prepare();
  const leftMs = deadline - monotonicNow();
  const [, , ...hides] = await page.callAll(['print.endTransitions'], ['print.setWidth', null], ...LACKS);
  const lacks = hides.includes(true);
  await setDensity(page, task.options.view);
  const [hasFixed, { pageHeight }, own] = await page.callAll(
    ['print.placeFixed', { isForPaper: isOwnDocument(task.options) }],
    ['scroll.measure'],
    ['print.ownPage'],
  );
  const sheet = sheetOf(pdf, own);
  const unfitted: Fit = { scale: pdf.scale, hasWide: false };
  const fit = pdf.fitWidth ? await fitWidth(task, { scale: pdf.scale, sheet }) : unfitted;
  if (!pdf.fitWidth) await page.call('print.keepWidth');
  const onPaper = onSheet(task, sheet, fit);
  if (hasFixed || fit.hasWide) {
    await setDensity(
      page,
      { ...onPaper, height: Math.max(1, toPx(sheet.contentHeight, sheet, fit)) },
      { scale: MEASURE_SCALE },
    );
    await page.call('print.arrangeOnPaper');
    if (fit.hasWide) await page.call('print.fitWide');
    await setDensity(page, task.options.view);
  }
  await showPictures(task, onPaper, { backgrounds: pdf.printBackground });
  if (pdf.place !== undefined) await page.call('pageNumbers.nameParts');
  const [names, , { targets, references }] = await page.callAll(
    ['print.documentNames'],
    ['print.keepHeadings'],
    ['pageNumbers.findTargets', pdf.place ?? { before: 0, pages: {} }],
  );
  const edits = documentEdits(pdf.place === undefined ? pdf : {}, names);
  const print: Print = (paper) =>
    printStream(page, toPrintOptions(paper, fit.scale, sheet.margins)).catch((error: unknown) => {
      throw error instanceof CaptureError && error.code === 'render_timeout' ? tooLong(leftMs) : asRefusal(error, pdf);
    });
  const bare = pdf.headers === undefined ? pdf : { ...pdf, headerTemplate: null, footerTemplate: null };
  const { printed, paper, isUnsettled } =
    pdf.singlePage === true
      ? { ...(await printOnOne(task, bare, { sheet, fit, print })), isUnsettled: false }
      : { ...(await printNumbered(task, bare, { print, targets })), paper: pdf.paper };
  const file =
    pdf.headers === undefined
      ? await finish(task, printed, { ...edits, describe: pdf.place !== undefined })
      : await addHeaders(task, { ...pdf, paper }, { printed, print, edits });
  const { fitted } = fit;
  const found = {
    pageHeight,
    stoppedReason: 'end_of_page',
    truncated: lacks,
    lacksContent: lacks,
    isUnsettled,
  } as const;
  const { description, ...rest } = file;
  return {
    ...printedPicture(task, rest, fitted === undefined ? found : { ...found, fitted }),
    ...(description === undefined
      ? {}
      : { part: { ...description, margin: sheet.margins, isNumbered: targets.length > 0, references } }),
  };
}

type Print = (paper: PdfOption) => Promise<Buffer>;

/** The number of times that a document is printed again for its page numbers, which may move what they count. */
const NUMBERINGS_MAX = 3;

export const PAGE_NUMBERS_UNSETTLED = {
  code: 'page_numbers_unsettled',
  message:
    'Page numbers in the text may be wrong: each time they were set, the text moved to other pages. Give the elements that show them a fixed width.',
} as const;

/** Prints a document with the numbers of the pages that it refers to. */
async function printNumbered(
  task: PictureTask,
  pdf: PdfOption,
  { print, targets }: { print: Print; targets: string[] },
): Promise<{ printed: Buffer; isUnsettled: boolean }> {
  const { page } = task;
  if (targets.length === 0) return { printed: await print(pdf), isUnsettled: false };
  for (let again = 0; ; again++) {
    const whole = await print({ ...pdf, pageRanges: null });
    const { content, targetPages = [] } = await edit(task, whole, { targets });
    const isUnsettled = await page.call('pageNumbers.showPages', targetPages);
    if (!isUnsettled || again === NUMBERINGS_MAX)
      return { printed: pdf.pageRanges === null ? content : await print(pdf), isUnsettled };
  }
}

const HEADERS_MAX_BYTES = 96 * 1024 * 1024;

/** Prints the headers and footers of each kind of page on empty pages, and draws these over the document's. */
async function addHeaders(
  task: PictureTask,
  pdf: PdfOption,
  { printed, print, edits }: { printed: Buffer; print: Print; edits: PdfEdits },
): Promise<PdfFile> {
  const { content, pages: count } = await edit(task, printed, {});
  const { page } = task;
  const plain = { ...pdf, outline: false, tagged: false };
  const overlays: Overlay[] = [];
  await page.call('print.hideContent', true);
  const numbers = printedPages(pdf.pageRanges, count);
  const isPart = pdf.pageRanges !== null && pdf.headers?.some(({ pages }) => /last/i.test(pages)) === true;
  const pages = isPart ? (await edit(task, await print({ ...plain, pageRanges: null }), {})).pages : count;
  let bytes = 0;
  for (const { places, ...templates } of pagesAlike(pdf, { printed: numbers, pages })) {
    const pageRanges = rangesOf(places.map((place) => numbers[place] ?? 0));
    const drawn = await print({ ...plain, ...templates, pageRanges });
    bytes += drawn.length;
    if (bytes > HEADERS_MAX_BYTES)
      throw refusedField('pdf.headers', 'has more headers and footers than fit into a file');
    overlays.push({ content: drawn, places });
  }
  await page.call('print.hideContent', false);
  return await finish(task, content, { ...edits, overlays });
}

/** The edits for the fields of a document. Its metadata are those of the page by default. */
export function documentEdits(
  { document = {} }: Pick<PdfOption, 'document'>,
  { title, description, language }: { title: string; description: string; language: string },
): PdfEdits {
  const { metadata, attachments = [], facturx, password } = document;
  const byPage = { ...(title === '' ? {} : { title }), ...(description === '' ? {} : { subject: description }) };
  return {
    language,
    field: 'pdf.',
    metadata: { ...byPage, ...metadata },
    conformance: conformancesOf(document),
    attachments: attachments.map(({ content = '', mime_type: mimeType, description: text = null, ...file }) => ({
      ...file,
      content: Buffer.from(content, 'base64'),
      mimeType,
      description: text,
    })),
    ...(facturx === undefined ? {} : { facturx }),
    ...(password === undefined ? {} : { password }),
  };
}

/** The room that is added if the document, on paper, is higher than it was measured. */
const MORE_ROOM = 1.1;

/**
 * Prints on a sheet that is as high as the document.
 * @throws CaptureError `invalid_request` for a document that is too high
 */
async function printOnOne(
  task: PictureTask,
  pdf: PdfOption,
  { sheet, fit, print }: { sheet: Sheet; fit: Fit; print: Print },
): Promise<{ printed: Buffer; paper: PdfOption['paper'] }> {
  const scale = fit.fitted?.scale ?? fit.scale;
  await task.page.call('print.ignorePages');
  const paper = Math.round((sheet.contentWidth * CSS_PX_PER_INCH) / pdf.scale);
  const width = toPx(sheet.contentWidth, sheet, fit);
  const { top, bottom } = sheet.margins;
  // Media queries are told the width of the paper even if Chromium then shrinks the page by itself.
  for (const media of width > paper && width <= paper * CHROMIUM_SHRINK_MAX ? [width, paper] : [width]) {
    const pageHeight = await heightOnPaper(task, { width, media });
    for (const room of [1, MORE_ROOM]) {
      // A point more, since Chromium rounds the paper to whole points (puppeteer#2278).
      const height = ((pageHeight * scale) / CSS_PX_PER_INCH) * room + top + bottom + 1 / 72;
      if (height > PDF_PAPER_INCHES.max) break;
      const one = { ...pdf.paper, height: Math.max(height, PDF_PAPER_INCHES.min) };
      const { content, pages } = await edit(task, await print({ ...pdf, paper: one }), {});
      if (pages <= 1) return { printed: content, paper: one };
    }
  }
  throw refusedField(
    'pdf.single_page',
    `cannot be true for this page: it is higher than ${PDF_PAPER_INCHES.max} inches of paper`,
  );
}

function toPrintOptions(pdf: PdfOption, scale: number, margins: Margins): PrintOptions {
  const { headerTemplate, footerTemplate } = pdf;
  const templateOf = (part: PagePart, html: string | null) =>
    html === null ? EMPTY_TEMPLATE : printTemplate(part, html, margins);
  const templates = {
    headerTemplate: templateOf('header', headerTemplate),
    footerTemplate: templateOf('footer', footerTemplate),
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
    generateTaggedPDF: pdf.tagged || pdf.outline || conformancesOf(pdf.document ?? {}).includes('pdf/ua-1'),
    generateDocumentOutline: pdf.outline,
  };
}

type PagePart = 'header' | 'footer';

/**
 * Rounds inches to the nearest point. Chromium 156 rounds the paper's sides up to whole points, which makes A4 596 points wide
 * instead of 595 (puppeteer#2278).
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
function asRefusal(error: unknown, { headerTemplate, footerTemplate, headers }: PdfOption): unknown {
  const reason = error instanceof Error ? error.message : '';
  const isPlain = headerTemplate === null && footerTemplate === null && headers === undefined;
  const template =
    headers !== undefined
      ? 'pdf.headers'
      : headerTemplate === null
        ? 'pdf.footer_template'
        : footerTemplate === null
          ? 'pdf.header_template'
          : 'pdf';
  const [, path, message] =
    (
      [
        [/page range/i, 'pdf.page_ranges', 'names pages that the document does not have'],
        [/content area is empty|invalid print parameters/i, 'pdf.margin', 'leaves no room on the paper'],
        [
          /printing failed/i,
          isPlain ? null : template,
          'has HTML that cannot be printed: templates load nothing from the network',
        ],
      ] as const
    ).find(([pattern]) => pattern.test(reason)) ?? [];
  return typeof path !== 'string' || message === undefined ? error : refusedField(path, message, { cause: error });
}

/** Chromium shrinks a page that is wider than its paper by itself, up to this factor (Blink, print_context.h). */
const CHROMIUM_SHRINK_MAX = 1.5;
/** The page is measured several times, since a wider layout may make it wider again. */
const MEASURES_MAX = 5;
/** Chromium rounds the paper to whole points, so a page that is wider by less than this factor fits. */
const TOLERANCE = 1.01;
/** A page that remains wider than its layout by about the same factor never fits. */
const SAME_FACTOR = 0.9;

interface Fit extends Pick<Picture, 'fitted'> {
  /** The scale that is asked of the browser. */
  scale: number;
  /** Whether tables or code are in boxes that scroll where the page is as narrow as the paper. */
  hasWide: boolean;
}

/**
 * The scale at which the page's content fits the paper's width. Chromium's own shrinking is left to it, since it knows the
 * paper best; `fitted` is the resulting scale.
 */
async function fitWidth(task: PictureTask, { scale, sheet }: { scale: number; sheet: Sheet }): Promise<Fit> {
  if (!isOnPaper(sheet)) return { scale, hasWide: false };
  const paper = (sheet.contentWidth * CSS_PX_PER_INCH) / scale;
  const widest = (paper * scale * CHROMIUM_SHRINK_MAX) / PDF_SCALE.min;
  let width = paper;
  let { content, hasWide } = await measureOnPaper(task, width);
  const first = content / paper;
  for (let measures = 1; measures < MEASURES_MAX && content > width * TOLERANCE && width < widest; measures++) {
    width = Math.min(content, widest);
    ({ content, hasWide } = await measureOnPaper(task, width));
  }
  await setDensity(task.page, task.options.view);
  if (width === paper && sheet.shrink <= TOLERANCE) return { scale, hasWide };
  const neverFits = width > paper && content / width > first * SAME_FACTOR;
  const shrink = neverFits ? Math.min(first, CHROMIUM_SHRINK_MAX) : width / paper;
  return {
    hasWide,
    scale: shrink <= CHROMIUM_SHRINK_MAX ? scale : Math.max(PDF_SCALE.min, scale / shrink),
    fitted: { scale: scale / shrink / sheet.shrink, isCut: content > width * TOLERANCE },
  };
}

/** A page's own `@page` rule may leave no room, or request more than any paper has. */
function isOnPaper({ contentWidth }: Sheet): boolean {
  return contentWidth > 0 && contentWidth <= PDF_PAPER_INCHES.max;
}

/** The view with the width, in CSS px, at which the page is laid out on paper. */
function onSheet({ options }: PictureTask, sheet: Sheet, fit: Fit): View {
  const width = toPx(sheet.contentWidth, sheet, fit);
  return isOnPaper(sheet) && width > 0 ? { ...options.view, width, isMobile: false } : options.view;
}

/** Whole CSS px of a page that is scaled to its sheet. `fitted` also has what makes a page of its own size fit the paper. */
function toPx(inches: number, { shrink }: Sheet, { fitted, scale }: Fit): number {
  return Math.round((inches * CSS_PX_PER_INCH) / (fitted === undefined ? scale : fitted.scale * shrink));
}

/** Lays the page out at this width, in CSS px, as on paper. */
async function layOut({ page, options }: PictureTask, width: number): Promise<void> {
  await setDensity(
    page,
    { ...options.view, width: Math.max(1, Math.round(width)), isMobile: false },
    { scale: MEASURE_SCALE },
  );
}

/** The content's width in CSS px, with the page laid out at this width as on paper, and `hasWide`. */
async function measureOnPaper(task: PictureTask, width: number): Promise<{ content: number } & Pick<Fit, 'hasWide'>> {
  await layOut(task, width);
  const [content, hasWide] = await task.page.callAll(['print.contentWidth'], ['print.hasWide']);
  return { content, hasWide };
}

/**
 * The page's height in CSS px, with the page laid out at this width as on paper.
 * @param options.media the width that media queries are told, in CSS px
 */
async function heightOnPaper(task: PictureTask, { width, media }: { width: number; media: number }): Promise<number> {
  const { page, options } = task;
  await layOut(task, media);
  if (media !== width) await page.call('print.setWidth', Math.round(width));
  const { pageHeight } = await page.call('scroll.measure');
  if (media !== width) await page.call('print.setWidth', null);
  await setDensity(page, options.view);
  return pageHeight;
}

/** The layout of a page on paper, in inches. */
interface Sheet {
  /** The factor by which the page's own `@page` size exceeds its printed size; 1 if it fits the paper. */
  shrink: number;
  /** The size between the margins, at a scale of 1 and before `shrink`. */
  contentWidth: number;
  contentHeight: number;
  /** Distances from the edges of the paper to the content. */
  margins: Margins;
  /**
   * The width that media queries are told, as a share of the content's width: that of the request's paper, also where the page has a larger
   * size of its own (Chromium 156).
   */
  mediaShare: number;
}

/** A page that is wider than the paper by less, such as letter on A4, has the same columns. */
const LARGER = 1.1;

/**
 * The position of a page's content on paper. The page's own `@page` rules take precedence over the request's margins, as in Chromium.
 * A single page is as high as its content, whatever size the page has.
 */
export function sheetOf(
  pdf: Pick<PdfOption, 'paper' | 'margin' | 'preferCssPageSize' | 'singlePage'>,
  own: PageBox,
): Sheet {
  const page = (pdf.singlePage === true ? null : sizeOf(own.size, pdf.paper)) ?? pdf.paper;
  const margin = onEachSide((side) => lengthToInches(own[`margin-${side}`] ?? '') ?? pdf.margin[side]);
  const contentWidth = page.width - margin.left - margin.right;
  const contentHeight = page.height - margin.top - margin.bottom;
  const toldWidth = pdf.paper.width - pdf.margin.left - pdf.margin.right;
  const mediaShare = page.width < pdf.paper.width * LARGER ? 1 : Math.min(1, toldWidth / contentWidth);
  const content = { contentWidth, contentHeight, mediaShare };
  if (pdf.preferCssPageSize) return { ...content, shrink: 1, margins: margin };
  // A page of another size than the paper is centered on it, and shrunk to fit.
  const printed = Math.min(1, pdf.paper.width / page.width, pdf.paper.height / page.height);
  const aside = (pdf.paper.width - page.width * printed) / 2;
  const above = (pdf.paper.height - page.height * printed) / 2;
  const margins = onEachSide((side) => (side === 'left' || side === 'right' ? aside : above) + margin[side] * printed);
  return { ...content, shrink: 1 / printed, margins };
}

function onEachSide(marginOf: (side: Side) => number): Margins {
  return { top: marginOf('top'), right: marginOf('right'), bottom: marginOf('bottom'), left: marginOf('left') };
}

/** The size specified by the property `size`; null if there is none. */
function sizeOf(size: string | undefined, paper: PdfOption['paper']): PdfOption['paper'] | null {
  const words = (size ?? '').toLowerCase().split(/\s+/);
  const lengths = words.map(lengthToInches).filter((length) => length !== null);
  const [width, height = width] = lengths;
  const [, named] = Object.entries(PAPER_INCHES).find(([name]) => words.includes(name)) ?? [];
  const found = width !== undefined && height !== undefined ? { width, height } : named;
  const turn = words.find((word) => word === 'landscape' || word === 'portrait');
  if (turn === undefined) return found ?? null;
  const [short, long] = [found ?? paper].flatMap((one) => [one.width, one.height]).sort((a, b) => a - b) as [
    number,
    number,
  ];
  return turn === 'landscape' ? { width: long, height: short } : { width: short, height: long };
}

/** An empty template: in place of one without any text, Chromium prints a date and the title (puppeteer#2027). */
const EMPTY_TEMPLATE = '<span></span>';
/** On a side where the template leaves at least this much room, in inches, its own style is kept. */
const ROOM_MIN_INCHES = 0.1;
/** The default font size. Chromium's is too small to read. */
const FONT_SIZE_PX = 10;
const LINE_PX = 1.2 * FONT_SIZE_PX;

type Side = 'top' | 'right' | 'bottom' | 'left';
/** Margins in inches. */
type Margins = Record<Side, number>;

const SHORTHAND: Side[] = ['top', 'right', 'bottom', 'left'];
/** The sides of a property by its ending, in the order of its values. */
const SIDES_OF: Record<string, Side[]> = {
  '': SHORTHAND,
  ...Object.fromEntries(SHORTHAND.map((side) => [side, [side]])),
  inline: ['left', 'right'],
  'inline-start': ['left'],
  'inline-end': ['right'],
  block: ['top', 'bottom'],
  'block-start': ['top'],
  'block-end': ['bottom'],
};

/**
 * Prepares a template for printing: in a legible size, and as far from the paper's edges as the page's text, except on sides
 * with a padding or margin of its own. Its own style wins, and one line fits into a small margin.
 */
export function printTemplate(part: PagePart, html: string, margins: Margins): string {
  const own = ownSides(html);
  const edge = part === 'header' ? 'top' : 'bottom';
  const rules = (['left', 'right'] as const)
    .filter((side) => !own.has(side))
    .map((side) => `padding-${side}:${px(margins[side])}px`);
  // 15pt is Chromium's own distance from the paper's edge.
  if (!own.has(edge))
    rules.push(`padding-${edge}:min(15pt,${px(Math.max(0, margins[edge] - LINE_PX / CSS_PX_PER_INCH))}px)`);
  return `<style>#${part}{font-size:${FONT_SIZE_PX}px;${rules.join(';')}}</style>${html}`;
}

/** The sides on which the template's styles leave room, anywhere in the template. */
function ownSides(html: string): Set<Side> {
  const own = new Set<Side>();
  for (const [, side = '', text = ''] of html.matchAll(
    /(?<![\w-])(?:padding|margin)(?:-([a-z-]{3,12}))?\s{0,9}:([^;"'}<]{1,100})/gi,
  )) {
    const values = text
      .replace(/!\s*important/i, '')
      .trim()
      .split(/\s+/);
    const sides = SIDES_OF[side.toLowerCase()] ?? [];
    for (const [nth, one] of sides.entries()) if (isRoomy(values[nth] ?? values[nth - 2] ?? values[0])) own.add(one);
  }
  return own;
}

function isRoomy(value = ''): boolean {
  if (value === 'auto' || Number.parseFloat(value) === 0) return false;
  const inches = lengthToInches(value.replace(/^-/, ''));
  return inches === null || inches >= ROOM_MIN_INCHES;
}

function px(inches: number): number {
  return Math.round(inches * CSS_PX_PER_INCH * 100) / 100;
}
