import { accessSync, constants } from 'node:fs';
import { BrowserError } from './browser-error.js';
import { namedBrowser, ownCopies, playwrightCache, systemBrowsers } from './browser-places.js';
import type { Executable } from './executable.js';
import { isProven, proveBrowser, rememberProof } from './prove-browser.js';

export interface FindOptions {
  /** --chromium or STILLFRAME_CHROMIUM; null when not set. */
  chromium: string | null;
  dataDir: string;
}

/**
 * The browser to use, in the order of operation.md: the one that was named, the copy in the data directory, the system's, Playwright's.
 * Each was proven by a capture, now or at an earlier start.
 * @returns null when there is none that works
 * @throws BrowserError when the named one does not work: an operator's choice is never passed over
 */
export async function findChromium(options: FindOptions): Promise<Executable | null> {
  if (options.chromium !== null) return proveNamed(options.chromium, options.dataDir);
  const found = [...ownCopies(options.dataDir), ...systemBrowsers(), ...playwrightCache()];
  return firstProven(found, options.dataDir, () => {});
}

/**
 * @param onFailure told of each that does not work, and why
 * @returns the first that works
 */
export async function firstProven(
  found: Executable[],
  dataDir: string,
  onFailure: (executable: Executable, error: Error) => void,
): Promise<Executable | null> {
  for (const executable of found) {
    try {
      await prove(executable, dataDir);
      return executable;
    } catch (error) {
      onFailure(executable, error as Error);
    }
  }
  return null;
}

async function proveNamed(path: string, dataDir: string): Promise<Executable> {
  const executable = namedBrowser(path, 'STILLFRAME_CHROMIUM');
  try {
    accessSync(executable.path, constants.X_OK);
    await prove(executable, dataDir);
    return executable;
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new BrowserError(`STILLFRAME_CHROMIUM (--chromium) is "${path}": it must be the path of a Chromium that can capture. ${reason}`, {
      cause: error,
    });
  }
}

async function prove(executable: Executable, dataDir: string): Promise<void> {
  if (isProven(executable, dataDir)) return;
  await proveBrowser(executable, dataDir);
  rememberProof(executable, dataDir);
}
