/** A browser executable on this machine, with its requirements. */
export interface Executable {
  /** The absolute path. */
  path: string;
  /** The headless shell captures about twice as fast as full Chromium or Chrome. */
  kind: 'headless-shell' | 'chromium';
  /** Variables added to the browser's environment. */
  env?: Record<string, string>;
  /** Where it was found, for messages: "STILLFRAME_CHROMIUM", "data directory", "system", … */
  source: string;
  /** The version, for instance `156.0.8078.79`; absent if unknown. */
  version?: string;
}

/** Determines the kind by the program's name, since all distributors use the same name for the headless shell. */
export function kindOf(path: string): Executable['kind'] {
  return /headless[-_]shell|chrome-headless|@sparticuz/i.test(path) ? 'headless-shell' : 'chromium';
}

/** The machine that browsers run on. */
export const HOST = { platform: process.platform, arch: process.arch };

/** No browser is available. The message, one line, explains the remedy to the operator. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError';
}
