import { ancestry, eachElement, flatTreeParent, isWithin } from './dom.js';
import { force, styleOf } from './styles.js';

/**
 * Gives an inner scroller, and each box around it, the height that its content has. All other boxes keep their size and place, but for what
 * follows the scroller, and what stands beside it down to its end.
 */

/** A list that is longer would draw more rows than a renderer holds: it gets this height, and overflows it. */
export const DRAWN_MAX_PX = 100_000;
const FRAME_HELD_MAX = 10_000;
const HELD_MAX = 30_000;
const HOLD_ROUNDS = 5;
const PLACE_ROUNDS = 3;
/** CSS px. */
const SAME_MAX_PX = 1;
const FRAME_ROUNDS = 5;
/** For boxes that are to keep their size and place: each change may cost a layout. */
const HOLD_MAX_MS = 1_000;

/** What is scrolled: of a frame of the page's own origin the root of its document, else the element itself. */
export function contentOf(scroller: HTMLElement): HTMLElement {
  const held = scroller instanceof HTMLIFrameElement ? scroller.contentDocument : null;
  return held?.body ? held.documentElement : scroller;
}

/** Inline styles before the expansion that is being made. */
const own = new Map<HTMLElement, string>();

/** Sets a property unless it is set already: a page may watch its elements. */
export function keep(element: HTMLElement, property: string, value: string): void {
  const style = styleOf(element);
  if (!own.has(element)) own.set(element, style.cssText);
  if (style.getPropertyValue(property) !== value) force(element, property, value);
}

