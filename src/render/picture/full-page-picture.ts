import type { RenderDiagnostics, StoppedReason } from '../../contract/capture-data.js';
import type { ImageFormat } from '../../contract/capture-request.js';
import type { Pinning } from '../in-page/pin.js';
import { monotonicNow } from '../monotonic-now.js';
import { resumePage, stopPage } from '../page/stop-page.js';
import type { PageSession } from '../page-session.js';
import { type BandPlan, type BandsTaken, takeBands } from './bands.js';
import { type BoundedPage, boundedPage } from './bounded-page.js';
import type { Encoding } from './encode.js';
import { encodeSections } from './encode-sections.js';
import { fitDensity } from './fit-density.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder } from './picture.js';
import type { ScrollReport } from './scroll-through.js';
import { SectionStore } from './section-store.js';

/** Encoding 100 million pixels while another capture runs. */
const ENCODE_MS_PER_PIXEL = 2_500 / 100_000_000;
/** Time for a frame to draw itself. */
const DRAWN_WITHIN_MS = 100;
/** The page's time for a virtualised list to draw its rows, or for a card to appear. */
const REACTION_MS = 600;
const SLICE_MS = 100;
/** One band, slow. */
const BAND_MS = 500;

/** The whole page, in bands that are stitched without a seam; by sections, pinned elements are moved to where they belong first. */
export async function takeFullPage(order: PictureOrder, scroll: ScrollReport, encoding: Encoding): Promise<Picture> {
  await using store = await SectionStore.open(order.session.temporaryDir, encoding.transparent, order.debug);
  const begun = performance.now();
  const taken = await expandPage(order, scroll, { store, format: encoding.format });
  const encoded = await encodeSections(order, store, { encoding, begun });
  return {
    ...encoded,
    diagnostics: taken.diagnostics,
  };
}

export interface ExpandedPage {
  /** px. */
  width: number;
  height: number;
  diagnostics: RenderDiagnostics;
}

/**
 * Captures the whole page into the store, at the highest density at which the format holds it.
 *
 * @param how.format null: no format's limits apply
 */
export async function expandPage(
  order: PictureOrder,
  scroll: ScrollReport,
  how: { store: SectionStore; format: ImageFormat | null },
): Promise<ExpandedPage> {
  const { session, options, deadline } = order;
  const page = boundedPage(session, deadline);
  await page.call('scrollers.expandAgain');
  const extent = await settleDensity(order, page, { scroll, format: how.format ?? 'png' });
  const pixels = options.view.width * extent.density * extent.height * extent.density;
  const algorithm = options.fullPageAlgorithm;
  if (algorithm === 'by_sections') await arrange(page, { keep: 'page', down: extent.height - extent.viewHeight });
  if (order.debug !== undefined) order.debug.note({ step: 'pinned', elements: await page.call('pin.roles') });
  const plan = {
    from: 0,
    to: extent.height,
    scrollX: extent.scrollX,
    columns: null,
    zoom: extent.zoom,
    ratio: extent.density * extent.zoom,
    lastStart: deadline - BAND_MS - pixels * ENCODE_MS_PER_PIXEL,
    deadline,
  };
  const taken = await takeStretches(order, page, { store: how.store, plan });
  return { width: taken.width, height: taken.height, diagnostics: describe(taken, extent, { scroll, algorithm }) };
}

