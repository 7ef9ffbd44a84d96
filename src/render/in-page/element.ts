import { boxOf, type ElementBox, isEmpty, isOffPage, isPartlyVisible, onPage, pageStart, partsOf } from './boxes.js';
import { notePositions } from './change-log.js';
import { checkDeep, type ForeignPlace, type Found, findDeep, isDeep, type Search } from './deep-selector.js';
import {
  allIn,
  ancestry,
  force,
  forceAll,
  hasVisibleStyle,
  isPage,
  isVisible,
  pageBoxes,
  pageScroller,
} from './dom.js';
import { queryTrees } from './dom-cache.js';
import { passFrames, sleep } from './frames.js';

type Sighting =
  | { box: ElementBox }
  /** `judged` is how many of the matches were looked at. */
  | { problem: 'not_found' | 'not_visible'; matches: number; judged: number }
  /** `shown` is the part of the page in which the frame shows its document. */
  | { problem: 'frame_of_another_origin'; matches: number; place: ForeignPlace | null; shown: ElementBox }
  | { problem: 'invalid_selector'; message: string };

/** The greatest number of matches of a selector that are looked at: a page may have any number, and judging one can take 0.1 ms. */
const JUDGED_MAX = 10_000;

/** The time between two frames of a screen. */
const SCREEN_MS = 16;
/** The results of a survey, by selector, so that the pictures of many elements do not judge all matches again for each. */
const surveyed = new Map<string, Found[]>();

/** The greatest number of matches that are captured together. */
const UNION_MAX = 1_000;

/** The elements to capture, or the frames of this document that contain them. */
let chosen: Element[] = [];
/** Elements that scripts of the request have chosen, by their code, which stands in place of a selector. */
const picked = new Map<string, Element>();

/** Whether any of the elements to capture fits. */
export function isAnyMarked(fits: (marked: Element) => boolean): boolean {
  return chosen.some(fits);
}

export function unmark(): void {
  chosen = [];
}

/** Notes the element at which the page's own world dispatches an event of this name, as that of the code. */
export function awaitPick(code: string, event: string): void {
  picked.delete(code);
  const note = (dispatched: Event) => {
    const [target] = dispatched.composedPath();
    if (target instanceof Element) picked.set(code, target);
  };
  addEventListener(event, note, { capture: true, once: true });
}

/**
 * Whether each visible match is in view as a whole, so that nothing of it is left to load by scrolling. Empty also for a selector that is
 * invalid, or leads elsewhere.
 * @param maxCount the maximum number of matches to inspect
 */
export function survey(selector: string, maxCount: number): boolean[] {
  try {
    const found = candidates(search(selector).found, maxCount);
    surveyed.set(selector, found);
    return found.map(isWhollyInView);
  } catch {
    return [];
  }
}

function isWhollyInView({ element, frames }: Found): boolean {
  const { top, bottom, left, right, width, height } = element.getBoundingClientRect();
  return (
    frames.length === 0 && width * height > 0 && top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth
  );
}

/**
 * Selects the first visible match in document order, or one after it, or all, expands the scrollers that clip it, and scrolls to it. Its
 * parts replace an empty box. Shadow trees are searched last; frames of the same origin only via `>>>`.
 * @param index the number of visible matches before it
 */
export async function mark(selector: string, index: number | 'all' = 0): Promise<Sighting> {
  const known = index === 'all' ? undefined : surveyed.get(selector)?.[index];
  if (known?.element.isConnected && matchSatisfies(known, isReachable)) return { box: await show([known]) };
  let matches: Found[];
  let crossOriginFrame: Search['crossOriginFrame'];
  try {
    ({ found: matches, crossOriginFrame } = search(selector));
  } catch (error) {
    return { problem: 'invalid_selector', message: String((error as Error).message) };
  }
  const found = index === 'all' ? candidates(matches, UNION_MAX) : candidates(matches, index + 1).slice(index);
  if (found.length > 0) return { box: await show(found) };
  if (crossOriginFrame === null) {
    const problem = matches.length === 0 ? 'not_found' : 'not_visible';
    return { problem, matches: matches.length, judged: Math.min(matches.length, JUDGED_MAX) };
  }
  const frame = crossOriginFrame.element as HTMLIFrameElement;
  await show([{ element: frame, frames: [] }]);
  const everywhere = { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity };
  const shown = partOnPage(boxInFrames(everywhere, [frame]));
  return { problem: 'frame_of_another_origin', matches: matches.length, place: crossOriginFrame.place, shown };
}

