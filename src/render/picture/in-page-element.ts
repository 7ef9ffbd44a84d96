import type { PinKit } from './in-page-pin-kit.js';

/** Functions that run inside the page: each is sent there as text, so it may use nothing from around it but the pin kit. */

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
 * One without a box of its own, or with an empty one, is what it has in it. Open shadow roots are searched after the document itself.
 */
export async function markElement(selector: string): Promise<Sighting> {
  /** A part of an element that has no box of its own: where it is, and what to scroll to. */
  interface Part {
    box: ElementBox;
    at: Element;
  }
  const MOST_CONTENTS = 2_000;
  const world = globalThis as { stillframePinKit?: PinKit; stillframeElement?: Element };
  if (world.stillframePinKit === undefined) throw new Error('The page has no pin kit.');
  const { above, holdsFixed, styleOf } = world.stillframePinKit;
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
  // Where all are clipped away, as slides of a carousel that are yet to come, the first can still be scrolled to.
  const element = matches.find(isShown) ?? matches.find(isVisible);
  if (element === undefined) return { problem: matches.length === 0 ? 'not_found' : 'not_visible', matches: matches.length };
  world.stillframeElement = element;
  document.documentElement.style.setProperty('scroll-behavior', 'auto', 'important');
  document.documentElement.style.setProperty('scroll-snap-type', 'none', 'important');
  free(element);
  const before = boxOf(element);
  const inView = before.top >= 0 && before.bottom <= innerHeight && before.left >= 0 && before.right <= innerWidth;
  const block = before.bottom - before.top > innerHeight ? 'start' : 'center';
  // What is in view may still lie outside the scroller that shows a part of it: "nearest" moves nothing else.
  const aim = isEmpty(element.getBoundingClientRect()) ? partsOf(element)[0]?.at : element;
  aim?.scrollIntoView({ behavior: 'instant', block: inView ? 'nearest' : block, inline: 'nearest' });
  await new Promise((resolve) => {
    setTimeout(resolve, 250);
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  });
  const box = boxOf(element);
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
    if (found.some(isShown)) return found;
    for (const host of scope.querySelectorAll('*')) {
      if (host.shadowRoot !== null) found.push(...findAll(host.shadowRoot));
    }
    return found;
  }

  function isVisible(candidate: Element): boolean {
    const box = candidate.getBoundingClientRect();
    if (isEmpty(box)) return partsOf(candidate).length > 0;
    return !isOffPage(candidate, box) && isUnveiled(candidate);
  }

  function isEmpty(box: DOMRect): boolean {
    return box.width < 1 || box.height < 1;
  }

  function isUnveiled(candidate: Element): boolean {
    return candidate.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false });
  }

  /** Where no scrolling leads: above or before the page's beginning. */
  function isOffPage(candidate: Element, box: ElementBox): boolean {
    if (box.right + root.scrollLeft > leftEnd && box.bottom + root.scrollTop > 0) return false;
    for (let at = above(candidate); at !== null && at !== root; at = above(at)) if (at.scrollTop !== 0 || at.scrollLeft !== 0) return false;
    return true;
  }

  /** Whether it is visible, and whatever clips it leaves something of it where a visitor can scroll to. */
  function isShown(candidate: Element): boolean {
    if (!isVisible(candidate)) return false;
    const box = candidate.getBoundingClientRect();
    if (isEmpty(box)) return true;
    const { left, right, top, bottom } = box;
    return leavesSome({ left, right, top, bottom }, candidate);
  }

  /** Whether something is left of a box of this element's, or of a text of its, by what clips it. */
  function leavesSome(box: ElementBox, of: Element, isText = false): boolean {
    const [width, height] = [box.right - box.left, box.bottom - box.top];
    // A rule is thin in one direction only; what is a dot in both is there for screen readers.
    if (width < 2 && height < 2) return false;
    let seen = isText ? box : cutOut(box, of);
    let hangs = isText ? 'static' : getComputedStyle(of).position;
    for (let at = isText ? of : above(of); at !== null && at !== document.body && at !== document.documentElement; at = above(at)) {
      seen = cutOut(seen, at);
      const style = getComputedStyle(at);
      if (!holds(at, style, hangs)) continue;
      hangs = style.position;
      seen = showIn(seen, at, style);
    }
    return seen.right - seen.left >= Math.min(2, width) && seen.bottom - seen.top >= Math.min(2, height);
  }

  function boxOf(target: Element): ElementBox {
    const own = target.getBoundingClientRect();
    const parts = isEmpty(own) ? partsOf(target) : [];
    if (parts.length === 0) return own;
    return {
      left: Math.min(...parts.map(({ box }) => box.left)),
      right: Math.max(...parts.map(({ box }) => box.right)),
      top: Math.min(...parts.map(({ box }) => box.top)),
      bottom: Math.max(...parts.map(({ box }) => box.bottom)),
    };
  }

  /** The outermost things with a box in an element that are shown. What is fixed is no part of its place, unless there is nothing else. */
  function partsOf(target: Element): Part[] {
    const parts: Part[] = [];
    const fixed: Part[] = [];
    let visited = 0;
    if (isThere(target)) look(target, false);
    return parts.length > 0 ? parts : fixed;

    /** Neither hidden with what it is in, nor seen through. */
    function isThere(element: Element): boolean {
      let at: Element | null = element;
      while (at !== null && getComputedStyle(at).display === 'contents') at = above(at);
      return at?.checkVisibility({ opacityProperty: true }) ?? false;
    }

    function look(within: Element, inFixed: boolean): void {
      if (!(within instanceof HTMLElement)) return;
      for (const node of contentsOf(within)) {
        if (visited++ > MOST_CONTENTS) return;
        if (node instanceof Text) takeText(node, within, inFixed);
        if (!(node instanceof Element)) continue;
        const { display, position } = getComputedStyle(node);
        const hangs = inFixed || position === 'fixed';
        const box = node.getBoundingClientRect();
        if (!isEmpty(box) && isUnveiled(node)) take(box, node, hangs);
        else if (display === 'contents' || node.checkVisibility({ opacityProperty: true })) look(node, hangs);
      }
    }

    function takeText(text: Text, within: Element, inFixed: boolean): void {
      if (text.data.trim() === '' || getComputedStyle(within).visibility !== 'visible') return;
      const range = document.createRange();
      range.selectNodeContents(text);
      const box = range.getBoundingClientRect();
      if (!isEmpty(box)) take(box, within, inFixed, true);
    }

    function take({ left, right, top, bottom }: DOMRect, at: Element, isFixed: boolean, isText = false): void {
      const box = { left, right, top, bottom };
      if (isOffPage(at, box) || !leavesSome(box, at, isText)) return;
      (isFixed ? fixed : parts).push({ box, at });
    }
  }

  function contentsOf(element: HTMLElement): Iterable<Node> {
    if (element.shadowRoot !== null) return element.shadowRoot.childNodes;
    const assigned = element instanceof HTMLSlotElement ? element.assignedNodes() : [];
    return assigned.length > 0 ? assigned : element.childNodes;
  }

  /** What an element's own `clip` and the insets of its `clip-path` leave of a part of it. */
  function cutOut(seen: ElementBox, at: Element): ElementBox {
    const { clipPath, clip, position } = getComputedStyle(at);
    if (/absolute|fixed/.test(position) && /^rect\((\d+px)(, \1){3}\)$/.test(clip)) return { ...seen, right: seen.left, bottom: seen.top };
    const insets = /^inset\(([^()]*?)( round [^()]*)?\)/.exec(clipPath)?.[1]?.split(' ');
    if (insets === undefined) return seen;
    const box = at.getBoundingClientRect();
    const px = (value: string, whole: number) => (Number.parseFloat(value) || 0) * (value.endsWith('%') ? whole / 100 : 1);
    const [top = '0', right = top, bottom = top, left = right] = insets;
    return {
      left: Math.max(seen.left, box.left + px(left, box.width)),
      right: Math.min(seen.right, box.right - px(right, box.width)),
      top: Math.max(seen.top, box.top + px(top, box.height)),
      bottom: Math.min(seen.bottom, box.bottom - px(bottom, box.height)),
    };
  }

  /** Whether what is positioned so hangs in a box of this style, and not in one further out, which alone clips it. */
  function holds(box: Element, style: CSSStyleDeclaration, hangs: string): boolean {
    if (hangs !== 'absolute' && hangs !== 'fixed') return true;
    return (hangs === 'absolute' && style.position !== 'static') || holdsFixed(box, style);
  }

  /** What a box leaves of a part of it: of a scroller that a visitor can move, what it shows when it has been moved there. */
  function showIn(seen: ElementBox, at: Element, { display, overflowX, overflowY }: CSSStyleDeclaration): ElementBox {
    if (!(at instanceof HTMLElement) || /^(inline|contents|table-(row|.*group))$/.test(display)) return seen;
    const box = at.getBoundingClientRect();
    const [wide, high] = [box.width / (at.offsetWidth || 1), box.height / (at.offsetHeight || 1)];
    const left = box.left + at.clientLeft * wide;
    const top = box.top + at.clientTop * high;
    const across = cutLine([seen.left, seen.right], [left, left + at.clientWidth * wide], overflowX);
    const down = cutLine([seen.top, seen.bottom], [top, top + at.clientHeight * high], overflowY);
    return { left: across[0], right: across[1], top: down[0], bottom: down[1] };
  }

  function cutLine([from, to]: [number, number], [start, end]: [number, number], overflow: string): [number, number] {
    if (overflow === 'visible') return [from, to];
    if (overflow === 'hidden' || overflow === 'clip') return [Math.max(from, start), Math.min(to, end)];
    const length = Math.min(to - from, end - start);
    const begin = Math.max(start, Math.min(from, end - length));
    return [begin, begin + length];
  }

  /** An element larger than a scroller it lies in is seen whole only when the scroller grows to its content. */
  function free(target: Element): void {
    for (let parent = above(target); parent !== null && parent !== document.documentElement; parent = above(parent)) {
      if (!(parent instanceof HTMLElement)) continue;
      const style = getComputedStyle(parent);
      const clips = !/visible/.test(style.overflowY) || !/visible/.test(style.overflowX);
      const box = boxOf(target);
      const tooLarge = box.bottom - box.top > parent.clientHeight + 1 || box.right - box.left > parent.clientWidth + 1;
      if (!clips || !tooLarge || parent === document.body) continue;
      for (const [property, value] of Object.entries({ overflow: 'visible', 'max-height': 'none', 'max-width': 'none', contain: 'none' })) {
        styleOf(parent).setProperty(property, value, 'important');
      }
      if (parent.scrollHeight > parent.clientHeight) styleOf(parent).setProperty('min-height', `${parent.scrollHeight}px`, 'important');
    }
  }
}
