import type { Expectation } from './page-history.js';

/** The properties of a browser that the choice depends on. */
export interface Candidate {
  /** Running captures. */
  readonly active: number;
  /** Captures in total. */
  readonly served: number;
  readonly strained: boolean;
  /** Whether the whole browser has a lower priority. */
  readonly yielding: boolean;
  /** Open pages with this emulation. */
  warmFor(key: string): number;
}

export interface Call {
  emulationKey: string;
  /** Concurrent captures per browser. */
  pagesPerBrowser: number;
  page: Expectation;
  /** Whether there were quick captures recently, which heavy pages must not delay. */
  quickAbout: boolean;
  /** Whether there were recent captures of pages that are known to be quick. */
  knownQuickAbout: boolean;
}

export interface Choice<T> {
  browser: T;
  /** Whether its priority must be lowered from now on. */
  toYield: boolean;
}

/**
 * Chooses the browser of a capture. Heavy pages share browsers with a lower priority. While there are quick captures, one browser with normal
 * priority is kept free of heavy pages; and also of unknown pages, while there are captures of pages that are known to be quick.
 * @param live in a stable order
 * @returns null if there is no browser
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
 * Preference: a free slot; then shared processes that are not busy; then, except for heavy pages, normal priority; then an open page; then
 * the fewest running captures.
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
