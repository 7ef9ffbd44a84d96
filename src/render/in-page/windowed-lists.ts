import { flatTreeChildren } from './dom.js';
import { inner, keep } from './expand.js';

/**
 * Lists that render only as many rows as fit the height set by a script. After expansion, the rest of such a list stays
 * empty, so each part is shown by scrolling the list at its former height, moved to the part's position.
 */

/** A vertical range of the page, in CSS px. */
export interface PageRange {
  top: number;
  bottom: number;
}

export const RANGES_MAX = 300;

/** Expanded scrollers with their former height in CSS px. */
const heights = new Map<HTMLElement, number>();
/** The minimum empty share of its former height at the end of a list. */
const EMPTY_MIN = 0.5;
/** The share of a view, or of a list's former height, that is captured at once. At the bottom edge, elements may not be shown yet. */
const STEP_SHARE = 0.75;

interface WindowedList {
  list: HTMLElement;
  /** CSS px: its position on the page, its height before expansion, and the height of its content. */
  top: number;
  height: number;
  whole: number;
}

let windowedLists: WindowedList[] | null = null;

/** Must be called before a scroller is expanded. */
export function remember(scroller: HTMLElement): void {
  if (!heights.has(scroller)) heights.set(scroller, scroller.offsetHeight);
}

/** Must be called if the expansion was undone. */
export function forget(scroller: HTMLElement): void {
  heights.delete(scroller);
}

/** The parts of expanded lists that are empty until they are scrolled to. The page must be at its top. */
export function emptyParts(): PageRange[] {
  windowedLists ??= [...heights].flatMap(([list, height]) => {
    const { top, height: whole } = list.getBoundingClientRect();
    const padding = Number.parseFloat(getComputedStyle(list).paddingBottom) || 0;
    return showsBelow(list, top + whole - padding - height * EMPTY_MIN) ? [] : [{ list, top: top + scrollY, height, whole }];
  });
  return windowedLists.flatMap(({ top, height, whole }) => inSteps({ top, bottom: top + whole }, height));
}

/**
 * Divides a range into parts that a view of this height shows, in CSS px. Yields one more than RANGES_MAX if there are too
 * many for a picture.
 */
export function inSteps({ top, bottom }: PageRange, height: number): PageRange[] {
  const step = Math.max(1, Math.floor(height * STEP_SHARE));
  const count = Math.min(RANGES_MAX + 1, Math.ceil((bottom - top) / step));
  return Array.from({ length: count }, (_, at) => ({ top: top + at * step, bottom: Math.min(bottom, top + (at + 1) * step) }));
}

/** Scrolls the lists to their content at this position, in CSS px of the page. */
export function scrollListsTo(position: number): void {
  for (const { list, top, height, whole } of windowedLists ?? []) {
    const by = Math.max(0, Math.min(position - top, whole - height));
    for (const property of ['height', 'min-height']) keep(list, property, `${inner(list, height)}px`);
    keep(list, 'overflow-y', 'hidden');
    keep(list, 'translate', `0 ${by}px`);
    keep(list, 'margin-bottom', `${whole - height}px`);
    list.scrollTo({ top: by, behavior: 'instant' });
  }
}

/** Whether a list shows anything that extends below this edge, in CSS px of the view. Tests the last nodes first. */
function showsBelow(list: HTMLElement, edge: number): boolean {
  const range = document.createRange();
  const left: Node[] = [list];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (node instanceof Text && node.data.trim() !== '') {
      range.selectNodeContents(node);
      if (range.getBoundingClientRect().bottom > edge) return true;
    }
    if (!(node instanceof Element)) continue;
    const children = [...flatTreeChildren(node)];
    if (children.length === 0 && Element.prototype.getBoundingClientRect.call(node).bottom > edge) return true;
    left.push(...children);
  }
  return false;
}
