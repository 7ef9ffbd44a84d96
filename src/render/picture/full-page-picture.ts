import type { RenderDiagnostics, StoppedReason } from '../../contract/capture-data.js';
import type { ImageFormat } from '../../contract/capture-request.js';
import type { Pinning } from '../in-page/pin.js';
import type { PageExtent } from '../in-page/scroll.js';
import { monotonicNow } from '../monotonic-now.js';
import { resumePage, stopPage } from '../page/stop-page.js';
import { type BandPlan, type BandsTaken, takeBands } from './bands.js';
import { type BoundedPage, boundedPage } from './bounded-page.js';
import type { Encoding } from './encode.js';
import { encodeSections } from './encode-sections.js';
import { fitDensity } from './fit-density.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder, SideCut } from './picture.js';
import { capturedHeight, pageColumns, type ScrollReport, waitForReaction } from './scroll-through.js';
import { SectionStore } from './section-store.js';
import { SHOT_MAX_ROWS } from './shoot.js';

/** The time to encode 100 million pixels while another capture runs, per pixel. */
const ENCODE_MS_PER_PIXEL = 2_500 / 100_000_000;
/** The time for one slow band. */
const BAND_MS = 500;

/** Captures the whole page in bands that are joined without a seam. `by_sections` first moves pinned elements to their final position. */
export async function takeFullPage(order: PictureOrder, scroll: ScrollReport, encoding: Encoding): Promise<Picture> {
  await using store = await SectionStore.open(order.session.temporaryDir, encoding.transparent, order.debug);
  const begun = performance.now();
  const taken = await expandPage(order, scroll, { store, format: encoding.format });
  const encoded = await encodeSections(order, store, { encoding, begun });
  return {
    ...encoded,
    lacksContent: taken.lacksContent,
    diagnostics: taken.diagnostics,
    ...(taken.cut === null ? {} : { cut: taken.cut }),
  };
}

export interface ExpandedPage {
  /** Width in px. */
  width: number;
  height: number;
  lacksContent: boolean;
  diagnostics: RenderDiagnostics;
  cut: SideCut | null;
}

/**
 * Captures the whole page into the store, at the highest density that fits the format.
 * @param how.format null if no format limits apply
 */
export async function expandPage(
  order: PictureOrder,
  scroll: ScrollReport,
  how: { store: SectionStore; format: ImageFormat | null },
): Promise<ExpandedPage> {
  const { session, options, deadline } = order;
  const page = boundedPage(session, deadline);
  await page.call('scrollers.expandAgain');
  const extent = await chooseDensity(order, page, { scroll, format: how.format ?? 'png' });
  const pixels = extent.width * extent.density * extent.height * extent.density;
  const algorithm = options.fullPageAlgorithm;
  if (algorithm === 'by_sections')
    await placePinned(page, { first: true, keep: 'page', down: Math.max(0, extent.height - extent.viewHeight) });
  if (order.debug !== undefined) order.debug.note({ step: 'pinned', elements: await page.call('pin.roles') });
  const isMissing = algorithm === 'native' && (await page.call('virtualised.lacksContent'));
  const hidesPart = await page.call('transformedContent.hidesPart');
  const plan = {
    from: 0,
    to: extent.height,
    scrollX: extent.scrollX,
    columns: extent.columns,
    zoom: extent.zoom,
    ratio: extent.density * extent.zoom,
    lastStart: deadline - BAND_MS - pixels * ENCODE_MS_PER_PIXEL,
    deadline,
  };
  const taken = await takeRanges(order, page, { store: how.store, plan });
  const lacksContent = isMissing || hidesPart || taken.skipsRanges;
  const diagnostics = describe(taken, extent, { scroll, algorithm, options });
  diagnostics.truncated ||= lacksContent;
  return { width: taken.width, height: taken.height, lacksContent, diagnostics, cut: extent.cut };
}

/**
 * Captures the page. With `by_sections`, ranges whose content exists only while in view, as in a virtualised list, are
 * captured at their own scroll position.
 */
