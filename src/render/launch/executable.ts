/** A browser program on this machine, and what it needs to run. */
export interface Executable {
  /** Absolute. */
  path: string;
  /** The shell captures about twice as fast as full Chromium or Chrome. */
  kind: 'headless-shell' | 'chromium';
  /** Added to the browser's environment. */
  env?: Record<string, string>;
  /** Where it was found, for people: "STILLFRAME_CHROMIUM", "data directory", "system", … */
  source: string;
  /** As `156.0.8078.79`; absent when it is not known. */
  version?: string;
}

/** The kind as the program's name tells it: the shell is called so by every distributor. */
export function kindOf(path: string): Executable['kind'] {
  return /headless[-_]shell|chrome-headless|@sparticuz/i.test(path) ? 'headless-shell' : 'chromium';
}
