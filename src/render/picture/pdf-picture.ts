import type { StoppedReason } from '../../contract/capture-data.js';
import { CSS_PX_PER_INCH } from '../../contract/pdf-schema.js';
import { PDF_PAGE_MAX_PX } from '../../contract/limits.js';
import { type BoundedPage, boundedPage, untilDeadline } from './bounded-page.js';
import { stitch } from './encode.js';
import { expandPage } from './full-page-picture.js';
import { MEASURE_SCALE, setDensity } from './metrics.js';
import { withLanguage } from './pdf-language.js';
import type { Picture, PictureOrder } from './picture.js';
import { printStream } from './print-stream.js';
import { readPdf } from './read-pdf.js';
import { capturedHeight, type ScrollReport } from './scroll-through.js';
import { SectionStore, type Strips } from './section-store.js';

/** Scripts that react to the viewport's size do so before the next frame is painted, or after this time, in ms. */
const NO_FRAME_MS = 100;

/**
 * Makes one of three kinds of PDF (decisions.md, PDF): printed on pages of the view's size, printed on one continuous page,
 * or made of the whole page's rendered pixels. A page that cannot be printed faithfully on one page is made of pixels too.
 */
export function takePdf(order: PictureOrder, scroll: ScrollReport | null): Promise<Picture> {
  const { fullPage, fullPageAlgorithm } = order.options;
  if (!fullPage || scroll === null) return printOnViews(order, scroll);
  return fullPageAlgorithm === 'native' ? printPage(order, scroll) : packPixels(order, scroll);
}

async function printOnViews(order: PictureOrder, scroll: ScrollReport | null): Promise<Picture> {
  const { view } = order.options;
  const begun = performance.now();
  const { page, pageHeight, lacksContent } = await prepare(order);
  const height = scroll === null ? pageHeight : capturedHeight(scroll, pageHeight, order.options.maxHeight);
  await page.call('print.placePinned', height);
  if (height < pageHeight) await page.call('print.fixPageHeight', height);
  const content = await print(order, { height: view.height, pages: '' });
  const stoppedReason = scroll === null || pageHeight <= view.height ? 'viewport' : scroll.stoppedReason;
  const cut = scroll !== null && isCut(scroll, { height, pageHeight });
  return picture(order, content, { begun, pageHeight, lacksContent, cut, stoppedReason });
}

async function printPage(order: PictureOrder, scroll: ScrollReport): Promise<Picture> {
  const begun = performance.now();
  const { page, pageHeight, lacksContent } = await prepare(order);
  const height = capturedHeight(scroll, pageHeight, order.options.maxHeight);
  const fits = height <= PDF_PAGE_MAX_PX;
  const paper = { height: fits ? height : PDF_PAGE_MAX_PX, pages: fits ? '1' : '' };
  if (!(await prepareForPaper(order, page, { pageHeight, height, paperHeight: paper.height }))) {
    await page.call('print.restoreStyles');
    return packPixels({ ...order, options: { ...order.options, fullPageAlgorithm: 'by_sections' } }, scroll);
  }
  if (fits || height < pageHeight) await page.call('print.fixPageHeight', height);
  const content = await print(order, paper);
  const { stoppedReason } = scroll;
  return picture(order, content, { begun, pageHeight, lacksContent, cut: isCut(scroll, { height, pageHeight }), stoppedReason });
}

function isCut({ feedCut }: ScrollReport, { height, pageHeight }: { height: number; pageHeight: number }): boolean {
  return height < pageHeight - 0.5 || feedCut;
}

async function packPixels(order: PictureOrder, scroll: ScrollReport): Promise<Picture> {
  await using store = await SectionStore.open(order.session.temporaryDir, false, order.debug);
  const begun = performance.now();
  const { diagnostics, lacksContent, cut } = await expandPage(order, scroll, { store, format: null });
  const { title, language } = await boundedPage(order.session, order.deadline).call('print.documentNames');
  const strips = await store.strips();
  const shot = performance.now();
  const density = diagnostics.deviceScaleFactor;
  const content = await order.encodes.run(strips.width * strips.height, () => pixelPdf(strips, { density, title, language }));
  const { width, height } = readPdf(content);
  return {
    content,
    width,
    height,
    lacksContent,
    diagnostics,
    ...(cut === null ? {} : { cut }),
    timings: { begun, shoot: shot - begun, encode: performance.now() - shot },
  };
}

