import { containsFixed, fixedContainer, isPinned, isScrolledByPage } from './containing.js';
import { all, eachElement, flatTreeParent, isWithin, pageScroller, scopeOf, viewHeight } from './dom.js';
import { marked } from './element.js';
import { fire, nameOf } from './mechanisms.js';
import { adopt, forceAll, styleOf } from './styles.js';

/** Shows every pinned element once and in its place, whatever the number of sections (decisions.md, `full_page`, `by_sections`). */

export interface Pinning {
  /** Whether the page is at its top, as a visitor finds it. */
  first: boolean;
  /** `page`: fixed elements are shown once. `none`: only those inside the marked element are; one that contains it is left alone. */
  keep: 'page' | 'none';
  /** CSS px from the end of the view down to the end of the picture: what is fixed to the bottom is moved there, and backgrounds reach there. */
  down: number;
}

export type Role = 'top' | 'bottom' | 'backdrop' | 'kept' | 'away' | 'in-flow';

export interface Pins {
  roles: Map<HTMLElement, Role>;
  /** Position and inset of each element that was in the page before anything was scrolled. */
  origins: WeakMap<Element, string>;
  /** Elements that became fixed by scrolling and were put back. */
  putBack: Set<HTMLElement>;
  /** Hidden elements, each with a function that shows it again. */
  hidden: Map<HTMLElement, () => void>;
  /** Elements that contain a pinned element with a role of its own. */
  holders: Set<Element>;
  /** Insets and height, CSS px, of each element that has been moved down, before that. */
  insets: Map<HTMLElement, { top: number; bottom: number; height: number }>;
  backdropsHidden: boolean;
}

const MOST_ELEMENTS = 60_000;
const ROLES_TOLD = 200;

let pins: Pins | null = null;

/**
 * Sticky elements, and elements that became fixed by scrolling, return to the flow. Elements fixed at the top are shown only while the page is
 * at its top; those fixed to the bottom are moved to the end of the picture.
 */
export function place(pinning: Pinning): void {
  const { first, keep, down } = pinning;
  const state = current();
  eachElement(MOST_ELEMENTS, (element) => visit(state, element, pinning));
  for (const element of state.putBack) putBack(state, element);
  for (const [element, role] of state.roles) show(state, element, role === 'top' ? first : role !== 'away');
  if (keep === 'page' ? !first : !isInTopLayer(marked())) hideDialogBackdrops(state);
  for (const [element, role] of state.roles) spread(state, element, { role, down });
}

/** Each pinned element, for those who look into how a page was pictured; at most 200. */
export function roles(): { element: string; role: Role; top: number; height: number }[] {
  return [...current().roles].slice(0, ROLES_TOLD).map(([element, role]) => {
    const { top, height } = element.getBoundingClientRect();
    return { element: nameOf(element), role, top: Math.round(top), height: Math.round(height) };
  });
}

/** Changes to the page for the picture. */
export function current(): Pins {
  pins ??= {
    roles: new Map(),
    origins: new WeakMap(),
    putBack: new Set(),
    hidden: new Map(),
    holders: new Set(),
    insets: new Map(),
    backdropsHidden: false,
  };
  return pins;
}

/** Elements pinned at the top of the page before scrolling. When an element is captured, its first section counts as the top. */
export function isAtTop(first: boolean): boolean {
  return first && pageScroller().scrollTop < 0.5;
}

