import type { RenderDiagnostics } from '../../contract/capture-data.js';
import { PDF_PAGE_MAX_PX } from '../../contract/limits.js';
import { type BoundedPage, boundedPage, within } from './bounded-page.js';
import { expandPage } from './full-page-picture.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder } from './picture.js';
import { pixelPdf } from './pixel-pdf.js';
import { printStream } from './print-stream.js';
import { readPdf } from './read-pdf.js';
import type { ScrollReport } from './scroll-through.js';
import { SectionStore } from './section-store.js';

const CSS_PX_PER_INCH = 96;
/** Of the picture of a page that is only measured. */
const MEASURE_SCALE = 0.05;
/** What follows the viewport's size by script does so before the next frame is drawn. */
const NO_FRAME_MS = 100;

/**
 * A PDF of one of the three kinds (decisions.md, PDF): on pages of the view's size, or on one continuous page, as the browser prints them,
 * or the whole page's rendered pixels. A page that cannot be printed on one page as it looks is made of its pixels too.
 */
export function takePdf(order: PictureOrder, scroll: ScrollReport | null): Promise<Picture> {
  const { fullPage, fullPageAlgorithm } = order.options;
  if (!fullPage || scroll === null) return printOnViews(order, scroll);
  return fullPageAlgorithm === 'native' ? printPage(order, scroll) : packPixels(order, scroll);
}

async function printOnViews(order: PictureOrder, scroll: ScrollReport | null): Promise<Picture> {
  const { view } = order.options;
  const begun = performance.now();
  const { page, pageHeight } = await prepare(order);
  const height = scroll === null ? pageHeight : capturedHeight(scroll, pageHeight);
  await page.call('print.pinOnce', height);
  if (height < pageHeight) await page.call('print.boxPage', height);
  const content = await print(order, { height: view.height, pages: '' });
  return picture(content, begun, {
    algorithm: 'native',
    deviceScaleFactor: view.deviceScaleFactor,
    scrollHeight: pageHeight,
    stoppedReason: scroll === null || pageHeight <= view.height ? 'viewport' : scroll.stoppedReason,
    truncated: scroll !== null && isCut(scroll, { height, pageHeight }),
  });
}

async function printPage(order: PictureOrder, scroll: ScrollReport): Promise<Picture> {
  const { view } = order.options;
  const begun = performance.now();
  const { page, pageHeight } = await prepare(order);
  const height = capturedHeight(scroll, pageHeight);
  const fits = height <= PDF_PAGE_MAX_PX;
  const paper = { height: fits ? height : PDF_PAGE_MAX_PX, pages: fits ? '1' : '' };
  if (!(await holdForPaper(order, page, { pageHeight, height, paperHeight: paper.height }))) {
    await page.call('print.putBack');
    return packPixels({ ...order, options: { ...order.options, fullPageAlgorithm: 'by_sections' } }, scroll);
  }
  if (fits || height < pageHeight) await page.call('print.boxPage', height);
  const content = await print(order, paper);
  return picture(content, begun, {
    algorithm: 'native',
    deviceScaleFactor: view.deviceScaleFactor,
    scrollHeight: pageHeight,
    stoppedReason: scroll.stoppedReason,
    truncated: isCut(scroll, { height, pageHeight }),
  });
}

/** CSS px. */
function capturedHeight({ stoppedReason, captureHeight }: ScrollReport, pageHeight: number): number {
  return stoppedReason === 'end_of_page' ? pageHeight : Math.min(pageHeight, captureHeight);
}

function isCut({ feedCut }: ScrollReport, { height, pageHeight }: { height: number; pageHeight: number }): boolean {
  return height < pageHeight - 0.5 || feedCut;
}

async function packPixels(order: PictureOrder, scroll: ScrollReport): Promise<Picture> {
  await using store = await SectionStore.open(order.session.temporaryDir, false, order.debug);
  const begun = performance.now();
  const { diagnostics } = await expandPage(order, scroll, { store, format: null });
  const strips = await store.strips();
  const shot = performance.now();
  const density = diagnostics.deviceScaleFactor;
  const content = await order.encodes.run(strips.width * strips.height, () => pixelPdf(strips, density));
  const { width, height } = readPdf(content);
  return {
    content,
    width,
    height,
    diagnostics,
    timings: { begun, shoot: shot - begun, encode: performance.now() - shot },
  };
}

async function prepare(order: PictureOrder): Promise<{ page: BoundedPage; pageHeight: number }> {
  const { session, options, deadline } = order;
  const page = boundedPage(session, deadline);
  await setDensity(session, { view: options.view, density: options.view.deviceScaleFactor, deadline });
  await within(session, deadline, () => session.page.emulateMedia({ media: 'screen' }));
  await page.call('print.ownPaper');
  await page.call('scrollers.expandAgain');
  const { pageHeight } = await page.call('scroll.measure');
  return { page, pageHeight };
}

/**
 * Paper is its own viewport: `100vh` would be the whole page's height. All heights are CSS px.
 *
 * @returns whether the page is on the paper what it is in the view
 */
async function holdForPaper(
  order: PictureOrder,
  page: BoundedPage,
  at: { pageHeight: number; height: number; paperHeight: number },
): Promise<boolean> {
  const { session, options, deadline } = order;
  const { view } = options;
  const density = view.deviceScaleFactor;
  const paper = { view: { ...view, height: Math.ceil(at.paperHeight) }, density, scale: MEASURE_SCALE, deadline };
  await page.call('rules.noteQueries');
  await page.call('print.noteLayout');
  await setDensity(session, paper);
  const asked = await page.call('rules.keepChangedQueries');
  const changed = asked || !(await page.call('print.isLaidOutAlike', at.pageHeight));
  await setDensity(session, { view, density, deadline });
  await page.call('frames.passFrames', 1, NO_FRAME_MS);
  if (changed) await page.call('rules.hold');
  await page.call('print.pinOnce', at.height);
  if (!changed) return true;
  await page.call('print.noteLayout');
  await setDensity(session, paper);
  const alike = await page.call('print.isLaidOutAlike', at.pageHeight);
  await setDensity(session, { view, density, deadline });
  await page.call('frames.passFrames', 1, NO_FRAME_MS);
  return alike;
}

function print({ session, options, deadline }: PictureOrder, paper: { height: number; pages: string }): Promise<Buffer> {
  const size = { paperWidth: options.view.width / CSS_PX_PER_INCH, paperHeight: paper.height / CSS_PX_PER_INCH };
  return within(session, deadline, () => printStream(session.cdp, { ...size, pageRanges: paper.pages }));
}

function picture(content: Buffer, begun: number, diagnostics: Omit<RenderDiagnostics, 'sections'>): Picture {
  const { width, height, pages } = readPdf(content);
  return {
    content,
    width,
    height,
    diagnostics: { ...diagnostics, sections: pages },
    timings: { begun, shoot: performance.now() - begun, encode: 0 },
  };
}
