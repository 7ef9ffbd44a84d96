import { isInFlow, isZoomed } from './boxes.js';
import {
  ancestry,
  documentIn,
  documentProperty,
  eachElement,
  flatTreeChildren,
  hasVisibleStyle,
  isPage,
  matches,
  pageBoxes,
  pageScroller,
  viewHeight,
} from './dom.js';
import { queryTrees } from './dom-cache.js';
import { collapse, contentHeightAt, contentOf, DRAWN_MAX_PX, expand, keep } from './expand.js';
import { endMotion, passFrames, sleep } from './frames.js';
import { flattenTransforms, isDownward, repeatFlattening } from './transformed-content.js';

/**
 * The reason why scrolling through an inner scroller stopped before its end: its height, or the limit of time or rounds. Null if its
 * end was reached, or if it was too high from the start.
 */
type FeedCut = 'max_height' | 'time_limit' | null;

const ELEMENTS_MAX = 30_000;
/** The minimum height of hidden content, in CSS px, for a page to count as locked. */
const LOCKED_MIN_PX = 8;
const ROUNDS = 3;
/** The minimum height of hidden content, in CSS px, for a scroller to count. */
const HIDDEN_MIN_PX = 16;
/** The minimum share of the view's height for the page's main scroller, and of its width for it and for a list beside others. */
const SIDE_MIN = 0.4;
const LIST_MIN = 0.1;
const LISTS_MAX = 5;
const FEED_ROUNDS = 10;
const FEED_MAX_HEIGHT_PX = 30_000;
const FEED_MAX_MS = 3_000;
const FEED_WAIT_MS = 60;
const FEED_LOAD_WAITS = 5;

/** Expanded scrollers with their former height in CSS px. */
const expanded = new Map<HTMLElement, number>();
let wasLocked = false;
let isPresentation = false;
let isWide = false;

export interface Expanding {
  /** Whether what scrolls sideways is given its whole width. */
  wide: boolean;
  /** Whether the page receives `resize` for a new size, which makes some pages load anew. */
  reportsSize: boolean;
}

/**
 * Disables smooth scrolling and snapping, unlocks scrolling, and expands the inner scroller of an app shell, which may be a
 * frame, until the document scrolls through all of its content (decisions.md, Inner scrollers).
 */
export async function expandAll({ wide, reportsSize }: Expanding): Promise<FeedCut> {
  isWide = wide;
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
    await returnToTop(scroller);
    const height = expanded.get(scroller) ?? scroller.offsetHeight;
    if (!expand(scroller, { wide })) {
      refused.add(scroller);
      continue;
    }
    cut = ended ?? cut;
    expanded.set(scroller, height);
    await notifyScrolled(scroller, reportsSize);
  }
  for (const list of listsBeside()) {
    const height = list.offsetHeight;
    if (expand(list, { wide })) expanded.set(list, height);
  }
  if (wide) widenTables();
  return cut;
}

/** Lists that still scroll beside an expanded scroller. */
function listsBeside(): HTMLElement[] {
  const main = [...expanded.keys()].map((one) => one.getBoundingClientRect());
  const found: HTMLElement[] = [];
  if (main.length === 0) return found;
  eachElement(ELEMENTS_MAX, (element) => {
    const isHigh = element.clientHeight >= innerHeight * SIDE_MIN && element.clientWidth >= innerWidth * LIST_MIN;
    if (!isHigh || element.scrollHeight - element.clientHeight < HIDDEN_MIN_PX || expanded.has(element)) return;
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const isBeside = main.some(
      (box) => top < box.bottom && bottom > box.top && (left >= box.right - 1 || right <= box.left + 1),
    );
    if (isBeside && found.length < LISTS_MAX && mayScroll(element) && !isMenu(element)) found.push(element);
  });
  return found;
}

/** Whether a box is a menu that stays beside the content, such as the chapters of a book: a full page is no longer for it. */
function isMenu(element: HTMLElement): boolean {
  const stays = (one: Element) =>
    matches(one, 'nav,[role="navigation"]') || /fixed|sticky/.test(getComputedStyle(one).position);
  return ancestry(element).some(stays);
}

