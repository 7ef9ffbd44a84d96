import { eachElement, isUnveiled, pageScroller } from './dom.js';
import { fire } from './mechanisms.js';

/** What of the page blurs or tints what lies behind it (`backdrop-filter`). */
export interface Blurs {
  /** CSS px from the view's edges within which they lack what is beyond: the browser mirrors there what the view shows. 0: there are none. */
  reach: number;
  /** From where to where each is that the view begins or ends within, or has yet to come to, CSS px of the page. */
  spans: { top: number; bottom: number }[];
}

const MOST_ELEMENTS = 30_000;
const MOST_SPANS = 500;
/** A blur's radius is its standard deviation: beyond three of these next to nothing of it is seen. */
const DEVIATIONS = 3;

/** What blurs only itself is blurred as a whole, and no matter. */
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
