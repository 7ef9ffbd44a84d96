import { leavesSome } from './clipping.js';
import { allIn, ancestry, documentProperty, isUnveiled, pageScroller, shadowRootOf, type Tree } from './dom.js';
import { passFrames } from './frames.js';
import { fire } from './mechanisms.js';
import { boxOf, type ElementBox, isEmpty, isOffPage, pageLeft, partsOf } from './parts.js';
import { force } from './styles.js';

export type Sighting =
  | { box: ElementBox }
  | { problem: 'not_found' | 'not_visible'; matches: number }
  | { problem: 'invalid_selector'; message: string };

/** The one that is to be pictured. */
let chosen: Element | null = null;

export function marked(): Element | null {
  return chosen;
}

/**
 * Marks the first match in document order that is visible, frees it of scrollers that would show only a part of it, and scrolls to it.
 * One without a box of its own, or with an empty one, is what it has in it. Open shadow roots are searched after the document itself.
 */
export async function mark(selector: string): Promise<Sighting> {
  let matches: Element[];
  try {
    matches = findAll(document, selector);
  } catch (error) {
    return { problem: 'invalid_selector', message: String((error as Error).message) };
  }
  // Where all are clipped away, as slides of a carousel that are yet to come, the first can still be scrolled to.
  const element = matches.find(isShown) ?? matches.find(isVisible);
  if (element === undefined) return { problem: matches.length === 0 ? 'not_found' : 'not_visible', matches: matches.length };
  chosen = element;
  const html = documentProperty('documentElement');
  force(html, 'scroll-behavior', 'auto');
  force(html, 'scroll-snap-type', 'none');
  free(element);
  bringIntoView(element);
  await passFrames(2, 250);
  const { scrollLeft, scrollTop } = pageScroller();
  const box = boxOf(element);
  return {
    box: {
      left: Math.max(pageLeft(), box.left + scrollLeft),
      right: box.right + scrollLeft,
      top: Math.max(0, box.top + scrollTop),
      bottom: box.bottom + scrollTop,
    },
  };
}

/** The browser's error message for each selector; null for a valid one. */
export function selectorProblems(selectors: string[]): (string | null)[] {
  return selectors.map((selector) => {
    try {
      document.querySelector(selector);
      return null;
    } catch (error) {
      return String((error as Error).message).replace(/^Failed to execute 'querySelector' on 'Document': /, '');
    }
  });
}

function findAll(tree: Tree, selector: string): Element[] {
  const found = allIn(tree, selector);
  if (found.some(isShown)) return found;
  for (const host of allIn(tree, '*')) {
    const shadow = shadowRootOf(host);
    if (shadow !== null) found.push(...findAll(shadow, selector));
  }
  return found;
}

function isVisible(candidate: Element): boolean {
  const box = candidate.getBoundingClientRect();
  if (isEmpty(box)) return partsOf(candidate).length > 0;
  return !isOffPage(candidate, box) && isUnveiled(candidate);
}

/** Whether it is visible, and whatever clips it leaves something of it where a visitor can scroll to. */
function isShown(candidate: Element): boolean {
  if (!isVisible(candidate)) return false;
  const box = candidate.getBoundingClientRect();
  if (isEmpty(box)) return true;
  const { left, right, top, bottom } = box;
  return leavesSome({ left, right, top, bottom }, candidate);
}

function bringIntoView(element: Element): void {
  const { top, bottom, left, right } = boxOf(element);
  const inView = top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth;
  const block = bottom - top > innerHeight ? 'start' : 'center';
  const aim = isEmpty(element.getBoundingClientRect()) ? partsOf(element)[0]?.at : element;
  // What is in view may still lie outside the scroller that shows a part of it: "nearest" moves nothing else.
  aim?.scrollIntoView({ behavior: 'instant', block: inView ? 'nearest' : block, inline: 'nearest' });
}

/** An element larger than a scroller it lies in is seen whole only when the scroller grows to its content. */
function free(target: Element): void {
  for (const parent of ancestry(target).slice(1)) {
    if (!(parent instanceof HTMLElement) || parent === document.documentElement || parent === document.body) continue;
    const style = getComputedStyle(parent);
    const clips = !/visible/.test(style.overflowY) || !/visible/.test(style.overflowX);
    const box = boxOf(target);
    const tooLarge = box.bottom - box.top > parent.clientHeight + 1 || box.right - box.left > parent.clientWidth + 1;
    if (!clips || !tooLarge) continue;
    fire('element_freed');
    for (const property of ['max-height', 'max-width', 'contain']) force(parent, property, 'none');
    force(parent, 'overflow', 'visible');
    if (parent.scrollHeight > parent.clientHeight) force(parent, 'min-height', `${parent.scrollHeight}px`);
  }
}
