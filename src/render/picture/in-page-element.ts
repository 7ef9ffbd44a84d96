/** Functions that run inside the page: each is sent there as text, so it may use nothing from around it. */

export interface ElementBox {
  /** CSS px of the page. */
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export type Sighting =
  | { box: ElementBox }
  | { problem: 'not_found' | 'not_visible'; matches: number }
  | { problem: 'invalid_selector'; message: string };

/**
 * Marks the first match in document order that is visible, frees it of scrollers that would show only a part of it, and scrolls to it.
 * Open shadow roots are searched after the document itself.
 */
export async function markElement(selector: string): Promise<Sighting> {
  const world = globalThis as { stillframeElement?: Element };
  const root = document.scrollingElement ?? document.documentElement;
  // A page written from right to left is scrolled to the left.
  const isRtl = getComputedStyle(document.body ?? root).direction === 'rtl';
  const leftEnd = isRtl ? root.clientWidth - root.scrollWidth : 0;
  let matches: Element[];
  try {
    matches = findAll(document);
  } catch (error) {
    return { problem: 'invalid_selector', message: String((error as Error).message) };
  }
  const element = matches.find(isVisible);
  if (element === undefined) return { problem: matches.length === 0 ? 'not_found' : 'not_visible', matches: matches.length };
  world.stillframeElement = element;
  document.documentElement.style.setProperty('scroll-behavior', 'auto', 'important');
  document.documentElement.style.setProperty('scroll-snap-type', 'none', 'important');
  free(element);
  const before = element.getBoundingClientRect();
  const inView = before.top >= 0 && before.bottom <= innerHeight && before.left >= 0 && before.right <= innerWidth;
  const block = before.height > innerHeight ? 'start' : 'center';
  // What is in view may still lie outside the scroller that shows a part of it: "nearest" moves nothing else.
  element.scrollIntoView({ behavior: 'instant', block: inView ? 'nearest' : block, inline: 'nearest' });
  await new Promise((resolve) => {
    setTimeout(resolve, 250);
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  });
  const box = element.getBoundingClientRect();
  return {
    box: {
      left: Math.max(leftEnd, box.left + root.scrollLeft),
      right: box.right + root.scrollLeft,
      top: Math.max(0, box.top + root.scrollTop),
      bottom: box.bottom + root.scrollTop,
    },
  };

  function findAll(scope: Document | ShadowRoot): Element[] {
    const found = [...scope.querySelectorAll(selector)];
    if (found.some(isVisible)) return found;
    for (const host of scope.querySelectorAll('*')) {
      if (host.shadowRoot !== null) found.push(...findAll(host.shadowRoot));
    }
    return found;
  }

  function isVisible(candidate: Element): boolean {
    const box = candidate.getBoundingClientRect();
    if (box.width < 1 || box.height < 1 || isOffPage(candidate, box)) return false;
    return candidate.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false });
  }

  /** Where no scrolling leads: above or before the page's beginning. */
  function isOffPage(candidate: Element, box: DOMRect): boolean {
    if (box.right + root.scrollLeft > leftEnd && box.bottom + root.scrollTop > 0) return false;
    for (let at = above(candidate); at !== null && at !== root; at = above(at)) if (at.scrollTop !== 0 || at.scrollLeft !== 0) return false;
    return true;
  }

  /** An element larger than a scroller it lies in is seen whole only when the scroller grows to its content. */
  function free(target: Element): void {
    for (let parent = above(target); parent !== null && parent !== document.documentElement; parent = above(parent)) {
      if (!(parent instanceof HTMLElement)) continue;
      const style = getComputedStyle(parent);
      const clips = !/visible/.test(style.overflowY) || !/visible/.test(style.overflowX);
      const box = target.getBoundingClientRect();
      const tooLarge = box.height > parent.clientHeight + 1 || box.width > parent.clientWidth + 1;
      if (!clips || !tooLarge || parent === document.body) continue;
      for (const [property, value] of Object.entries({ overflow: 'visible', 'max-height': 'none', 'max-width': 'none', contain: 'none' })) {
        parent.style.setProperty(property, value, 'important');
      }
      if (parent.scrollHeight > parent.clientHeight) parent.style.setProperty('min-height', `${parent.scrollHeight}px`, 'important');
    }
  }

  function above(child: Element): Element | null {
    if (child.assignedSlot !== null) return child.assignedSlot;
    if (child.parentElement !== null) return child.parentElement;
    const scope = child.getRootNode();
    return scope instanceof ShadowRoot ? scope.host : null;
  }
}
