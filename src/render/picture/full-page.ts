/** A full page: scrolled through, so that lazy content loads, and captured in bands that are joined without a seam. */

import { type CaptureOptions, type ImageFormat, isImageFormat } from '../../contract/capture-request.js';
import { FULL_PAGE_MAX_HEIGHT_PX, FULL_WIDTH_MAX_PX } from '../../contract/limits.js';
import { monotonicNow, TIMED_OUT, timeLimit } from '../deadlines.js';
import type { PageExtent } from '../in-page/scroll.js';
import type { Expanding } from '../in-page/scrollers.js';
import { frameIds, runInFrame } from '../launch/frame-scripts.js';
import { advanceTime, resumePage, stopPage, type TimedPage } from '../page/page-clock.js';
import { type Answer, type BoundedPage, boundedPage, callOnce } from '../page-session.js';
import {
  type ArrangedRegion,
  fitDensity,
  fitRegion,
  measurePage,
  type Picture,
  type PictureTask,
  type Region,
} from './region-picture.js';

/** The result of scrolling through a page. */
export interface ScrollReport {
  /** The height to capture, in CSS px. */
  captureHeight: number;
  /** If it is not the end of the page, the page or an inner scroller has more content. */
  stoppedReason: 'end_of_page' | 'max_height' | 'time_limit';
  steps: number;
  /** Whether a frame that fills the page has content that it does not show. */
  lacksContent: boolean;
}

/** A page is seldom made of more frames. */
const FRAMES_MAX = 20;
/** The time limit for a frame to be expanded, in ms of real time. */
const FRAME_MAX_MS = 5_000;

/** A page that was complete from the start, and did not grow endlessly, may be taller than FULL_PAGE_MAX_HEIGHT_PX. */
const WHOLE_PAGE_MAX_HEIGHT_PX = 100_000;
/** Growth beyond this factor indicates an endless feed. */
const ENDLESS_GROWTH = 2;
/** The page's time at each stop, in ms: the longest delay of throttled scroll handlers and the animations that they start. */
const STOP_MS = 300;
/** The page's time before a part is captured at its own scroll position, in ms: animations by scripts must have ended. */
export const SHOWN_MS = 1_000;
/** The real time that this may take on a busy machine, in ms. */
const STOP_MAX_MS = 2_000;
/** The longest wait for content loaded by a scroll, unless `full_page_scroll_delay` is set, in ms. */
const LOAD_WAIT_MS = 400;
/** How often a list whose rows have other heights than it has estimated is expanded again. */
const FIT_ROUNDS = 8;
/** The page's time for numbers and fading parts at a stop, in ms. A page that needs more at one stop gets none at the others. */
const FADING_MAX_MS = 1_500;
/** The page's time for half a view that the mouse wheel is turned by, in ms. */
const WHEEL_MS = 150;
/** The number of turns without movement after which no more are tried: some pages ignore the wheel for 0.7 s after they have moved. */
const WHEEL_STUCK = 8;
/** The longest that turning the wheel to the end takes, and that turning it back does, in ms. */
const WHEEL_MAX_MS = 4_000;
/** How often a page is scrolled to parts that have not been seen: a part that comes into sight may hold others that come later. */
const UNSEEN_ROUNDS = 2;
/** The wait at the end of the page for content that extends it, in ms. */
export const END_WAIT_MS = 800;
/** The longest that a scroll takes which began before the time limit, and the return to the top, on a busy machine, in ms. */
const LAST_STEP_MS = LOAD_WAIT_MS + STOP_MAX_MS;
/** The number of consecutive scrolls without movement or new content after which scrolling ends. */
const STUCK_STEPS = 3;

export interface ScrollOptions {
  /** When the page must have responded for the first time, ms by `monotonicNow`; by default, at the deadline. */
  respondsBy?: number;
  /** The time limit, ms by `monotonicNow`. */
  deadline: number;
  waitForIdle(): Promise<void>;
}

/** Questions about a page before it is scrolled. */
const START = [['scroll.measure'], ['scroll.wholeHeight'], ['scroll.isStill']] as const;

