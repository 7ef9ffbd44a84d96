import { containsFixed, fixedContainer, isInFixed, isScrolledByPage } from './boxes.js';
import {
  adopt,
  all,
  body,
  documentProperty,
  eachElement,
  flatTreeParent,
  forceAll,
  isInside,
  nameOf,
  pageScroller,
  scopeOf,
  styleOf,
  viewHeight,
} from './dom.js';
import { marked } from './element.js';

/** Shows every pinned element once and in its place, whatever the number of sections (decisions.md, `full_page`, `by_sections`). */

interface Pinning {
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

interface Insets {
  top: number;
  bottom: number;
  height: number;
}

const ELEMENTS_MAX = 60_000;
const ROLES_MAX = 200;
/** The share of the view's sides from which an element covers it. */
const COVERS_MIN = 0.95;

const rolesOf = new Map<HTMLElement, Role>();
/** Hidden elements, each with the opacity of its own style. */
const hidden = new Map<HTMLElement, string>();
/** The original insets and height, in CSS px, of each element that was moved down. */
const insets = new Map<HTMLElement, Insets>();
/** Hides the backdrops of dialogs; null while they are shown. */
let backdrops: CSSStyleSheet | null = null;

/**
 * Returns sticky elements to the flow. Elements fixed at the top are shown only while the page is at its top; those fixed to
 * the bottom are moved to the end of the picture.
 */
export function place(pinning: Pinning): void {
  const { first, keep, down } = pinning;
  eachElement(ELEMENTS_MAX, (element) => visit(element, pinning));
  for (const [element, role] of rolesOf) show(element, role === 'top' ? first : role !== 'away');
  if (keep === 'page' ? !first : !isInTopLayer(marked())) hideDialogBackdrops();
  for (const [element, role] of rolesOf) if (role === 'bottom' || role === 'backdrop') spread(element, role, down);
  // In a page that fits into the view, no pseudo-element is repeated.
  if (keep === 'none' || down > 0 || !first) placePseudos(pinning);
}

/** Forgets the roles, and what their style sheets do. Changed inline styles are restored by the caller. */
export function unpin(): void {
  for (const known of [rolesOf, hidden, insets]) known.clear();
  for (const sheet of [backdrops, pseudos?.sheet]) sheet?.replaceSync('');
  backdrops = null;
  pseudos = null;
}

/** The pinned elements and their roles, for debugging; at most 200. */
export function roles() {
  return [...rolesOf].slice(0, ROLES_MAX).map(([element, role]) => {
    const { top, height } = element.getBoundingClientRect();
    return { element: nameOf(element), role, top: Math.round(top), height: Math.round(height) };
  });
}

function visit(element: HTMLElement, pinning: Pinning): void {
  const style = getComputedStyle(element);
  // A fixed background would end with the view.
  if (pinning.first && style.backgroundAttachment.includes('fixed')) forceAll(element, { 'background-attachment': 'scroll' });
  // With `content-visibility: auto`, content beyond the view is not painted. Containment is kept for its fixed descendants.
  if (style.contentVisibility === 'auto') forceAll(element, { 'content-visibility': 'visible', contain: 'layout style paint' });
  if (!/sticky|fixed/.test(style.position) || rolesOf.has(element)) return;
  // An element without a box gets its role once it has one.
  if (element.getClientRects().length === 0 || element.style === undefined) return;
  const role = roleOf(element, style, pinning);
  rolesOf.set(element, role);
  if (style.position === 'sticky' && role === 'in-flow') unstick(element, style, pinning);
}

/** Its position in the flow is the same without stickiness. The offset that it had at the top of the page is kept. */
function unstick(element: HTMLElement, { zIndex }: CSSStyleDeclaration, { first }: Pinning): void {
  if (!isScrolledByPage(flatTreeParent(element))) return;
  const before = element.getBoundingClientRect().top;
  forceAll(element, { position: 'relative', inset: 'auto', ...(zIndex === 'auto' ? { 'z-index': '0' } : {}) });
  const pushed = before - element.getBoundingClientRect().top;
  // For a captured element, its first section counts as the top.
  const isAtTop = first && pageScroller().scrollTop < 0.5;
  if (isAtTop && pushed > 0.5 && before < viewHeight()) forceAll(element, { top: `${pushed}px` });
}

function roleOf(element: HTMLElement, style: CSSStyleDeclaration, { keep }: Pinning): Role {
  const isKept = keep === 'none' && isInside(marked(), element);
  if (style.position === 'sticky') return isKept ? 'kept' : 'in-flow';
  const container = fixedContainer(element);
  const box = element.getBoundingClientRect();
  if (container !== null && !isApartFrom(container, box)) return 'in-flow';
  if (isKept) return 'kept';
  if (isBackdrop(element, style, box)) return 'backdrop';
  if (keep === 'none' && !isInside(element, marked())) return 'away';
  return isLow(element, box) ? 'bottom' : 'top';
}

/** Whether a fixed element in a fixed one is at another place of the view, as a bar at the bottom edge in a header. */
function isApartFrom(container: Element, box: DOMRect): boolean {
  const outer = fixedContainer(container);
  if (containsFixed(container, getComputedStyle(container)) || (outer !== null && !isApartFrom(outer, box))) return false;
  const { top, bottom } = container.getBoundingClientRect();
  return box.top >= bottom || box.bottom <= top;
}

/** Whether the element is near the bottom edge and, by its style or size, not also at the top. */
function isLow(element: HTMLElement, box: DOMRect): boolean {
  const { top, bottom, height } = box;
  const view = viewHeight();
  if (view - bottom >= view * 0.25) return false;
  if (top + height / 2 > view / 2 && height < view * 0.6) return true;
  const styles = element.computedStyleMap();
  return String(styles.get('top')) === 'auto' && String(styles.get('bottom')) !== 'auto' && (height < view * 0.8 || isUnder(element, box));
}

/** Uses opacity, which descendants cannot override. */
function show(element: HTMLElement, shown: boolean): void {
  const style = styleOf(element);
  const own = hidden.get(element);
  if (shown && own !== undefined) {
    hidden.delete(element);
    style.setProperty('opacity', own);
  } else if (!shown) {
    hidden.set(element, own ?? style.opacity);
    forceAll(element, { transition: 'none', opacity: '0' });
  }
}

function isInTopLayer(element: Element | null): boolean {
  return all(':modal, :popover-open, :fullscreen').some((held) => isInside(element, held));
}

function hideDialogBackdrops(): void {
  if (backdrops !== null || all(':modal, :popover-open').length === 0) return;
  backdrops = adopt('::backdrop { opacity: 0 !important; transition: none !important }');
}

/** Extends the element by its insets, so that it keeps its containing block. May be repeated for another view. */
function spread(element: HTMLElement, role: 'bottom' | 'backdrop', down: number): void {
  const own = insets.get(element) ?? (down > 0 ? insetsOf(element) : null);
  if (own === null) return;
  insets.set(element, own);
  const reach = { 'box-sizing': 'border-box', height: `${own.height + down}px`, 'max-height': 'none' };
  const to = role === 'bottom' ? { top: `${own.top + down}px` } : reach;
  forceAll(element, { transition: 'none', bottom: `${own.bottom - down}px`, ...to });
}

/** @returns null if the browser does not report them in px */
function insetsOf(element: HTMLElement): Insets | null {
  const style = getComputedStyle(element);
  const [top, bottom] = [Number.parseFloat(style.top), Number.parseFloat(style.bottom)];
  return Number.isNaN(top) || Number.isNaN(bottom) ? null : { top, bottom, height: element.getBoundingClientRect().height };
}

/** Whether a fixed element covers the view behind the content. Such a background is shown in every section. */
function isBackdrop(element: HTMLElement, style: CSSStyleDeclaration, box: DOMRect): boolean {
  if (box.width < innerWidth * COVERS_MIN || box.height < viewHeight() * COVERS_MIN) return false;
  if (Number(style.zIndex) < 0) return true;
  return !element.innerText?.trim() && (style.pointerEvents === 'none' || isUnder(element, box));
}

/** Whether content is above it in places, and none below it. An overlay, by contrast, covers the content around its dialog. */
function isUnder(element: Element, box: DOMRect): boolean {
  const scope = scopeOf(element);
  const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)];
  const [top, bottom] = [Math.max(0, box.top), Math.min(viewHeight(), box.bottom)];
  const over = new Set<Element>();
  const under = new Set<Element>();
  for (let point = 0; point < 25; point++) {
    const [across, down] = [(point % 5) * 0.2 + 0.1, Math.floor(point / 5) * 0.2 + 0.1];
    const hits = scope.elementsFromPoint(left + (right - left) * across, top + (bottom - top) * down);
    const at = hits.findIndex((hit) => isInside(hit, element));
    if (at < 0) continue;
    for (const hit of hits.slice(0, at)) over.add(hit);
    for (const hit of hits.slice(at)) if (!isInside(element, hit) && !isInside(hit, element)) under.add(hit);
  }
  const content = [...over].filter((hit) => !isInFixed(hit));
  return content.length > 0 && [...under].every((hit) => isInFixed(hit) || content.some((one) => isInside(one, hit)));
}

