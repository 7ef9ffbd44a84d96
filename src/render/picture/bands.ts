import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import { within } from './bounded-page.js';
import type { SectionStore } from './section-store.js';
import { BAND_PIXELS, bandEnd, pngSize, SHOT_MAX_ROWS, shoot } from './shoot.js';

/** A part of the page to capture. */
export interface BandPlan {
  /** CSS px of the page; `to` is exclusive. */
  from: number;
  to: number;
  /** CSS px by which the page is scrolled to the right. */
  scrollX: number;
  /** Columns of the page to keep, CSS px; null keeps those of the view. */
  columns: { left: number; right: number } | null;
  /** The page's own: below 1 on phones for pages made for desktops. */
  zoom: number;
  /** Picture px per CSS px: density times zoom. */
  ratio: number;
  /** ms by `monotonicNow`: no band but the first is begun later. */
  lastStart: number;
  /** ms by `monotonicNow`. */
  deadline: number;
}

export interface BandsTaken {
  count: number;
  /** px. */
  width: number;
  height: number;
  /** Whether all of the part was captured. */
  whole: boolean;
}

/**
 * The browser's own capture beyond the viewport: one for most pages, several below one another where one would take too much memory. The
 * page has been stopped, and is not scrolled: fixed elements are where they stand.
 *
 * @throws CaptureError `render_timeout`, `render_crashed`
 */
export async function takeBands(tools: { session: PageSession; store: SectionStore }, plan: BandPlan): Promise<BandsTaken> {
  const { session, store } = tools;
  const { ratio, zoom } = plan;
  let count = 0;
  let width = 0;
  let height = 0;
  let y = plan.from;
  const { cssVisualViewport, cssLayoutViewport } = await within(session, plan.deadline, () => session.cdp.send('Page.getLayoutMetrics'));
  // The browser counts from the leftmost column, which a page written from right to left does not begin at.
  const originX = cssLayoutViewport.pageX - plan.scrollX;
  // Zoomed out, a phone shows columns before the one that such a page begins at.
  const viewLeft = Math.min(0, cssVisualViewport.pageX);
  const columns = plan.columns ?? { left: viewLeft, right: viewLeft + cssVisualViewport.clientWidth };
  const rowsAtOnce = Math.min(SHOT_MAX_ROWS, BAND_PIXELS / ((columns.right - columns.left) * ratio));
  const most = Math.max(1, Math.floor(rowsAtOnce / ratio));
  while (y < plan.to && (count === 0 || monotonicNow() <= plan.lastStart)) {
    const end = bandEnd(y, most, plan);
    const beyond = { x: originX + columns.left, y, width: columns.right - columns.left, height: end - y, scale: zoom };
    const png = await shoot(session, plan.deadline, { format: 'png', fast: true, beyond });
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