async function prepare(order: PictureOrder): Promise<{ page: BoundedPage; pageHeight: number; lacksContent: boolean }> {
  const { session, options, deadline } = order;
  const page = boundedPage(session, deadline);
  await setDensity(session, { view: options.view, density: options.view.deviceScaleFactor, deadline });
  await untilDeadline(session, deadline, () => session.page.emulateMedia({ media: 'screen' }));
  await page.call('print.overridePageRules');
  await page.call('scrollers.expandAgain');
  const { pageHeight } = await page.call('scroll.measure');
  const lacksContent = (await page.call('virtualised.lacksContent')) || (await page.call('transformedContent.hidesPart'));
  return { page, pageHeight, lacksContent };
}

/**
 * Print makes the paper the viewport, so `100vh` would be the whole page's height. All heights are in CSS px.
 * @returns whether the page looks the same on paper as in the view
 */
async function prepareForPaper(
  order: PictureOrder,
  page: BoundedPage,
  at: { pageHeight: number; height: number; paperHeight: number },
): Promise<boolean> {
  const { session, options, deadline } = order;
  const { view } = options;
  const density = view.deviceScaleFactor;
  const paper = { view: { ...view, height: Math.ceil(at.paperHeight) }, density, scale: MEASURE_SCALE, deadline };
  await page.call('rules.recordQueries');
  await page.call('print.recordLayout');
  await setDensity(session, paper);
  const asked = await page.call('rules.keepChangedQueries');
  const changed = asked || !(await page.call('print.hasSameLayout', at.pageHeight));
  await setDensity(session, { view, density, deadline });
  await page.call('frames.passFrames', 1, NO_FRAME_MS);
  if (changed) await page.call('rules.fixHeights');
  await page.call('print.placePinned', at.height);
  if (!changed) return true;
  await page.call('print.recordLayout');
  await setDensity(session, paper);
  const alike = await page.call('print.hasSameLayout', at.pageHeight);
  await setDensity(session, { view, density, deadline });
  await page.call('frames.passFrames', 1, NO_FRAME_MS);
  return alike;
}

function print({ session, options, deadline }: PictureOrder, paper: { height: number; pages: string }): Promise<Buffer> {
  const size = { paperWidth: options.view.width / CSS_PX_PER_INCH, paperHeight: paper.height / CSS_PX_PER_INCH };
  return untilDeadline(session, deadline, () => printStream(session.cdp, { ...size, pageRanges: paper.pages }));
}

interface Printed {
  begun: number;
  pageHeight: number;
  lacksContent: boolean;
  /** Whether the page continues below the printed part. */
  cut: boolean;
  stoppedReason: StoppedReason;
}

function picture({ options }: PictureOrder, content: Buffer, printed: Printed): Picture {
  const { begun, pageHeight, lacksContent, cut, stoppedReason } = printed;
  const { width, height, pages } = readPdf(content);
  return {
    content,
    width,
    height,
    lacksContent,
    diagnostics: {
      algorithm: 'native',
      sections: pages,
      deviceScaleFactor: options.view.deviceScaleFactor,
      scrollHeight: pageHeight,
      stoppedReason,
      truncated: lacksContent || cut,
    },
    timings: { begun, shoot: performance.now() - begun, encode: 0 },
  };
}

/** interface.md has `quality` for jpeg and webp only. */
const PDF_JPEG_QUALITY = 90;
const POINTS_PER_CSS_PX = 72 / 96;

/**
 * Makes a PDF of rendered pixels with one image per page, and as few pages as the format's largest page allows.
 * @param how.density px per CSS px
 * @param how.title the document's title; empty if it has none
 * @param how.language the document's declared language; empty if it declares none
 */
async function pixelPdf(strips: Strips, how: { density: number; title: string; language: string }): Promise<Buffer> {
  const { density, title, language } = how;
  // Loaded when first needed, since it would cost every start 20 MB and a tenth of a second.
  const { default: PDFDocument } = await import('pdfkit');
  const document = new PDFDocument({
    autoFirstPage: false,
    margin: 0,
    ...(title === '' ? {} : { info: { Title: title }, displayTitle: true }),
  });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise<void>((resolve, reject) => {
    document.on('end', resolve);
    document.on('error', reject);
  });
  const mostRows = Math.floor(PDF_PAGE_MAX_PX * density);
  for (let top = 0; top < strips.height; top += mostRows) {
    const rows = { top, height: Math.min(mostRows, strips.height - top) };
    const { content } = await stitch(strips, { format: 'jpeg', quality: PDF_JPEG_QUALITY, transparent: false, resize: null }, rows);
    const size: [number, number] = [(strips.width / density) * POINTS_PER_CSS_PX, (rows.height / density) * POINTS_PER_CSS_PX];
    document.addPage({ size, margin: 0 });
    document.image(content, 0, 0, { width: size[0], height: size[1] });
  }
  document.end();
  await ended;
  return withLanguage(Buffer.concat(chunks), language);
}