interface Pseudo {
  selector: string;
  role: Role;
}

/** Reading a pseudo-element's style costs about as much as reading those of ten elements. */
const HOSTS_MAX = 200;

/** The fixed pseudo-elements that existed before anything was scrolled, and the style sheet that moves and hides them. */
let pseudos: { found: Pseudo[]; sheet: CSSStyleSheet } | null = null;

/** Does for fixed pseudo-elements what `place` does for elements. */
function placePseudos(pinning: Pinning): void {
  pseudos ??= { found: findPseudos(pinning), sheet: adopt('') };
  pseudos.sheet.replaceSync(pseudos.found.map((pseudo) => ruleOf(pseudo, pinning)).join('\n'));
}

function findPseudos(pinning: Pinning): Pseudo[] {
  // The root, the body and their outermost boxes may have a pinned pseudo-element, such as a background or a banner.
  const hosts = [documentProperty('documentElement'), body(), ...all('body > *, body > * > *')].slice(0, HOSTS_MAX);
  return hosts.flatMap((host, index) => {
    if (!(host instanceof HTMLElement)) return [];
    return ['before', 'after'].flatMap((name) => {
      const role = roleOfPseudo(host, getComputedStyle(host, `::${name}`), pinning);
      if (role === null) return [];
      host.setAttribute('data-stillframe-pin', String(index));
      return [{ selector: `[data-stillframe-pin="${index}"]::${name}`, role }];
    });
  });
}

