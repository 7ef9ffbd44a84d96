import type { CaptureOptions } from '../../contract/capture-request.js';
import { FULL_PAGE_MAX_HEIGHT_PX } from '../../contract/limits.js';
import type { PageExtent } from '../in-page/scroll.js';
import type { FeedCut } from '../in-page/scrollers.js';
import { monotonicNow } from '../monotonic-now.js';
import type { OpenPage } from '../page/open-page.js';
import { type BoundedPage, boundedPage } from './bounded-page.js';
import { fitDensity } from './fit-density.js';
import { LateReaction, listensToScroll } from './late-reaction.js';
import { Loads } from './loads.js';

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
  /** Scrolling had no effect: no content changed, nothing was loaded. */
  isCalm: boolean;
}

/** A page that was complete from the start, and did not grow endlessly, may be taller than FULL_PAGE_MAX_HEIGHT_PX. */
const WHOLE_PAGE_MAX_HEIGHT_PX = 100_000;
/** Growth beyond this is an endless feed. */
const ENDLESS_GROWTH = 2;
/** Default of `full_page_scroll_delay`: until the effects of the scroll are over, at most this long. */
const LOAD_WAIT_MS = 400;
/** At the end of the page, for content that makes it longer. */
const END_WAIT_MS = 800;
/** Time for a scroll handler or an observer to start its request. */
const REACTION_MS = 30;
/** The same at the end of the page, which the request may make longer. */
const END_REACTION_MS = 120;
/** The longest delay of a throttled scroll handler. */
const THROTTLE_MS = 120;
/** Consecutive scrolls without movement or new content. */
const STUCK_STEPS = 3;

type Scrolled = Pick<OpenPage, 'session' | 'network'>;

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
export async function scrollThrough({ session, network }: Scrolled, options: CaptureOptions, how: Descending): Promise<ScrollReport> {
  const page = boundedPage(session, how.deadline + END_WAIT_MS);
  const feedCut = await page.call('scrollers.expandAll');
  const start = await page.call('scroll.measure');
  const loads = new Loads(network);
  const listens = start.pageHeight > start.viewHeight + 1 && (await listensToScroll(session, how.deadline + END_WAIT_MS));
  const late = listens ? new LateReaction(page, loads) : null;
  const way = { options, start, loads, late, deadline: how.deadline };
  await page.call('late.watch');
  let end = await scrollDown(page, way);
  // Content that appears only when scrolling pauses was missed on the way down.
  if (late?.isFound === true) end = await scrollDown(page, { ...way, late: late.expect() });
  if (end.steps > 0) await returnToTop(page, listens);
  await how.settle();
  const { pageHeight } = await page.call('scroll.measure');
  const isCalm = end.steps > 0 && loads.begun === 0 && (await page.call('late.isUntouched'));
  return { ...tellFeed(report(pageHeight, end, { start, options }), start, feedCut), isCalm };
}

/** A throttled scroll handler may still have to undo what it did on the way down. */
async function returnToTop(page: BoundedPage, listens: boolean): Promise<void> {
  await page.call('scroll.watchRestyling');
  await page.call('scroll.step', { to: 0, waitMs: 0 });
  if (listens && !(await page.call('late.isBack'))) await page.call('scroll.step', { to: null, waitMs: THROTTLE_MS });
}

/**
 * Scrolls to an element and through it, so that what is lazy in it loads, then settles; whatever is in view from the start costs two frames. An element
 * that is not there is for the picture to tell.
 *
 * @throws CaptureError `render_timeout` when the page stops answering, `render_crashed`, `navigation_failed`
 */
