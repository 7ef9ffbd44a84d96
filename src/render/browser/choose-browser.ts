import type { Expectation } from './page-history.js';

/** What the choice looks at. */
export interface Candidate {
  /** Captures on it now. */
  readonly active: number;
  /** Captures ever. */
  readonly served: number;
  readonly strained: boolean;
  /** All that it does comes after what other browsers do. */
  readonly yielding: boolean;
  /** Pages that stand ready in this shape. */
  warmFor(key: string): number;
}

export interface Call {
  shapeKey: string;
  /** Captures that a browser is meant to hold at once. */
  pagesPerBrowser: number;
  page: Expectation;
  /** Captures have been quick lately: a heavy page must not hold up more of them. */
  quickAbout: boolean;
  /** Pages have come lately that were quick before, and will be so again. */
  knownQuickAbout: boolean;
}

export interface Choice<T> {
  browser: T;
  /** It has to yield from now on. */
  toYield: boolean;
}

/**
 * Where a capture goes. Heavy pages come together in browsers that yield. As long as others are about, one browser that does not yield
 * is kept for them: not for those of whom nothing is known, while there are some that are known to be quick.
 * @param live in an order that stays
 * @returns null when there is no browser
 */
export function chooseBrowser<T extends Candidate>(live: readonly T[], call: Call): Choice<T> | null {
  const yielding = live.filter((browser) => browser.yielding);
  const free = live.filter((browser) => !browser.yielding);
  const kept = free.slice(0, 1);
  const others = free.slice(1);
  const roomy = (browser: T) => hasRoom(browser, call);
  const best = (among: readonly T[], toYield = false): Choice<T> | null => {
    const [browser] = [...among].sort((a, b) => compare(a, b, call));
    return browser === undefined ? null : { browser, toYield };
  };
  if (call.page === 'heavy' && yielding.some(roomy)) return best(yielding);
  if (call.page === 'heavy' && call.quickAbout) return best(others, true) ?? best(yielding) ?? best(live);
  if (call.page === 'unknown' && call.knownQuickAbout && yielding.length > 0) return best([...others, ...yielding]);
  if (call.page === 'quick' && yielding.length > 0)
    return best(kept.filter(roomy)) ?? best(others.filter(roomy)) ?? best(yielding.filter(isIdle)) ?? best(free) ?? best(yielding);
  return best(live);
}

/** Room first, then one that nothing holds up, then one that does not yield, then a page that stands ready, then the fewest neighbours. */
function compare(a: Candidate, b: Candidate, call: Call): number {
  return (
    Number(hasRoom(b, call)) - Number(hasRoom(a, call)) ||
    Number(a.strained) - Number(b.strained) ||
    Number(a.yielding) - Number(b.yielding) ||
    Number(b.warmFor(call.shapeKey) > 0) - Number(a.warmFor(call.shapeKey) > 0) ||
    a.active - b.active ||
    a.served - b.served
  );
}

function hasRoom({ active }: Candidate, { pagesPerBrowser }: Call): boolean {
  return active < pagesPerBrowser;
}

function isIdle({ active }: Candidate): boolean {
  return active === 0;
}