function roleOfPseudo(host: HTMLElement, style: CSSStyleDeclaration, { keep }: Pinning): Role | null {
  if (style.position !== 'fixed' || /^(none|normal)$/.test(style.content)) return null;
  const own = getComputedStyle(host);
  if (own.position === 'fixed' || containsFixed(host, own) || fixedContainer(host) !== null) return null;
  const [top, bottom] = [Number.parseFloat(style.top), Number.parseFloat(style.bottom)];
  const beside = Number.parseFloat(style.left) + Number.parseFloat(style.right);
  const view = viewHeight();
  const height = view - top - bottom;
  if (Number.isNaN(height)) return null;
  // A pseudo-element that covers the view may also be an overlay.
  if (height > view * COVERS_MIN && beside < innerWidth * (1 - COVERS_MIN)) return Number(style.zIndex) < 0 ? 'backdrop' : null;
  if (keep === 'none') return isInside(host, marked()) ? null : 'away';
  return top > bottom && height < view * 0.6 && bottom < view * 0.25 ? 'bottom' : 'top';
}

function ruleOf({ selector, role }: Pseudo, { first, down }: Pinning): string {
  if (role === 'backdrop') return `${selector} { bottom: ${-down}px !important; height: auto !important; max-height: none !important }`;
  if (role === 'bottom') return `${selector} { translate: 0 ${down}px !important; transition: none !important }`;
  return role === 'top' && first ? '' : `${selector} { opacity: 0 !important; transition: none !important }`;
}
