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
  /** Pages that stand ready with this emulation. */
  warmFor(key: string): number;
}

export interface Call {
  emulationKey: string;
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
 * Where a capture goes. Heavy pages come together in browsers that yield. As long as quick ones are about, one browser that does not yield
 * is kept free of them; and of those of which nothing is known, while there are some that are known to be quick.
 * @param live in an order that stays
 * @returns null when there is no browser
 */
export function chooseBrowser<T extends Candidate>(live: readonly T[], call: Call): Choice<T> | null {
  const yielding = live.filter((browser) => browser.yielding);
  const free = live.filter((browser) => !browser.yielding);
  const allButKept = free.slice(1);
  const roomy = (browser: T) => hasRoom(browser, call);
  const best = (among: readonly T[], toYield = false): Choice<T> | null => {
    const [browser] = [...among].sort((a, b) => compare(a, b, call));
    return browser === undefined ? null : { browser, toYield };
  };
  switch (call.page) {
    case 'heavy':
      if (!call.quickAbout) return best(live);
      return best(yielding.filter(roomy)) ?? best(allButKept, true) ?? best(yielding) ?? best(live);
    case 'unknown':
      if (!call.knownQuickAbout || yielding.length === 0) return best(live);
      return best([...allButKept, ...yielding].filter(roomy)) ?? best(live);
    case 'quick': {
      const calm = free.filter((browser) => roomy(browser) && !browser.strained);
      return best(calm) ?? best(yielding.filter(isIdle)) ?? best(free.filter(roomy)) ?? best(free) ?? best(yielding);
    }
  }
}

/**
 * Room first, then one that nothing holds up, then, for others than heavy pages, one that does not yield, then a page that stands ready, then
 * the fewest neighbours.
 */
function compare(a: Candidate, b: Candidate, call: Call): number {
  const mindsYielding = call.page !== 'heavy';
  return (
    Number(hasRoom(b, call)) - Number(hasRoom(a, call)) ||
    Number(a.strained) - Number(b.strained) ||
    (mindsYielding ? Number(a.yielding) - Number(b.yielding) : 0) ||
    Number(b.warmFor(call.emulationKey) > 0) - Number(a.warmFor(call.emulationKey) > 0) ||
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