/** @returns whether that can be without making another box smaller; if not, all is as it was */
export function expand(scroller: HTMLElement): boolean {
  own.clear();
  const content = contentOf(scroller);
  content.scrollTop = 0;
  const around = chainOf(scroller);
  const before = noteBoxes(scroller, around);
  for (const [at, parent] of around.entries()) keepRows(parent, around[at - 1] ?? scroller);
  if (content === scroller) expandBox(scroller);
  else if (!expandFrame(scroller, content)) return undo();
  const until = performance.now() + HOLD_MAX_MS;
  const isOver = () => performance.now() > until;
  for (let round = 0; ; round++) {
    growAll(scroller, around);
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
  // In a box that grows again, what is centred moves again.
  for (let round = 0; round < PLACE_ROUNDS && !isOver() && holdPlaces(before, isOver); round++) growAll(scroller, around);
  keep(document.documentElement, 'overflow-y', 'visible');
  return true;
}

function undo(): false {
  for (const [element, css] of own) styleOf(element).cssText = css;
  return false;
}

/** The boxes around the scroller, inner ones first, without the document's root. */
function chainOf(scroller: HTMLElement): HTMLElement[] {
  const around: HTMLElement[] = [];
  for (let parent = flatTreeParent(scroller); parent !== null; parent = flatTreeParent(parent)) {
    if (parent instanceof HTMLElement && parent !== document.documentElement) around.push(parent);
  }
  return around;
}

function growAll(scroller: HTMLElement, around: HTMLElement[]): void {
  for (const [at, parent] of around.entries()) grow(parent, around[at - 1] ?? scroller);
}

interface Before {
  scroller: HTMLElement;
  around: Set<Element>;
  boxes: Map<HTMLElement, DOMRect>;
}

/** The scroller, what is in it, a box around it, or any other. */
type Place = 'scroller' | 'inside' | 'around' | 'outside';

interface Changed {
  element: HTMLElement;
  was: DOMRect;
  place: Place;
  /** Whether it may become higher. */
  grows: boolean;
}

function noteBoxes(scroller: HTMLElement, around: HTMLElement[]): Before {
  const boxes = new Map<HTMLElement, DOMRect>();
  eachElement(HELD_MAX, (element) => {
    const box = element.getBoundingClientRect();
    if (box.width > 0 && box.height > 0 && (element instanceof HTMLElement || isDrawing(element))) boxes.set(element, box);
  });
  return { scroller, around: new Set([...around, document.documentElement]), boxes };
}

function placeOf(element: Element, { scroller, around }: Before): Place {
  if (element === scroller) return 'scroller';
  if (around.has(element)) return 'around';
  return isWithin(element, scroller) ? 'inside' : 'outside';
}

/** Those that are of another size than they were, and must not be. */
function changedIn(before: Before): Changed[] {
  const found: Changed[] = [];
  for (const [element, was] of before.boxes) {
    const { width, height } = element.getBoundingClientRect();
    const [wider, higher] = [width - was.width, height - was.height];
    if (isSame(wider, 0) && isSame(higher, 0)) continue;
    const style = getComputedStyle(element);
    if (style.display === 'inline' && !isReplaced(element)) continue;
    const place = placeOf(element, before);
    const grows = place === 'inside' ? !clips(element, style) : place !== 'outside' || isColumn(was, before);
    if (!isSame(wider, 0) || higher < -SAME_MAX_PX || !grows) found.push({ element, was, place, grows });
  }
  return found;
}

function isSame(one: number, other: number): boolean {
  return Math.abs(one - other) <= SAME_MAX_PX;
}

/** Whether a box stands beside the scroller down to its end, as a navigation does: it may end where the scroller does. */
function isColumn(was: DOMRect, { scroller, boxes }: Before): boolean {
  const { top, bottom } = boxes.get(scroller) ?? was;
  return was.top < (top + bottom) / 2 && was.bottom >= bottom - SAME_MAX_PX;
}

function isSmaller({ element, was }: Changed): boolean {
  const now = element.getBoundingClientRect();
  return now.width < was.width - SAME_MAX_PX || now.height < was.height - SAME_MAX_PX;
}

/** Parts of a drawing have no boxes of their own. */
function isDrawing(element: Element): boolean {
  return element instanceof SVGSVGElement && element.ownerSVGElement === null;
}

function isReplaced(element: HTMLElement): boolean {
  return /^(img|video|canvas|iframe|embed|object|input|textarea|select|button|svg)$/.test(element.localName);
}

/** Whether it shows no more of its content than its size lets it. */
function clips(element: HTMLElement, { overflowY }: CSSStyleDeclaration): boolean {
  return isReplaced(element) || /hidden|clip/.test(overflowY);
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
  // Percentages of its height hold only while it has one; parts of a table have no least height.
  if (String(element.computedStyleMap().get('height')) !== 'auto' || /^table-/.test(display)) keep(element, 'height', height);
  keep(element, 'flex-shrink', '0');
  keep(element, 'min-height', height);
  if (!grows) keep(element, 'max-height', now.height > was.height ? height : 'none');
}

/** Moves boxes back that have another place in a box that has grown, as what is centred there. @returns whether any was */
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
    // A box that keeps to the lower edge follows it.
    if (isSame(by, 0) || top >= end - SAME_MAX_PX || isSame(by, growth)) continue;
    const holder = holderOf(element);
    const within = by - (holder === undefined ? 0 : movedBy(holder, 'top'));
    if (!isSame(within, 0) && placeOf(element, before) !== 'inside') moved.push({ element, by: within });
  }
  for (const { element, by } of moved) if (!isOver()) moveUp(element, by);
  return moved.length > 0;
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

/** Makes a box as high as what it holds down to the scroller. */
function grow(parent: HTMLElement, holds: HTMLElement): void {
  const { height } = parent.getBoundingClientRect();
  loosen(parent);
  const { top } = parent.getBoundingClientRect();
  const bottom = Math.max(contentBottom(parent), holds.getBoundingClientRect().bottom);
  const needed = bottom - top + (Number.parseFloat(getComputedStyle(parent).paddingBottom) || 0);
  if (needed <= height + 1) return;
  // In px, so that elements beside the scroller with `height: 100%` grow with it. A flexible box goes by its least height.
  for (const property of ['height', 'min-height']) keep(parent, property, `${Math.ceil(inner(parent, needed))}px`);
}