/**
 * Full-page scrolling: scrolls through the whole page so that lazy content loads, then returns to the top and waits until it is idle.
 * Expands inner scrollers, unlocks scrolling, and stops at the end, a height limit, the deadline, or when nothing moves.
 * @throws CaptureError `render_timeout` when the page stops responding, `render_crashed`, `navigation_failed`
 */
export async function scrollThrough(
  timed: TimedPage,
  options: CaptureOptions,
  limits: ScrollOptions,
): Promise<ScrollReport> {
  const page = boundedPage(timed.session, limits.deadline + LAST_STEP_MS);
  const first = boundedPage(timed.session, limits.respondsBy ?? limits.deadline);
  const expanding = { wide: options.fullWidth, reportsSize: timed.reportsSize };
  const since = performance.now();
  const [cut, hasExpanded, filling, ...measured] = await first.callAll(
    ['scrollers.expandAll', expanding],
    ['scrollers.hasExpanded'],
    ['scrollers.fillingFrames'],
    ...START,
  );
  if (hasExpanded) await fitScrollers(timed, page, since);
  const isUnchanged = !hasExpanded && filling.length === 0;
  const lacksContent = isUnchanged ? false : await expandFrames(timed, page, expanding);
  const [extent, wholeHeight, reactsToNothing] = isUnchanged ? measured : await first.callAll(...START);
  const start = { ...extent, wholeHeight };
  const fading = { isEndless: false, until: limits.deadline };
  const isStill = options.fullPageScrollDelay === null && reactsToNothing;
  const { steps, seen, isLate } = isStill
    ? { steps: 0, seen: start.pageHeight, isLate: false }
    : await scrollDown(timed, page, { options, start, fading, deadline: limits.deadline });
  const inTime = () => boundedPage(timed.session, Math.max(limits.deadline, monotonicNow()) + LAST_STEP_MS);
  if (steps > 0) {
    const back = inTime();
    for (let round = 0; round < UNSEEN_ROUNDS; round++) {
      const stops = await back.call('looks.unseenAt');
      for (const to of stops) if (monotonicNow() < limits.deadline) await stepTo(timed, page, { to, options, fading });
      if (stops.length === 0) break;
    }
    await stepTo(timed, back, { to: 0, options, fading });
    if (await back.call('transformedContent.hidesText')) await turnWheel(timed, start, limits.deadline);
  }
  if (!isStill && (steps > 0 || start.pageHeight > start.viewHeight + 1)) await limits.waitForIdle();
  const { pageHeight } = isStill ? start : await inTime().call('scroll.measure');
  const limit = heightLimit(pageHeight, { start, options });
  if (isLate && seen < Math.min(pageHeight, limit))
    return { captureHeight: seen, stoppedReason: 'time_limit', steps, lacksContent };
  if (pageHeight > limit) return { captureHeight: limit, stoppedReason: 'max_height', steps, lacksContent };
  // A scroller that has grown since, while the document was scrolled, was not cut off.
  const hasGrown = pageHeight > start.pageHeight + 1;
  return { captureHeight: pageHeight, stoppedReason: (hasGrown ? null : cut) ?? 'end_of_page', steps, lacksContent };
}

/**
 * Turns the mouse wheel to the end of a page that moves its content by a transform, and back.
 * @param extent of the page, in which the content is laid out unmoved
 * @param deadline ms by `monotonicNow`
 */
