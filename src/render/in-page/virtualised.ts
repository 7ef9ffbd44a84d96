import { isPinned } from './containing.js';
import { all, hasVisibleStyle, pageScroller, viewHeight } from './dom.js';
import { queryTrees } from './dom-cache.js';
import { emptyParts, inSteps, type PageRange, RANGES_MAX } from './windowed-lists.js';

/**
 * Rows of a virtualised list exist only while in view, and some pages hide content outside the view. While scrolling, a few
 * elements of each view are recorded; if they are gone afterwards, the page must be captured at that scroll position.
 */

interface RecordedView extends PageRange {
  /** The elements, each with the position of its top edge in CSS px of the page. */
  elements: Map<Element, number>;
}

const ACROSS = [0.2, 0.5, 0.8];
const DOWN = [0.1, 0.3, 0.5, 0.7, 0.9];
/** The minimum share of a view's elements that are gone or have moved. */
const GONE_SHARE = 0.5;

const recordedViews: RecordedView[] = [];

/** Records what is in view. */
export function recordView(): void {
  if (recordedViews.length >= RANGES_MAX) return;
  const { scrollTop } = pageScroller();
  const height = viewHeight();
  const elements = new Map<Element, number>();
  for (const across of ACROSS)
    for (const down of DOWN) {
      const element = Document.prototype.elementFromPoint.call(document, innerWidth * across, height * down);
      if (element === null || element === document.documentElement || element === document.body || isPinned(element)) continue;
      if (!hasVisibleStyle(element)) continue;
      elements.set(element, element.getBoundingClientRect().top + scrollTop);
    }
  if (elements.size > 0) recordedViews.push({ top: scrollTop, bottom: scrollTop + height, elements });
}

/**
 * The ranges of the page that are shown only at their own scroll position, in order and without overlaps. The page must be
 * at its top.
 * @returns `isAll` is false if there are too many for one picture
 */
export function missingRanges(): { pageRanges: PageRange[]; isAll: boolean } {
  const ranges: PageRange[] = [];
  for (const { top, bottom } of [...missing(), ...frames()].sort((a, b) => a.top - b.top)) {
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
    const { top, bottom, height } = Element.prototype.getBoundingClientRect.call(element);
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

/** Frames outside the view are not painted. */
function frames(): PageRange[] {
  const { scrollTop } = pageScroller();
  const height = viewHeight();
  return queryTrees('iframe,frame,object,embed').flatMap((frame) => {
    const box = Element.prototype.getBoundingClientRect.call(frame);
    if (box.bottom <= height || box.width <= 1 || box.height <= 1 || !hasVisibleStyle(frame)) return [];
    return [{ top: Math.floor(Math.max(height, box.top + scrollTop)), bottom: Math.ceil(box.bottom + scrollTop) }];
  });
}
