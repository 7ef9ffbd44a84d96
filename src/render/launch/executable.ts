/** A browser executable on this machine, and what it needs to run. */
export interface Executable {
  /** Absolute. */
  path: string;
  /** The headless shell captures about twice as fast as full Chromium or Chrome. */
  kind: 'headless-shell' | 'chromium';
  /** Added to the browser's environment. */
  env?: Record<string, string>;
  /** Where it was found, for messages: "STILLFRAME_CHROMIUM", "data directory", "system", … */
  source: string;
  /** Such as `156.0.8078.79`; absent if unknown. */
  version?: string;
}

/** The kind, by the program's name: all distributors use the same name for the headless shell. */
export function kindOf(path: string): Executable['kind'] {
  return /headless[-_]shell|chrome-headless|@sparticuz/i.test(path) ? 'headless-shell' : 'chromium';
}