async function turnWheel(timed: TimedPage, { pageHeight, viewHeight }: PageExtent, deadline: number): Promise<void> {
  const until = Math.min(deadline, monotonicNow() + WHEEL_MAX_MS);
  const page = boundedPage(timed.session, until + WHEEL_MAX_MS + LAST_STEP_MS);
  const turn = async (deltaY: number, ms: number) => {
    await page.call('transformedContent.turnWheel', deltaY);
    await advanceTime(timed, ms, { realMs: STOP_MAX_MS, holds: false });
    return await page.call('transformedContent.movedBy');
  };
  const start = await page.call('transformedContent.movedBy');
  // A turn at the end could open another page.
  const end = pageHeight - viewHeight - 1;
  let at = start;
  let moves = 0;
  for (let stuck = 0; at < end && stuck < WHEEL_STUCK && monotonicNow() < until; ) {
    const before = at;
    at = await turn(viewHeight / 2, WHEEL_MS);
    // Some pages begin again at their end.
    if (at < before - 1) break;
    stuck = at - before < 1 ? stuck + 1 : 0;
    if (stuck > 0) continue;
    moves += 1;
    // The first step shows the place, the second notes what it shows.
    for (let steps = 0; steps < 2; steps++) await page.call('scroll.step', { to: at });
  }
  // A page may move by one section for each turn.
  for (let turns = 0; Math.abs(at - start) >= 1 && turns <= moves && monotonicNow() < until + WHEEL_MAX_MS; turns++)
    at = await turn(-WHOLE_PAGE_MAX_HEIGHT_PX, SHOWN_MS);
  await page.call('scroll.step', { to: 0 });
  await page.call('transformedContent.showSeen');
}

/**
 * Gives expanded scrollers the height of their content, until lists that estimate their rows have drawn all of them.
 * @param since when the page was laid out anew, by `performance.now`
 */
export async function fitScrollers(timed: TimedPage, page: BoundedPage, since: number): Promise<void> {
  // On a busy machine, a list may not have drawn its rows yet.
  for (let round = 0, unchanged = 0; round < FIT_ROUNDS && unchanged < 2; round++) {
    await waitForReaction(timed, since);
    unchanged = (await page.call('scrollers.fitToContent')) ? 0 : unchanged + 1;
  }
}

/**
 * Expands the frames that fill a page, whatever their origin.
 * @returns whether one of them has content that it does not show
 */
async function expandFrames(
  { session, deadlines }: TimedPage,
  page: BoundedPage,
  expanding: Expanding,
): Promise<boolean> {
  const places = await page.call('scrollers.fillingFrames');
  if (places.length === 0) return false;
  const expression = callOnce('scrollers.expandInFrame', places, expanding);
  const answers = (await frameIds(session.cdp)).slice(1, 1 + FRAMES_MAX).map(async (id) => {
    const answer = await deadlines.within(runInFrame(session.cdp, id, expression), FRAME_MAX_MS);
    return answer === TIMED_OUT ? null : (answer as Answer<'scrollers.expandInFrame'>);
  });
  const frames = (await Promise.all(answers.map((answer) => answer.catch(() => null)))).filter(
    (frame) => frame !== null,
  );
  let isCut = frames.length < places.length;
  for (const frame of frames) isCut = (await page.call('scrollers.growFrame', frame)) || isCut;
  return isCut;
}

/** The columns of a picture in the page's full width, in CSS px. A page written from right to left begins at the right. */
function pageColumns({ left, right }: Pick<PageExtent, 'left' | 'right'>) {
  return left < 0
    ? { left: Math.max(left, right - FULL_WIDTH_MAX_PX), right }
    : { left, right: Math.min(right, left + FULL_WIDTH_MAX_PX) };
}

/** The height to capture, in CSS px, of a page that may have grown since it was scrolled through. */
export function capturedHeight(
  { stoppedReason, captureHeight }: ScrollReport,
  pageHeight: number,
  maxHeight: number | null,
): number {
  const wanted = stoppedReason === 'end_of_page' ? pageHeight : Math.min(pageHeight, captureHeight);
  return Math.min(wanted, maxHeight ?? wanted);
}

/**
 * Lets the page react to a scroll.
 * @param since when the scroll began, by `performance.now`
 * @param options.mostMs the longest wait for what it loads
 * @param options.ms of the page's time
 */
export async function waitForReaction(
  timed: TimedPage,
  since: number,
  { mostMs = LOAD_WAIT_MS, ms = STOP_MS }: { mostMs?: number; ms?: number } = {},
): Promise<void> {
  const { network } = timed;
  const timeUp = timeLimit(mostMs);
  await network.loaded(since, timeUp);
  await advanceTime(timed, ms, { realMs: STOP_MAX_MS, sliceMs: STOP_MS, holds: false });
  await network.loaded(since, timeUp);
}

