import { monotonicNow } from '../monotonic-now.js';

/** Elements are revealed at this distance, CSS px, or a quarter of the view, above the view's bottom edge: 120 px are usual. */
const REVEALED_PX = 160;
/** Time for one section, at the slowest. */
export const SECTION_MS = 600;
/** How far above what it must show a section may begin, to begin on a whole pixel, CSS px. */
export const ALIGN_WITHIN_PX = 100;

/** CSS px of each view that are taken from its neighbours, where they are shown rightly. */
export interface Edges {
  head: number;
  foot: number;
}

export const NO_EDGES: Edges = { head: 0, foot: 0 };

/** Input for the edges of the sections. */
export interface EdgedBand {
  /** CSS px of the page: its first row, and the row after its last. */
  from: number;
  to: number;
  /** CSS px. */
  viewHeight: number;
  /** Picture px to a CSS px. */
  ratio: number;
  /** ms by `monotonicNow`: no section begins after that. */
  lastStart: number;
}

/**
 * At the bottom of a view, elements may not be revealed yet, and at both edges, blurs lack the content beyond. These margins are left out,
 * at most half of a view, and only as far as there is time for the additional sections.
 *
 * @param how.blur CSS px from the view's edges within which blurs lack what is beyond
 */
export function edgesOf({ from, to, viewHeight, lastStart }: EdgedBand, how: { reveals: boolean; blur: number }): Edges {
  const blur = Math.floor(Math.min(how.blur, viewHeight / 4));
  const foot = how.reveals ? Math.floor(Math.max(viewHeight / 4, Math.min(REVEALED_PX, viewHeight / 2))) : blur;
  const head = Math.min(blur, Math.floor(viewHeight / 2) - foot);
  const wishes: Edges[] = [
    { head, foot },
    { head: 0, foot: how.reveals ? foot : 0 },
  ];
  const hasTime = (edges: Edges) =>
    monotonicNow() + Math.ceil((to - from) / (viewHeight - edges.foot - edges.head)) * SECTION_MS < lastStart;
  return foot === 0 ? NO_EDGES : (wishes.find(hasTime) ?? NO_EDGES);
}

/** At or a little above the seam, where CSS px and picture px meet best; or where the view ends with the band. */
export function nextTop(plan: EdgedBand, seamRow: number, edges: Edges): number {
  const seam = seamRow / plan.ratio - edges.foot - edges.head;
  if (seam + plan.viewHeight >= plan.to) return Math.max(0, plan.to - plan.viewHeight);
  const highest = Math.floor(seam + 1e-6);
  return bestAligned(highest, highest - Math.min(ALIGN_WITHIN_PX, Math.floor(plan.viewHeight / 4)), plan.ratio);
}

/** Of the whole numbers from one to the other, both included, the first that comes nearest to a whole number of picture px. */
export function bestAligned(first: number, last: number, ratio: number): number {
  const step = Math.sign(last - first);
  let best = first;
  let least = Number.POSITIVE_INFINITY;
  for (let at = first, left = Math.abs(last - first); left >= 0 && least > 1e-6; at += step, left--) {
    const off = Math.abs(at * ratio - Math.round(at * ratio));
    if (off >= least - 1e-6) continue;
    least = off;
    best = at;
  }
  return best;
}
