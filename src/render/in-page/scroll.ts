import { body, documentProperty, pageScroller, viewHeight } from './dom.js';
import { nextFrame, pause, sleep } from './frames.js';
import { stirred } from './late.js';
import { pageLeft } from './parts.js';

export interface PageExtent {
  /** CSS px of the whole document. */
  pageHeight: number;
  /** The view's height in CSS px, at the page's own zoom. */
  viewHeight: number;
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
  /** CSS px; null does not scroll. */
  to: number | null;
  /** A position in CSS px to show briefly on the way. */
  by?: number;
  /** Null: continue at once if no content has changed. */
  waitMs: number | null;
}

const MOST_RESTYLED = 2_000;
/** For scripts that react to the step in the next frame or by a short timer. */
const REACTION_MS = 30;

let restyling: { observer: MutationObserver; nodes: Set<Node> } | null = null;

/** Where the document stands. */
export function measure(): PageExtent {
  const scroller = pageScroller();
  return {
    pageHeight: scroller.scrollHeight,
    viewHeight: viewHeight(),
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

/** Scrolls, waits for two frames and the given time, and measures. */
export async function step({ to, by, waitMs }: ScrollStep): Promise<PageExtent> {
  const scroller = pageScroller();
  if (by !== undefined) {
    scroller.scrollTo({ top: by, behavior: 'instant' });
    await passFrame();
  }
  if (to !== null) scroller.scrollTo({ top: to, behavior: 'instant' });
  if (waitMs === null) await passFrame();
  if (waitMs !== null || stirred()) await pause(waitMs ?? REACTION_MS);
  return measure();
}

/** Observers are notified by the end of the frame's task. */
async function passFrame(): Promise<void> {
  await nextFrame(250);
  await sleep(0);
}

/** From now on notes what changes its look, which is because of the way back to the top, for the first section. */
export function watchRestyling(): void {
  const nodes = new Set<Node>();
  const observer = new MutationObserver((records) => {
    for (const { target } of records) nodes.add(target);
  });
  observer.observe(document, { subtree: true, attributeFilter: ['class', 'style'] });
  restyling = { observer, nodes };
}

/** What has changed its look since; ends the watch. */
export function restyledSince(): Node[] {
  restyling?.observer.disconnect();
  const nodes = Array.from(restyling?.nodes ?? []).slice(0, MOST_RESTYLED);
  restyling = null;
  return nodes;
}
