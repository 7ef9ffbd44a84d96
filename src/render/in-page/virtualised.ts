import { isPinned } from './containing.js';
import { all, isUnveiled, pageScroller, viewHeight } from './dom.js';
import { emptyParts, inSteps, MOST_STRETCHES, type Stretch } from './rolled.js';
import { surveyed } from './survey.js';

/**
 * Rows of a virtualised list exist only while they are in view, and some pages hide again what is not. While the page is scrolled through, a
 * few elements of each view are noted; where they are gone afterwards, the page must be pictured at that scroll position.
 */

interface Noted extends Stretch {
  /** Each with the position of its top edge, CSS px of the page. */
  elements: Map<Element, number>;
}

const ACROSS = [0.2, 0.5, 0.8];
const DOWN = [0.1, 0.3, 0.5, 0.7, 0.9];
/** Share of a view's elements that must be gone, or elsewhere. */
const GONE_SHARE = 0.5;

const noted: Noted[] = [];

/** Notes what is in view. */
export function note(): void {
  if (noted.length >= MOST_STRETCHES) return;
  const { scrollTop } = pageScroller();
  const height = viewHeight();
  const elements = new Map<Element, number>();
  for (const across of ACROSS)
    for (const down of DOWN) {
      const element = Document.prototype.elementFromPoint.call(document, innerWidth * across, height * down);
      if (element === null || element === document.documentElement || element === document.body || isPinned(element)) continue;
      if (!isUnveiled(element)) continue;
      elements.set(element, element.getBoundingClientRect().top + scrollTop);
    }
  if (elements.size > 0) noted.push({ top: scrollTop, bottom: scrollTop + height, elements });
}

/**
 * With the page at its top: the stretches that it shows only at their own scroll position, in order, without overlaps.
 *
 * @returns `isAll` false if there are too many for one picture
 */
export function gone(): { stretches: Stretch[]; isAll: boolean } {
  const ranges: Stretch[] = [];
  for (const { top, bottom } of [...missing(), ...frames()].sort((a, b) => a.top - b.top)) {
    const last = ranges.at(-1);
    if (last !== undefined && top <= last.bottom) last.bottom = Math.max(last.bottom, bottom);
    else ranges.push({ top, bottom });
  }
  const parts = emptyParts();
  const apart = ranges.filter(({ top, bottom }) => parts.every((part) => bottom <= part.top || top >= part.bottom));
  const all = [...apart.flatMap((stretch) => inSteps(stretch, viewHeight())), ...parts].sort((a, b) => a.top - b.top);
  return {
    stretches: all.slice(0, MOST_STRETCHES),
    isAll: all.length <= MOST_STRETCHES && (parts.length + ranges.length === 0 || noted.length < MOST_STRETCHES),
  };
}

/** With the page at its top: whether it is empty where it has shown something. */
export function isMissingSome(): boolean {
  if (emptyParts().length > 0) return true;
  const stretches = missing();
  if (stretches.length === 0) return false;
  const { scrollTop } = pageScroller();
  const most = viewHeight();
  const boxes = all('*').flatMap((element) => {
    const { top, bottom, height } = Element.prototype.getBoundingClientRect.call(element);
    const shows = element.firstElementChild === null && height > 0 && height < most && isUnveiled(element);
    return shows ? [{ top: top + scrollTop, bottom: bottom + scrollTop }] : [];
  });
  return stretches.some(({ top, bottom }) => !boxes.some((box) => box.bottom > top && box.top < bottom));
}

function missing(): Stretch[] {
  const { scrollTop } = pageScroller();
  return noted.filter(({ top, bottom, elements }) => {
    const elsewhere = [...elements].filter(([element, at]) => {
      return !isUnveiled(element) || Math.abs(element.getBoundingClientRect().top + scrollTop - at) > (bottom - top) / 2;
    });
    return elsewhere.length > elements.size * GONE_SHARE;
  });
}

/** Frames that the view does not show are not drawn. */
function frames(): Stretch[] {
  const { scrollTop } = pageScroller();
  const height = viewHeight();
  return surveyed('iframe,frame,object,embed').flatMap((frame) => {
    const box = Element.prototype.getBoundingClientRect.call(frame);
    if (box.bottom <= height || box.width <= 1 || box.height <= 1 || !isUnveiled(frame)) return [];
    return [{ top: Math.floor(Math.max(height, box.top + scrollTop)), bottom: Math.ceil(box.bottom + scrollTop) }];
  });
}