async function takeRanges(
  order: PictureOrder,
  page: BoundedPage,
  { store, plan }: { store: SectionStore; plan: BandPlan },
): Promise<BandsTaken & { skipsRanges: boolean }> {
  const { session, options, debug } = order;
  const tools = { session, store };
  const bySections = options.fullPageAlgorithm === 'by_sections';
  const { pageRanges, isAll } = bySections ? await page.call('virtualised.missingRanges') : { pageRanges: [], isAll: true };
  debug?.note({ step: 'stretches', gone: pageRanges });
  let skipsRanges = !isAll;
  let sum: BandsTaken = { count: 0, width: 0, height: 0, whole: true };
  let from = plan.from;
  const take = async (to: number) => {
    if (to <= from || !sum.whole) return;
    const { count, width, height, whole } = await takeBands(tools, { ...plan, from, to });
    sum = { count: sum.count + count, width: Math.max(sum.width, width), height: sum.height + height, whole };
    from = to;
  };
  const showAt = async (top: number) => {
    await resumePage(session);
    const since = performance.now();
    await page.call('windowedLists.scrollListsTo', top);
    await page.call('scroll.step', { to: top });
    if (top > 0) await waitForReaction(order, since);
    // A script that throttles its scroll handler starts transitions late, which would be captured half-way.
    await page.call('motion.end');
    await stopPage(session, options);
    const { scrollY, viewHeight } = await page.call('scroll.measure');
    await placePinned(page, { first: scrollY < 0.5, keep: 'page', down: Math.max(0, plan.to - scrollY - viewHeight) });
  };
  for (const { top, bottom } of pageRanges) {
    await take(Math.min(top, plan.to));
    if (from >= plan.to) break;
    if (monotonicNow() > plan.lastStart) {
      skipsRanges = true;
      break;
    }
    await showAt(top);
    await take(Math.min(bottom, plan.to));
  }
  if (pageRanges.length > 0) await showAt(0);
  await take(plan.to);
  return { ...sum, whole: from >= plan.to, skipsRanges };
}

/** Moves pinned elements to their position in a picture beyond the view. */
export async function placePinned(page: BoundedPage, pinning: Pinning): Promise<void> {
  await page.call('pin.place', pinning);
  // In a page that fits into the view, no pinned element is repeated.
  if (pinning.keep === 'none' || pinning.down > 0 || !pinning.first) await page.call('pseudos.place', pinning);
}

interface MeasuredPage {
  density: number;
  zoom: number;
  viewHeight: number;
  scrollX: number;
  /** Height of the whole page in CSS px. */
  pageHeight: number;
  /** Height to capture in CSS px. */
  height: number;
  /** Width in CSS px at the page's own zoom. */
  width: number;
  /** Columns to capture; null for those of the view. */
  columns: { left: number; right: number } | null;
  cut: SideCut | null;
  limited: boolean;
}

/** Determines the density before the first capture, since a page may change its layout with it. */
async function chooseDensity(
  order: PictureOrder,
  page: BoundedPage,
  { scroll, format }: { scroll: ScrollReport; format: ImageFormat },
): Promise<MeasuredPage> {
  const { session, deadline } = order;
  const { view, fullWidth, maxHeight } = order.options;
  let density = view.deviceScaleFactor;
  let limited = false;
  for (;;) {
    await setDensity(session, { view, density, deadline });
    const extent = await page.call('scroll.measure');
    const { pageHeight, viewHeight, zoom, scrollX } = extent;
    const columns = fullWidth ? pageColumns(extent) : null;
    const width = columns === null ? view.width : (columns.right - columns.left) * zoom;
    const height = capturedHeight(scroll, pageHeight, maxHeight);
    // The row limit of one capture applies to its columns as well.
    const most = Math.min(density, Math.floor((SHOT_MAX_ROWS / width) * 100) / 100);
    const fit = fitDensity({ width, height: height * zoom }, most, format);
    limited ||= fit.limited;
    if (fit.density === density) {
      const cut = sideCut(extent, width / zoom);
      return { density, zoom, viewHeight, scrollX, pageHeight, height: fit.height / zoom, width, columns, cut, limited };
    }
    density = fit.density;
  }
}

function sideCut({ left, right }: PageExtent, shownWidth: number): SideCut | null {
  if (right - left < shownWidth + 1) return null;
  return { pageWidth: Math.round(right - left), shownWidth: Math.round(shownWidth), side: left < 0 ? 'left' : 'right' };
}

function describe(
  taken: BandsTaken,
  extent: MeasuredPage,
  how: { scroll: ScrollReport; algorithm: RenderDiagnostics['algorithm']; options: Pick<PictureOrder['options'], 'maxHeight'> },
): RenderDiagnostics {
  const { pageHeight, height, density, limited } = extent;
  const cut = height < pageHeight - 0.5;
  // The format is the reason only if it cut the page, whatever the density.
  const byFormat = limited && (how.scroll.stoppedReason === 'end_of_page' || height < how.scroll.captureHeight - 0.5);
  // The page may have grown beyond the requested height since it was scrolled through.
  const byRequest = cut && height === how.options.maxHeight;
  const ended = byFormat ? 'format_limit' : byRequest ? 'max_height' : how.scroll.stoppedReason;
  const stoppedReason: StoppedReason = taken.whole ? ended : 'time_limit';
  return {
    algorithm: how.algorithm,
    sections: taken.count,
    deviceScaleFactor: density,
    scrollHeight: pageHeight,
    stoppedReason,
    truncated: cut || !taken.whole || how.scroll.feedCut,
  };
}