/**
 * Expands what scrolls in this frame, if it is one of those at these places among the frames of the page.
 * @returns its place, the height of its content in CSS px, and whether it has more; null for another frame
 */
export async function expandInFrame(places: readonly number[], expanding: Expanding) {
  const place = parent === top ? places.find((index) => parent[index] === window) : undefined;
  if (place === undefined) return null;
  const cut = await expandAll(expanding);
  return { place, height: pageScroller().scrollHeight, isCut: cut !== null || hidesContent() };
}

/** The places of the frames that fill a page that does not scroll, and that cannot be read or scroll inside, among all its frames. */
export function fillingFrames(): number[] {
  if (scrolls()) return [];
  const frames = (queryTrees('iframe') as HTMLIFrameElement[]).filter(
    (frame) =>
      !expanded.has(frame) && isMain(frame) && isScrollable(frame) && hasVisibleStyle(frame) && !hidesMore(frame),
  );
  return Array.from({ length: window.length }, (_, index) => index).filter((index) =>
    frames.some(({ contentWindow }) => contentWindow === window[index]),
  );
}

/**
 * Gives a frame the height of its content, as the frame has reported it.
 * @returns whether some of its content is not shown
 */
export function growFrame({ place, height, isCut }: { place: number; height: number; isCut: boolean }): boolean {
  const frame = (queryTrees('iframe') as HTMLIFrameElement[]).find(
    ({ contentWindow }) => contentWindow === window[place],
  );
  if (frame === undefined || height <= frame.clientHeight + 1) return isCut;
  const before = frame.offsetHeight;
  const drawnHeight = Math.min(height, DRAWN_MAX_PX);
  if (!expand(frame, { height: drawnHeight })) return true;
  expanded.set(frame, before);
  grown.set(frame, drawnHeight);
  return isCut || drawnHeight < height;
}

const grown = new Map<Element, number>();

/** Whether a page that does not scroll hides content in a part that does, and that could not be expanded. */
export function hidesContent(): boolean {
  if (scrolls()) return false;
  const frames = queryTrees('iframe,frame', { frames: true }) as HTMLIFrameElement[];
  if (
    mainScroller(new Set(grown.keys())) !== null ||
    frames.some((frame) => isMain(frame) && isScrollable(frame) && hidesMore(frame))
  )
    return true;
  let clips = false;
  eachElement(ELEMENTS_MAX, (element) => {
    clips ||=
      isMain(element) && element.scrollHeight - element.clientHeight >= innerHeight / 2 && isMovedByTouch(element);
  });
  return clips;
}

function scrolls(): boolean {
  return pageScroller() !== null && pageScroller().scrollHeight - innerHeight >= innerHeight / 2;
}

/** Whether the document of a frame has more content than the frame shows. */
function hidesMore(frame: HTMLIFrameElement): boolean {
  const scroller = documentIn(frame)?.scrollingElement;
  return scroller != null && hasVisibleStyle(frame) && scroller.scrollHeight - scroller.clientHeight >= HIDDEN_MIN_PX;
}

/** Whether a box clips a long content in normal flow, as one does whose content a script moves only when it is touched. */
function isMovedByTouch(element: HTMLElement): boolean {
  if (isPage(element) || getComputedStyle(element).overflowY !== 'hidden' || !hasVisibleStyle(element)) return false;
  const [content] = [...flatTreeChildren(element)].filter((node) => node instanceof HTMLElement);
  if (content === undefined || content.offsetHeight <= element.clientHeight) return false;
  const { position, transform } = getComputedStyle(content);
  return /static|relative/.test(position) && transform === 'none';
}

