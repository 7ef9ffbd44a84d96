import { flatTreeChildren, pageScroller, textBox, viewHeight } from './dom.js';
import { contentOf, inner, keep } from './expand.js';
import { isIncomplete, LOOKS_MAX } from './looks.js';
import { type PageRange, rangesElsewhere } from './missing-parts.js';
import { windowBoxes } from './pin.js';
import { expansions } from './scrollers.js';
import { showsSomething } from './sights.js';

/**
 * The ranges of the page that are shown only at their own scroll position, in order and without overlaps. The page must be
 * at its top.
 * @returns `isAll` is false if not all of it can be shown
 */
export function missingRanges(): { pageRanges: PageRange[]; isAll: boolean } {
  const parts = emptyParts();
  const { ranges, isAll } = rangesElsewhere();
  const apart = ranges.filter(({ top, bottom }) => parts.every((part) => bottom <= part.top || top >= part.bottom));
  const known = [...apart, ...parts];
  const all = [...known, ...windowParts(known)].sort((a, b) => a.top - b.top);
  const isCut = all.length > LOOKS_MAX || (all.length > 0 && isIncomplete());
  return { pageRanges: all.slice(0, LOOKS_MAX), isAll: isAll && !isCut };
}

/** Whether a list is empty where it would have to be scrolled to. */
export function hasEmptyParts(): boolean {
  return emptyParts().length > 0;
}

/** The parts of the page below the view in which fixed elements are seen through boxes, without those ranges. */
function windowParts(known: readonly PageRange[]): PageRange[] {
  const view = viewHeight();
  const last = Math.max(0, pageScroller().scrollHeight - view);
  const parts: PageRange[] = [];
  for (const box of windowBoxes().sort((a, b) => a.top - b.top)) {
    const top = Math.max(Math.floor(box.top), parts.at(-1)?.bottom ?? 0);
    const bottom = Math.ceil(box.bottom);
    if (bottom <= view || bottom <= top || box.right - box.left < 1 || parts.length > LOOKS_MAX) continue;
    parts.push(...inSteps({ top, bottom }, Math.min(view, (bottom - top) / STEP_SHARE)));
  }
  return parts
    .flatMap((part) => without(part, known))
    .map(({ top, bottom }) => ({ top, bottom, at: Math.max(0, Math.min(last, (top + bottom - view) / 2)) }));
}

function without(part: PageRange, known: readonly PageRange[]): PageRange[] {
  let rest = [part];
  for (const { top, bottom } of known)
    rest = rest.flatMap((one) =>
      [
        { ...one, bottom: Math.min(one.bottom, top) },
        { ...one, top: Math.max(one.top, bottom) },
      ].filter((piece) => piece.bottom > piece.top),
    );
  return rest;
}

/*
 * Some lists render only as many rows as fit the height set by a script. After expansion, the rest of such a list stays
 * empty, so each part is shown by scrolling the list at its former height, moved to the part's position.
 */

/** The minimum empty share of its former height at the end of a list. */
const EMPTY_MIN = 0.5;
/** The share of a view, or of a list's former height, that is captured at once. At the bottom edge, elements may not be shown yet. */
const STEP_SHARE = 0.75;

/** The share of a list's height from which a box in it is not one of its rows. */
const FILLS_MIN = 0.9;

interface WindowedList {
  list: HTMLElement;
  /** CSS px: its position on the page, its height before expansion, and the height of its content. */
  top: number;
  height: number;
  whole: number;
}

let windowedLists: WindowedList[] | null = null;

/** The parts of expanded lists that are empty until they are scrolled to. The page must be at its top. */
function emptyParts(): PageRange[] {
  windowedLists ??= [...expansions().scrollers].flatMap(([list, height]) => {
    if (contentOf(list) !== list) return [];
    const { top, height: whole } = list.getBoundingClientRect();
    const padding = Number.parseFloat(getComputedStyle(list).paddingBottom) || 0;
    return showsBelow(list, top + whole - padding - height * EMPTY_MIN)
      ? []
      : [{ list, top: top + scrollY, height, whole }];
  });
  return windowedLists.flatMap(({ top, height, whole }) => inSteps({ top, bottom: top + whole }, height));
}

/**
 * Divides a range into parts that a view of this height shows, in CSS px. Yields one more than LOOKS_MAX if there are too
 * many for a picture.
 */
function inSteps({ top, bottom }: Pick<PageRange, 'top' | 'bottom'>, height: number): PageRange[] {
  const step = Math.max(1, Math.floor(height * STEP_SHARE));
  const count = Math.min(LOOKS_MAX + 1, Math.ceil((bottom - top) / step));
  const tops = Array.from({ length: count }, (_, index) => top + index * step);
  return tops.map((at) => ({ top: at, bottom: Math.min(bottom, at + step), at }));
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
  const left: Node[] = [list];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (node instanceof Text && node.data.trim() !== '' && textBox(node).bottom > edge) return true;
    if (!(node instanceof Element)) continue;
    const children = [...flatTreeChildren(node)];
    const box = node.getBoundingClientRect();
    // A box around all rows says nothing of them.
    const isRow =
      children.length === 0 || (box.height < FILLS_MIN * list.getBoundingClientRect().height && showsSomething(node));
    if (isRow && box.bottom > edge) return true;
    left.push(...children);
  }
  return false;
}
