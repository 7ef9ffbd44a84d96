/**
 * A function that runs inside the page: it is sent there as text, so it may use nothing from around it. It brings one section of the
 * page into view with every pinned element where it belongs, once (decisions.md, `full_page`, `by_sections`):
 * sticky elements go back into the flow, so do elements that became fixed only by scrolling; what was fixed at the top is seen in the first
 * section, what is fixed to the bottom in the last.
 */

export interface Placing {
  /** Where the view's top edge shall be, CSS px of the page as it was before the first section. */
  y: number;
  first: boolean;
  /** Where the band to capture ends: the section that shows this is the last. */
  to: number;
  /** `page`: fixed elements once. `none`: no fixed element but those that hold, or lie in, the marked element. */
  pinned: 'page' | 'none';
  /** Ends running transitions and finite animations at their last frame. */
  finishMotion: boolean;
}

export interface Placed {
  /** Where the view's top edge is, in the same px. */
  y: number;
  /** Nothing of the band lies below the view. */
  last: boolean;
  /** CSS px from the view's bottom edge up to the top of what is fixed to the bottom; 0 when nothing is. */
  bottomReach: number;
}

export async function placeSection({ y, first, to, pinned, finishMotion }: Placing): Promise<Placed> {
  type Role = 'top' | 'bottom' | 'backdrop' | 'kept' | 'in-flow';
  interface State {
    /** How far the page's content has moved down since the first section. */
    shift: number;
    roles: Map<HTMLElement, Role>;
    /** Position and inset of each element that was in the page before anything was scrolled. */
    origins: WeakMap<Element, string>;
    /** Those that scrolling made fixed, and that were put back. */
    putBack: Set<HTMLElement>;
    /** The hidden ones, with the opacity of their own. */
    hidden: Map<HTMLElement, string>;
    undo: (() => void)[];
  }
  const MOST_ELEMENTS = 60_000;
  const world = globalThis as { stillframeSections?: State; stillframeElement?: Element };
  const root = document.scrollingElement ?? document.documentElement;
  world.stillframeSections ??= { shift: 0, roles: new Map(), origins: new WeakMap(), putBack: new Set(), hidden: new Map(), undo: [] };
  const state = world.stillframeSections;
  const viewHeight = visualViewport?.height ?? innerHeight;

  const anchors = first ? [] : pickAnchors();
  root.scrollTo({ top: y + state.shift, left: 0, behavior: 'instant' });
  await frames(first ? 1 : 2);
  let last = isLast();
  if (tame()) await frames(1);
  await imagesInView();
  if (finishMotion && endMotion()) await frames(1);
  const moved = movedBy(anchors);
  if (moved !== 0) {
    state.shift += moved;
    root.scrollTo({ top: y + state.shift, left: 0, behavior: 'instant' });
    await frames(2);
    last = isLast();
    if (tame()) await frames(1);
  }
  return { y: root.scrollTop - state.shift, last, bottomReach: bottomReach() };

  function isLast(): boolean {
    const below = root.scrollHeight - root.scrollTop - viewHeight;
    return below < 1 || root.scrollTop - state.shift + viewHeight >= to - 0.5;
  }

  function frames(count: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 250);
      const next = (left: number) => {
        if (left > 0) return void requestAnimationFrame(() => next(left - 1));
        clearTimeout(timer);
        resolve();
      };
      next(count);
    });
  }

  /** Gives every pinned element its role and shows or hides it; whether that changed anything. */
  function tame(): boolean {
    let changed = false;
    let seen = 0;
    const visit = (scope: ParentNode) => {
      for (const element of scope.querySelectorAll<HTMLElement>('*')) {
        if (seen++ > MOST_ELEMENTS) return;
        if (element.shadowRoot !== null) visit(element.shadowRoot);
        const style = getComputedStyle(element);
        const position = style.position;
        if (first) remember(element, style);
        if (first && style.backgroundAttachment.includes('fixed')) unfix(element, style);
        // What has no box yet gets its role when it has one.
        if (state.roles.has(element) || (position !== 'sticky' && position !== 'fixed') || element.getClientRects().length === 0) continue;
        if (position === 'sticky') changed = unstick(element, style) || changed;
        else if (position === 'fixed' && element.style !== undefined) changed = take(element, style) || changed;
      }
    };
    visit(document);
    for (const element of state.putBack) changed = putBack(element) || changed;
    for (const [element, role] of state.roles) changed = show(element, isShown(role)) || changed;
    if (!first && pinned === 'page') hideBackdrops();
    return changed;
  }

  function remember(element: Element, style: CSSStyleDeclaration): void {
    const { position, top, left, right, bottom } = style;
    if (element.getClientRects().length === 0) return;
    state.origins.set(element, position === 'static' ? position : [position, top, left, right, bottom].join('|'));
  }

  function isShown(role: Role): boolean {
    if (role === 'top') return first && pinned === 'page';
    if (role === 'bottom') return last && pinned === 'page';
    return true;
  }

  function force(element: HTMLElement, property: string, value: string): boolean {
    const old = element.style.getPropertyValue(property);
    const priority = element.style.getPropertyPriority(property);
    if (old === value && priority === 'important') return false;
    element.style.setProperty(property, value, 'important');
    state.undo.push(() => element.style.setProperty(property, old, priority));
    return true;
  }

  /** Its place in the flow is the same without stickiness; what it was pushed down by at the top stays. */
  function unstick(element: HTMLElement, style: CSSStyleDeclaration): boolean {
    if (pinned === 'none' && isMarked(element)) {
      state.roles.set(element, 'kept');
      return false;
    }
    const layered = style.zIndex === 'auto';
    const before = element.getBoundingClientRect().top;
    state.roles.set(element, 'in-flow');
    force(element, 'position', 'relative');
    force(element, 'inset', 'auto');
    if (layered) force(element, 'z-index', '0');
    const pushed = before - element.getBoundingClientRect().top;
    if (first && pushed > 0.5 && before < viewHeight) force(element, 'top', `${pushed}px`);
    return true;
  }

  function take(element: HTMLElement, style: CSSStyleDeclaration): boolean {
    if (isCarried(element)) {
      state.roles.set(element, 'in-flow');
      return false;
    }
    if (!first && state.origins.has(element)) {
      state.roles.set(element, 'in-flow');
      state.putBack.add(element);
      return false;
    }
    state.roles.set(element, roleOf(element, style));
    return false;
  }

  /** What became fixed by scrolling returns to its place: the section that shows that place has it. Late clones have no such place. */
  function putBack(element: HTMLElement): boolean {
    const [origin = 'static', top = 'auto', left = 'auto', right = 'auto', bottom = 'auto'] = state.origins.get(element)?.split('|') ?? [];
    const position = origin === 'sticky' ? 'relative' : origin;
    const wanted = position === 'static' || origin === 'sticky' ? { position } : { position, top, left, right, bottom };
    let changed = false;
    for (const [property, value] of Object.entries(wanted)) changed = force(element, property, value) || changed;
    return changed;
  }

  function roleOf(element: HTMLElement, style: CSSStyleDeclaration): Role {
    if (pinned === 'none' && isMarked(element)) return 'kept';
    const box = element.getBoundingClientRect();
    if (isBackdrop(element, style, box)) return 'backdrop';
    const middle = box.top + box.height / 2;
    const low = middle > viewHeight / 2 && box.height < viewHeight * 0.6 && viewHeight - box.bottom < viewHeight * 0.25;
    return low ? 'bottom' : 'top';
  }

  function isMarked(element: Element): boolean {
    const marked = world.stillframeElement;
    return marked !== undefined && (element.contains(marked) || marked.contains(element));
  }

  /** Covers the view behind the content: a background, which every section has. */
  function isBackdrop(element: HTMLElement, style: CSSStyleDeclaration, box: DOMRect): boolean {
    if (box.width < innerWidth * 0.95 || box.height < viewHeight * 0.95) return false;
    if (Number(style.zIndex) < 0) return true;
    if (element.innerText?.trim()) return false;
    return (
      style.pointerEvents === 'none' ||
      ![0.2, 0.5, 0.8].some((part) => element.contains(document.elementFromPoint(innerWidth * part, viewHeight * part)))
    );
  }

  /** A fixed element inside a transformed one scrolls along with it; inside a pinned one, that one is dealt with. */
  function isCarried(element: HTMLElement): boolean {
    for (let parent = above(element); parent !== null; parent = above(parent)) {
      const style = getComputedStyle(parent);
      if (style.position === 'fixed') return true;
      if (style.transform !== 'none' || style.perspective !== 'none' || style.filter !== 'none' || style.backdropFilter !== 'none')
        return true;
      if (style.translate !== 'none' || style.rotate !== 'none' || style.scale !== 'none') return true;
      if (/paint|layout|strict|content/.test(style.contain) || /transform|filter|perspective|translate|rotate|scale/.test(style.willChange))
        return true;
    }
    return false;
  }

  function above(element: Element): Element | null {
    if (element.assignedSlot !== null) return element.assignedSlot;
    if (element.parentElement !== null) return element.parentElement;
    const scope = element.getRootNode();
    return scope instanceof ShadowRoot ? scope.host : null;
  }

  /** By opacity: unlike visibility no descendant can opt out of it. */
  function show(element: HTMLElement, shown: boolean): boolean {
    const own = state.hidden.get(element);
    if (shown !== (own !== undefined)) return false;
    if (own !== undefined) {
      state.hidden.delete(element);
      element.style.setProperty('opacity', own);
      return true;
    }
    state.hidden.set(element, element.style.getPropertyValue('opacity'));
    element.style.setProperty('transition', 'none', 'important');
    element.style.setProperty('opacity', '0', 'important');
    return true;
  }

  /** A background that stays while the page scrolls would begin anew in each section. */
  function unfix(element: HTMLElement, style: CSSStyleDeclaration): void {
    const ofPage = element === document.body || element === document.documentElement;
    if (ofPage && /cover|contain/.test(style.backgroundSize) && style.backgroundImage.includes('url(')) return;
    force(element, 'background-attachment', 'scroll');
  }

  function hideBackdrops(): void {
    if (document.querySelector(':modal, :popover-open') === null) return;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('::backdrop { opacity: 0 !important }');
    const old = document.adoptedStyleSheets;
    document.adoptedStyleSheets = [...old, sheet];
    state.undo.push(() => {
      document.adoptedStyleSheets = old;
    });
  }

  /** Elements around the coming seam, with where they stand in the page. */
  function pickAnchors(): { element: Element; at: number }[] {
    const picked = new Map<Element, number>();
    for (const across of [0.12, 0.3, 0.5, 0.7, 0.88]) {
      for (const down of [0.55, 0.7, 0.8, 0.9, 0.97]) {
        const element = document.elementFromPoint(innerWidth * across, innerHeight * down);
        if (element === null || element === document.body || element === document.documentElement) continue;
        picked.set(element, element.getBoundingClientRect().top + root.scrollTop);
      }
    }
    return [...picked].filter(([element]) => !isPinned(element)).map(([element, at]) => ({ element, at }));
  }

  function isPinned(element: Element): boolean {
    for (let at: Element | null = element; at !== null; at = above(at)) {
      if (getComputedStyle(at).position === 'fixed') return true;
    }
    return false;
  }

  /** What most of the anchors moved by, when most agree; recycled rows of a virtual list do not. */
  function movedBy(anchors: { element: Element; at: number }[]): number {
    const votes = new Map<number, number>();
    let voters = 0;
    for (const { element, at } of anchors) {
      if (!element.isConnected) continue;
      voters++;
      const by = Math.round(element.getBoundingClientRect().top + root.scrollTop - at);
      votes.set(by, (votes.get(by) ?? 0) + 1);
    }
    for (const [by, count] of votes) if (count > voters * 0.6) return by;
    return 0;
  }

  /** Images that the view shows are decoded before it is captured; broken or endless ones are not waited for. */
  async function imagesInView(): Promise<void> {
    const waiting: Promise<unknown>[] = [];
    for (const image of Array.from(document.images).slice(0, 5_000)) {
      if (!image.complete || image.naturalWidth === 0) continue;
      const box = image.getBoundingClientRect();
      if (box.bottom > 0 && box.top < innerHeight && box.width > 0) waiting.push(image.decode().catch(() => {}));
    }
    if (waiting.length === 0) return;
    await Promise.race([Promise.all(waiting), new Promise((resolve) => setTimeout(resolve, 400))]);
  }

  function endMotion(): boolean {
    let ended = false;
    for (const animation of document.getAnimations()) {
      if (!(animation.timeline instanceof DocumentTimeline)) continue;
      if (animation.playState !== 'running' || animation.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY) continue;
      try {
        animation.finish();
        ended = true;
      } catch {
        // An animation without an end cannot be finished: it is left as it runs.
      }
    }
    return ended;
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

/** Puts everything back as the page had it, and returns to its top. */
export function leaveSections(): void {
  const world = globalThis as { stillframeSections?: { undo: (() => void)[]; hidden: Map<HTMLElement, string> } };
  for (const undo of world.stillframeSections?.undo.reverse() ?? []) undo();
  for (const [element, opacity] of world.stillframeSections?.hidden ?? []) element.style.setProperty('opacity', opacity);
  delete world.stillframeSections;
  scrollTo({ top: 0, behavior: 'instant' });
}
