import type { Stage } from '../stage.js';
import { type Blurs, findBlurs } from './in-page-blur.js';
import { addPinKit } from './in-page-pin-kit.js';
import { type PageHand, within } from './page-hand.js';
import { ALIGN_WITHIN_PX, bestAligned } from './section-edges.js';
import type { SectionStore } from './section-store.js';
import type { SectionPlan, SectionsTaken } from './sections.js';
import { pngSize, SHOT_MAX_PIXELS, SHOT_MAX_ROWS, shoot } from './shoot.js';

/** Every density in hundredths, and most devices' own, has whole pixels at a multiple of one of these. */
const ALIGN_PX = [100, 64, 8, 1];
/** At least one such part of what is captured is kept. */
const LEAST_OF_BAND = 8;

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
  const filters = await filtersOf(tools.hand, plan);
  const { cssVisualViewport, cssLayoutViewport } = await within(stage, plan.deadline, () => stage.cdp.send('Page.getLayoutMetrics'));
  // The browser counts from the leftmost column, which a page written from right to left does not begin at.
  const originX = cssLayoutViewport.pageX - plan.scrollX;
  const { left, right } = plan.columns ?? { left: 0, right: cssVisualViewport.clientWidth };
  const kept = { left: originX + left, right: originX + right };
  const captured = filters.spans.length === 0 ? kept : { left: 0, right: kept.right + (plan.columns === null ? 0 : filters.reach) };
  const most = mostHeight(captured, { ratio, filtered: filters.spans.length > 0 });
  while (y < plan.to && (count === 0 || Date.now() <= plan.lastStart)) {
    const band = bandFrom(y, { most, plan, filters });
    const beyond = { x: captured.left, y: band.top, width: captured.right - captured.left, height: band.bottom - band.top, scale: zoom };
    const png = await shoot(stage, plan.deadline, { format: 'png', fast: true, beyond });
    const size = pngSize(png);
    const first = Math.round((kept.left - captured.left) * ratio);
    const last = captured.right > kept.right ? Math.round((kept.right - captured.left) * ratio) : size.width;
    const from = Math.round((y - band.top) * ratio);
    const to = band.bottom > band.end ? Math.round((band.end - band.top) * ratio) : size.height;
    width = count === 0 ? last - first : width;
    store.add(png, { left: first, width, from, to });
    height += to - from;
    count++;
    y = band.end;
  }
  return { count, width, height, whole: y >= plan.to };
}

/**
 * What the band has of them. The browser draws them in a wrong place when a capture begins within them, at densities other than 1, and at
 * any they lack what lies beyond it.
 */
async function filtersOf(hand: PageHand, { from, to, ratio, columns }: SectionPlan): Promise<Blurs> {
  const allInOne = from === 0 && columns === null && to * ratio <= SHOT_MAX_ROWS;
  if (allInOne) return { reach: 0, spans: [], scrollY: 0 };
  await hand.run(addPinKit, null);
  const blurs = await hand.run(findBlurs, 'page');
  return { ...blurs, spans: blurs.spans.filter(({ top, bottom }) => top < to && from < bottom) };
}

/** CSS px of one capture at most. */
function mostHeight({ left, right }: { left: number; right: number }, how: { ratio: number; filtered: boolean }): number {
  const rows = how.filtered ? Math.min(SHOT_MAX_ROWS, SHOT_MAX_PIXELS / ((right - left) * how.ratio)) : SHOT_MAX_ROWS;
  return Math.max(1, Math.floor(rows / how.ratio));
}

/** CSS px of the page: from where to where it is captured, and to where it is kept. */
export interface Band {
  top: number;
  bottom: number;
  end: number;
}

/**
 * The next band, from `y` on. Where what is captured around it would leave little of it, as of very wide pictures, nothing is.
 *
 * @param how.most CSS px of one capture
 */
export function bandFrom(
  y: number,
  how: { most: number; plan: Pick<SectionPlan, 'to' | 'ratio'>; filters: Pick<Blurs, 'reach' | 'spans'> },
): Band {
  const { most, plan, filters } = how;
  const top = topFor(y, how);
  const bottom = bandEnd(top, most, plan);
  const goesOn = filters.spans.some((span) => span.top < bottom && bottom < span.bottom);
  const reach = goesOn ? Math.min(filters.reach, Math.floor(most / 4)) : 0;
  if (bottom === plan.to) return { top, bottom: Math.min(bottom + reach, top + most), end: bottom };
  const lowest = Math.floor(bottom - reach);
  const end = goesOn ? bestAligned(lowest, lowest - ALIGN_WITHIN_PX, plan.ratio) : bottom;
  if (end - y >= most / LEAST_OF_BAND) return { top, bottom, end };
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
