import { isPinned } from './containing.js';
import { documentProperty, pageScroller, viewHeight } from './dom.js';
import { nextFrame, orLate, passFrames, sleep } from './frames.js';
import { fire } from './mechanisms.js';
import { finishMotion, motionEnded } from './motion.js';
import { restyledSince } from './scroll.js';

/**
 * Brings one section of the page into view, and makes the next one continue where it ended, although the layout may shift during
 * scrolling.
 */

export interface Step {
  /** Target position of the view's top edge, CSS px of the page as it was before the first section. */
  y: number;
  first: boolean;
  /** End of the part to capture: the section that contains it is the last. */
  to: number;
  /** Waits for elements that scrolling shows or hides. */
  patient: boolean;
}

export interface Stand {
  /** Actual position of the view's top edge, in the same px. */
  y: number;
  /** Whether the view contains the end of the part to capture. */
  last: boolean;
  /** Whether the page hid or changed content below the view when it was scrolled back to its top. For the first section only. */
  reveals: boolean;
}

const NO_FRAME_MS = 250;
/** Usual throttles of scroll handlers are 100 ms. */
const THROTTLE_MS = 150;
const DECODE_MAX_MS = 400;
const MOTION_MAX_MS = 1_000;
const MOST_IMAGES = 5_000;

/** CSS px by which the layout has shifted since the first section. */
let shift = 0;
/** Elements around the next seam, each with a function that returns how far it has moved. */
let anchors: Map<Element, () => number> | null = null;

/** Scrolls there, and records the positions of elements around the next seam. */
export async function scrollTo({ y, first, to, patient }: Step): Promise<Stand> {
  const scroller = pageScroller();
  if (first) shift = 0;
  anchors ??= first ? new Map() : pickAnchors();
  scroller.scrollTo({ top: y + shift, left: 0, behavior: 'instant' });
  await passFrames(first ? 1 : 2, NO_FRAME_MS);
  if (patient) await sleep(THROTTLE_MS);
  const height = viewHeight();
  const below = scroller.scrollHeight - scroller.scrollTop - height;
  const last = below < 1 || scroller.scrollTop - shift + height >= to - 0.5;
  const reveals = first && restyledBelow();
  if (reveals) fire('reveals');
  return { y: scroller.scrollTop - shift, last, reveals };
}

/**
 * With a section in view: decodes its images, and brings its finite animations to their end.
 *
 * @param given.finishMotion ends animations at once
 * @param given.patient waits for animations to end, at most a second
 * @returns whether the layout has shifted meanwhile, so that the section must be scrolled to again
 */
export async function steady(given: { finishMotion: boolean; patient: boolean }): Promise<boolean> {
  await imagesDecoded();
  if (given.finishMotion && finishMotion()) await nextFrame(NO_FRAME_MS);
  if (!given.finishMotion && given.patient) await motionEnded(MOTION_MAX_MS);
  const moved = movedBy(anchors ?? new Map());
  anchors = null;
  shift += moved;
  if (moved !== 0) fire('moved_while_scrolled');
  return moved !== 0;
}

/** On many pages, pinned elements and the top of the page change with scrolling. */
function restyledBelow(): boolean {
  return restyledSince().some(
    (node) => node instanceof Element && node.getBoundingClientRect().top >= innerHeight && !isPinned(node, ['fixed', 'sticky']),
  );
}

function pickAnchors(): Map<Element, () => number> {
  const picked = new Map<Element, () => number>();
  for (const across of [0.12, 0.3, 0.5, 0.7, 0.88]) {
    for (const down of [0.55, 0.7, 0.8, 0.9, 0.97]) {
      const element = document.elementFromPoint(innerWidth * across, innerHeight * down);
      if (element === null || element === document.body || element === document.documentElement || isPinned(element)) continue;
      picked.set(element, mover(element));
    }
  }
  return picked;
}

/** Returns a function that measures how far an element has moved in the layout; transforms do not count. */
function mover(element: Element): () => number {
  const shownAt = shownTop(element);
  const laidOutAt = laidOutTop(element);
  const zoomed = ((element as { currentCSSZoom?: number }).currentCSSZoom ?? 1) !== 1;
  return () => {
    const byShown = shownTop(element) - shownAt;
    const byLayout = laidOutTop(element) - laidOutAt;
    // Layout positions are whole px, and those of a zoomed element have another scale.
    return Math.round(zoomed || Math.abs(byShown - byLayout) <= 1 ? byShown : byLayout);
  };
}

function shownTop(element: Element): number {
  return element.getBoundingClientRect().top + pageScroller().scrollTop;
}

function laidOutTop(element: Element): number {
  let box: Element | null = element;
  while (box !== null && !(box instanceof HTMLElement)) box = box.parentElement;
  let top = 0;
  for (; box instanceof HTMLElement; box = box.offsetParent) top += box.offsetTop;
  return top;
}

/** The distance that most anchors have moved, if most agree; recycled rows of a virtual list do not. */
function movedBy(noted: Map<Element, () => number>): number {
  const votes = new Map<number, number>();
  let voters = 0;
  for (const [element, moved] of noted) {
    if (!element.isConnected) continue;
    voters++;
    const by = moved();
    votes.set(by, (votes.get(by) ?? 0) + 1);
  }
  for (const [by, count] of votes) if (count > voters * 0.6) return by;
  return 0;
}

/** Decodes images in view before the capture; does not wait for broken or endless ones. */
async function imagesDecoded(): Promise<void> {
  const waiting: Promise<unknown>[] = [];
  for (const image of Array.from(documentProperty('images')).slice(0, MOST_IMAGES)) {
    if (!image.complete || image.naturalWidth === 0) continue;
    const box = image.getBoundingClientRect();
    if (box.bottom > 0 && box.top < innerHeight && box.width > 0) waiting.push(image.decode().catch(() => {}));
  }
  if (waiting.length > 0) await orLate(Promise.all(waiting), DECODE_MAX_MS);
}
