import { containsFixed, fixedContainer, isPinned, isScrolledByPage } from './containing.js';
import { all, eachElement, flatTreeParent, isInside, pageScroller, scopeOf, viewHeight } from './dom.js';
import { marked } from './element.js';
import { fire, nameOf } from './mechanisms.js';
import { adopt, forceAll, styleOf } from './styles.js';

/** Shows every pinned element once and in its place, whatever the number of sections (decisions.md, `full_page`, `by_sections`). */

export interface Pinning {
  /** Whether the page is at its top, its initial position. */
  first: boolean;
  /**
   * `page`: fixed elements are shown once. `none`: only those inside the marked element are shown; one that contains it is
   * left alone.
   */
  keep: 'page' | 'none';
  /**
   * The distance from the end of the view to the end of the picture, in CSS px. Elements fixed to the bottom and backgrounds
   * are extended by it.
   */
  down: number;
}

export type Role = 'top' | 'bottom' | 'backdrop' | 'kept' | 'away' | 'in-flow';

export interface Pins {
  roles: Map<HTMLElement, Role>;
  /** Position and inset of each element that existed before anything was scrolled. */
  origins: WeakMap<Element, string>;
  /** Elements that became fixed by scrolling and were restored. */
  restorePosition: Set<HTMLElement>;
  /** Hidden elements, each with a function that shows it again. */
  hidden: Map<HTMLElement, () => void>;
  /** Elements that contain a pinned element with a role of its own. */
  holders: Set<Element>;
  /** The original insets and height, in CSS px, of each element that was moved down. */
  insets: Map<HTMLElement, { top: number; bottom: number; height: number }>;
  backdropsHidden: boolean;
}

const ELEMENTS_MAX = 60_000;
const ROLES_MAX = 200;

let pins: Pins | null = null;

/**
 * Returns sticky elements, and elements that became fixed by scrolling, to the flow. Elements fixed at the top are shown
 * only while the page is at its top; those fixed to the bottom are moved to the end of the picture.
 */
export function place(pinning: Pinning): void {
  const { first, keep, down } = pinning;
  const state = current();
  eachElement(ELEMENTS_MAX, (element) => visit(state, element, pinning));
  for (const element of state.restorePosition) restorePosition(state, element);
  for (const [element, role] of state.roles) show(state, element, role === 'top' ? first : role !== 'away');
  if (keep === 'page' ? !first : !isInTopLayer(marked())) hideDialogBackdrops(state);
  for (const [element, role] of state.roles) spread(state, element, { role, down });
}

/** The pinned elements and their roles, for debugging; at most 200. */
export function roles(): { element: string; role: Role; top: number; height: number }[] {
  return [...current().roles].slice(0, ROLES_MAX).map(([element, role]) => {
    const { top, height } = element.getBoundingClientRect();
    return { element: nameOf(element), role, top: Math.round(top), height: Math.round(height) };
  });
}

/** The state of the changes made for the picture. */
export function current(): Pins {
  pins ??= {
    roles: new Map(),
    origins: new WeakMap(),
    restorePosition: new Set(),
    hidden: new Map(),
    holders: new Set(),
    insets: new Map(),
    backdropsHidden: false,
  };
  return pins;
}

/** Whether the page is at its top before any scrolling. For a captured element, its first section counts as the top. */
export function isAtTop(first: boolean): boolean {
  return first && pageScroller().scrollTop < 0.5;
}

function visit(state: Pins, element: HTMLElement, pinning: Pinning): void {
  const style = getComputedStyle(element);
  if (pinning.first) remember(state, element, style);
  if (pinning.first && style.backgroundAttachment.includes('fixed')) unfix(element);
  // With `content-visibility: auto`, content beyond the view is not painted. Containment is kept for its fixed descendants.
  if (style.contentVisibility === 'auto') forceAll(element, { 'content-visibility': 'visible', contain: 'layout style paint' });
  if (!/sticky|fixed/.test(style.position) || state.roles.has(element)) return;
  // An element without a box gets its role once it has one.
  if (element.getClientRects().length === 0 || element.style === undefined) return;
  if (style.position === 'sticky') unstick(state, element, { style, pinning });
  else assignRole(state, element, { style, pinning });
}

function remember(state: Pins, element: Element, style: CSSStyleDeclaration): void {
  const { position, top, left, right, bottom } = style;
  if (element.getClientRects().length === 0) return;
  state.origins.set(element, position === 'static' ? position : [position, top, left, right, bottom].join('|'));
}

