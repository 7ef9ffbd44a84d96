import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';
import { namedBrowser, ownCopies, playwrightCache, systemBrowsers } from '../../../src/render/browser/browser-places.js';
import type { Executable } from '../../../src/render/browser/executable.js';

const named = process.env.STILLFRAME_CHROMIUM;
const found = [...ownCopies(join(homedir(), '.stillframe')), ...systemBrowsers(), ...playwrightCache()];

/** The browser that the program itself would use here: `npm test` has seen to it that there is one. */
export const ANY_BROWSER: Executable = anyBrowser();

/** One browser of each kind that this machine has. */
export const EACH_KIND: Executable[] = [ANY_BROWSER, ...found.filter(({ kind }) => kind !== ANY_BROWSER.kind).slice(0, 1)];

/** That browser, started by Playwright itself: for tests of what runs in a page. */
export function launchAnyBrowser(options: LaunchOptions): Promise<Browser> {
  const { path, env } = ANY_BROWSER;
  return chromium.launch({ executablePath: path, env: { ...process.env, ...env }, ...options });
}

function anyBrowser(): Executable {
  const first = named === undefined ? found[0] : namedBrowser(named, 'STILLFRAME_CHROMIUM');
  if (first === undefined) throw new Error('No Chromium for the tests. Run: node dist/main.js browser install');
  return first;
}
