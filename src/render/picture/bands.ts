import type { Stage } from '../stage.js';
import { type Blurs, findBlurs } from './in-page-blur.js';
import type { Band } from './in-page-boxes.js';
import { addPinKit } from './in-page-pin-kit.js';
import { type PageHand, within } from './page-hand.js';
import { ALIGN_WITHIN_PX, bestAligned } from './section-edges.js';
import type { SectionStore } from './section-store.js';
import type { SectionPlan, SectionsTaken } from './sections.js';
import { pngSize, SHOT_MAX_PIXELS, SHOT_MAX_ROWS, shoot } from './shoot.js';

/** Every density in hundredths, and most devices' own, has whole pixels at a multiple of one of these. */
const ALIGN_PX = [100, 64, 8, 1];
/** Of what is captured. */
const LEAST_KEPT = 1 / 8;

type Filters = Pick<Blurs, 'reach' | 'spans'>;

/** CSS px. */
interface Columns {
  left: number;
  right: number;
}

/**
 * The browser's own capture beyond the viewport: one for most pages, several below one another where one would not be true.
 * The page is not scrolled: fixed elements are where they stand at the top. What has a backdrop filter is captured with what lies around
 * its part of a band, as far as that can be, and cut.
 *
 * @throws CaptureError `render_timeout`, `render_crashed`
 */
export async function takeBands(tools: { stage: Stage; hand: PageHand; store: SectionStore }, plan: SectionPlan): Promise<SectionsTaken> {
  const { stage, store } = tools;
  const { ratio, zoom } = plan;
  let count = 0;
  let width = 0;
  let height = 0;
  let y = plan.from;
  const { cssVisualViewport, cssLayoutViewport } = await within(stage, plan.deadline, () => stage.cdp.send('Page.getLayoutMetrics'));
  // The browser counts from the leftmost column, which a page written from right to left does not begin at.
  const originX = cssLayoutViewport.pageX - plan.scrollX;
  const columns = plan.columns ?? { left: 0, right: cssVisualViewport.clientWidth };
  const kept = { left: originX + columns.left, right: originX + columns.right };
  const found = await filtersOf(tools.hand, plan);
  const around = columnsAround(columns, { originX, filters: found, ratio });
  const filters = around === null ? { reach: 0, spans: [] } : found;
  const captured = around ?? kept;
  const most = mostHeight(captured, { ratio, filtered: around !== null });
  while (y < plan.to && (count === 0 || Date.now() <= plan.lastStart)) {
    const band = bandFrom(y, { most, plan, filters });
    // The browser captures whole CSS px only.
    const bandHeight = around === null ? band.bottom - band.top : Math.ceil(band.bottom - band.top - 1e-6);
    const beyond = { x: captured.left, y: band.top, width: captured.right - captured.left, height: bandHeight, scale: zoom };
    const png = await shoot(stage, plan.deadline, { format: 'png', fast: true, beyond });
    const size = pngSize(png);
    const first = Math.max(0, Math.round((kept.left - captured.left) * ratio));
    const last = Math.min(Math.round((kept.right - captured.left) * ratio), size.width);
    const from = Math.round((y - band.top) * ratio);
    const to = Math.min(Math.round((band.end - band.top) * ratio), size.height);
    width = count === 0 ? last - first : width;
    if (from < to) store.add(png, { left: first, width, from, to });
    height += Math.max(0, to - from);
    count++;
    y = band.end;
  }
  return { count, width, height, whole: y >= plan.to };
}

/**
 * The backdrop filters in what is to be captured. The browser draws them in a wrong place when a capture begins within them, at densities
 * other than 1, and at any they lack what lies beyond it.
 */