/**
 * Notes what a page, at its top, does not show as it appeared while scrolling. Charts that it draws when they come into view, and clears
 * afterwards, are shown again until they have come to their end.
 * @param deadline ms by `monotonicNow`
 */
export async function keepMissing(timed: TimedPage, page: BoundedPage, deadline: number): Promise<void> {
  await page.call('missingParts.keepMissing');
  const stops = await page.call('missingParts.drawingStops');
  if (stops.length === 0) return;
  for (const to of [...stops, 0]) {
    if (to !== 0 && monotonicNow() > deadline) continue;
    const since = performance.now();
    await page.call('scroll.step', { to });
    await waitForReaction(timed, since, { ms: SHOWN_MS });
  }
  await page.call('missingParts.keepMissing');
}

/** Whether numbers or parts of the page change without an end, and how long to wait for them, in ms by `monotonicNow`. */
interface Fading {
  isEndless: boolean;
  until: number;
}

/** Lets the page's time pass while scripts fade parts in, or count, as those that start one after the other. */
async function waitForFading(timed: TimedPage, page: BoundedPage, fading: Fading): Promise<void> {
  const began = monotonicNow();
  for (let ms = 0; !fading.isEndless && (await page.call('readiness.isCounting')); ms += STOP_MS) {
    // The real time of a page that draws slowly passes on its clock.
    fading.isEndless = Math.max(ms, monotonicNow() - began) >= FADING_MAX_MS || monotonicNow() >= fading.until;
    await advanceTime(timed, STOP_MS, { realMs: STOP_MAX_MS, sliceMs: STOP_MS / 2, holds: false });
  }
}

interface ScrollPlan extends Pick<ScrollOptions, 'deadline'> {
  options: CaptureOptions;
  start: PageExtent & { wholeHeight: number };
  fading: Fading;
}

/**
 * Scrolls to the end of the page, or as far as the limits allow: by half a view, since some parts are shown only while they are well inside
 * the view, or wholly in it; by a view, with a frame half-way, while the page does not react. Once it does, it is scrolled to the positions
 * that were passed over.
 * @returns the lowest position that has been in view, in CSS px, and whether the time ended before the page
 */
async function scrollDown(timed: TimedPage, page: BoundedPage, { options, start, fading, deadline }: ScrollPlan) {
  const half = start.viewHeight / 2;
  const passedOver: number[] = [];
  let reacts = options.fullPageScrollBy !== null || options.fullWidth;
  if (!reacts) await page.call('scroll.observeReactions');
  let since = performance.now();
  let steps = 0;
  let stuck = 0;
  for (let at: PageExtent = start; ; ) {
    if (options.fullWidth) steps += await scrollAcross(timed, page, deadline);
    const { scrollY, pageHeight, viewHeight } = at;
    const reached = Math.abs(scrollY) + viewHeight;
    const isAtEnd = reached >= pageHeight - 1;
    const isOver = monotonicNow() >= deadline;
    const isDone =
      reached >= pictureLimit(pageHeight, { start, options }) || stuck >= STUCK_STEPS || (isAtEnd && steps === 0);
    if (isDone || isOver) return { steps, seen: reached, isLate: isOver && !isAtEnd };
    if (isAtEnd) {
      const mostMs = Math.min(END_WAIT_MS, Math.max(0, deadline - monotonicNow()));
      await waitForReaction(timed, since, { mostMs });
      const grown = (await page.call('scroll.measure')).pageHeight;
      if (grown <= pageHeight + 1) return { steps, seen: reached, isLate: false };
    }
    since = performance.now();
    const step = options.fullPageScrollBy ?? (reacts || steps === 0 ? half : 2 * half);
    const to = at.top < 0 ? scrollY - step : scrollY + step;
    const through = step > half && options.fullPageScrollBy === null ? (scrollY + to) / 2 : undefined;
    await stepTo(timed, page, { to, through, options, fading });
    steps++;
    const [measured, hasReacted] = reacts
      ? [await page.call('scroll.measure'), true]
      : await page.callAll(['scroll.measure'], ['scroll.hasReacted']);
    at = measured;
    if (step > half) passedOver.push((scrollY + at.scrollY) / 2);
    if (hasReacted && !reacts && passedOver.length > 0) {
      for (const one of [...passedOver, at.scrollY])
        if (monotonicNow() < deadline) await stepTo(timed, page, { to: one, options, fading });
      steps += passedOver.length;
      if (monotonicNow() >= deadline) return { steps, seen: reached, isLate: true };
      at = await page.call('scroll.measure');
    }
    reacts = hasReacted;
    // Some pages begin again at their end.
    const hasReturned = Math.abs(at.scrollY) < Math.abs(scrollY) - viewHeight && at.pageHeight >= pageHeight;
    if (hasReturned) return { steps, seen: reached, isLate: false };
    stuck = Math.abs(at.scrollY) <= Math.abs(scrollY) && at.pageHeight <= pageHeight ? stuck + 1 : 0;
  }
}

