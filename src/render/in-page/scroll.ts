import { pageColumns, pageStart } from './boxes.js';
import { adopt, ancestry, eachElement, isElement, pageScroller, viewHeight } from './dom.js';
import { cachedTrees, queryTrees } from './dom-cache.js';
import {
  allMotion,
  finishMotion,
  finiteMotion,
  isEndless,
  isProgress,
  isRunning,
  passFrames,
  tasksEnd,
} from './frames.js';
import { look } from './looks.js';
import { runsScript } from './readiness.js';
import { pageHeight } from './scrollers.js';

const ELEMENTS_MAX = 60_000;
/** The limit on a busy machine. A scroll is painted once a frame has passed. */
const FRAME_MAX_MS = 1_000;
const TASKS_MAX_MS = 250;

export interface PageExtent {
  /** The height of the whole document in CSS px. */
  pageHeight: number;
  /** The view's size in CSS px, at the page's own zoom. */
  viewHeight: number;
  viewWidth: number;
  /** The page's own zoom, which is below 1 on phones for pages made for desktops. */
  zoom: number;
  scrollY: number;
  /** Negative in a page written from right to left. */
  scrollX: number;
  /** The first row of the page in CSS px: negative in a page that is read upwards, which begins with the view at its end. */
  top: number;
  /** The first column of the page, and the one after its last, in CSS px. */
  left: number;
  right: number;
}

interface ScrollStep {
  to: number;
  /** The horizontal position in CSS px, negative to the left; unchanged by default. */
  left?: number;
  /** A position on the way, at which the page gets one frame, so that it can react to what is whole only there. */
  through?: number | undefined;
}

export function measure(): PageExtent {
  const scroller = pageScroller();
  return {
    pageHeight: pageHeight(),
    viewHeight: viewHeight(),
    viewWidth: visualViewport?.width ?? innerWidth,
    zoom: visualViewport?.scale ?? 1,
    scrollY: scroller.scrollTop,
    scrollX: scroller.scrollLeft,
    top: pageStart().top,
    ...pageColumns(),
  };
}

/** The first elements, among which a page that uses `content-visibility` has one that does. */
const FIRST_ELEMENTS = 3_000;
const ALL_LAID_OUT = '*{content-visibility:visible!important}';

/** The height of the document in CSS px, with the real height of content that is laid out only in view, not the one that the page estimates. */
export function wholeHeight(): number {
  let isEstimated = false;
  eachElement(FIRST_ELEMENTS, (element) => {
    isEstimated ||= getComputedStyle(element).contentVisibility === 'auto';
  });
  if (!isEstimated) return pageHeight();
  const sheet = adopt(ALL_LAID_OUT);
  const { scrollHeight } = pageScroller();
  sheet.replaceSync('');
  return scrollHeight;
}

/** More changed elements are not told apart. */
const CHANGED_MAX = 200;
/** Nor are more changes at once. */
const RECORDS_MAX = 1_000;

const reactions = new MutationObserver(noteChanges);
const changed = new Set<Element>();
let hasMoved = false;

/** Begins to observe whether the page reacts to scrolling. Canvases and scroll-driven animations, which change unobserved, count as a reaction. */
export function observeReactions(): void {
  hasMoved =
    queryTrees('canvas', { frames: true }).length > 0 ||
    allMotion({ frames: true }).some(({ timeline }) => isProgress(timeline));
  const options = { subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true };
  for (const tree of hasMoved ? [] : cachedTrees({ frames: true })) reactions.observe(tree, options);
}

/**
 * Whether the page has reacted since: whether anything near the view has moved, or changed, but for headers and other small pinned
 * elements. A carousel far above the view may go on by itself.
 */
export function hasReacted(): boolean {
  noteChanges(reactions.takeRecords());
  noteMotion();
  hasMoved ||=
    changed.size > CHANGED_MAX || [...changed].some((element) => isNear(element) && !isInSmallPinned(element));
  changed.clear();
  if (hasMoved) reactions.disconnect();
  return hasMoved;
}

function noteChanges(records: MutationRecord[]): void {
  if (records.length > RECORDS_MAX) {
    reactions.disconnect();
    hasMoved = true;
    return;
  }
  for (const { type, target, attributeName, oldValue } of records) {
    // A change of a document or a shadow tree has no element of its own.
    const element = isElement(target) ? target : target.parentElement;
    const now = element === null ? null : Element.prototype.getAttribute.call(element, attributeName ?? '');
    if (type !== 'attributes' || now !== oldValue) noteChanged(element);
  }
}

function noteMotion(): void {
  for (const { effect } of finiteMotion({ frames: true }))
    noteChanged((effect as KeyframeEffect | null)?.target ?? null);
}

function noteChanged(element: Element | null): void {
  if (element === null) hasMoved = true;
  else if (changed.size <= CHANGED_MAX) changed.add(element);
}

/** Whether the element, or a frame that it is in, may be within a view of this one. An element without a box is taken to be. */
function isNear(element: Element): boolean {
  if (element.ownerDocument !== document) return true;
  const { top, bottom } = element.getBoundingClientRect();
  return bottom >= -viewHeight() && top <= 2 * viewHeight();
}

/** Whether the element is in a pinned one of less than half the view's height, or is no longer in the page. */
function isInSmallPinned(element: Element): boolean {
  if (!element.isConnected) return true;
  const pinned = ancestry(element).findLast((at) => /fixed|sticky/.test(getComputedStyle(at).position));
  return pinned !== undefined && pinned.getBoundingClientRect().height < viewHeight() / 2;
}

/** Looks at the view, scrolls, and waits for a frame, so that the page notices. */
export async function step({ to, left, through }: ScrollStep): Promise<void> {
  // A horizontal step shows content beside the view, which is captured together with it.
  if (left === undefined) {
    // On a busy machine, content that is fading in would still be transparent.
    noteMotion();
    finishMotion();
    look();
  }
  for (const top of through === undefined ? [to] : [through, to]) {
    pageScroller().scrollTo({ top, left, behavior: 'instant' });
    await passFrames(1, FRAME_MAX_MS);
    // Observers are called at the end of the frame's task, too.
    await tasksEnd(TASKS_MAX_MS);
  }
}

/** Whether nothing in the page can react to scrolling: it runs no script, and the browser itself loads and moves nothing. */
export function isStill(): boolean {
  if (runsScript() || queryTrees('[loading="lazy" i]', { frames: true }).length > 0) return false;
  if (allMotion({ frames: true }).some((one) => isProgress(one.timeline) || (isRunning(one) && !isEndless(one))))
    return false;
  let isWhole = true;
  eachElement(ELEMENTS_MAX, (element) => {
    isWhole &&= getComputedStyle(element).contentVisibility !== 'auto';
  });
  return isWhole;
}