/** Rows of a grid that are parts of its height would grow with it: all keep theirs but those of what is to grow. */
function keepRows(parent: HTMLElement, grows: HTMLElement): void {
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
  // Before what is as high as the scroller loses its height.
  const needed = Math.min(DRAWN_MAX_PX, scroller.scrollHeight) + scroller.offsetHeight - scroller.clientHeight;
  const isCapped = scroller.scrollHeight > DRAWN_MAX_PX;
  keep(scroller, 'scroll-snap-type', 'none');
  loosen(scroller);
  const height = `${Math.ceil(inner(scroller, needed))}px`;
  keep(scroller, 'height', isCapped ? height : 'auto');
  keep(scroller, 'min-height', height);
}

/** What is as high as the frame's view stays so; a frame whose content grows along nevertheless is left as it was. */
function expandFrame(frame: HTMLElement, root: HTMLElement): boolean {
  const all = [...root.ownerDocument.body.querySelectorAll<HTMLElement>('*:not(svg *)')];
  const inside = all.filter((element) => 'style' in element).slice(0, FRAME_HELD_MAX);
  const heights = new Map(inside.map((element) => [element, element.getBoundingClientRect().height]));
  const wanted = root.scrollHeight;
  loosen(frame);
  // On the baseline there is a gap below it, which the document may have cut away.
  keep(frame, 'vertical-align', 'top');
  keep(frame, 'height', `${Math.ceil(inner(frame, wanted + frame.offsetHeight - frame.clientHeight))}px`);
  for (let round = 0; round < FRAME_ROUNDS; round++) {
    const grown = inside.filter((element) => element.getBoundingClientRect().height > (heights.get(element) ?? 0) + 1);
    if (grown.length === 0 && root.scrollHeight <= wanted + 1) return true;
    // What holds another that has grown may shrink with it.
    const innermost = grown.filter((one, index) => !one.contains(grown[index + 1] ?? null));
    const held = innermost.map((element) => ({ element, height: Math.ceil(inner(element, heights.get(element) ?? 0)) }));
    for (const { element, height } of held) {
      keep(element, 'height', `${height}px`);
      keep(element, 'min-height', 'auto');
    }
  }
  return root.scrollHeight <= wanted + 1;
}

export function loosen(element: HTMLElement): void {
  const style = getComputedStyle(element);
  keep(element, 'transition', 'none');
  keep(element, 'max-height', 'none');
  keep(element, 'flex-shrink', '0');
  keep(element, 'contain', 'none');
  if (!/visible/.test(style.overflowY)) {
    if (!/visible|clip/.test(style.overflowX)) keep(element, 'overflow-x', 'clip');
    keep(element, 'overflow-y', 'visible');
  }
  if (style.position === 'fixed') keep(element, 'position', 'absolute');
  // Stretched between its own `top` and `bottom`, its height would stay the view's.
  if (/absolute|fixed/.test(style.position)) keep(element, 'bottom', 'auto');
}

/** The value of `height` or `width` that gives a border box of this size. */
export function inner(element: HTMLElement, size: number, property: 'height' | 'width' = 'height'): number {
  const style = getComputedStyle(element);
  if (style.boxSizing === 'border-box') return size;
  const [start, end] = property === 'height' ? (['Top', 'Bottom'] as const) : (['Left', 'Right'] as const);
  const edges = [style[`padding${start}`], style[`padding${end}`], style[`border${start}Width`], style[`border${end}Width`]];
  return size - edges.reduce((sum, edge) => sum + (Number.parseFloat(edge) || 0), 0);
}

function contentBottom(parent: HTMLElement): number {
  let bottom = 0;
  // A form's `children` may be a field of that name.
  for (const element of parent.childNodes) {
    if (!(element instanceof Element) || getComputedStyle(element).position === 'fixed') continue;
    bottom = Math.max(bottom, element.getBoundingClientRect().bottom);
  }
  return bottom;
}
