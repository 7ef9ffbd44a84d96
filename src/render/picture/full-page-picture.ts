import type { RenderDiagnostics, StoppedReason } from '../../contract/capture-data.js';
import type { ImageFormat } from '../../contract/capture-request.js';
import { takeBands } from './bands.js';
import { type BoundedPage, boundedPage } from './bounded-page.js';
import type { Encoding } from './encode.js';
import { encodeSections } from './encode-sections.js';
import { fitDensity } from './fit-density.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder } from './picture.js';
import type { ScrollReport } from './scroll-through.js';
import { SectionStore } from './section-store.js';
import { type SectionsTaken, takeSections } from './sections.js';
import { FLAT_SHOT_PIXELS } from './shoot.js';

/** Encoding 100 million pixels while another capture runs. */
const ENCODE_MS_PER_PIXEL = 2_500 / 100_000_000;
/** One section, slow. */
const SECTION_MS = 500;

/**
 * The whole page, stitched without a seam: by sections, or by the browser's own capture beyond the viewport where that is asked for, or shows the same.
 */
export async function takeFullPage(order: PictureOrder, scroll: ScrollReport, encoding: Encoding): Promise<Picture> {
  await using store = await SectionStore.open(order.session.temporaryDir, encoding.transparent);
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
  await page.call('scrollers.expandAll');
  const extent = await settleDensity(order, page, { scroll, format: how.format ?? 'png' });
  const pixels = options.view.width * extent.density * extent.height * extent.density;
  const plan = {
    from: 0,
    start: 0,
    scrollX: extent.scrollX,
    to: extent.height,
    columns: null,
    viewHeight: extent.viewHeight,
    zoom: extent.zoom,
    ratio: extent.density * extent.zoom,
    keep: 'page' as const,
    finishMotion: options.reduceMotion,
    lastStart: deadline - SECTION_MS - pixels * ENCODE_MS_PER_PIXEL,
    deadline,
  };
  const algorithm = options.fullPageAlgorithm;
  const tools = { session, page, store: how.store };
  const taken =
    algorithm === 'native'
      ? await takeBands(tools, plan)
      : (await isFlat(order, page, { scroll, extent }))
        ? await takeBands(tools, plan, FLAT_SHOT_PIXELS)
        : await takeSections(tools, plan);
  return { width: taken.width, height: taken.height, diagnostics: describe(taken, extent, { scroll, algorithm }) };
}

/** Whether the browser's captures beyond the view, which take less time, show what sections would: the page is then as its sections are. */
async function isFlat(
  { options }: PictureOrder,
  page: BoundedPage,
  { scroll, extent }: { scroll: ScrollReport; extent: Settled },
): Promise<boolean> {
  if (!scroll.isCalm || extent.zoom !== 1 || extent.scrollX !== 0) return false;
  if (!(await page.call('flat.isFlat'))) return false;
  await page.call('flat.imagesDecoded');
  if (options.reduceMotion) await page.call('motion.end');
  return true;
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
  taken: SectionsTaken,
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
