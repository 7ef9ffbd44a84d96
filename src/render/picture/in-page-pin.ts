import type { PinKit } from './in-page-pin-kit.js';

/**
 * Functions that run inside the page: each is sent there as text, so it may use nothing from around it but the pin kit. They keep
 * every pinned element where it belongs, once, however many sections are captured (decisions.md, `full_page`, `by_sections`).
 */

export interface Pinning {
  /** The section at the top: the page is as nothing has been scrolled. */
  first: boolean;
  /** The section at the end. */
  last: boolean;
  /** `page`: fixed elements once. `none`: of these only those that lie in the marked element; one that holds it stays as it is. */
  keep: 'page' | 'none';
}

/**
 * With a section in view: sticky elements go back into the flow, so do elements that became fixed only by scrolling; what was fixed at
 * the top is seen in the first section, what is fixed to the bottom in the last.
 *
 * @returns CSS px from the view's bottom edge up to the top of what is fixed to the bottom; 0 when nothing is
 */
export function pinElements({ first, last, keep }: Pinning): number {
  type Role = 'top' | 'bottom' | 'backdrop' | 'kept' | 'away' | 'in-flow';
  interface State {
    roles: Map<HTMLElement, Role>;
    /** Position and inset of each element that was in the page before anything was scrolled. */
    origins: WeakMap<Element, string>;
    /** Those that scrolling made fixed, and that were put back. */
    putBack: Set<HTMLElement>;
    /** The hidden ones, by which property, with the value of their own. */
    hidden: Map<HTMLElement, { style: CSSStyleDeclaration; property: string; own: string }>;
    /** Those that a pinned one with a role of its own is in. */
    holders: Set<Element>;
    undo: (() => void)[];
    backdropsHidden: boolean;
  }
  const MOST_ELEMENTS = 60_000;
  const world = globalThis as {
    stillframePinKit?: PinKit;
    stillframePins?: State;
    stillframeElement?: Element;
  };
  if (world.stillframePinKit === undefined) throw new Error('The page has no pin kit.');
  const { above, isWithin, isScrolledByPage, carrierOf, holdsFixed, isUnseen, isBackdrop, styleOf } = world.stillframePinKit;
  world.stillframePins ??= {
    roles: new Map(),
    origins: new WeakMap(),
    putBack: new Set(),
    hidden: new Map(),
    holders: new Set(),
    undo: [],
    backdropsHidden: false,
  };
  const state = world.stillframePins;
  const viewHeight = visualViewport?.height ?? innerHeight;
  // An element's first section is where that begins.
  const atTop = first && (document.scrollingElement ?? document.documentElement).scrollTop < 0.5;
  let seen = 0;
  visit(document);
  for (const element of state.putBack) putBack(element);
  for (const [element, role] of state.roles) show(element, isShown(role));
  if (keep === 'page' ? !first : !isInTopLayer(world.stillframeElement)) hideBackdrops();
  return bottomReach();

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll<HTMLElement>('*')) {
      if (seen++ > MOST_ELEMENTS) return;
      if (element.shadowRoot !== null) visit(element.shadowRoot);
      const style = getComputedStyle(element);
      if (first) remember(element, style);
      if (first && style.backgroundAttachment.includes('fixed')) unfix(element, style);
      if (!/sticky|fixed/.test(style.position) || state.roles.has(element)) continue;
      // What has no box yet gets its role when it has one.
      if (element.getClientRects().length === 0 || element.style === undefined) continue;
      if (style.position === 'sticky') unstick(element, style);
      else take(element, style);
    }
  }

  function remember(element: Element, style: CSSStyleDeclaration): void {
    const { position, top, left, right, bottom } = style;
    if (element.getClientRects().length === 0) return;
    state.origins.set(element, position === 'static' ? position : [position, top, left, right, bottom].join('|'));
  }

  function isShown(role: Role): boolean {
    if (role === 'top') return first;
    if (role === 'bottom') return last;
    return role !== 'away';
  }

  function force(element: HTMLElement, property: string, value: string): void {
    const style = styleOf(element);
    const old = style.getPropertyValue(property);
    const priority = style.getPropertyPriority(property);
    if (old === value && priority === 'important') return;
    style.setProperty(property, value, 'important');
    state.undo.push(() => style.setProperty(property, old, priority));
  }

  /** Its place in the flow is the same without stickiness; what it was pushed down by at the page's top stays. */
  function unstick(element: HTMLElement, style: CSSStyleDeclaration): void {
    if (holdsMarked(element)) {
      state.roles.set(element, 'kept');
      return;
    }
    state.roles.set(element, 'in-flow');
    if (!isScrolledByPage(above(element))) return;
    const layered = style.zIndex === 'auto';
    const before = element.getBoundingClientRect().top;
    force(element, 'position', 'relative');
    force(element, 'inset', 'auto');
    if (layered) force(element, 'z-index', '0');
    const pushed = before - element.getBoundingClientRect().top;
    if (atTop && pushed > 0.5 && before < viewHeight) force(element, 'top', `${pushed}px`);
  }

  function take(element: HTMLElement, style: CSSStyleDeclaration): void {
    const carrier = carrierOf(element);
    if (carrier !== null && !parts(element, style, carrier)) {
      state.roles.set(element, 'in-flow');
      return;
    }
    if (!first && state.origins.has(element)) {
      state.roles.set(element, 'in-flow');
      state.putBack.add(element);
      return;
    }
    state.roles.set(element, roleOf(element, style));
  }

  /** What became fixed by scrolling returns to its place: the section that shows that place has it. Late clones have no such place. */
  function putBack(element: HTMLElement): void {
    const [origin = 'static', top = 'auto', left = 'auto', right = 'auto', bottom = 'auto'] = state.origins.get(element)?.split('|') ?? [];
    const position = origin === 'sticky' ? 'relative' : origin;
    const wanted = position === 'static' || origin === 'sticky' ? { position } : { position, top, left, right, bottom };
    for (const [property, value] of Object.entries(wanted)) force(element, property, value);
  }

  function roleOf(element: HTMLElement, style: CSSStyleDeclaration): Role {
    if (holdsMarked(element)) return 'kept';
    const box = element.getBoundingClientRect();
    if (isBackdrop(element, style, box)) return 'backdrop';
    if (keep === 'none' && !isWithin(element, world.stillframeElement)) return 'away';
    return isLow(element, box) ? 'bottom' : 'top';
  }

  /** Near the bottom edge, and by the page's own word or its size not at the top too. */
  function isLow(element: HTMLElement, box: DOMRect): boolean {
    if (viewHeight - box.bottom >= viewHeight * 0.25) return false;
    const middle = box.top + box.height / 2;
    if (middle > viewHeight / 2 && box.height < viewHeight * 0.6) return true;
    const insets = element.computedStyleMap();
    const anchored = String(insets.get('top')) === 'auto' && String(insets.get('bottom')) !== 'auto';
    return anchored && (box.height < viewHeight * 0.8 || isUnseen(element, box));
  }

  function holdsMarked(element: Element): boolean {
    return keep === 'none' && isWithin(world.stillframeElement, element);
  }

  /** Stands at another edge of the view than the pinned element that it is in, and outside of it: has a role of its own. */
  function parts(element: HTMLElement, style: CSSStyleDeclaration, carrier: Element): boolean {
    if (!(carrier instanceof HTMLElement) || holdsFixed(carrier, getComputedStyle(carrier))) return false;
    const role = state.roles.get(carrier);
    const outer = role === 'in-flow' ? carrierOf(carrier) : null;
    if (outer !== null) return parts(element, style, outer);
    if ((role !== 'top' && role !== 'bottom') || state.hidden.has(carrier) || style.visibility !== 'visible') return false;
    const [inner, around] = [element.getBoundingClientRect(), carrier.getBoundingClientRect()];
    const outside = inner.top >= around.bottom || inner.bottom <= around.top;
    if (!outside || roleOf(element, style) !== (role === 'top' ? 'bottom' : 'top')) return false;
    state.holders.add(carrier);
    force(element, 'visibility', 'visible');
    return true;
  }

  /** By opacity: unlike visibility no descendant can opt out of it. One that shall opt out has been told to be visible. */
  function show(element: HTMLElement, shown: boolean): void {
    const hidden = state.hidden.get(element);
    if (shown !== (hidden !== undefined)) return;
    if (hidden !== undefined) {
      state.hidden.delete(element);
      hidden.style.setProperty(hidden.property, hidden.own);
      return;
    }
    const [property, value] = state.holders.has(element) ? ['visibility', 'hidden'] : ['opacity', '0'];
    const style = styleOf(element);
    state.hidden.set(element, { style, property, own: style.getPropertyValue(property) });
    style.setProperty('transition', 'none', 'important');
    style.setProperty(property, value, 'important');
  }

  /** A background that stays while the page scrolls would begin anew in each section. */
  function unfix(element: HTMLElement, style: CSSStyleDeclaration): void {
    const ofPage = element === document.body || element === document.documentElement;
    if (ofPage && /cover|contain/.test(style.backgroundSize) && style.backgroundImage.includes('url(')) return;
    force(element, 'background-attachment', 'scroll');
  }

  function isInTopLayer(element: Element | undefined): boolean {
    for (const held of document.querySelectorAll(':modal, :popover-open, :fullscreen')) if (isWithin(element, held)) return true;
    return false;
  }

  function hideBackdrops(): void {
    if (state.backdropsHidden || document.querySelector(':modal, :popover-open') === null) return;
    state.backdropsHidden = true;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('::backdrop { opacity: 0 !important; transition: none !important }');
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    state.undo.push(() => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    });
  }

  function bottomReach(): number {
    let reach = 0;
    for (const [element, role] of state.roles) {
      if (role !== 'bottom' || !element.isConnected) continue;
      const box = element.getBoundingClientRect();
      if (box.width > 0 && box.height > 0) reach = Math.max(reach, viewHeight - box.top);
    }
    return Math.min(reach, viewHeight);
  }
}

/** Puts all pinned elements back as the page had them. */
export function unpinElements(): void {
  interface State {
    undo: (() => void)[];
    hidden: Map<HTMLElement, { style: CSSStyleDeclaration; property: string; own: string }>;
  }
  const world = globalThis as { stillframePins?: State };
  for (const undo of world.stillframePins?.undo.reverse() ?? []) undo();
  for (const { style, property, own } of world.stillframePins?.hidden.values() ?? []) style.setProperty(property, own);
  delete world.stillframePins;
}
