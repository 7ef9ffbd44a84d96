import {
  containsFixed,
  type ElementBox,
  fixedContainer,
  isInFixed,
  isScrolledByPage,
  onPage,
  TOP_LAYER,
  windowOf,
} from './boxes.js';
import { notePositions } from './change-log.js';
import {
  adopt,
  all,
  ancestry,
  body,
  documentProperty,
  eachElement,
  flatTreeParent,
  force,
  forceAll,
  hasVisibleStyle,
  isInside,
  isVisible,
  matches,
  nameOf,
  pageBoxes,
  pageScroller,
  scopeOf,
  styleOf,
  viewHeight,
} from './dom.js';
import { queryTrees } from './dom-cache.js';
import { isAnyMarked } from './element.js';
import { passFrames } from './frames.js';
import { isStage } from './missing-parts.js';
import { isMovedAlong } from './moved-along.js';

/** Shows every pinned element once and in its place, whatever the number of bands (decisions.md, `full_page`). */

interface Pinning {
  /** Whether the page is at its top, its initial position. */
  first: boolean;
  /**
   * `page`: fixed elements are shown once. `none`: only those inside the marked element are shown; one that contains it is
   * left alone. `view`: all stay where the view shows them.
   */
  keep: 'page' | 'none' | 'view';
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
const FRAME_MAX_MS = 1_000;
/** A Gaussian blur reaches about three standard deviations. */
const BLUR_REACH = 3;
/** The greatest share of the view at each edge that is not part of a band, since a blur there lacks what is beyond the view. */
const MARGIN_MAX = 1 / 3;
const ROLES_MAX = 200;
/** The share of the view's sides from which an element covers it. */
const COVERS_MIN = 0.95;

const rolesOf = new Map<HTMLElement, Role>();
/** Boxes in the flow through which fixed elements are seen, each at its own scroll position. */
const windows = new Set<Element>();
/** Hidden elements, each with the opacity of its own style. */
const hidden = new Map<HTMLElement, string>();
/** The original insets and height, in CSS px, of each element that was moved down. */
const insets = new Map<HTMLElement, Insets>();
/** Hides the backdrops of dialogs; null while they are shown. */
let backdrops: CSSStyleSheet | null = null;
/** The scroll position at which pinned elements were arranged; null before. */
let origin: { left: number; top: number; down: number } | null = null;
/** Elements that are kept at their place on the page, each with the margins of its own style, and the used ones in CSS px. */
const held = new Map<HTMLElement, { own: string; used: number[] }>();
/** Stages that were returned to the flow, each with its own inline style. */
const unstuck = new Map<HTMLElement, string>();
/** The reach of a blur of what is behind an element, in CSS px. */
let blurPx = 0;
/** The height of the highest element with such a blur, in CSS px. */
let blurHeight = 0;

/**
 * Returns sticky elements to the flow. Elements fixed at the top are shown only while the page is at its top; those fixed to
 * the bottom are moved to the end of the picture.
 */
export function place(pinning: Pinning): void {
  const { first, keep, down } = pinning;
  const { scrollLeft: left, scrollTop: top } = pageScroller();
  origin = { left, top, down };
  blurPx = 0;
  blurHeight = 0;
  eachElement(ELEMENTS_MAX, (element) => visit(element, pinning));
  for (const [element, role] of rolesOf) show(element, role === 'top' ? first : role !== 'away');
  if (keep === 'none' ? !isAnyMarked(isInTopLayer) : !first) hideDialogBackdrops();
  for (const [element, role] of rolesOf) if (role === 'bottom' || role === 'backdrop') spread(element, role, down);
  // In a page that fits into the view, no pseudo-element is repeated.
  if (keep !== 'page' || down > 0 || !first) placePseudos(pinning);
}

/** The areas that a shot of the view shows, in CSS px of the page. */
export interface Shown {
  view: ElementBox;
  /** The view without margins in which blurs lack what is beyond it. */
  visible: ElementBox;
  /** Whether the shot must be taken beyond the view, which has not been scrolled. */
  isBeyond: boolean;
}

/**
 * Scrolls a stopped page as little as needed to show a part of it from its upper left corner. Pinned elements stay at the
 * places on the page where they have been arranged.
 * @param options.step CSS px of which scroll positions are multiples, if possible, since the browser draws at whole px of the picture
 */
export function reveal(part: ElementBox, { step, density }: { step: number; density: number }): Shown {
  if (!isWithin(part, withoutMargins(viewBox()))) {
    if (origin === null) place({ first: true, keep: 'view', down: 0 });
    // At other densities, Chromium 156 does not draw what is behind a blur that begins above the view
    // (test/render/picture/backdrop-blur.test.ts). Frames are drawn only in view.
    const hasHighBlur = density !== 1 && blurHeight > viewHeight() * MARGIN_MAX;
    if (hasHighBlur && !queryTrees('iframe,frame,object,embed').some(isBelowView))
      return { view: part, visible: part, isBeyond: true };
    for (const [element, role] of rolesOf)
      if (role === 'kept') unstick(element, getComputedStyle(element), { first: true, keep: 'view', down: 0 });
    notePositions(() => [pageScroller()]);
    for (const box of pageBoxes()) force(box, 'scroll-snap-type', 'none');
    const before = (edge: number) => Math.floor(edge / step) * step;
    pageScroller().scrollTo({ left: before(part.left), top: before(part.top - margin()), behavior: 'instant' });
    hold();
  }
  const view = viewBox();
  // A page that cannot be scrolled there, such as one that is locked, shows the part only beyond its view.
  const isReached =
    part.top < view.bottom - 1 && part.left < view.right - 1 && part.top > view.top - 1 && part.left > view.left - 1;
  if (!isReached) return { view: part, visible: part, isBeyond: true };
  return { view, visible: withoutMargins(view), isBeyond: false };
}

function isBelowView(element: Element): boolean {
  return isVisible(element) && element.getBoundingClientRect().bottom > viewHeight();
}

/**
 * Returns to where the page was stopped, and lets pinned elements follow the view again, for a page that goes on running: what its
 * observers would have been told meanwhile is lost, so that they must find again what they were told last.
 */
export async function release(): Promise<void> {
  for (const [element, { own }] of held) styleOf(element).setProperty('margin', own);
  held.clear();
  for (const [element, own] of unstuck) {
    styleOf(element).cssText = own;
    rolesOf.delete(element);
  }
  unstuck.clear();
  holder?.replaceSync('');
  if (origin === null) return;
  pageScroller().scrollTo({ ...origin, behavior: 'instant' });
  await passFrames(1, FRAME_MAX_MS);
}

function viewBox(): ElementBox {
  const { scrollLeft, scrollTop } = pageScroller();
  const {
    pageLeft: left = scrollLeft,
    pageTop: top = scrollTop,
    width = innerWidth,
    height = innerHeight,
  } = visualViewport ?? {};
  return { left, top, right: left + width, bottom: top + height };
}

function withoutMargins({ left, top, right, bottom }: ElementBox): ElementBox {
  const isAtEnd = bottom >= pageScroller().scrollHeight - 1;
  return { left, top: top < 0.5 ? top : top + margin(), right, bottom: isAtEnd ? bottom : bottom - margin() };
}

function margin(): number {
  return Math.min(Math.max(blurPx, blurHeight), viewHeight() * MARGIN_MAX);
}

function isWithin(part: ElementBox, box: ElementBox): boolean {
  const slack = 0.01;
  return (
    part.left >= box.left - slack &&
    part.top >= box.top - slack &&
    part.right <= box.right + slack &&
    part.bottom <= box.bottom + slack
  );
}

/** Moves pinned elements by as much as the page has been scrolled since they were arranged. */
function hold(): void {
  const scroller = pageScroller();
  const { left = 0, top = 0, down = 0 } = origin ?? {};
  const by = { x: scroller.scrollLeft - left, y: scroller.scrollTop - top };
  for (const [element, role] of rolesOf) {
    if (role === 'away' || getComputedStyle(element).position !== 'fixed' || isContained(element)) continue;
    // A transform would make it the container of the fixed elements inside.
    const margins = held.get(element) ?? { own: styleOf(element).margin, used: usedMargins(element) };
    held.set(element, margins);
    const [top = 0, right = 0, bottom = 0, left = 0] = margins.used;
    forceAll(element, {
      transition: 'none',
      margin: `${top - by.y}px ${right + by.x}px ${bottom + by.y}px ${left - by.x}px`,
    });
  }
  const rules = (pseudos?.found ?? []).flatMap(({ selector, role, translate }) => {
    const to = translated(translate, role === 'bottom' ? { ...by, y: by.y - down } : by);
    return role === 'away' ? [] : [`${selector} { translate: ${to} !important; transition: none !important }`];
  });
  if (queryTrees(TOP_LAYER).length > 0) rules.push(`::backdrop { translate: ${-by.x}px ${-by.y}px !important }`);
  // Writing a sheet, even an empty one, makes the browser compute all styles anew.
  if (rules.length === 0 && holder === null) return;
  holder ??= adopt('');
  holder.replaceSync(rules.join('\n'));
}

/** Whether a fixed element is positioned relative to an element, with which it moves. */
function isContained(element: Element): boolean {
  for (const at of ancestry(element)) {
    if (isAnchored(getComputedStyle(at))) return true;
    if (matches(at, TOP_LAYER)) return false;
    const parent = flatTreeParent(at);
    if (parent !== null && containsFixed(parent, getComputedStyle(parent))) return true;
  }
  return false;
}

/** Whether the browser keeps an element beside another one (CSS Anchor Positioning 1), with which it scrolls. */
function isAnchored(style: CSSStyleDeclaration): boolean {
  return (
    style.getPropertyValue('position-anchor').startsWith('--') ||
    !/^(none)?$/.test(style.getPropertyValue('position-area'))
  );
}

function usedMargins(element: HTMLElement): number[] {
  const { marginTop, marginRight, marginBottom, marginLeft } = getComputedStyle(element);
  return [marginTop, marginRight, marginBottom, marginLeft].map((margin) => Number.parseFloat(margin) || 0);
}

/** A computed `translate`, moved against the scrolling. */
function translated(computed: string, { x, y }: { x: number; y: number }): string {
  const [across = '0px', down = '0px', deep = ''] = computed === 'none' ? [] : computed.split(/ (?![^(]{0,200}\))/);
  return `calc(${across} - ${x}px) calc(${down} - ${y}px) ${deep}`;
}

/** Forgets the roles, and what their style sheets do. Changed inline styles are restored by the caller. */
export function unpin(): void {
  for (const known of [rolesOf, windows, hidden, insets, held, unstuck]) known.clear();
  for (const sheet of [backdrops, pseudos?.sheet, holder]) sheet?.replaceSync('');
  backdrops = null;
  pseudos = null;
  holder = null;
  origin = null;
}

/** The boxes through which fixed elements are seen, in CSS px of the page. */
export function windowBoxes(): ElementBox[] {
  return [...windows].map((one) => onPage(one.getBoundingClientRect()));
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
  if (pinning.first && style.backgroundAttachment.includes('fixed'))
    forceAll(element, { 'background-attachment': 'scroll' });
  // With `content-visibility: auto`, content beyond the view is not painted. Containment is kept for its fixed descendants.
  if (style.contentVisibility === 'auto')
    forceAll(element, { 'content-visibility': 'visible', contain: 'layout style paint' });
  if (style.backdropFilter !== 'none' && hasVisibleStyle(element)) {
    const [, radius] = /blur\(([\d.]+)px\)/.exec(style.backdropFilter) ?? [];
    blurPx = Math.max(blurPx, BLUR_REACH * Number(radius ?? 0));
    blurHeight = Math.max(blurHeight, element.getBoundingClientRect().height);
  }
  if (!/sticky|fixed/.test(style.position) || rolesOf.has(element) || (!pinning.first && isStage(element))) return;
  // An element without a box gets its role once it has one.
  if (element.getClientRects().length === 0 || element.style === undefined) return;
  const role = roleOf(element, style, pinning);
  rolesOf.set(element, role);
  if (role === 'in-flow') unstick(element, style, pinning);
}

/** Its position in the flow is the same without stickiness. The offset that it had at the top of the page is kept. */
function unstick(element: HTMLElement, style: CSSStyleDeclaration, { first, keep }: Pinning): void {
  if (style.position !== 'sticky' || !isScrolledByPage(flatTreeParent(element))) return;
  const before = element.getBoundingClientRect();
  if (isStage(element)) unstuck.set(element, styleOf(element).cssText);
  forceAll(element, { position: 'relative', inset: 'auto', ...(style.zIndex === 'auto' ? { 'z-index': '0' } : {}) });
  const after = element.getBoundingClientRect();
  const pushed = before.top - after.top;
  // For a captured element, its first band counts as the top.
  const isAtTop = first && pageScroller().scrollTop < 0.5;
  if (keep === 'view') forceAll(element, { top: `${pushed}px`, left: `${before.left - after.left}px` });
  else if (isAtTop && pushed > 0.5 && before.top < viewHeight()) forceAll(element, { top: `${pushed}px` });
}

function roleOf(element: HTMLElement, style: CSSStyleDeclaration, { keep }: Pinning): Role {
  const isKept = keep === 'none' && isAnyMarked((marked) => isInside(marked, element));
  if (style.position === 'sticky') return isKept ? 'kept' : 'in-flow';
  if (isAnchored(style) || isMovedAlong(element)) return 'in-flow';
  const container = fixedContainer(element);
  const box = element.getBoundingClientRect();
  if (container !== null && !isApartFrom(container, box)) return 'in-flow';
  const window = windowOf(element);
  if (window !== null) {
    windows.add(window);
    return 'in-flow';
  }
  if (isKept) return 'kept';
  if (keep === 'view') return 'top';
  if (isBackdrop(element, style, box)) return 'backdrop';
  if (keep === 'none' && !isAnyMarked((marked) => isInside(element, marked))) return 'away';
  return isLow(element, box) ? 'bottom' : 'top';
}

/** Whether a fixed element in a fixed one is at another place of the view, as a bar at the bottom edge in a header. */
function isApartFrom(container: Element, box: DOMRect): boolean {
  const outer = fixedContainer(container);
  if (containsFixed(container, getComputedStyle(container)) || (outer !== null && !isApartFrom(outer, box)))
    return false;
  const { top, bottom } = container.getBoundingClientRect();
  return box.top >= bottom || box.bottom <= top;
}

/** Whether a fixed element is near the bottom edge and, by its style or size, not also at the top. */
export function isLow(element: HTMLElement, box: DOMRect): boolean {
  const { top, bottom, height } = box;
  const view = viewHeight();
  if (view - bottom >= view * 0.25) return false;
  if (top + height / 2 > view / 2 && height < view * 0.6) return true;
  const styles = element.computedStyleMap();
  return (
    String(styles.get('top')) === 'auto' &&
    String(styles.get('bottom')) !== 'auto' &&
    (height < view * 0.8 || isUnder(element, box))
  );
}

/** Uses opacity, which descendants cannot override. */
function show(element: HTMLElement, isShown: boolean): void {
  const style = styleOf(element);
  const own = hidden.get(element);
  if (isShown && own !== undefined) {
    hidden.delete(element);
    style.setProperty('opacity', own);
  } else if (!isShown) {
    hidden.set(element, own ?? style.opacity);
    forceAll(element, { transition: 'none', opacity: '0' });
  }
}

function isInTopLayer(element: Element): boolean {
  return queryTrees(TOP_LAYER).some((held) => isInside(element, held));
}

function hideDialogBackdrops(): void {
  if (backdrops !== null || queryTrees(':modal, :popover-open').length === 0) return;
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
  return Number.isNaN(top) || Number.isNaN(bottom)
    ? null
    : { top, bottom, height: element.getBoundingClientRect().height };
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
  /** Its computed value. */
  translate: string;
}

/** Reading a pseudo-element's style costs about as much as reading those of ten elements. */
const HOSTS_MAX = 200;

/** The fixed pseudo-elements that existed before anything was scrolled, and the style sheet that moves and hides them. */
let pseudos: { found: Pseudo[]; sheet: CSSStyleSheet | null } | null = null;
/** Keeps fixed pseudo-elements and backdrops of dialogs at their place on the page. */
let holder: CSSStyleSheet | null = null;

/** Does for fixed pseudo-elements what `place` does for elements. */
function placePseudos(pinning: Pinning): void {
  if (pseudos === null) {
    const found = findPseudos(pinning);
    pseudos = { found, sheet: found.length === 0 ? null : adopt('') };
  }
  pseudos.sheet?.replaceSync(pseudos.found.map((pseudo) => ruleOf(pseudo, pinning)).join('\n'));
}

function findPseudos(pinning: Pinning): Pseudo[] {
  // The root, the body and their outermost boxes may have a pinned pseudo-element, such as a background or a banner.
  const hosts = [documentProperty('documentElement'), body(), ...all('body > *, body > * > *')].slice(0, HOSTS_MAX);
  return hosts.flatMap((host, index) => {
    if (!(host instanceof HTMLElement)) return [];
    return ['before', 'after'].flatMap((name) => {
      const style = getComputedStyle(host, `::${name}`);
      const role = roleOfPseudo(host, style, pinning);
      if (role === null) return [];
      host.setAttribute('data-stillframe-pin', String(index));
      return [{ selector: `[data-stillframe-pin="${index}"]::${name}`, role, translate: style.translate }];
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
  if (keep === 'view') return 'top';
  if (Number.isNaN(height)) return null;
  // A pseudo-element that covers the view may also be an overlay.
  if (height > view * COVERS_MIN && beside < innerWidth * (1 - COVERS_MIN))
    return Number(style.zIndex) < 0 ? 'backdrop' : null;
  if (keep === 'none') return isAnyMarked((marked) => isInside(host, marked)) ? null : 'away';
  return top > bottom && height < view * 0.6 && bottom < view * 0.25 ? 'bottom' : 'top';
}

function ruleOf({ selector, role }: Pseudo, { first, down }: Pinning): string {
  if (role === 'backdrop')
    return `${selector} { bottom: ${-down}px !important; height: auto !important; max-height: none !important }`;
  if (role === 'bottom') return `${selector} { translate: 0 ${down}px !important; transition: none !important }`;
  return role === 'top' && first ? '' : `${selector} { opacity: 0 !important; transition: none !important }`;
}
