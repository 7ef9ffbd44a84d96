/**
 * Runs inside the page: sent there as text, so it may use nothing from around it. Answers what the functions that pin ask about the page's
 * boxes; changes nothing.
 */

export interface PinKit {
  above(element: Element): Element | null;
  isPinned(element: Element, positions?: string[]): boolean;
  isWithin(inner: Element | undefined, outer: Element | undefined): boolean;
  isScrolledByPage(holder: Element | null): boolean;
  carrierOf(element: Element): Element | null;
  holdsFixed(element: Element, style: CSSStyleDeclaration): boolean;
  isUnseen(element: Element, box: DOMRect): boolean;
  isBackdrop(element: Element, style: CSSStyleDeclaration, box: DOMRect): boolean;
  styleOf(element: HTMLElement): CSSStyleDeclaration;
}

/** Adds the kit to the page, where the functions that pin find it. */
export function addPinKit(): void {
  const world = globalThis as { stillframePinKit?: PinKit };
  const viewHeight = visualViewport?.height ?? innerHeight;
  world.stillframePinKit = {
    above,
    isPinned,
    isWithin,
    isScrolledByPage,
    carrierOf,
    holdsFixed,
    isUnseen,
    isBackdrop,
    styleOf,
  };

  /** In a box that scrolls by itself what is sticky keeps its place there, however the page is scrolled. */
  function isScrolledByPage(holder: Element | null): boolean {
    const root = document.documentElement;
    for (let box = holder; box !== null && box !== root; box = above(box)) {
      const { overflowX, overflowY, display } = getComputedStyle(box);
      if (!/auto|scroll|hidden/.test(overflowX + overflowY) || /^(inline|contents|table-(row|header|footer).*)$/.test(display)) continue;
      // The body's is the view's, unless the root has one.
      return box === document.body && getComputedStyle(root).overflow === 'visible';
    }
    return true;
  }

  /** A fixed element inside a transformed one scrolls along with it; inside a pinned one, that one is dealt with. */
  function carrierOf(element: Element): Element | null {
    for (let at: Element = element, parent = above(at); parent !== null; at = parent, parent = above(at)) {
      // The view alone holds the top layer.
      if (at.matches(':modal, :popover-open, :fullscreen')) return null;
      const style = getComputedStyle(parent);
      if (style.position === 'fixed' || holdsFixed(parent, style)) return parent;
    }
    return null;
  }

  /** As Chromium does it: an inline box is not transformed, the root's filter is the view's, a box that is none has neither. */
  function holdsFixed(element: Element, style: CSSStyleDeclaration): boolean {
    const { display, willChange } = style;
    if (display === 'contents') return false;
    const filters = style.filter !== 'none' || style.backdropFilter !== 'none' || willChange.includes('filter');
    if (filters && element !== document.documentElement) return true;
    if (display === 'inline') return false;
    if (style.transformStyle === 'preserve-3d' || style.contentVisibility === 'auto') return true;
    if (/paint|layout|strict|content/.test(style.contain) || /transform|perspective|translate|rotate|scale|contain/.test(willChange))
      return true;
    return [style.transform, style.perspective, style.translate, style.rotate, style.scale, style.offsetPath].some(
      (value) => value !== 'none',
    );
  }

  /** Covers the view behind the content: a background, which every section has. */
  function isBackdrop(element: Element, style: CSSStyleDeclaration, box: DOMRect): boolean {
    if (box.width < innerWidth * 0.95 || box.height < viewHeight * 0.95) return false;
    if (Number(style.zIndex) < 0) return true;
    if (element instanceof HTMLElement && element.innerText.trim()) return false;
    return style.pointerEvents === 'none' || isUnseen(element, box) || isUnder(element);
  }

  function isUnseen(element: Element, box: DOMRect): boolean {
    const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)];
    const [top, bottom] = [Math.max(0, box.top), Math.min(viewHeight, box.bottom)];
    const scope = scopeOf(element);
    return ![0.2, 0.5, 0.8].some((part) => {
      const hit = scope.elementFromPoint(left + (right - left) * part, top + (bottom - top) * part);
      return hit !== null && isWithin(hit, element);
    });
  }

  /** Content of the page lies on it in places, and nowhere under it: an overlay covers the content around its dialog. */
  function isUnder(element: Element): boolean {
    const scope = scopeOf(element);
    const over = new Set<Element>();
    const under = new Set<Element>();
    for (let point = 0; point < 25; point++) {
      const hits = scope.elementsFromPoint(innerWidth * ((point % 5) * 0.2 + 0.1), viewHeight * (Math.floor(point / 5) * 0.2 + 0.1));
      const at = hits.findIndex((hit) => isWithin(hit, element));
      if (at < 0) return false;
      for (const hit of hits.slice(0, at)) over.add(hit);
      for (const hit of hits.slice(at)) if (!isWithin(element, hit) && !isWithin(hit, element)) under.add(hit);
    }
    const content = [...over].filter((hit) => !isPinned(hit));
    return content.length > 0 && [...under].every((hit) => isPinned(hit) || content.some((one) => isWithin(one, hit)));
  }

  /** Of what is in a shadow tree the document tells the host alone. */
  function scopeOf(element: Element): DocumentOrShadowRoot {
    const scope = element.getRootNode();
    return scope instanceof ShadowRoot ? scope : document;
  }

  /** A form's `style` may be a field of that name. */
  function styleOf(element: HTMLElement): CSSStyleDeclaration {
    return element instanceof HTMLFormElement ? Reflect.get(HTMLElement.prototype, 'style', element) : element.style;
  }

  function isPinned(element: Element, positions = ['fixed']): boolean {
    for (let at: Element | null = element; at !== null; at = above(at)) if (positions.includes(getComputedStyle(at).position)) return true;
    return false;
  }

  /** Itself included, and through shadow roots. */
  function isWithin(inner: Element | undefined, outer: Element | undefined): boolean {
    for (let at = inner ?? null; at !== null; at = above(at)) if (at === outer) return true;
    return false;
  }

  /** Where it hangs in the tree as it is shown: its slot, its parent, or the host of its shadow tree. */
  function above(element: Element): Element | null {
    if (element.assignedSlot !== null) return element.assignedSlot;
    if (element.parentElement !== null) return element.parentElement;
    const scope = element.getRootNode();
    return scope instanceof ShadowRoot ? scope.host : null;
  }
}
