import type { CaptureOptions } from '../../contract/capture-request.js';
import { FULL_PAGE_MAX_HEIGHT_PX } from '../../contract/limits.js';
import type { PageExtent } from '../in-page/scroll.js';
import type { FeedCut } from '../in-page/scrollers.js';
import { monotonicNow } from '../monotonic-now.js';
import type { OpenPage } from '../page/open-page.js';
import { passTime } from '../page/page-clock.js';
import { type BoundedPage, boundedPage } from './bounded-page.js';
import { fitDensity } from './fit-density.js';

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
const STOP_MAX_MS = 1_000;
/** Default of `full_page_scroll_delay`: until what the scroll started is loaded, at most this long. */
const LOAD_WAIT_MS = 400;
/** At the end of the page, for content that makes it longer. */
const END_WAIT_MS = 800;
/** Consecutive scrolls without movement or new content. */
const STUCK_STEPS = 3;

type Scrolled = Pick<OpenPage, 'session' | 'network' | 'deadlines' | 'world' | 'realTime' | 'debug'>;

export interface Descending {
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
export async function scrollThrough(scrolled: Scrolled, options: CaptureOptions, how: Descending): Promise<ScrollReport> {
  const page = boundedPage(scrolled.session, how.deadline + END_WAIT_MS);
  const feedCut = await page.call('scrollers.expandAll');
  const start = await page.call('scroll.measure');
  const end = await scrollDown(scrolled, page, { options, start, deadline: how.deadline });
  if (end.steps > 0) {
    const since = performance.now();
    await page.call('scroll.step', { to: 0 });
    await stop(scrolled, since, LOAD_WAIT_MS);
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
export async function scrollToElement(scrolled: Scrolled, selector: string, how: Descending): Promise<void> {
  const page = boundedPage(scrolled.session, how.deadline + END_WAIT_MS);
  const before = await page.call('scroll.measure');
  const since = performance.now();
  const sighting = await page.call('element.mark', selector);
  if (!('box' in sighting)) return;
  const { top, bottom } = sighting.box;
  const { viewHeight, scrollY } = await page.call('scroll.measure');
  if (scrollY === before.scrollY && scrolled.network.loading(since) === 0) return;
  await stop(scrolled, since, LOAD_WAIT_MS);
  for (let seen = Math.max(top, scrollY + viewHeight); seen < bottom && monotonicNow() < how.deadline; seen += viewHeight) {
    const stepped = performance.now();
    await page.call('scroll.step', { by: seen - viewHeight / 2, to: seen });
    await stop(scrolled, stepped, LOAD_WAIT_MS);
  }
  await how.settle();
}

/** Lets the page react to a scroll. @param since when the scroll began, by `performance.now` */
async function stop(scrolled: Scrolled, since: number, mostMs: number): Promise<void> {
  const { network } = scrolled;
  const over = AbortSignal.timeout(mostMs);
  await network.loaded(since, over);
  await passTime(scrolled, STOP_MS, { realMs: STOP_MAX_MS, sliceMs: STOP_MS / 2, holds: false });
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

async function scrollDown(scrolled: Scrolled, page: BoundedPage, how: Way): Promise<Descent> {
  const { options, start } = how;
  const step = options.fullPageScrollBy ?? start.viewHeight;
  let { scrollY, pageHeight, viewHeight } = start;
  let since = performance.now();
  let steps = 0;
  let stuck = 0;
  const descent = (stopped: Descent['stopped']): Descent => ({ steps, seen: scrollY + viewHeight, stopped });
  for (;;) {
    const atEnd = scrollY + viewHeight >= pageHeight - 1;
    if (scrollY + viewHeight >= heightLimit(pageHeight, how).px) return descent('height');
    if (monotonicNow() >= how.deadline) return descent(atEnd ? 'end' : 'time');
    if (atEnd && steps > 0) {
      await stop(scrolled, since, Math.min(END_WAIT_MS, Math.max(0, how.deadline - monotonicNow())));
      const grown = (await page.call('scroll.measure')).pageHeight;
      if (grown <= pageHeight + 1) return descent('end');
    } else if (atEnd) return descent('end');
    since = performance.now();
    // Elements that are shown only when they are well inside the view, or in it as a whole, may be so in neither of two adjacent views.
    const between = options.fullPageScrollBy === null ? { by: scrollY + step / 2 } : {};
    await page.call('scroll.step', { ...between, to: scrollY + step });
    if (options.fullPageScrollDelay === null) await stop(scrolled, since, LOAD_WAIT_MS);
    else await passTime(scrolled, options.fullPageScrollDelay, { realMs: options.fullPageScrollDelay, holds: false });
    const now = await page.call('scroll.measure');
    steps++;
    stuck = now.scrollY <= scrollY && now.pageHeight <= pageHeight ? stuck + 1 : 0;
    if (stuck >= STUCK_STEPS) return descent('end');
    ({ scrollY, pageHeight, viewHeight } = now);
  }
}

/** CSS px down to which a page of that height is captured, and the reason. */
function heightLimit(pageHeight: number, { start, options }: Pick<Way, 'start' | 'options'>) {
  const endless = pageHeight > FULL_PAGE_MAX_HEIGHT_PX && pageHeight > ENDLESS_GROWTH * start.pageHeight;
  const most = endless ? FULL_PAGE_MAX_HEIGHT_PX : WHOLE_PAGE_MAX_HEIGHT_PX;
  const format = options.format === 'pdf' ? 'png' : options.format;
  const fit = fitDensity({ width: options.view.width, height: most * start.zoom }, options.view.deviceScaleFactor, format);
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
