import { isPinned } from './containing.js';
import { documentProperty, pageScroller, viewHeight } from './dom.js';
import { nextFrame, orLate, passFrames, sleep } from './frames.js';
import { fire } from './mechanisms.js';
import { finishMotion, motionEnded } from './motion.js';
import { restyledSince } from './scroll.js';

/**
 * Brings one section of the page into view, and sees to it that the next continues where it ended, though the page may move under the
 * scrolling.
 */

export interface Step {
  /** Where the view's top edge shall be, CSS px of the page as it was before the first section. */
  y: number;
  first: boolean;
  /** Where the band to capture ends: the section that shows this is the last. */
  to: number;
  /** Gives what the scrolling shows or hides the time to be so. */
  patient: boolean;
}

export interface Stand {
  /** Where the view's top edge is, in the same px. */
  y: number;
  /** Nothing of the band lies below the view. */
  last: boolean;
  /** The page hid again, or changed, what was below the view when it was scrolled back to its top. Told for the first section only. */
  reveals: boolean;
}

const NO_FRAME_MS = 250;
/** Usual throttles of scroll handlers are 100 ms. */
const THROTTLE_MS = 150;
const DECODE_MAX_MS = 400;
const MOTION_MAX_MS = 1_000;
const MOST_IMAGES = 5_000;

/** CSS px that the page has moved by since the first section. */
let shift = 0;
/** Elements around the coming seam, each with what tells how far it has moved. */
let anchors: Map<Element, () => number> | null = null;

/** Scrolls there. Before it leaves, it notes where elements around the coming seam are. */
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
 * With a section in view: its images are decoded, its finite motion is at its end.
 *
 * @param given.finishMotion brings motion to its end at once
 * @param given.patient waits for motion to end, but no longer than a second
 * @returns whether the content has moved meanwhile, so that the section must be scrolled to again
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

/** What is pinned changes with the scrolling on many pages, and so does the top of the page. */
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

/** Tells how far an element has moved since, in the layout: what only a transform moves has not moved the page. */
function mover(element: Element): () => number {
  const shownAt = shownTop(element);
  const laidOutAt = laidOutTop(element);
  const zoomed = ((element as { currentCSSZoom?: number }).currentCSSZoom ?? 1) !== 1;
  return () => {
    const byShown = shownTop(element) - shownAt;
    const byLayout = laidOutTop(element) - laidOutAt;
    // The layout's places are whole px, and a zoomed element's are of another scale.
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

/** What most of the anchors moved by, when most agree; recycled rows of a virtual list do not. */
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

/** Images that the view shows are decoded before it is captured; broken or endless ones are not waited for. */
async function imagesDecoded(): Promise<void> {
  const waiting: Promise<unknown>[] = [];
  for (const image of Array.from(documentProperty('images')).slice(0, MOST_IMAGES)) {
    if (!image.complete || image.naturalWidth === 0) continue;
    const box = image.getBoundingClientRect();
    if (box.bottom > 0 && box.top < innerHeight && box.width > 0) waiting.push(image.decode().catch(() => {}));
  }
  if (waiting.length > 0) await orLate(Promise.all(waiting), DECODE_MAX_MS);
}
