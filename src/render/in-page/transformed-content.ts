import { isEmpty, isInFixed, isInFlow } from './boxes.js';
import {
  allIn,
  ancestry,
  eachElement,
  flatTreeParent,
  hasVisibleStyle,
  isPage,
  pageBoxes,
  pageScroller,
  styleOf,
} from './dom.js';
import { inner, keep, unclip } from './expand.js';
import { keepMissing } from './missing-parts.js';
import { putBackMissing } from './put-back.js';

/**
 * Lays out pages that move their content by a transform in a box of the view's size instead of scrolling (fullPage.js,
 * Swiper, smooth-scrollbar, ScrollSmoother). Without transform and clips, the document scrolls through the same content.
 */

const MOST_ELEMENTS = 30_000;
/** The minimum share of the view that the box covers, and by which its content is longer. */
const COVERS_MIN = 0.9;
const LONGER_MIN = 0.25;
/** The minimum share of the document's length that the content has if scripts move it along with the document. */
const FOLLOWS_MIN = 0.8;
const TRANSFORM_MAX_CHARS = 200;

let moved: HTMLElement | null = null;

/** Lays out in normal flow the content that the page moves by a transform. */
export function flattenTransforms(): void {
  if (moved !== null) return;
  const found = movedContent();
  if (found === null) return;
  moved = found;
  if (getComputedStyle(found).position !== 'static') keep(found, 'top', '0');
  forceByAnimation(found, { transform: 'none' });
  // Fading slides are stacked on each other, and all but one are transparent. Locomotive hides those beyond the view.
  for (const child of inFlow(found))
    if (getComputedStyle(child).transform !== 'none') forceByAnimation(child, { transform: 'none', opacity: '1' });
  repeatFlattening();
}

/** Removes clips, also those that the page has restored. The height is kept, so that percentages of it keep their size, and the content overflows. */
export function repeatFlattening(): void {
  for (let at: Element | null = moved; at !== null; at = flatTreeParent(at)) {
    if (!(at instanceof HTMLElement)) continue;
    if (!isInFlow(at)) keep(at, 'height', `${Math.ceil(inner(at, at.offsetHeight))}px`);
    unclip(at);
  }
}

/** Whether most text of one of the parts is hidden, because scripts show it only while that part is current. */
export function hidesPart(): boolean {
  return (moved === null ? [] : inFlow(moved)).some((part) => {
    const texts = textsIn(part);
    return texts.filter((element) => !hasVisibleStyle(element)).length > texts.length / 2;
  });
}

/** Whether text in the flow of the moved content is hidden. Scripts that follow the mouse wheel do not notice that the document was scrolled. */
export function hidesText(): boolean {
  if (moved === null) return false;
  const around = new Set(ancestry(moved));
  // Closed menus are out of the flow.
  const isInAll = (element: Element) => ancestry(element).every((at) => around.has(at) || isInFlow(at));
  return textsIn(moved).some((element) => !hasVisibleStyle(element) && isInAll(element));
}

/**
 * Turns the mouse wheel over the moved content. The browser itself scrolls nothing, since the event is not a user's.
 * @param deltaY in CSS px, positive towards the end
 */
export function turnWheel(deltaY: number): void {
  const [clientX, clientY] = [innerWidth / 2, innerHeight / 2];
  // Chromium 156 gives an event of ours `wheelDeltaY` the wrong sign unless it is told.
  const init = { deltaY, wheelDeltaY: -deltaY, clientX, clientY, bubbles: true, cancelable: true, composed: true };
  if (moved !== null) EventTarget.prototype.dispatchEvent.call(moved, new WheelEvent('wheel', init));
}

/** How far scripts have moved the content up, though it is laid out unmoved, in CSS px. */
export function movedBy(): number {
  const parts = moved === null ? [] : [moved, ...inFlow(moved)];
  return Math.max(
    0,
    ...parts.map((one) => -downOf(styleOf(one).transform) - (Number.parseFloat(styleOf(one).top) || 0)),
  );
}

