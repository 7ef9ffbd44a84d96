import type { CaptureOptions } from '../../contract/capture-request.js';
import { FULL_PAGE_MAX_HEIGHT_PX, FULL_WIDTH_MAX_PX } from '../../contract/limits.js';
import type { PageExtent } from '../in-page/scroll.js';
import type { FeedCut } from '../in-page/scrollers.js';
import { monotonicNow } from '../monotonic-now.js';
import { passTime, type TimedPage } from '../page/page-clock.js';
import { type BoundedPage, boundedPage } from './bounded-page.js';
import { fitDensity } from './fit-density.js';
import { scrollToForeign } from './foreign-element.js';

/** The result of scrolling through a page. */
export interface ScrollReport {
  /** Height of the whole page at the end of the scrolling, CSS px. */
  pageHeight: number;
  /** CSS px down to which the page is to be captured. */
  captureHeight: number;
  stoppedReason: 'end_of_page' | 'max_height' | 'format_limit' | 'time_limit';
  /** An inner scroller has more content, although the page ends there. */
  feedCut: boolean;
  steps: number;
}

/** A page that was complete from the start, and did not grow endlessly, may be taller than FULL_PAGE_MAX_HEIGHT_PX. */
const WHOLE_PAGE_MAX_HEIGHT_PX = 100_000;
/** Growth beyond this is an endless feed. */
const ENDLESS_GROWTH = 2;
/** The page's time at each stop: the longest delays of throttled scroll handlers and of the animations that they start. */
const STOP_MS = 300;
/** The real time that this may take on a busy machine. */
const STOP_MAX_MS = 2_000;
/** Default of `full_page_scroll_delay`: until what the scroll started is loaded, at most this long. */
const LOAD_WAIT_MS = 400;
/** At the end of the page, for content that makes it longer. */
const END_WAIT_MS = 800;
/** Consecutive scrolls without movement or new content. */
const STUCK_STEPS = 3;

export interface Descending {
  /** When the page must have responded for the first time, ms by `monotonicNow`. Default: as the deadline. */
  respondsBy?: number;
  /** ms by `monotonicNow`. */
  deadline: number;
  settle(): Promise<void>;
}

/**
 * Scrolls through the whole page so that lazy content loads, then returns to the top and settles. Expands inner scrollers, undoes scroll
 * locks, and measures again at each step: it stops at the end, at the greatest height, where the format ends at any density, at the deadline,
 * or when nothing moves any more.
 *
 * @throws CaptureError `render_timeout` when the page stops answering, `render_crashed`, `navigation_failed`
 */
export async function scrollThrough(timed: TimedPage, options: CaptureOptions, how: Descending): Promise<ScrollReport> {
  const page = boundedPage(timed.session, how.deadline + END_WAIT_MS);
  const first = how.respondsBy === undefined ? page : boundedPage(timed.session, how.respondsBy);
  const feedCut = await first.call('scrollers.expandAll');
  const start = await first.call('scroll.measure');
  const end = await scrollDown(timed, page, { options, start, deadline: how.deadline });
  if (end.steps > 0) {
    const since = performance.now();
    await page.call('scroll.step', { to: 0 });
    await react(timed, since);
  }
  await how.settle();
  const { pageHeight } = await page.call('scroll.measure');
  return tellFeed(report(pageHeight, end, { start, options }), start, feedCut);
}

/**
 * Scrolls to an element and through it, so that what is lazy in it loads, then settles; whatever is in view from the start costs two frames. An element
 * that is not there is for the picture to tell.
 *
 * @throws CaptureError `render_timeout` when the page stops answering, `render_crashed`, `navigation_failed`
 */
export async function scrollToElement(timed: TimedPage, selector: string, how: Descending): Promise<void> {
  const page = boundedPage(timed.session, how.deadline + END_WAIT_MS);
  const before = await page.call('scroll.measure');
  const since = performance.now();
  const sighting = await page.call('element.mark', selector);
  if ('place' in sighting && sighting.place !== null) {
    await scrollToForeign(timed.session, sighting.place);
    await react(timed, since);
    return await how.settle();
  }
  if (!('box' in sighting)) return;
  const { top, bottom } = sighting.box;
  const { viewHeight, scrollY } = await page.call('scroll.measure');
  if (scrollY === before.scrollY && timed.network.loading(since) === 0) return;
  await react(timed, since);
  for (let seen = Math.max(top, scrollY + viewHeight); seen < bottom && monotonicNow() < how.deadline; seen += viewHeight) {
    const stepped = performance.now();
    await page.call('scroll.step', { by: seen - viewHeight / 2, to: seen });
    await react(timed, stepped);
  }
  await how.settle();
}

/** The columns of a picture in the page's full width, CSS px: from where the page begins, at the right if it is written from right to left. */
export function pageColumns({ left, right }: Pick<PageExtent, 'left' | 'right'>): { left: number; right: number } {
  return left < 0 ? { left: Math.max(left, right - FULL_WIDTH_MAX_PX), right } : { left, right: Math.min(right, left + FULL_WIDTH_MAX_PX) };
}

/** CSS px down to which a page of that height is captured, which may have grown since it was scrolled through. */
export function capturedHeight({ stoppedReason, captureHeight }: ScrollReport, pageHeight: number, maxHeight: number | null): number {
  const wanted = stoppedReason === 'end_of_page' ? pageHeight : Math.min(pageHeight, captureHeight);
  return Math.min(wanted, maxHeight ?? wanted);
}

