import { body, documentProperty, pageScroller, viewHeight } from './dom.js';
import { nextFrame, sleep } from './frames.js';
import { finishMotion } from './motion.js';
import { pageLeft } from './parts.js';
import { note } from './virtualised.js';

/** On a busy machine; what a scroll draws is there once a frame has passed. */
const FRAME_MAX_MS = 1_000;

export interface PageExtent {
  /** CSS px of the whole document. */
  pageHeight: number;
  /** The view's size in CSS px, at the page's own zoom. */
  viewHeight: number;
  viewWidth: number;
  /** The page's own zoom: below 1 on phones for pages made for desktops. */
  zoom: number;
  scrollY: number;
  /** Negative in a page written from right to left. */
  scrollX: number;
  /** CSS px of its first column, and of the one after its last. */
  left: number;
  right: number;
}

export interface ScrollStep {
  /** CSS px. */
  to: number;
  /** CSS px to the right, negative to the left; default: as it stands. */
  left?: number;
  /** A position in CSS px to show briefly on the way. */
  by?: number;
}

/** Where the document stands. */
export function measure(): PageExtent {
  const scroller = pageScroller();
  return {
    pageHeight: scroller.scrollHeight,
    viewHeight: viewHeight(),
    viewWidth: visualViewport?.width ?? innerWidth,
    zoom: visualViewport?.scale ?? 1,
    scrollY: scroller.scrollTop,
    scrollX: scroller.scrollLeft,
    ...columns(scroller),
  };
}

/** Content beside a view that does not scroll horizontally is not part of the page. */
function columns(scroller: Element): { left: number; right: number } {
  const { clientWidth, scrollWidth } = scroller;
  const cuts = [documentProperty('documentElement'), body()].some(
    (box) => box !== null && /hidden|clip/.test(getComputedStyle(box).overflowX),
  );
  return cuts ? { left: 0, right: clientWidth } : { left: pageLeft(), right: pageLeft() + scrollWidth };
}

/** Scrolls, and lets a frame pass, in which the page learns of it. What has been in view is noted. */
export async function step({ to, by, left }: ScrollStep): Promise<void> {
  // What lies beside the view is pictured with it.
  if (left === undefined) {
    // On a busy machine, what is being faded in is still transparent.
    finishMotion();
    note();
  }
  const scroller = pageScroller();
  for (const top of by === undefined ? [to] : [by, to]) {
    scroller.scrollTo({ top, ...(left === undefined ? {} : { left }), behavior: 'instant' });
    await nextFrame(FRAME_MAX_MS);
    // Observers are called at the end of the frame's task.
    await sleep(0);
  }
}
