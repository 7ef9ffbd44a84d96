import { StyleLog } from './change-log.js';
import { ancestry, eachElement, flatTreeParent, force, isInside, styleOf } from './dom.js';

/**
 * Gives an inner scroller, and each box around it, the height of its content. All other boxes keep their size and position,
 * except those after the scroller, and those beside it that extend to its end.
 */

/** A longer list would render more rows than a renderer can hold: it gets this height and overflows it. */
export const DRAWN_MAX_PX = 100_000;
const FRAME_HELD_MAX = 10_000;
const HELD_MAX = 30_000;
const HOLD_ROUNDS = 5;
const PLACE_ROUNDS = 3;
/** The tolerance for equal sizes, in CSS px. */
const SAME_MAX_PX = 1;
const FRAME_ROUNDS = 5;
/** The time limit for restoring the size and position of other boxes, since each change may cost a layout. */
const HOLD_MAX_MS = 1_000;

/** The element that is scrolled: the document's root for a frame of the page's own origin, else the element itself. */
export function contentOf(scroller: HTMLElement): HTMLElement {
  const held = scroller instanceof HTMLIFrameElement ? scroller.contentDocument : null;
  return held?.body ? held.documentElement : scroller;
}

let isWide = false;
/** The inline styles before the current expansion. */
let own = new StyleLog();
/** Those before each expansion that was not undone, in order. */
let done: StyleLog[] = [];

/** Sets a property unless it is already set, since a page may observe its elements. */
export function keep(element: HTMLElement, property: string, value: string): void {
  const style = styleOf(element);
  own.note(style);
  if (style.getPropertyValue(property) !== value) force(element, property, value);
}

/**
 * @param options.wide whether what scrolls sideways is given its whole width
 * @param options.height of the content of a frame that cannot be read, in CSS px
 * @returns false if another box would shrink; all changes are then undone
 */
export function expand(
  scroller: HTMLElement,
  { wide = false, height }: { wide?: boolean; height?: number } = {},
): boolean {
  isWide = wide;
  own = new StyleLog();
  const content = contentOf(scroller);
  content.scrollTop = 0;
  const around = chainOf(scroller);
  const before = noteBoxes(scroller, around);
  for (const [at, parent] of around.entries()) keepGridRows(parent, around[at - 1] ?? scroller);
  if (height !== undefined) growFrame(scroller, height);
  else if (content === scroller) expandBox(scroller);
  else if (!expandFrame(scroller, content)) return undo();
  const until = performance.now() + HOLD_MAX_MS;
  const isOver = () => performance.now() > until;
  for (let round = 0; ; round++) {
    growAll(before, around);
    const changed = changedIn(before);
    if (changed.length === 0) break;
    // Boxes inside the scroller may have changed only because of those around it.
    const outer = changed.filter(({ place }) => place !== 'inside');
    if (round === HOLD_ROUNDS || isOver()) {
      if (outer.some(isSmaller)) return undo();
      break;
    }
    for (const one of outer.length > 0 ? outer : changed) if (!isOver()) holdSize(one);
  }
  // When a box grows again, its centered content moves again.
  for (let round = 0; round < PLACE_ROUNDS && !isOver() && holdPlaces(before, isOver); round++) growAll(before, around);
  lowerRest(before);
  keep(document.documentElement, 'overflow-y', 'visible');
  done.push(own);
  return true;
}

/** Undoes all expansions. */
export function collapse(): void {
  for (const log of done.toReversed()) log.undo();
  done = [];
}

/** The height of an expanded scroller's content in CSS px, as it would be at a former height of the scroller. */
export function contentHeightAt(scroller: HTMLElement, height: number): number {
  const style = styleOf(scroller);
  const { cssText } = style;
  for (const property of ['height', 'min-height', 'max-height'])
    force(scroller, property, `${inner(scroller, height)}px`);
  force(scroller, 'overflow-y', 'hidden');
  const { scrollHeight } = scroller;
  style.cssText = cssText;
  return scrollHeight;
}

function undo(): false {
  own.undo();
  return false;
}

/** The boxes around the scroller, innermost first, without the document's root. */
function chainOf(scroller: HTMLElement): HTMLElement[] {
  const boxes = ancestry(scroller).slice(1);
  return boxes.filter((box): box is HTMLElement => box instanceof HTMLElement && box !== document.documentElement);
}

