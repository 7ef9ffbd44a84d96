import { eachElement, isUnveiled, pageScroller } from './dom.js';
import { fire } from './mechanisms.js';

/** Elements with `backdrop-filter`. */
export interface Blurs {
  /** CSS px from the view's edges within which they are wrong, since the browser mirrors the view's content beyond its edges. 0: none. */
  reach: number;
  /** Top and bottom, CSS px of the page, of each that crosses an edge of the view or is below it. */
  spans: { top: number; bottom: number }[];
}

const MOST_ELEMENTS = 30_000;
const MOST_SPANS = 500;
/** A blur's radius is its standard deviation: beyond three of these, almost nothing of it is visible. */
const DEVIATIONS = 3;

/** Without fixed elements, which are always in the view as a whole. */
export function find(): Blurs {
  const spans: Blurs['spans'] = [];
  const { scrollTop } = pageScroller();
  let widest = 0;
  eachElement(MOST_ELEMENTS, (element) => {
    const { backdropFilter, position } = getComputedStyle(element);
    if (backdropFilter === 'none' || position === 'fixed' || !isUnveiled(element)) return;
    const { width, height, top, bottom } = element.getBoundingClientRect();
    if (width === 0 || height === 0 || bottom <= 0) return;
    if (top < 0 || bottom > innerHeight) spans.push({ top: top + scrollTop, bottom: bottom + scrollTop });
    if (bottom <= innerHeight) return;
    for (const [, radius] of backdropFilter.matchAll(/blur\(([\d.]+)px\)/g)) widest = Math.max(widest, Number(radius));
  });
  fire('backdrop_filter', spans.length);
  return { reach: Math.ceil(widest * DEVIATIONS), spans: spans.slice(0, MOST_SPANS) };
}