function visit(state: Pins, element: HTMLElement, pinning: Pinning): void {
  const style = getComputedStyle(element);
  if (pinning.first) remember(state, element, style);
  if (pinning.first && style.backgroundAttachment.includes('fixed')) unfix(element);
  // Its content is not drawn beyond the view; it still contains what is fixed in it.
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

/** Its place in the flow is the same without stickiness; the offset that it had at the top of the page is kept. */
function unstick(state: Pins, element: HTMLElement, { style, pinning }: Asked): void {
  if (holdsMarked(element, pinning)) {
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
  if (container !== null && !standsApart(state, element, { ...asked, container })) {
    state.roles.set(element, 'in-flow');
    return;
  }
  if (!asked.pinning.first && state.origins.has(element)) {
    state.roles.set(element, 'in-flow');
    state.putBack.add(element);
    fire('put_back');
    return;
  }
  state.roles.set(element, roleOf(element, asked));
  fire('fixed');
}

/** An element that became fixed by scrolling returns to its place, and is shown in the section of it. Clones made late have none. */
function putBack(state: Pins, element: HTMLElement): void {
  const [origin = 'static', top = 'auto', left = 'auto', right = 'auto', bottom = 'auto'] = state.origins.get(element)?.split('|') ?? [];
  const position = origin === 'sticky' ? 'relative' : origin;
  const isStatic = position === 'static' || origin === 'sticky';
  forceAll(element, isStatic ? { position } : { position, top, left, right, bottom });
}

function roleOf(element: HTMLElement, { style, pinning }: Asked): Role {
  if (holdsMarked(element, pinning)) return 'kept';
  const box = element.getBoundingClientRect();
  if (isBackdrop(element, style, box)) return 'backdrop';
  if (pinning.keep === 'none' && !isWithin(element, marked())) return 'away';
  return isLow(element, box) ? 'bottom' : 'top';
}

/** Near the bottom edge and, by its style or size, not also at the top. */
function isLow(element: HTMLElement, box: DOMRect): boolean {
  const height = viewHeight();
  if (height - box.bottom >= height * 0.25) return false;
  const middle = box.top + box.height / 2;
  if (middle > height / 2 && box.height < height * 0.6) return true;
  const insets = element.computedStyleMap();
  const anchored = String(insets.get('top')) === 'auto' && String(insets.get('bottom')) !== 'auto';
  return anchored && (box.height < height * 0.8 || isUnseen(element, box));
}

function holdsMarked(element: Element, { keep }: Pinning): boolean {
  return keep === 'none' && isWithin(marked(), element);
}

/** An element at another edge of the view than the pinned element that contains it, and outside of its box, has a role of its own. */
function standsApart(state: Pins, element: HTMLElement, asked: Asked & { container: Element }): boolean {
  const { container, style } = asked;
  if (!(container instanceof HTMLElement) || containsFixed(container, getComputedStyle(container))) return false;
  const role = state.roles.get(container);
  const outer = role === 'in-flow' ? fixedContainer(container) : null;
  if (outer !== null) return standsApart(state, element, { ...asked, container: outer });
  if ((role !== 'top' && role !== 'bottom') || state.hidden.has(container) || style.visibility !== 'visible') return false;
  const [inner, around] = [element.getBoundingClientRect(), container.getBoundingClientRect()];
  const outside = inner.top >= around.bottom || inner.bottom <= around.top;
  if (!outside || roleOf(element, asked) !== (role === 'top' ? 'bottom' : 'top')) return false;
  state.holders.add(container);
  forceAll(element, { visibility: 'visible' });
  return true;
}

/** By opacity: descendants cannot override it, as they can `visibility`. Where one must stay visible, `visibility` is used. */
function show(state: Pins, element: HTMLElement, shown: boolean): void {
  const unhide = state.hidden.get(element);
  if (shown !== (unhide !== undefined)) return;
  if (unhide === undefined) return void state.hidden.set(element, hide(element, state.holders.has(element) ? 'visibility' : 'opacity'));
  state.hidden.delete(element);
  unhide();
}

/**
 * A page that fades an element in sets its style in each frame, which would replace ours; an animation takes precedence. The value that the
 * page has set meanwhile is the one that is restored.
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
  return all(':modal, :popover-open, :fullscreen').some((held) => isWithin(element, held));
}

function hideDialogBackdrops(state: Pins): void {
  if (state.backdropsHidden || all(':modal, :popover-open').length === 0) return;
  state.backdropsHidden = true;
  adopt('::backdrop { opacity: 0 !important; transition: none !important }');
}

/** By its insets, so that it keeps its size and the box that it is positioned in. May be repeated, for another view. */
function spread(state: Pins, element: HTMLElement, { role, down }: { role: Role; down: number }): void {
  if ((role !== 'bottom' && role !== 'backdrop') || !element.isConnected) return;
  const own = state.insets.get(element) ?? (down > 0 ? insetsOf(element) : null);
  if (own === null) return;
  state.insets.set(element, own);
  const reach = { 'box-sizing': 'border-box', height: `${own.height + down}px`, 'max-height': 'none' };
  const place = role === 'bottom' ? { top: `${own.top + down}px` } : reach;
  forceAll(element, { transition: 'none', bottom: `${own.bottom - down}px`, ...place });
}

/** @returns null if the browser does not tell them in px */
function insetsOf(element: HTMLElement): { top: number; bottom: number; height: number } | null {
  const style = getComputedStyle(element);
  const [top, bottom] = [Number.parseFloat(style.top), Number.parseFloat(style.bottom)];
  return Number.isNaN(top) || Number.isNaN(bottom) ? null : { top, bottom, height: element.getBoundingClientRect().height };
}

/** Whether a fixed element covers the view behind the content: a background, which is shown in every section. */
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
    return hit !== null && isWithin(hit, element);
  });
}

/** Content lies above it in places, and nowhere below it; an overlay, by contrast, covers the content around its dialog. */
function isUnder(element: Element): boolean {
  const scope = scopeOf(element);
  const over = new Set<Element>();
  const under = new Set<Element>();
  for (let point = 0; point < 25; point++) {
    const hits = scope.elementsFromPoint(innerWidth * ((point % 5) * 0.2 + 0.1), viewHeight() * (Math.floor(point / 5) * 0.2 + 0.1));
    const at = hits.findIndex((hit) => isWithin(hit, element));
    if (at < 0) return false;
    for (const hit of hits.slice(0, at)) over.add(hit);
    for (const hit of hits.slice(at)) if (!isWithin(element, hit) && !isWithin(hit, element)) under.add(hit);
  }
  const content = [...over].filter((hit) => !isPinned(hit));
  return content.length > 0 && [...under].every((hit) => isPinned(hit) || content.some((one) => isWithin(one, hit)));
}