function growAll({ scroller, boxes }: Before, around: HTMLElement[]): void {
  for (const [at, parent] of around.entries()) grow(parent, around[at - 1] ?? scroller, boxes.get(parent)?.height ?? 0);
}

interface Before {
  scroller: HTMLElement;
  around: Set<Element>;
  boxes: Map<HTMLElement, DOMRect>;
}

/** A box's relation to the scroller: itself, a descendant, an ancestor, or any other. */
type Place = 'scroller' | 'inside' | 'around' | 'outside';

interface Changed {
  element: HTMLElement;
  was: DOMRect;
  place: Place;
  /** Whether the box may become higher. */
  grows: boolean;
}

function noteBoxes(scroller: HTMLElement, around: HTMLElement[]): Before {
  const boxes = new Map<HTMLElement, DOMRect>();
  eachElement(HELD_MAX, (element) => {
    const box = element.getBoundingClientRect();
    // The parts of an SVG drawing have no boxes of their own.
    const isWhole = element instanceof SVGSVGElement && element.ownerSVGElement === null;
    if (box.width > 0 && box.height > 0 && (element instanceof HTMLElement || isWhole)) boxes.set(element, box);
  });
  return { scroller, around: new Set([...around, document.documentElement]), boxes };
}

function placeOf(element: Element, { scroller, around }: Before): Place {
  if (element === scroller) return 'scroller';
  if (around.has(element)) return 'around';
  return isInside(element, scroller) ? 'inside' : 'outside';
}

/** The boxes that have changed their size but must not. */
function changedIn(before: Before): Changed[] {
  const found: Changed[] = [];
  for (const [element, was] of before.boxes) {
    const { width, height } = element.getBoundingClientRect();
    const [wider, higher] = [width - was.width, height - was.height];
    if (isSame(wider, 0) && isSame(higher, 0)) continue;
    const style = getComputedStyle(element);
    if (style.display === 'inline' && !isReplaced(element)) continue;
    const place = placeOf(element, before);
    // A limit that is a share of the scroller's height ends with that.
    const isLimited = isReplaced(element) || /hidden|clip/.test(style.overflowY) || style.maxHeight.endsWith('%');
    const grows = place === 'inside' ? !isLimited : place !== 'outside' || isColumn(was, before);
    if (!isSame(wider, 0) || higher < -SAME_MAX_PX || !grows) found.push({ element, was, place, grows });
  }
  return found;
}

function isSame(one: number, other: number): boolean {
  return Math.abs(one - other) <= SAME_MAX_PX;
}

/** Whether a box beside the scroller extends to its end, as a navigation does. It may keep ending there. */
function isColumn(was: DOMRect, { scroller, boxes }: Before): boolean {
  const { top, bottom } = boxes.get(scroller) ?? was;
  return was.top < (top + bottom) / 2 && was.bottom >= bottom - SAME_MAX_PX;
}

function isSmaller({ element, was }: Changed): boolean {
  const now = element.getBoundingClientRect();
  return now.width < was.width - SAME_MAX_PX || now.height < was.height - SAME_MAX_PX;
}

function isReplaced(element: HTMLElement): boolean {
  return /^(img|video|canvas|iframe|embed|object|input|textarea|select|button|svg)$/.test(element.localName);
}

function holdSize({ element, was, grows }: Changed): void {
  const now = element.getBoundingClientRect();
  keep(element, 'transition', 'none');
  if (!isSame(now.width, was.width)) {
    const width = `${inner(element, was.width, 'width')}px`;
    for (const property of ['width', 'min-width', 'max-width']) keep(element, property, width);
  }
  if (now.height > was.height - SAME_MAX_PX && (grows || now.height < was.height + SAME_MAX_PX)) return;
  const { display } = getComputedStyle(element);
  const height = `${inner(element, was.height)}px`;
  // Percentages of a height apply only while it is set, and table parts have no `min-height`.
  if (String(element.computedStyleMap().get('height')) !== 'auto' || /^table-/.test(display))
    keep(element, 'height', height);
  keep(element, 'flex-shrink', '0');
  keep(element, 'min-height', height);
  if (!grows) keep(element, 'max-height', now.height > was.height ? height : 'none');
}

