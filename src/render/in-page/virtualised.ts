import { isInFixed } from './boxes.js';
import { all, flatTreeChildren, hasVisibleStyle, isPage, pageScroller, textBox, viewHeight } from './dom.js';
import { contentOf, inner, keep } from './expand.js';
import { expansions } from './scrollers.js';

/**
 * Rows of a virtualised list exist only while in view, and some pages hide content outside the view. While scrolling, a few
 * elements of each view are recorded; if they are gone afterwards, the page must be captured at that scroll position.
 */

/** A vertical range of the page, in CSS px. */
export interface PageRange {
  top: number;
  bottom: number;
}

const RANGES_MAX = 300;

interface RecordedView extends PageRange {
  /** The elements, each with the position of its top edge in CSS px of the page. */
  elements: Map<Element, number>;
}

const ACROSS = [0.2, 0.5, 0.8];
const DOWN = [0.1, 0.3, 0.5, 0.7, 0.9];
/** The minimum share of a view's elements that are gone or have moved. */
const GONE_SHARE = 0.5;

const recordedViews: RecordedView[] = [];

export function recordView(): void {
  if (recordedViews.length >= RANGES_MAX) return;
  const { scrollTop } = pageScroller();
  const height = viewHeight();
  const elements = new Map<Element, number>();
  for (const across of ACROSS)
    for (const down of DOWN) {
      const element = document.elementFromPoint(innerWidth * across, height * down);
      if (element === null || isPage(element) || isInFixed(element) || !hasVisibleStyle(element)) continue;
      elements.set(element, element.getBoundingClientRect().top + scrollTop);
    }
  if (elements.size > 0) recordedViews.push({ top: scrollTop, bottom: scrollTop + height, elements });
}

/**
 * The ranges of the page that are shown only at their own scroll position, in order and without overlaps. The page must be
 * at its top.
 * @returns `isAll` is false if there are too many for one picture
 */
export function missingRanges() {
  const ranges: PageRange[] = [];
  for (const { top, bottom } of missing()) {
    const last = ranges.at(-1);
    if (last !== undefined && top <= last.bottom) last.bottom = Math.max(last.bottom, bottom);
    else ranges.push({ top, bottom });
  }
  const parts = emptyParts();
  const apart = ranges.filter(({ top, bottom }) => parts.every((part) => bottom <= part.top || top >= part.bottom));
  const all = [...apart.flatMap((stretch) => inSteps(stretch, viewHeight())), ...parts].sort((a, b) => a.top - b.top);
  return {
    pageRanges: all.slice(0, RANGES_MAX),
    isAll: all.length <= RANGES_MAX && (parts.length + ranges.length === 0 || recordedViews.length < RANGES_MAX),
  };
}

/** Whether the page, at its top, is empty where it has shown something. */
export function lacksContent(): boolean {
  if (emptyParts().length > 0) return true;
  const pageRanges = missing();
  if (pageRanges.length === 0) return false;
  const { scrollTop } = pageScroller();
  const most = viewHeight();
  const boxes = all('*').flatMap((element) => {
    const { top, bottom, height } = element.getBoundingClientRect();
    const shows = element.firstElementChild === null && height > 0 && height < most && hasVisibleStyle(element);
    return shows ? [{ top: top + scrollTop, bottom: bottom + scrollTop }] : [];
  });
  return pageRanges.some(({ top, bottom }) => !boxes.some((box) => box.bottom > top && box.top < bottom));
}

function missing(): PageRange[] {
  const { scrollTop } = pageScroller();
  return recordedViews.filter(({ top, bottom, elements }) => {
    const elsewhere = [...elements].filter(([element, at]) => {
      return !hasVisibleStyle(element) || Math.abs(element.getBoundingClientRect().top + scrollTop - at) > (bottom - top) / 2;
    });
    return elsewhere.length > elements.size * GONE_SHARE;
  });
}

/*
 * Other lists render only as many rows as fit the height set by a script. After expansion, the rest of such a list stays
 * empty, so each part is shown by scrolling the list at its former height, moved to the part's position.
 */

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

/** The parts of expanded lists that are empty until they are scrolled to. The page must be at its top. */
function emptyParts(): PageRange[] {
  windowedLists ??= [...expansions().scrollers].flatMap(([list, height]) => {
    if (contentOf(list) !== list) return [];
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
function inSteps({ top, bottom }: PageRange, height: number): PageRange[] {
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
  const left: Node[] = [list];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (node instanceof Text && node.data.trim() !== '' && textBox(node).bottom > edge) return true;
    if (!(node instanceof Element)) continue;
    const children = [...flatTreeChildren(node)];
    if (children.length === 0 && node.getBoundingClientRect().bottom > edge) return true;
    left.push(...children);
  }
  return false;
}