/** Gives tables that scroll sideways, and the boxes around them, their whole width. */
function widenTables(): void {
  for (const table of queryTrees('table')) {
    const around = ancestry(table).slice(1) as HTMLElement[];
    const hides = (box: HTMLElement) =>
      /auto|scroll/.test(getComputedStyle(box).overflowX) && box.scrollWidth - box.clientWidth >= HIDDEN_MIN_PX;
    const first = around.findIndex((box) => !isPage(box) && box.clientWidth >= innerWidth * SIDE_MIN && hides(box));
    for (const box of first < 0 ? [] : around.slice(first)) {
      if (isPage(box) || box.scrollHeight - box.clientHeight >= HIDDEN_MIN_PX) break;
      for (const property of ['overflow-x', 'overflow-y', 'max-width'])
        keep(box, property, property === 'max-width' ? 'none' : 'visible');
    }
  }
}

function isMain({ clientWidth, clientHeight }: Element): boolean {
  return clientHeight >= innerHeight * SIDE_MIN && clientWidth >= innerWidth * SIDE_MIN;
}

/** Repeats expansions that the page has undone. */
export function expandAgain(): void {
  repeatFlattening();
  for (const scroller of expanded.keys()) {
    const height = grown.get(scroller);
    expand(scroller, height === undefined ? { wide: isWide } : { height });
  }
  if (isWide) widenTables();
}

export function hasExpanded(): boolean {
  return expanded.size > 0;
}

/**
 * Expands anew what has another height by now: a list has estimated the heights of its rows until it has drawn them.
 * @returns whether anything has
 */
export function fitToContent(): boolean {
  const hasChanged = [...expanded].some(
    ([scroller, height]) =>
      contentOf(scroller) === scroller &&
      scroller.clientHeight < DRAWN_MAX_PX &&
      Math.abs(contentHeightAt(scroller, height) - scroller.clientHeight) > 1,
  );
  if (!hasChanged) return false;
  collapse();
  expandAgain();
  return true;
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
  isPresentation = movesView();
  const isLong = boxes.some(({ scrollHeight }) => scrollHeight > innerHeight + LOCKED_MIN_PX);
  const locked = boxes.filter((box) => {
    const { position, overflowY, touchAction } = getComputedStyle(box);
    if (!isLong || isPresentation || (position !== 'fixed' && !/hidden|clip/.test(overflowY))) return false;
    if (position === 'fixed') keep(box, 'position', 'static');
    keep(box, 'overflow-y', 'visible');
    if (touchAction === 'none') keep(box, 'touch-action', 'auto');
    return true;
  });
  wasLocked ||= locked.length > 0;
  return locked.length > 0;
}

/** Whether the page does not scroll, and moves its view over boxes instead, which it zooms or turns, as over the slides of impress.js. */
function movesView(): boolean {
  if (!pageBoxes().some((box) => /hidden|clip/.test(getComputedStyle(box).overflowY))) return false;
  let hasZoomed = false;
  const boxes: Node[] = [documentProperty('documentElement')];
  for (let at = 0; at < boxes.length && at < ELEMENTS_MAX; at++) {
    const box = boxes[at];
    if (!(box instanceof Element)) continue;
    const { height, bottom } = box.getBoundingClientRect();
    if (!isInFlow(box) && isZoomed(box)) hasZoomed = true;
    else if (!isPage(box) && height > 0 && bottom > innerHeight + LOCKED_MIN_PX) return false;
    else boxes.push(...flatTreeChildren(box));
  }
  return hasZoomed;
}

/** The height of the page in CSS px. */
export function pageHeight(): number {
  return isPresentation ? viewHeight() : pageScroller().scrollHeight;
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
    if (
      hidden < HIDDEN_MIN_PX ||
      hidden <= hiddenElsewhere ||
      height < innerHeight * SIDE_MIN ||
      width < innerWidth * LIST_MIN
    )
      return;
    // A narrow list, as of a mail client, is expanded if nothing wider scrolls.
    const weight = width * height * Math.min(hidden, 20 * innerHeight) * (isMain(element) ? 1_000 : 1);
    if (weight <= most || refused.has(element) || !mayScroll(element)) return;
    if (!isMain(element) && isMenu(element)) return;
    most = weight;
    best = element;
  });
  return best;
}