/**
 * Scrolls to the first match that has a box, though it is not visible: some pages show their parts only in the view.
 * @returns whether there is one
 */
export async function approach(selector: string): Promise<boolean> {
  const [hidden] = firstOf(search(selector).found, 1, (element) => element.getClientRects().length > 0);
  if (hidden === undefined) return false;
  notePositions(() => [pageScroller(), ...ancestry(hidden.element), ...hidden.frames.flatMap(ancestry)]);
  hidden.element.scrollIntoView({ behavior: 'instant', block: 'center', inline: 'nearest' });
  return await passFrames(1, 250);
}

/** The first visible matches. */
function candidates(matches: readonly Found[], maxCount: number): Found[] {
  // If all matches are clipped, as later slides of a carousel, they can still be scrolled to.
  const unclipped = firstOf(matches, maxCount, isUnclipped);
  return unclipped.length > 0 ? unclipped : firstOf(matches, maxCount, isReachable);
}

function firstOf(matches: readonly Found[], maxCount: number, judge: (candidate: Element) => boolean): Found[] {
  const found: Found[] = [];
  for (const one of matches.slice(0, JUDGED_MAX)) {
    if (found.length >= maxCount) break;
    if (matchSatisfies(one, judge)) found.push(one);
  }
  return found;
}

/** @returns the box on the page of all these elements together, of which there is one at least */
async function show(matches: readonly Found[]): Promise<ElementBox> {
  chosen = matches.map(({ element, frames }) => frames[0] ?? element);
  notePositions(() => [
    pageScroller(),
    ...matches.flatMap(({ element, frames }) => [element, ...frames].flatMap(ancestry)),
  ]);
  for (const box of pageBoxes()) forceAll(box, { 'scroll-behavior': 'auto', 'scroll-snap-type': 'none' });
  for (const match of matches) enlargeFrames(match);
  for (const element of chosen) expandScrollers(element);
  for (const { element, frames } of matches.slice(0, 1)) {
    if (frames.length === 0) bringIntoView(element);
    else element.scrollIntoView({ behavior: 'instant', block: 'center', inline: 'nearest' });
  }
  await passFrames(2, 250);
  const boxes = matches.map(({ element, frames }) =>
    partOnPage(frames.length === 0 ? boxOf(element) : boxInFrames(element.getBoundingClientRect(), frames)),
  );
  return {
    left: Math.min(...boxes.map(({ left }) => left)),
    top: Math.min(...boxes.map(({ top }) => top)),
    right: Math.max(...boxes.map(({ right }) => right)),
    bottom: Math.max(...boxes.map(({ bottom }) => bottom)),
  };
}

/** @returns the part of a box of the view that is on the page */
function partOnPage(box: ElementBox): ElementBox {
  const { left, top, ...end } = onPage(box);
  const start = pageStart();
  return { left: Math.max(start.left, left), top: Math.max(start.top, top), ...end };
}

/** Resolves once a match is visible. Checks at the pace of a screen, since style changes alone can affect visibility. */
export async function untilVisible(selector: string): Promise<void> {
  while (!findDeep(selector).found.some(({ element, frames }) => [element, ...frames].every(isVisible)))
    await sleep(SCREEN_MS);
}

/** The browser's error message for each selector; null for a valid one. */
export function selectorProblems(selectors: string[]): (string | null)[] {
  return selectors.map((selector) => {
    try {
      checkDeep(selector);
      return null;
    } catch (error) {
      return String((error as Error).message).replace(/^Failed to execute 'querySelector' on 'Document': /, '');
    }
  });
}

function search(selector: string): Search {
  const own = picked.get(selector);
  if (own !== undefined)
    return { found: own.isConnected ? [{ element: own, frames: [] }] : [], crossOriginFrame: null };
  if (isDeep(selector)) return findDeep(selector);
  const inDocument = allIn(document, selector);
  const found = inDocument.slice(0, JUDGED_MAX).some(isUnclipped) ? inDocument : queryTrees(selector);
  return { found: found.map((element) => ({ element, frames: [] })), crossOriginFrame: null };
}

