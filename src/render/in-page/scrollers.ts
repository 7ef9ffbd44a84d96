import { documentProperty, eachElement, hasVisibleStyle, pageBoxes, pageScroller } from './dom.js';
import { contentOf, DRAWN_MAX_PX, expand, keep } from './expand.js';
import { passFrames, sleep } from './frames.js';
import { flattenTransforms, repeatFlattening } from './transformed-content.js';

/**
 * Why scrolling through an inner scroller stopped before its end: its height, or the limit of time or rounds. Null if its
 * end was reached, or if it was too high from the start.
 */
type FeedCut = 'max_height' | 'time_limit' | null;

const ELEMENTS_MAX = 30_000;
const ROUNDS = 3;
/** The minimum height of hidden content, in CSS px, for a scroller to count. */
const HIDDEN_MIN_PX = 16;
/** The minimum share of the view's width and height for the page's main scroller. */
const SIDE_MIN = 0.4;
const FEED_ROUNDS = 10;
const FEED_MAX_HEIGHT_PX = 30_000;
const FEED_MAX_MS = 3_000;
const FEED_WAIT_MS = 60;
const FEED_LOAD_WAITS = 5;

/** Expanded scrollers with their former height in CSS px. */
const expanded = new Map<HTMLElement, number>();
let wasLocked = false;

/**
 * Disables smooth scrolling and snapping, unlocks scrolling, and expands the inner scroller of an app shell, which may be a
 * frame, until the document scrolls through all of its content (decisions.md, Inner scrollers).
 */
export async function expandAll(): Promise<FeedCut> {
  for (const element of pageBoxes()) {
    keep(element, 'scroll-behavior', 'auto');
    keep(element, 'scroll-snap-type', 'none');
  }
  flattenTransforms();
  unlockScroll();
  expandAgain();
  const refused = new Set<Element>();
  let cut: FeedCut = null;
  for (let round = 0; round < ROUNDS; round++) {
    const scroller = mainScroller(refused);
    if (scroller === null) break;
    const ended = await reachEnd(scroller);
    const height = expanded.get(scroller) ?? scroller.offsetHeight;
    if (!expand(scroller)) {
      refused.add(scroller);
      continue;
    }
    cut = ended ?? cut;
    expanded.set(scroller, height);
    await notifyScrolled(scroller);
  }
  return cut;
}

/** Repeats expansions that the page has undone. */
export function expandAgain(): void {
  repeatFlattening();
  for (const scroller of expanded.keys()) expand(scroller);
}

/** The scrollers that were expanded, with their former heights, and whether the page was locked before. */
export function expansions() {
  return { scrollers: expanded as ReadonlyMap<HTMLElement, number>, wasLocked };
}

/**
 * Makes a locked page scrollable. A locked body is either not scrollable, or fixed and moved up by the former scroll position.
 * @returns whether it was locked
 */
export function unlockScroll(): boolean {
  const boxes = pageBoxes();
  const isLong = boxes.some(({ scrollHeight }) => scrollHeight > innerHeight + 8);
  const locked = boxes.filter((box) => {
    const { position, overflowY, touchAction } = getComputedStyle(box);
    if (!isLong || (position !== 'fixed' && !/hidden|clip/.test(overflowY))) return false;
    if (position === 'fixed') keep(box, 'position', 'static');
    keep(box, 'overflow-y', 'visible');
    if (touchAction === 'none') keep(box, 'touch-action', 'auto');
    return true;
  });
  wasLocked ||= locked.length > 0;
  return locked.length > 0;
}

/** The page's main scroller; null if the document itself has more content, or scrolls. */
function mainScroller(refused: ReadonlySet<Element>): HTMLElement | null {
  const hiddenElsewhere = pageScroller().scrollHeight - innerHeight;
  if (hiddenElsewhere >= innerHeight / 2) return null;
  let best: HTMLElement | null = null;
  let most = 0;
  eachElement(ELEMENTS_MAX, (element) => {
    const hidden = contentOf(element).scrollHeight - element.clientHeight;
    const [width, height] = [element.clientWidth, element.clientHeight];
    if (hidden < HIDDEN_MIN_PX || hidden <= hiddenElsewhere || height < innerHeight * SIDE_MIN || width < innerWidth * SIDE_MIN) return;
    if (refused.has(element) || !mayScroll(element)) return;
    const weight = width * height * Math.min(hidden, 20 * innerHeight);
    if (weight <= most) return;
    most = weight;
    best = element;
  });
  return best;
}

function mayScroll(element: HTMLElement): boolean {
  if (element === documentProperty('documentElement') || element instanceof HTMLTextAreaElement || !hasVisibleStyle(element)) return false;
  const { overflowY } = getComputedStyle(element);
  const root = contentOf(element);
  if (root === element) return /auto|scroll/.test(overflowY) || (element === documentProperty('body') && overflowY === 'hidden');
  if (/^(no|off|noscroll)$/i.test(element.getAttribute('scrolling') ?? '')) return false;
  return !/hidden|clip/.test(getComputedStyle(root).overflowY + getComputedStyle(root.ownerDocument.body).overflowY);
}

/** Scrolls to the end, repeatedly while that loads more, since an expanded scroller cannot be scrolled. */
async function reachEnd(scroller: HTMLElement): Promise<FeedCut> {
  const over = performance.now() + FEED_MAX_MS;
  let hasChanged = false;
  const observer = new MutationObserver(() => {
    hasChanged = true;
  });
  const content = contentOf(scroller);
  observer.observe(content, { childList: true, subtree: true });
  try {
    for (let round = 0; round < FEED_ROUNDS && performance.now() < over; round++) {
      const height = content.scrollHeight;
      // A list that is this long from the start may end there.
      if (height > FEED_MAX_HEIGHT_PX) return round > 0 ? 'max_height' : null;
      hasChanged = false;
      content.scrollTo({ top: height, behavior: 'instant' });
      await pause(FEED_WAIT_MS);
      // Changes indicate loading: requests may still be pending.
      for (let waits = 0; hasChanged && content.scrollHeight <= height && waits < FEED_LOAD_WAITS; waits++) await pause(FEED_WAIT_MS);
      if (content.scrollHeight <= height) return null;
    }
    return 'time_limit';
  } finally {
    observer.disconnect();
  }
}

/** Waits for two frames, if there are any, and then for `ms`. */
async function pause(ms: number): Promise<void> {
  await passFrames(2, 250);
  await sleep(ms);
}

/** Notifies a virtual list, which renders again when its scroller is scrolled or the window is resized. */
async function notifyScrolled(scroller: HTMLElement): Promise<void> {
  if (scroller.scrollHeight > DRAWN_MAX_PX) return;
  scroller.dispatchEvent(new Event('scroll'));
  for (const target of new Set([document, contentOf(scroller).ownerDocument])) target.dispatchEvent(new Event('scroll', { bubbles: true }));
  dispatchEvent(new Event('resize'));
  await pause(0);
}
