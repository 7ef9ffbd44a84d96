import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import { untilDeadline } from './bounded-page.js';
import type { SectionStore } from './section-store.js';
import { BAND_PIXELS, bandEnd, captureShot, pngSize, SHOT_MAX_ROWS } from './shoot.js';

/** A part of the page to capture. */
export interface BandPlan {
  /** Vertical range of the page in CSS px; `to` is exclusive. */
  from: number;
  to: number;
  /** The horizontal scroll position in CSS px. */
  scrollX: number;
  /** Columns of the page to capture, in CSS px; null for those of the view. */
  columns: { left: number; right: number } | null;
  /** The page's own zoom, which is below 1 on phones for pages made for desktops. */
  zoom: number;
  /** Picture px per CSS px: density times zoom. */
  ratio: number;
  /** No band but the first starts after this time, ms by `monotonicNow`. */
  lastStart: number;
  /** The time limit, ms by `monotonicNow`. */
  deadline: number;
}

export interface BandsTaken {
  count: number;
  /** Width in px. */
  width: number;
  height: number;
  /** Whether the whole part was captured. */
  whole: boolean;
}

/**
 * Captures by the browser beyond the viewport: one for most pages, or several bands where one would take too much memory.
 * The page is frozen and not scrolled, so fixed elements keep their position.
 * @throws CaptureError `render_timeout`, `render_crashed`
 */
export async function takeBands(tools: { session: PageSession; store: SectionStore }, plan: BandPlan): Promise<BandsTaken> {
  const { session, store } = tools;
  const { ratio, zoom } = plan;
  let count = 0;
  let width = 0;
  let height = 0;
  let y = plan.from;
  const { cssVisualViewport, cssLayoutViewport } = await untilDeadline(session, plan.deadline, () =>
    session.cdp.send('Page.getLayoutMetrics'),
  );
  // The browser counts from the leftmost column, where a page written from right to left does not begin.
  const originX = cssLayoutViewport.pageX - plan.scrollX;
  // A phone that is zoomed out shows columns before the one where such a page begins.
  const viewLeft = Math.min(0, cssVisualViewport.pageX);
  const columns = plan.columns ?? { left: viewLeft, right: viewLeft + cssVisualViewport.clientWidth };
  const rowsAtOnce = Math.min(SHOT_MAX_ROWS, BAND_PIXELS / ((columns.right - columns.left) * ratio));
  const most = Math.max(1, Math.floor(rowsAtOnce / ratio));
  while (y < plan.to && (count === 0 || monotonicNow() <= plan.lastStart)) {
    const end = bandEnd(y, most, plan);
    const beyond = { x: originX + columns.left, y, width: columns.right - columns.left, height: end - y, scale: zoom };
    const png = await captureShot(session, plan.deadline, { format: 'png', fast: true, beyond });
    const size = pngSize(png);
    const rows = Math.min(Math.round((end - y) * ratio), size.height);
    width = count === 0 ? size.width : width;
    store.add(png, { left: 0, width, from: 0, to: rows });
    height += rows;
    count++;
    y = end;
  }
  return { count, width, height, whole: y >= plan.to };
}