interface Asked {
  style: CSSStyleDeclaration;
  pinning: Pinning;
}

/** Its position in the flow is the same without stickiness. The offset that it had at the top of the page is kept. */
function unstick(state: Pins, element: HTMLElement, { style, pinning }: Asked): void {
  if (containsMarked(element, pinning)) {
    state.roles.set(element, 'kept');
    return;
  }
  state.roles.set(element, 'in-flow');
  fire('sticky');
  if (!isScrolledByPage(flatTreeParent(element))) return;
  const layered = style.zIndex === 'auto';
  const before = element.getBoundingClientRect().top;
  forceAll(element, { position: 'relative', inset: 'auto', ...(layered ? { 'z-index': '0' } : {}) });
  const pushed = before - element.getBoundingClientRect().top;
  if (isAtTop(pinning.first) && pushed > 0.5 && before < viewHeight()) forceAll(element, { top: `${pushed}px` });
}

function assignRole(state: Pins, element: HTMLElement, asked: Asked): void {
  const container = fixedContainer(element);
  if (container !== null && !hasOwnRole(state, element, { ...asked, container })) {
    state.roles.set(element, 'in-flow');
    return;
  }
  if (!asked.pinning.first && state.origins.has(element)) {
    state.roles.set(element, 'in-flow');
    state.restorePosition.add(element);
    fire('put_back');
    return;
  }
  state.roles.set(element, roleOf(element, asked));
  fire('fixed');
}

/**
 * Returns an element that became fixed by scrolling to its original position, in the section that contains it. Clones made
 * later have none.
 */
function restorePosition(state: Pins, element: HTMLElement): void {
  const [origin = 'static', top = 'auto', left = 'auto', right = 'auto', bottom = 'auto'] = state.origins.get(element)?.split('|') ?? [];
  const position = origin === 'sticky' ? 'relative' : origin;
  const isStatic = position === 'static' || origin === 'sticky';
  forceAll(element, isStatic ? { position } : { position, top, left, right, bottom });
}

function roleOf(element: HTMLElement, { style, pinning }: Asked): Role {
  if (containsMarked(element, pinning)) return 'kept';
  const box = element.getBoundingClientRect();
  if (isBackdrop(element, style, box)) return 'backdrop';
  if (pinning.keep === 'none' && !isInside(element, marked())) return 'away';
  return isLow(element, box) ? 'bottom' : 'top';
}

/** Whether the element is near the bottom edge and, by its style or size, not also at the top. */
function isLow(element: HTMLElement, box: DOMRect): boolean {
  const height = viewHeight();
  if (height - box.bottom >= height * 0.25) return false;
  const middle = box.top + box.height / 2;
  if (middle > height / 2 && box.height < height * 0.6) return true;
  const insets = element.computedStyleMap();
  const anchored = String(insets.get('top')) === 'auto' && String(insets.get('bottom')) !== 'auto';
  return anchored && (box.height < height * 0.8 || isUnseen(element, box));
}

function containsMarked(element: Element, { keep }: Pinning): boolean {
  return keep === 'none' && isInside(marked(), element);
}

/** An element has a role of its own if it is at another edge of the view than its pinned container, and outside its box. */
function hasOwnRole(state: Pins, element: HTMLElement, asked: Asked & { container: Element }): boolean {
  const { container, style } = asked;
  if (!(container instanceof HTMLElement) || containsFixed(container, getComputedStyle(container))) return false;
  const role = state.roles.get(container);
  const outer = role === 'in-flow' ? fixedContainer(container) : null;
  if (outer !== null) return hasOwnRole(state, element, { ...asked, container: outer });
  if ((role !== 'top' && role !== 'bottom') || state.hidden.has(container) || style.visibility !== 'visible') return false;
  const [inner, around] = [element.getBoundingClientRect(), container.getBoundingClientRect()];
  const outside = inner.top >= around.bottom || inner.bottom <= around.top;
  if (!outside || roleOf(element, asked) !== (role === 'top' ? 'bottom' : 'top')) return false;
  state.holders.add(container);
  forceAll(element, { visibility: 'visible' });
  return true;
}

/** Uses opacity, which descendants cannot override, or `visibility` where a descendant must stay visible. */
function show(state: Pins, element: HTMLElement, shown: boolean): void {
  const unhide = state.hidden.get(element);
  if (shown !== (unhide !== undefined)) return;
  if (unhide === undefined) return void state.hidden.set(element, hide(element, state.holders.has(element) ? 'visibility' : 'opacity'));
  state.hidden.delete(element);
  unhide();
}