async function stepTo(
  timed: TimedPage,
  page: BoundedPage,
  {
    to,
    through,
    options,
    fading,
  }: { to: number; through?: number | undefined; options: CaptureOptions; fading: Fading },
): Promise<void> {
  const since = performance.now();
  await page.call('scroll.step', { to, through });
  if (options.fullPageScrollDelay === null) {
    await waitForReaction(timed, since);
    await waitForFading(timed, page, fading);
  } else await advanceTime(timed, options.fullPageScrollDelay, { realMs: options.fullPageScrollDelay, holds: false });
}

/**
 * Shows the content beside the view at this height, so that it loads, and returns to the page's first column.
 * @returns the number of steps
 */
async function scrollAcross(timed: TimedPage, page: BoundedPage, deadline: number): Promise<number> {
  const { scrollX, scrollY, viewWidth, ...extent } = await page.call('scroll.measure');
  const { left, right } = pageColumns(extent);
  const stops = Math.max(0, Math.ceil((right - left - 1) / viewWidth) - 1);
  for (let stop = 1; stop <= stops && monotonicNow() < deadline; stop++) {
    const since = performance.now();
    await page.call('scroll.step', { to: scrollY, left: scrollX + (left < 0 ? -stop : stop) * viewWidth });
    await waitForReaction(timed, since);
  }
  if (stops > 0) await page.call('scroll.step', { to: scrollY, left: scrollX });
  return stops;
}

/** The maximum height to capture, in CSS px, of a page of this height. */
function heightLimit(pageHeight: number, { start, options }: Pick<ScrollPlan, 'start' | 'options'>): number {
  const endless = pageHeight > FULL_PAGE_MAX_HEIGHT_PX && pageHeight > ENDLESS_GROWTH * start.wholeHeight;
  const maxHeight = endless ? FULL_PAGE_MAX_HEIGHT_PX : WHOLE_PAGE_MAX_HEIGHT_PX;
  return Math.min(maxHeight, options.maxHeight ?? maxHeight);
}

/** The same, but no more than a picture in the format can show, so that content below that is not loaded in vain. */
function pictureLimit(pageHeight: number, { start, options }: Pick<ScrollPlan, 'start' | 'options'>): number {
  const limit = heightLimit(pageHeight, { start, options });
  const { left, right } = pageColumns(start);
  const width = options.fullWidth ? right - left : start.viewWidth;
  const format = isImageFormat(options.format) ? options.format : 'png';
  return Math.min(limit, fitDensity({ width, height: limit }, options.view.deviceScaleFactor, format).height);
}

/**
 * Prepares the page for a picture of all of it. `by_sections` moves pinned elements to their final position.
 * @param format the one whose limits apply
 */
