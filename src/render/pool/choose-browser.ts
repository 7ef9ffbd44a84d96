/** The properties of a browser that the choice depends on. */
export interface Candidate {
  /** Running captures. */
  readonly active: number;
  /** Captures in total. */
  readonly served: number;
  /** Open pages with this emulation. */
  warmFor(key: string): number;
}

export interface Call {
  emulationKey: string;
  /** Concurrent captures per browser. */
  pagesPerBrowser: number;
}

/**
 * Chooses the browser of a capture: one with a free slot; then one with an open page; then the one with the fewest running captures.
 *
 * @param live in a stable order
 * @returns null if there is no browser
 */
export function chooseBrowser<T extends Candidate>(live: readonly T[], call: Call): T | null {
  const [best] = [...live].sort((a, b) => compare(a, b, call));
  return best ?? null;
}

function compare(a: Candidate, b: Candidate, call: Call): number {
  return (
    Number(hasRoom(b, call)) - Number(hasRoom(a, call)) ||
    Number(b.warmFor(call.emulationKey) > 0) - Number(a.warmFor(call.emulationKey) > 0) ||
    a.active - b.active ||
    a.served - b.served
  );
}

function hasRoom({ active }: Candidate, { pagesPerBrowser }: Call): boolean {
  return active < pagesPerBrowser;
}