/**
 * An animation takes precedence over the style that a fading page sets in each frame. Unhiding restores the value that the
 * page has set meanwhile.
 */
function hide(element: HTMLElement, property: 'visibility' | 'opacity'): () => void {
  const value = property === 'opacity' ? '0' : 'hidden';
  const style = styleOf(element);
  const own = style.getPropertyValue(property);
  style.setProperty('transition', 'none', 'important');
  style.setProperty(property, value, 'important');
  const held = Element.prototype.animate.call(element, { [property]: [value, value] }, { fill: 'both' });
  return () => {
    held.cancel();
    if (style.getPropertyPriority(property) === 'important') style.setProperty(property, own);
  };
}

/** A fixed background would end with the view. */
function unfix(element: HTMLElement): void {
  fire('fixed_background');
  forceAll(element, { 'background-attachment': 'scroll' });
}

function isInTopLayer(element: Element | null): boolean {
  return all(':modal, :popover-open, :fullscreen').some((held) => isInside(element, held));
}

function hideDialogBackdrops(state: Pins): void {
  if (state.backdropsHidden || all(':modal, :popover-open').length === 0) return;
  state.backdropsHidden = true;
  adopt('::backdrop { opacity: 0 !important; transition: none !important }');
}

/** Extends the element by its insets, so that it keeps its containing block. May be repeated for another view. */
function spread(state: Pins, element: HTMLElement, { role, down }: { role: Role; down: number }): void {
  if ((role !== 'bottom' && role !== 'backdrop') || !element.isConnected) return;
  const own = state.insets.get(element) ?? (down > 0 ? insetsOf(element) : null);
  if (own === null) return;
  state.insets.set(element, own);
  const reach = { 'box-sizing': 'border-box', height: `${own.height + down}px`, 'max-height': 'none' };
  const place = role === 'bottom' ? { top: `${own.top + down}px` } : reach;
  forceAll(element, { transition: 'none', bottom: `${own.bottom - down}px`, ...place });
}

/** @returns null if the browser does not report them in px */
function insetsOf(element: HTMLElement): { top: number; bottom: number; height: number } | null {
  const style = getComputedStyle(element);
  const [top, bottom] = [Number.parseFloat(style.top), Number.parseFloat(style.bottom)];
  return Number.isNaN(top) || Number.isNaN(bottom) ? null : { top, bottom, height: element.getBoundingClientRect().height };
}

/** Whether a fixed element covers the view behind the content. Such a background is shown in every section. */
function isBackdrop(element: Element, style: CSSStyleDeclaration, box: DOMRect): boolean {
  if (box.width < innerWidth * 0.95 || box.height < viewHeight() * 0.95) return false;
  if (Number(style.zIndex) < 0) return true;
  if (element instanceof HTMLElement && element.innerText.trim()) return false;
  return style.pointerEvents === 'none' || isUnseen(element, box) || isUnder(element);
}

function isUnseen(element: Element, box: DOMRect): boolean {
  const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)];
  const [top, bottom] = [Math.max(0, box.top), Math.min(viewHeight(), box.bottom)];
  const scope = scopeOf(element);
  return ![0.2, 0.5, 0.8].some((part) => {
    const hit = scope.elementFromPoint(left + (right - left) * part, top + (bottom - top) * part);
    return hit !== null && isInside(hit, element);
  });
}

/** Whether content is above it in places, and none below it. An overlay, by contrast, covers the content around its dialog. */
function isUnder(element: Element): boolean {
  const scope = scopeOf(element);
  const over = new Set<Element>();
  const under = new Set<Element>();
  for (let point = 0; point < 25; point++) {
    const hits = scope.elementsFromPoint(innerWidth * ((point % 5) * 0.2 + 0.1), viewHeight() * (Math.floor(point / 5) * 0.2 + 0.1));
    const at = hits.findIndex((hit) => isInside(hit, element));
    if (at < 0) return false;
    for (const hit of hits.slice(0, at)) over.add(hit);
    for (const hit of hits.slice(at)) if (!isInside(element, hit) && !isInside(hit, element)) under.add(hit);
  }
  const content = [...over].filter((hit) => !isPinned(hit));
  return content.length > 0 && [...under].every((hit) => isPinned(hit) || content.some((one) => isInside(one, hit)));
}