export async function arrangeFullPage(
  task: PictureTask,
  scroll: ScrollReport,
  format: ImageFormat,
): Promise<ArrangedRegion> {
  const { page } = task;
  const { fullWidth, maxHeight, fullPageAlgorithm: algorithm } = task.options;
  const bySections = algorithm === 'by_sections';
  await page.call('scrollers.expandAgain');
  const region = await fitRegion(task, format, async () => {
    const measured = await measurePage(page);
    const { left, right } = fullWidth ? pageColumns(measured) : measured.view;
    const height = capturedHeight(scroll, measured.pageHeight, maxHeight);
    const bottom = measured.top < 0 ? measured.viewHeight : height;
    return { page: measured, box: { left, right, top: bottom - height, bottom } };
  });
  const { viewHeight, pageHeight } = region.page;
  const { top, bottom } = region.box;
  const arrangement = bySections
    ? { keep: 'page' as const, down: Math.max(0, bottom - viewHeight) }
    : { keep: 'view' as const, down: 0 };
  const { apart, isAll } = await arrangeParts(task, region, arrangement);
  const hides = await page.callAll(['transformedContent.hidesPart'], ['scrollers.hidesContent']);
  const lacksContent = !isAll || hides.includes(true) || scroll.lacksContent;
  const isShorter = bottom - top < pageHeight - 0.5;
  // The page may have grown beyond the requested height since it was scrolled through.
  const byRequest = isShorter && !region.isCut && scroll.stoppedReason === 'end_of_page';
  return {
    region,
    algorithm,
    stoppedReason: byRequest ? 'max_height' : scroll.stoppedReason,
    truncated: isShorter || scroll.stoppedReason !== 'end_of_page' || lacksContent,
    apart,
    lacks: { lacksContent, ...(await sideCut(page, region)) },
  };
}

type Keep = 'page' | 'view' | 'none';

/**
 * Moves the pinned elements of a page that was scrolled through, and finds what a part of it shows only at other scroll positions.
 * @returns `isAll` is false if the page lacks more than that
 */
export async function arrangeParts(
  task: PictureTask,
  { page: { scrollY: home }, box }: Region,
  arrangement: { keep: Keep; down: number },
) {
  const { page, debug } = task;
  const [, , { pageRanges, isAll }] = await page.callAll(
    ['missingParts.keepMissing'],
    ['pin.place', { first: true, ...arrangement }],
    ['virtualized.missingRanges'],
  );
  debug?.note({ step: 'pinned', elements: await page.call('pin.roles') });
  const ranges = pageRanges.filter(({ top, bottom }) => bottom > box.top && top < box.bottom);
  const fading = { isEndless: false, until: task.deadline };
  const show = (at: number) => showAt(task, arrangement.keep, { pictureHeight: box.bottom, at, fading });
  return { apart: ranges.length === 0 ? undefined : { ranges, home, showAt: show }, isAll };
}

/** Lets the page load its content for this scroll position, and stops it again. */
async function showAt(
  task: PictureTask,
  keep: Keep,
  { pictureHeight, at: top, fading }: { pictureHeight: number; at: number; fading: Fading },
): Promise<void> {
  const { page, session, options, debug } = task;
  await page.call('pin.release');
  await resumePage(session);
  const since = performance.now();
  await page.call('virtualized.scrollListsTo', top);
  await page.call('scroll.step', { to: top });
  await waitForReaction(task, since, { ms: SHOWN_MS });
  await waitForFading(task, page, fading);
  // A script that throttles its scroll handler starts transitions late, which would be captured half-way.
  await page.call('frames.endMotion');
  await stopPage(session, options);
  const { scrollY, viewHeight } = await page.call('scroll.measure');
  await page.call('pin.place', {
    first: keep === 'none' || scrollY < 0.5,
    keep,
    down: Math.max(0, pictureHeight - scrollY - viewHeight),
  });
  debug?.note({ step: 'shown_apart', scrollY, elements: await page.call('pin.roles') });
}

async function sideCut(page: PictureTask['page'], { page: measured, box }: Region): Promise<Pick<Picture, 'cut'>> {
  const shownWidth = box.right - box.left;
  if (measured.right - measured.left < shownWidth + 1) return {};
  const { left, right } = await page.call('missingParts.columnsInPlace');
  if (right - left < shownWidth + 1) return {};
  return {
    cut: {
      pageWidth: Math.round(right - left),
      shownWidth: Math.round(shownWidth),
      side: left < 0 ? 'left' : 'right',
    },
  };
}