/** By sections, a stretch whose content exists only while it is in view, as in a virtualised list, is taken at its own scroll position. */
async function takeStretches(
  { session, options, debug }: PictureOrder,
  page: BoundedPage,
  { store, plan }: { store: SectionStore; plan: BandPlan },
): Promise<BandsTaken> {
  const tools = { session, store };
  const gone = options.fullPageAlgorithm === 'by_sections' ? await page.call('virtualised.gone') : [];
  debug?.note({ step: 'stretches', gone });
  let sum: BandsTaken = { count: 0, width: 0, height: 0, whole: true };
  let from = plan.from;
  const take = async (to: number) => {
    if (to <= from || !sum.whole) return;
    const { count, width, height, whole } = await takeBands(tools, { ...plan, from, to });
    sum = { count: sum.count + count, width: Math.max(sum.width, width), height: sum.height + height, whole };
    from = to;
  };
  for (const { top, bottom } of gone) {
    await take(Math.min(top, plan.to));
    if (from >= plan.to || monotonicNow() > plan.lastStart) break;
    await resumePage(session);
    await page.call('scroll.step', { to: top });
    await react(session, page);
    await stopPage(session, options);
    await page.call('pin.place', { first: false, last: bottom >= plan.to, keep: 'page', down: 0 });
    await take(Math.min(bottom, plan.to));
  }
  if (gone.length > 0) {
    await resumePage(session);
    await page.call('scroll.step', { to: 0 });
    await stopPage(session, options);
  }
  await take(plan.to);
  return { ...sum, whole: from >= plan.to };
}

/** Lets the page draw what is in view now. */
async function react({ clockEvent }: PageSession, page: BoundedPage): Promise<void> {
  await page.call('frames.sleep', DRAWN_WITHIN_MS);
  if (clockEvent === null) return;
  for (let spent = 0; spent < REACTION_MS; spent += SLICE_MS)
    await page.call('clock.ahead', { ask: clockEvent, ms: SLICE_MS, realMs: SLICE_MS, frame: false, draws: true });
}

/** Moves what is pinned to where it belongs in a picture beyond the view. */
export async function arrange(page: BoundedPage, { keep, down }: Pick<Pinning, 'keep' | 'down'>): Promise<void> {
  const pinning = { first: true, last: true, keep, down };
  await page.call('pin.place', pinning);
  // In a page that the view shows whole nothing is repeated.
  if (keep === 'none' || down > 0) await page.call('pseudos.place', pinning);
}

interface Settled {
  density: number;
  zoom: number;
  viewHeight: number;
  scrollX: number;
  /** CSS px of the whole page. */
  pageHeight: number;
  /** CSS px to capture. */
  height: number;
  limited: boolean;
}

/** The density changes before the first capture, and once: a page may lay itself out anew for another. */
async function settleDensity(
  order: PictureOrder,
  page: BoundedPage,
  { scroll, format }: { scroll: ScrollReport; format: ImageFormat },
): Promise<Settled> {
  const { session, deadline } = order;
  const { view } = order.options;
  let density = view.deviceScaleFactor;
  let limited = false;
  for (;;) {
    await setDensity(session, { view, density, deadline });
    const { pageHeight, viewHeight, zoom, scrollX } = await page.call('scroll.measure');
    const height = scroll.stoppedReason === 'end_of_page' ? pageHeight : Math.min(pageHeight, scroll.captureHeight);
    const fit = fitDensity({ width: view.width, height: height * zoom }, density, format);
    limited ||= fit.limited;
    if (fit.density === density) return { density, zoom, viewHeight, scrollX, pageHeight, height: fit.height / zoom, limited };
    density = fit.density;
  }
}

function describe(
  taken: BandsTaken,
  extent: Settled,
  how: { scroll: ScrollReport; algorithm: RenderDiagnostics['algorithm'] },
): RenderDiagnostics {
  const { pageHeight, height, density, limited } = extent;
  const cut = height < pageHeight - 0.5;
  // A page that was cut for another reason, and fits from there on, ended for that one, whatever its density.
  const byFormat = limited && (how.scroll.stoppedReason === 'end_of_page' || height < how.scroll.captureHeight - 0.5);
  const stoppedReason: StoppedReason = !taken.whole ? 'time_limit' : byFormat ? 'format_limit' : how.scroll.stoppedReason;
  return {
    algorithm: how.algorithm,
    sections: taken.count,
    deviceScaleFactor: density,
    scrollHeight: pageHeight,
    stoppedReason,
    truncated: cut || !taken.whole || how.scroll.feedCut,
  };
}
