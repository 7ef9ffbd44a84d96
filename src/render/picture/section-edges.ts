import type { Blurs } from './in-page-blur.js';

/** What is revealed as it is scrolled to is so this far, CSS px, or a quarter of the view, above the view's bottom edge: 120 px are usual. */
const REVEALED_PX = 160;
/** One section of a page with edges, slow. */
const EDGED_MS = 600;
/** Of a view, that the next section goes on by at least, so that none begins within what it would show wrongly. */
const LEAST_STEP = 3 / 8;
/** How far above the seam the next section may begin, to begin on a whole pixel. */
const ALIGN_WITHIN_PX = 100;

/** CSS px of each view that are taken from its neighbours, where they are shown rightly. */
export interface Edges {
  head: number;
  foot: number;
  /** What no view shall begin within, CSS px of the page. */
  blurs: Blurs['spans'];
}

export const NO_EDGES: Edges = { head: 0, foot: 0, blurs: [] };

/** What the edges of a band's sections depend on. */
export interface EdgedBand {
  /** CSS px of the page: its first row, and the row after its last. */
  from: number;
  to: number;
  /** CSS px. */
  viewHeight: number;
  /** Picture px to a CSS px. */
  ratio: number;
  /** Unix ms: no section begins after that. */
  lastStart: number;
}

/**
 * At a view's foot there may be what waits to be revealed, and at both its edges blurs that lack what is beyond: more than half of a view is
 * not left out for that, and as much of it as there is time for so many sections. At densities other than 1 the browser draws a blur
 * in a wrong place when the view begins within it.
 */
export function edgesOf({ from, to, viewHeight, lastStart, ratio }: EdgedBand, how: { reveals: boolean; blurs: Blurs }): Edges {
  const blur = Math.floor(Math.min(how.blurs.reach, viewHeight / 4));
  const foot = how.reveals ? Math.floor(Math.max(viewHeight / 4, Math.min(REVEALED_PX, viewHeight / 2))) : blur;
  const head = Math.min(blur, Math.floor(viewHeight / 2) - foot);
  const hasTime = (edges: Edges) => {
    const step = edges.blurs.length === 0 ? viewHeight - edges.foot - edges.head : viewHeight * LEAST_STEP;
    return Date.now() + Math.ceil((to - from) / step) * EDGED_MS < lastStart;
  };
  const wishes: Edges[] = [
    { head, foot, blurs: ratio === 1 ? [] : how.blurs.spans },
    { head, foot, blurs: [] },
    { head: 0, foot: how.reveals ? foot : 0, blurs: [] },
  ];
  return foot === 0 ? NO_EDGES : (wishes.find(hasTime) ?? NO_EDGES);
}

/** At or a little above the seam, where CSS px and picture px meet best; or where the view ends with the band. */
export function nextTop(plan: EdgedBand, seamRow: number, edges: Edges): number {
  const seam = seamRow / plan.ratio - edges.foot - edges.head;
  const ends = seam + plan.viewHeight >= plan.to;
  const wanted = ends ? Math.max(0, plan.to - plan.viewHeight) : Math.floor(seam + 1e-6);
  const highest = clearTop(wanted, { edges, seam, lowest: seamRow / plan.ratio - plan.viewHeight * (1 - LEAST_STEP) });
  if (ends && highest === wanted) return wanted;
  const lowest = highest - Math.min(ALIGN_WITHIN_PX, Math.floor(plan.viewHeight / 4));
  let best = highest;
  let least = Number.POSITIVE_INFINITY;
  for (let y = highest; y >= lowest && least > 1e-6; y--) {
    const off = Math.abs(y * plan.ratio - Math.round(y * plan.ratio));
    if (off < least - 1e-6) {
      least = off;
      best = y;
    }
  }
  return best;
}

/** Above what no view shall begin within, as far as it is not shown already, and where that is not too far up. */
function clearTop(wanted: number, how: { edges: Edges; seam: number; lowest: number }): number {
  const { head, blurs } = how.edges;
  for (let y = wanted; y >= how.lowest; ) {
    const shown = (y === wanted ? how.seam : y) + head;
    const cut = blurs.find(({ top, bottom }) => top < y && bottom > shown);
    if (cut === undefined) return y;
    y = Math.floor(cut.top - head);
  }
  return wanted;
}