/**
 * Moves boxes back whose position in an enlarged box has changed, such as centered ones.
 * @returns whether any was moved
 */
function holdPlaces(before: Before, isOver: () => boolean): boolean {
  const { scroller, boxes } = before;
  const movedBy = (element: Element, edge: 'top' | 'bottom') =>
    element.getBoundingClientRect()[edge] - (boxes.get(element as HTMLElement)?.[edge] ?? 0);
  const holderOf = (element: Element) => ancestry(element).find((at) => at !== element && boxes.has(at as HTMLElement));
  const end = boxes.get(scroller)?.bottom ?? 0;
  const growth = movedBy(scroller, 'bottom');
  const moved: { element: HTMLElement; by: number }[] = [];
  for (const [element, { top }] of boxes) {
    const by = movedBy(element, 'top');
    // A box anchored to the lower edge moves with it.
    if (isSame(by, 0) || top >= end - SAME_MAX_PX || isSame(by, growth)) continue;
    const holder = holderOf(element);
    const relative = by - (holder === undefined ? 0 : movedBy(holder, 'top'));
    if (!isSame(relative, 0) && placeOf(element, before) !== 'inside') moved.push({ element, by: relative });
  }
  for (const { element, by } of moved) if (!isOver()) moveUp(element, by);
  return moved.length > 0;
}

/** Moves boxes below the scroller that are placed relative to the view, such as a bar at its bottom edge, and not to the content. */
function lowerRest({ scroller, boxes }: Before): void {
  const { bottom = 0 } = boxes.get(scroller) ?? {};
  const growth = scroller.getBoundingClientRect().bottom - bottom;
  for (const [element, { top }] of boxes) {
    if (top < bottom - SAME_MAX_PX || getComputedStyle(element).position !== 'absolute') continue;
    const container = element instanceof HTMLElement ? element.offsetParent : flatTreeParent(element);
    const isContent = container !== null && isInside(container, scroller);
    if (!isContent && isSame(element.getBoundingClientRect().top, top)) moveUp(element, -growth);
  }
}

function moveUp(element: HTMLElement, by: number): void {
  const { position, top, height } = getComputedStyle(element);
  if (position === 'sticky') return;
  keep(element, 'transition', 'none');
  if (position === 'static') keep(element, 'position', 'relative');
  if (/absolute|fixed/.test(position)) {
    keep(element, 'bottom', 'auto');
    keep(element, 'height', height);
  }
  keep(element, 'top', `${(Number.parseFloat(top) || 0) - by}px`);
}

/** Makes a box as high as its content down to the scroller's end, and no lower than it was. */
function grow(parent: HTMLElement, holds: HTMLElement, was: number): void {
  const { height } = parent.getBoundingClientRect();
  unclip(parent);
  const { top } = parent.getBoundingClientRect();
  const bottom = Math.max(contentBottom(parent), holds.getBoundingClientRect().bottom);
  const needed = bottom - top + (Number.parseFloat(getComputedStyle(parent).paddingBottom) || 0);
  const wanted = Math.max(needed, was);
  const higher = wanted - height;
  // Its content has become lower again if a box in it was held after it had grown.
  const hasGrown = styleOf(parent).getPropertyPriority('min-height') === 'important';
  if (higher <= 1 && !(hasGrown && higher < -1)) return;
  // The value is in px, so that elements beside the scroller with `height: 100%` grow with it. A flex item needs `min-height`.
  for (const property of ['height', 'min-height']) keep(parent, property, `${Math.ceil(inner(parent, wanted))}px`);
}

/** Keeps a grid's other rows at their height, since rows that are fractions of the grid would grow with it. */
function keepGridRows(parent: HTMLElement, grows: HTMLElement): void {
  const { display, gridTemplateRows, rowGap, borderTopWidth, paddingTop } = getComputedStyle(parent);
  if (!/grid/.test(display) || !/^[\d.]+px( [\d.]+px)*$/.test(gridTemplateRows)) return;
  const { top, bottom } = grows.getBoundingClientRect();
  let end = parent.getBoundingClientRect().top + Number.parseFloat(borderTopWidth) + Number.parseFloat(paddingTop);
  const rows = gridTemplateRows.split(' ').map((height) => {
    const start = end;
    end += Number.parseFloat(height);
    const holds = start < bottom - SAME_MAX_PX && end > top + SAME_MAX_PX;
    end += Number.parseFloat(rowGap) || 0;
    return holds ? 'auto' : height;
  });
  keep(parent, 'transition', 'none');
  keep(parent, 'grid-template-rows', rows.join(' '));
}