/** An element in a frame belongs to that frame's realm, so only its box is checked. `judge` is applied to the outermost frame. */
function matchSatisfies(
  { element, frames: [outermost, ...inner] }: Found,
  judge: (candidate: Element) => boolean,
): boolean {
  if (outermost === undefined) return judge(element);
  return judge(outermost) && [...inner, element].every(isVisible);
}

/** Enlarges frames that are smaller than the element, so that they show all of it. */
function enlargeFrames({ element, frames }: Found): void {
  let content = element;
  for (const frame of frames.toReversed()) {
    const { width, height } = content.getBoundingClientRect();
    const { scrollWidth = 0, scrollHeight = 0 } = frame.contentDocument?.scrollingElement ?? {};
    const size = { 'box-sizing': 'content-box', 'max-width': 'none', 'max-height': 'none' };
    if (width > frame.clientWidth + 1) forceAll(frame, { ...size, width: `${scrollWidth}px` });
    if (height > frame.clientHeight + 1) forceAll(frame, { ...size, height: `${scrollHeight}px` });
    content = frame;
  }
}

/** The part of a box in the innermost frame that all frames show, relative to this document's view. */
export function boxInFrames(inner: ElementBox, frames: HTMLIFrameElement[]): ElementBox {
  return frames.reduceRight((box, frame) => {
    const outer = frame.getBoundingClientRect();
    const style = getComputedStyle(frame);
    const [wide, high] = [outer.width / (frame.offsetWidth || 1), outer.height / (frame.offsetHeight || 1)];
    const edge = (side: string) =>
      [`border-${side}-width`, `padding-${side}`].reduce(
        (sum, name) => sum + (Number.parseFloat(style.getPropertyValue(name)) || 0),
        0,
      );
    const across = (x: number) =>
      Math.min(outer.right - edge('right') * wide, outer.left + (edge('left') + Math.max(0, x)) * wide);
    const down = (y: number) =>
      Math.min(outer.bottom - edge('bottom') * high, outer.top + (edge('top') + Math.max(0, y)) * high);
    return { left: across(box.left), right: across(box.right), top: down(box.top), bottom: down(box.bottom) };
  }, inner);
}

function isReachable(candidate: Element): boolean {
  const box = candidate.getBoundingClientRect();
  if (isEmpty(box)) return partsOf(candidate).length > 0;
  return !isOffPage(candidate, box) && hasVisibleStyle(candidate);
}

/** Whether the element is visible, and some of it remains visible after clipping or can be scrolled to. */
function isUnclipped(candidate: Element): boolean {
  const box = candidate.getBoundingClientRect();
  return isReachable(candidate) && (isEmpty(box) || isPartlyVisible(box, candidate));
}

function bringIntoView(element: Element): void {
  const { top, bottom, left, right } = boxOf(element);
  const inView = top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth;
  const block = bottom - top > innerHeight ? 'start' : 'center';
  const aim = isEmpty(element.getBoundingClientRect()) ? partsOf(element)[0]?.at : element;
  // An element in view may still be clipped by its scroller; "nearest" moves nothing else.
  aim?.scrollIntoView({ behavior: 'instant', block: inView ? 'nearest' : block, inline: 'nearest' });
}

/** Expands each scroller that is smaller than the element it contains. */
function expandScrollers(target: Element): void {
  for (const parent of ancestry(target).slice(1)) {
    if (!(parent instanceof HTMLElement) || isPage(parent)) continue;
    const style = getComputedStyle(parent);
    const clips = !/visible/.test(style.overflowY) || !/visible/.test(style.overflowX);
    const box = boxOf(target);
    const tooLarge = box.bottom - box.top > parent.clientHeight + 1 || box.right - box.left > parent.clientWidth + 1;
    if (!clips || !tooLarge) continue;
    forceAll(parent, { 'max-height': 'none', 'max-width': 'none', contain: 'none', overflow: 'visible' });
    if (parent.scrollHeight > parent.clientHeight) force(parent, 'min-height', `${parent.scrollHeight}px`);
  }
}