function mayScroll(element: HTMLElement): boolean {
  if (
    element === documentProperty('documentElement') ||
    element instanceof HTMLTextAreaElement ||
    !hasVisibleStyle(element)
  )
    return false;
  const { overflowY } = getComputedStyle(element);
  const root = contentOf(element);
  if (root === element)
    return (
      /auto|scroll/.test(overflowY) ||
      (overflowY === 'hidden' &&
        ((element === documentProperty('body') && !isPresentation) || isScrolledByScript(element)))
    );
  return isScrollable(element);
}

/** Scrollers that hide the browser's scroll bar have one of their own, or move their content by a transform. */
const OWN_BAR =
  /(^|[\s_-])(ps__?rail|mcsb|iscroll|bscroll|scroll-?(bar|tools|track|thumb|rail)|nicescroll|jspverticalbar|os-scrollbar)/i;

export function isScrolledByScript(element: HTMLElement): boolean {
  const around = [...flatTreeChildren(element), ...(element.parentElement?.childNodes ?? [])];
  return around.some((node) => {
    if (!(node instanceof HTMLElement)) return false;
    const isBar = OWN_BAR.test(node.getAttribute('class') ?? '');
    return isBar || (node.parentElement === element && isUnmoved(node));
  });
}

/** Whether a transform of 0 px moves the element, as a script does that scrolls it. */
function isUnmoved(element: HTMLElement): boolean {
  const { transform } = getComputedStyle(element);
  return isDownward(transform) && Math.abs(new DOMMatrix(transform).f) < 1;
}

/** Whether a frame may be scrolled. */
function isScrollable(element: HTMLElement): boolean {
  const root = documentIn(element)?.documentElement ?? element;
  if (/^(no|off|noscroll)$/i.test(element.getAttribute('scrolling') ?? '')) return false;
  return (
    root === element ||
    !/hidden|clip/.test(getComputedStyle(root).overflowY + getComputedStyle(root.ownerDocument.body ?? root).overflowY)
  );
}

/** Scrolls to the end, repeatedly while that loads more, since an expanded scroller cannot be scrolled. */
async function reachEnd(scroller: HTMLElement): Promise<FeedCut> {
  const deadline = performance.now() + FEED_MAX_MS;
  let hasChanged = false;
  const observer = new MutationObserver(() => {
    hasChanged = true;
  });
  const content = contentOf(scroller);
  observer.observe(content, { childList: true, subtree: true });
  try {
    for (let round = 0; round < FEED_ROUNDS && performance.now() < deadline; round++) {
      const height = content.scrollHeight;
      // A list that is this long from the start may end there.
      if (height > FEED_MAX_HEIGHT_PX) return round > 0 ? 'max_height' : null;
      hasChanged = false;
      content.scrollTo({ top: height, behavior: 'instant' });
      await pause(FEED_WAIT_MS);
      // Changes indicate loading: requests may still be pending.
      for (let waits = 0; hasChanged && content.scrollHeight <= height && waits < FEED_LOAD_WAITS; waits++)
        await pause(FEED_WAIT_MS);
      if (content.scrollHeight <= height) return null;
    }
    return 'time_limit';
  } finally {
    observer.disconnect();
  }
}

/** A header that has become lower meanwhile gets its height back. It may ignore the return until its transition has ended. */
async function returnToTop(scroller: HTMLElement): Promise<void> {
  await endMotion();
  contentOf(scroller).scrollTo({ top: 0, behavior: 'instant' });
  await pause(0);
  await endMotion();
}

/** Waits for two frames, if there are any, and then for `ms`. */
async function pause(ms: number): Promise<void> {
  await passFrames(2, 250);
  await sleep(ms);
}

/** Notifies a virtual list, which renders again when its scroller is scrolled or the window is resized. */
async function notifyScrolled(scroller: HTMLElement, reportsSize: boolean): Promise<void> {
  if (scroller.scrollHeight > DRAWN_MAX_PX) return;
  scroller.dispatchEvent(new Event('scroll'));
  for (const target of new Set([document, contentOf(scroller).ownerDocument]))
    target.dispatchEvent(new Event('scroll', { bubbles: true }));
  if (reportsSize) dispatchEvent(new Event('resize'));
  await pause(0);
}