function expandBox(scroller: HTMLElement): void {
  // Measured before elements that fill the scroller lose its height.
  const needed = Math.min(DRAWN_MAX_PX, scroller.scrollHeight) + scroller.offsetHeight - scroller.clientHeight;
  const isCapped = scroller.scrollHeight > DRAWN_MAX_PX;
  keep(scroller, 'scroll-snap-type', 'none');
  unclip(scroller);
  const height = `${Math.ceil(inner(scroller, needed))}px`;
  keep(scroller, 'height', isCapped ? height : 'auto');
  keep(scroller, 'min-height', height);
}

/** Elements as high as the frame's view keep their height. A frame whose content grows nevertheless is left unchanged. */
function expandFrame(frame: HTMLElement, root: HTMLElement): boolean {
  const all = [...root.ownerDocument.body.querySelectorAll<HTMLElement>('*:not(svg *)')];
  const inside = all.filter((element) => 'style' in element).slice(0, FRAME_HELD_MAX);
  const heights = new Map(inside.map((element) => [element, element.getBoundingClientRect().height]));
  const wanted = root.scrollHeight;
  growFrame(frame, wanted);
  for (let round = 0; round < FRAME_ROUNDS; round++) {
    const grown = inside.filter((element) => element.getBoundingClientRect().height > (heights.get(element) ?? 0) + 1);
    if (grown.length === 0 && root.scrollHeight <= wanted + 1) return true;
    // A container may shrink with the descendant that made it grow.
    const innermost = grown.filter((one, index) => !one.contains(grown[index + 1] ?? null));
    const held = innermost.map((element) => ({
      element,
      height: Math.ceil(inner(element, heights.get(element) ?? 0)),
    }));
    for (const { element, height } of held) {
      keep(element, 'height', `${height}px`);
      keep(element, 'min-height', 'auto');
    }
  }
  return root.scrollHeight <= wanted + 1;
}

function growFrame(frame: HTMLElement, height: number): void {
  unclip(frame);
  // On the baseline, a frame has a gap below it, which the document may have compensated for.
  keep(frame, 'vertical-align', 'top');
  keep(frame, 'height', `${Math.ceil(inner(frame, height + frame.offsetHeight - frame.clientHeight))}px`);
}

export function unclip(element: HTMLElement): void {
  const style = getComputedStyle(element);
  keep(element, 'transition', 'none');
  keep(element, 'max-height', 'none');
  keep(element, 'flex-shrink', '0');
  keep(element, 'contain', 'none');
  if (!/visible/.test(style.overflowY)) {
    if (isWide) keep(element, 'overflow-x', 'visible');
    else if (!/visible|clip/.test(style.overflowX)) keep(element, 'overflow-x', 'clip');
    keep(element, 'overflow-y', 'visible');
  }
  if (style.position === 'fixed') keep(element, 'position', 'absolute');
  // With both `top` and `bottom` set, its height would remain the view's.
  if (/absolute|fixed/.test(style.position)) keep(element, 'bottom', 'auto');
}

/** The value of `height` or `width` that results in a border box of this size. */
export function inner(element: HTMLElement, size: number, property: 'height' | 'width' = 'height'): number {
  const style = getComputedStyle(element);
  if (style.boxSizing === 'border-box') return size;
  const [start, end] = property === 'height' ? (['Top', 'Bottom'] as const) : (['Left', 'Right'] as const);
  const edges = [
    style[`padding${start}`],
    style[`padding${end}`],
    style[`border${start}Width`],
    style[`border${end}Width`],
  ];
  return size - edges.reduce((sum, edge) => sum + (Number.parseFloat(edge) || 0), 0);
}

function contentBottom(parent: HTMLElement): number {
  let bottom = 0;
  // A form's `children` may be one of its fields.
  for (const element of parent.childNodes) {
    if (!(element instanceof Element) || getComputedStyle(element).position === 'fixed') continue;
    bottom = Math.max(bottom, element.getBoundingClientRect().bottom);
  }
  return bottom;
}