async function filtersOf(hand: PageHand, { from, to, ratio, columns }: SectionPlan): Promise<Filters> {
  const allInOne = from === 0 && columns === null && to * ratio <= SHOT_MAX_ROWS;
  if (allInOne) return { reach: 0, spans: [] };
  await hand.run(addPinKit, null);
  const { reach, spans } = await hand.run(findBlurs, 'page');
  return { reach, spans: spans.filter(({ top, bottom }) => top < to && from < bottom) };
}

/**
 * The columns to capture, so that no filter begins left of them or lacks what lies right of them; whole CSS px, as the browser counts them.
 *
 * @returns null where no filter is in the columns, or where that would be too wide for one capture
 */
export function columnsAround(columns: Columns, how: { originX: number; filters: Filters; ratio: number }): Columns | null {
  const { originX, filters, ratio } = how;
  const within = filters.spans.filter(({ left, right }) => left < columns.right && columns.left < right);
  if (within.length === 0) return null;
  const goesOn = within.some(({ right }) => right > columns.right);
  const left = Math.max(0, Math.floor(originX + Math.min(columns.left, ...within.map((span) => span.left))));
  const right = Math.ceil(originX + columns.right + (goesOn ? filters.reach : 0) - 1e-6);
  return (right - left) * ratio > SHOT_MAX_ROWS ? null : { left, right };
}

/** CSS px of one capture at most. */
function mostHeight({ left, right }: Columns, how: { ratio: number; filtered: boolean }): number {
  const rows = how.filtered ? Math.min(SHOT_MAX_ROWS, SHOT_MAX_PIXELS / ((right - left) * how.ratio)) : SHOT_MAX_ROWS;
  return Math.max(1, Math.floor(rows / how.ratio));
}

/** From where to where it is captured. */
export interface CutBand extends Band {
  /** CSS px of the page, to where it is kept. */
  end: number;
}

/**
 * The next band, from `y` on. Where what is captured around it would leave little of it, as of very wide pictures, nothing is.
 *
 * @param how.most CSS px of one capture
 */
export function bandFrom(
  y: number,
  how: { most: number; plan: Pick<SectionPlan, 'to' | 'ratio'>; filters: { reach: number; spans: Band[] } },
): CutBand {
  const { most, plan, filters } = how;
  const top = topFor(y, how);
  const bottom = bandEnd(top, most, plan);
  const goesOn = filters.spans.some((span) => span.top < bottom && bottom < span.bottom);
  const reach = goesOn ? Math.min(filters.reach, Math.floor(most / 4)) : 0;
  if (bottom === plan.to) return { top, bottom: Math.min(bottom + reach, top + most), end: bottom };
  const lowest = Math.floor(bottom - reach);
  const end = goesOn ? bestAligned(lowest, lowest - ALIGN_WITHIN_PX, plan.ratio) : bottom;
  if (end - y >= most * LEAST_KEPT) return { top, bottom, end };
  const plainEnd = bandEnd(y, most, plan);
  return { top: y, bottom: plainEnd, end: plainEnd };
}

/** Above the filters that `y` lies within; but no more than half of what is captured is given up for that. */
function topFor(y: number, { most, plan, filters }: Parameters<typeof bandFrom>[1]): number {
  const tops = filters.spans.filter((span) => span.top < y && y < span.bottom).map(({ top }) => top);
  const least = Math.ceil(y - Math.min(y, ...tops.filter((top) => y - top <= most / 2)));
  // No picture begins above the page.
  return least === 0 ? y : y - Math.min(bestAligned(least, least + ALIGN_WITHIN_PX, plan.ratio), y);
}

/** Where a capture that begins at `y` ends: at the end of all, or on a whole pixel. */
function bandEnd(y: number, most: number, plan: Pick<SectionPlan, 'to' | 'ratio'>): number {
  if (plan.to - y <= most) return plan.to;
  for (const step of ALIGN_PX) {
    const end = y + Math.floor(most / step) * step;
    if (end > y && Math.abs(end * plan.ratio - Math.round(end * plan.ratio)) < 1e-6) return end;
  }
  return y + most;
}