export async function scrollToElement({ session, network }: Scrolled, selector: string, how: Descending): Promise<void> {
  const page = boundedPage(session, how.deadline + END_WAIT_MS);
  const before = await page.call('scroll.measure');
  const loads = new Loads(network);
  const sighting = await page.call('element.mark', selector);
  if (!('box' in sighting)) return;
  const { top, bottom } = sighting.box;
  const { viewHeight, scrollY } = await page.call('scroll.measure');
  if (scrollY === before.scrollY && loads.pending === 0) return;
  let since = monotonicNow();
  await loads.done(LOAD_WAIT_MS);
  const late = (await listensToScroll(session, how.deadline + END_WAIT_MS)) ? new LateReaction(page, loads).expect() : null;
  await late?.done({ since, atMostMs: LOAD_WAIT_MS });
  for (let seen = Math.max(top, scrollY + viewHeight); seen < bottom && monotonicNow() < how.deadline; seen += viewHeight) {
    loads.begin();
    await page.call('scroll.step', { by: seen - viewHeight / 2, to: seen, waitMs: REACTION_MS });
    since = monotonicNow();
    await loads.done(LOAD_WAIT_MS);
    await late?.done({ since, atMostMs: LOAD_WAIT_MS });
  }
  await how.settle();
}

interface Way {
  options: CaptureOptions;
  start: PageExtent;
  loads: Loads;
  /** Null when the page does not listen to scrolling. */
  late: LateReaction | null;
  /** ms by `monotonicNow`. */
  deadline: number;
}

type Reached = Omit<ScrollReport, 'feedCut' | 'isCalm'>;

interface Descent {
  steps: number;
  /** CSS px that have been in view. */
  seen: number;
  stopped: 'end' | 'height' | 'time';
}

async function scrollDown(page: BoundedPage, how: Way): Promise<Descent> {
  const { options, start, loads, late } = how;
  const step = options.fullPageScrollBy ?? start.viewHeight;
  let { scrollY, pageHeight, viewHeight } = start;
  let since = monotonicNow();
  let steps = 0;
  let stuck = 0;
  let waitedOut = false;
  const descent = (stopped: Descent['stopped']): Descent => ({ steps, seen: scrollY + viewHeight, stopped });
  for (;;) {
    const atEnd = scrollY + viewHeight >= pageHeight - 1;
    if (scrollY + viewHeight >= heightLimit(pageHeight, how).px) return descent('height');
    if (monotonicNow() >= how.deadline) return descent(atEnd ? 'end' : 'time');
    if (atEnd && steps > 0 && !(await grows(page, { ...how, pageHeight, since }))) return descent('end');
    if (atEnd && steps === 0) return descent('end');
    if (waitedOut) loads.begin();
    // Elements that are shown only when they are well inside the view, or in it as a whole, may be so in neither of two adjacent views.
    const between = options.fullPageScrollBy === null ? { by: scrollY + step / 2 } : {};
    const now = await page.call('scroll.step', { ...between, to: scrollY + step, waitMs: options.fullPageScrollDelay });
    since = monotonicNow();
    if (options.fullPageScrollDelay === null) {
      await loads.done(LOAD_WAIT_MS);
      await late?.done({ since, atMostMs: LOAD_WAIT_MS });
    }
    waitedOut = loads.pending > 0;
    steps++;
    stuck = now.scrollY <= scrollY && now.pageHeight <= pageHeight ? stuck + 1 : 0;
    if (stuck >= STUCK_STEPS) return descent('end');
    ({ scrollY, pageHeight, viewHeight } = now);
  }
}

/** At the end: whether content that is still loading makes the page longer. */
async function grows(page: BoundedPage, how: Way & { pageHeight: number; since: number }): Promise<boolean> {
  await how.late?.growth({ since: how.since, pageHeight: how.pageHeight });
  let now = await page.call('scroll.step', { to: null, waitMs: how.late === null ? END_REACTION_MS : 0 });
  if (now.pageHeight <= how.pageHeight + 1 && how.loads.pending > 0) {
    await how.loads.done(Math.min(END_WAIT_MS, how.deadline - monotonicNow()));
    now = await page.call('scroll.step', { to: null, waitMs: END_REACTION_MS });
  }
  return now.pageHeight > how.pageHeight + 1;
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
function tellFeed(found: Reached, start: PageExtent, cut: FeedCut): Omit<ScrollReport, 'isCalm'> {
  const grewOn = found.pageHeight > start.pageHeight + 1;
  if (cut === null || found.stoppedReason !== 'end_of_page' || grewOn) return { ...found, feedCut: false };
  return { ...found, stoppedReason: cut, feedCut: true };
}