/** Lets the page react to a scroll. @param since when the scroll began, by `performance.now` @param mostMs of waiting for what it loads */
export async function react(timed: TimedPage, since: number, mostMs = LOAD_WAIT_MS): Promise<void> {
  const { network } = timed;
  const over = AbortSignal.timeout(mostMs);
  await network.loaded(since, over);
  await passTime(timed, STOP_MS, { realMs: STOP_MAX_MS, sliceMs: STOP_MS / 2, holds: false });
  await network.loaded(since, over);
}

interface Way {
  options: CaptureOptions;
  start: PageExtent;
  /** ms by `monotonicNow`. */
  deadline: number;
}

type Reached = Omit<ScrollReport, 'feedCut'>;

interface Descent {
  steps: number;
  /** CSS px that have been in view. */
  seen: number;
  stopped: 'end' | 'height' | 'time';
}

async function scrollDown(timed: TimedPage, page: BoundedPage, how: Way): Promise<Descent> {
  const { options, start } = how;
  const step = options.fullPageScrollBy ?? start.viewHeight;
  let { scrollY, pageHeight, viewHeight } = start;
  let since = performance.now();
  let steps = 0;
  let stuck = 0;
  const descent = (stopped: Descent['stopped']): Descent => ({ steps, seen: scrollY + viewHeight, stopped });
  for (;;) {
    if (options.fullWidth) steps += await scrollAcross(timed, page, how.deadline);
    const atEnd = scrollY + viewHeight >= pageHeight - 1;
    if (scrollY + viewHeight >= heightLimit(pageHeight, how).px) return descent('height');
    if (monotonicNow() >= how.deadline) return descent(atEnd ? 'end' : 'time');
    if (atEnd && steps > 0) {
      await react(timed, since, Math.min(END_WAIT_MS, Math.max(0, how.deadline - monotonicNow())));
      const grown = (await page.call('scroll.measure')).pageHeight;
      if (grown <= pageHeight + 1) return descent('end');
    } else if (atEnd) return descent('end');
    since = performance.now();
    // Elements that are shown only when they are well inside the view, or in it as a whole, may be so in neither of two adjacent views.
    const between = options.fullPageScrollBy === null ? { by: scrollY + step / 2 } : {};
    await page.call('scroll.step', { ...between, to: scrollY + step });
    if (options.fullPageScrollDelay === null) await react(timed, since);
    else await passTime(timed, options.fullPageScrollDelay, { realMs: options.fullPageScrollDelay, holds: false });
    const now = await page.call('scroll.measure');
    steps++;
    stuck = now.scrollY <= scrollY && now.pageHeight <= pageHeight ? stuck + 1 : 0;
    if (stuck >= STUCK_STEPS) return descent('end');
    ({ scrollY, pageHeight, viewHeight } = now);
  }
}

/** Shows what lies beside the view at this height, so that it loads, and returns to where the page begins. @returns the steps taken */
async function scrollAcross(timed: TimedPage, page: BoundedPage, deadline: number): Promise<number> {
  const { scrollX, scrollY, viewWidth, ...extent } = await page.call('scroll.measure');
  const { left, right } = pageColumns(extent);
  const stops = Math.max(0, Math.ceil((right - left - 1) / viewWidth) - 1);
  for (let stop = 1; stop <= stops && monotonicNow() < deadline; stop++) {
    const since = performance.now();
    await page.call('scroll.step', { to: scrollY, left: scrollX + (left < 0 ? -stop : stop) * viewWidth });
    await react(timed, since);
  }
  if (stops > 0) await page.call('scroll.step', { to: scrollY, left: scrollX });
  return stops;
}

/** CSS px down to which a page of that height is captured, and the reason. */
function heightLimit(pageHeight: number, { start, options }: Pick<Way, 'start' | 'options'>) {
  const endless = pageHeight > FULL_PAGE_MAX_HEIGHT_PX && pageHeight > ENDLESS_GROWTH * start.pageHeight;
  const most = Math.min(endless ? FULL_PAGE_MAX_HEIGHT_PX : WHOLE_PAGE_MAX_HEIGHT_PX, options.maxHeight ?? WHOLE_PAGE_MAX_HEIGHT_PX);
  const format = options.format === 'pdf' ? 'png' : options.format;
  const { left, right } = pageColumns(start);
  const width = options.fullWidth ? (right - left) * start.zoom : options.view.width;
  const fit = fitDensity({ width, height: most * start.zoom }, options.view.deviceScaleFactor, format);
  const px = Math.min(most, fit.height / start.zoom);
  return { px, reason: px < most ? ('format_limit' as const) : ('max_height' as const) };
}

function report(pageHeight: number, end: Descent, way: Pick<Way, 'start' | 'options'>): Reached {
  const { px: limit, reason } = heightLimit(pageHeight, way);
  const { steps } = end;
  if (end.stopped === 'time' && end.seen < Math.min(pageHeight, limit)) {
    return { pageHeight, captureHeight: end.seen, stoppedReason: 'time_limit', steps };
  }
  if (pageHeight > limit) return { pageHeight, captureHeight: limit, stoppedReason: reason, steps };
  return { pageHeight, captureHeight: pageHeight, stoppedReason: 'end_of_page', steps };
}

/** A scroller that has grown since, when the document was scrolled, was not cut off. */
function tellFeed(found: Reached, start: PageExtent, cut: FeedCut): ScrollReport {
  const grewOn = found.pageHeight > start.pageHeight + 1;
  if (cut === null || found.stoppedReason !== 'end_of_page' || grewOn) return { ...found, feedCut: false };
  return { ...found, stoppedReason: cut, feedCut: true };
}