/** Lengths relative to the view, which have no matrix. Parts of such a page are as high as the view. */
const RELATIVE = /(?:translateY\(|translate(?:3d)?\([^,()]*,)\s*(-?[\d.]+)(?:%|vh)/;

function downOf(transform: string): number {
  const [, share] = RELATIVE.exec(transform.slice(0, TRANSFORM_MAX_CHARS)) ?? [];
  if (share !== undefined) return (Number(share) / 100) * innerHeight;
  try {
    return new DOMMatrix(transform).f;
  } catch {
    return 0;
  }
}

/** Shows what scripts have hidden again when they moved the content back. */
export async function showSeen(): Promise<void> {
  keepMissing();
  await putBackMissing(moved);
}

function textsIn(part: HTMLElement): Element[] {
  return allIn(part, '*').filter(
    (element) =>
      element.firstElementChild === null && element.textContent?.trim() && !isEmpty(element.getBoundingClientRect()),
  );
}

/** An animation takes precedence over values that scripts set repeatedly. */
function forceByAnimation(element: HTMLElement, values: Record<string, string>): void {
  Element.prototype.animate.call(element, [values, values], { fill: 'both' });
}

function movedContent(): HTMLElement | null {
  let best: HTMLElement | null = null;
  let most = innerHeight * (1 + LONGER_MIN);
  eachElement(MOST_ELEMENTS, (element) => {
    if (element.childElementCount === 0 || element.offsetWidth < innerWidth * COVERS_MIN || !isMoved(element)) return;
    const height = contentHeight(element);
    if (height <= most || !fillsClip(element)) return;
    most = height;
    best = element;
  });
  if (best === null || !follows()) return best;
  return most >= pageScroller().scrollHeight * FOLLOWS_MIN && isInFixed(best) ? best : null;
}

/** Whether the element is moved vertically: by its own transform, by those of its children, or by `top`. */
function isMoved(element: HTMLElement): boolean {
  const { transform, position, top, touchAction } = getComputedStyle(element);
  if (transform !== 'none') return isDownward(transform);
  if (position === 'relative' && top !== 'auto' && touchAction === 'none') return true;
  const children = element.childElementCount > 1 ? inFlow(element) : [];
  return children.length > 1 && children.every((child) => isDownward(getComputedStyle(child).transform));
}

/** Whether the transform is a translation without a horizontal part. */
export function isDownward(transform: string): boolean {
  if (transform === 'none') return false;
  const { a, b, c, d, e, m33, m44 } = new DOMMatrix(transform);
  return m33 === 1 && m44 === 1 && a === 1 && b === 0 && c === 0 && d === 1 && Math.abs(e) < 1;
}

/** The height of the content as laid out, ignoring transforms, in CSS px. */
function contentHeight(element: HTMLElement): number {
  const children = inFlow(element);
  const end = children.reduce((lowest, child) => Math.max(lowest, child.offsetTop + child.offsetHeight), 0);
  return end - (children[0]?.offsetTop ?? 0);
}

function inFlow(element: HTMLElement): HTMLElement[] {
  // A form's `children` may be one of its fields.
  return [...element.childNodes].filter(
    (child): child is HTMLElement => child instanceof HTMLElement && isInFlow(child),
  );
}

/** Whether the element begins at the top of a box of the view's size that clips it, or of the view itself, to which it is fixed. */
function fillsClip(element: HTMLElement): boolean {
  const { transform } = getComputedStyle(element);
  const begins = element.getBoundingClientRect().top - (transform === 'none' ? 0 : new DOMMatrix(transform).f);
  for (let at = flatTreeParent(element); at !== null; at = flatTreeParent(at)) {
    if (!/hidden|clip/.test(getComputedStyle(at).overflowY)) continue;
    const box = at.getBoundingClientRect();
    const [top, height] = isPage(at) ? [0, innerHeight] : [box.top, box.height];
    const covers = Math.abs(top) < 1 && Math.abs(height - innerHeight) < innerHeight * (1 - COVERS_MIN);
    return covers && box.width >= innerWidth * COVERS_MIN && Math.abs(begins - top) < innerHeight * LONGER_MIN;
  }
  // A closed menu of a page that is locked is moved as well.
  return follows() && getComputedStyle(element).position === 'fixed' && Math.abs(begins) < innerHeight * LONGER_MIN;
}

/** Whether the document scrolls, so that scripts may move what is fixed along with it. */
function follows(): boolean {
  const isLocked = pageBoxes().some((box) => /hidden|clip/.test(getComputedStyle(box).overflowY));
  return !isLocked && pageScroller().scrollHeight - innerHeight >= innerHeight / 2;
}
