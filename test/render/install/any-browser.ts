import { cpSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';
import { findChromium, listBrowsers } from '../../../src/render/install/find-chromium.js';
import type { Executable } from '../../../src/render/launch/executable.js';

/** The directory in which `npm test` installs a browser if there is none, and stores results: never a user's data directory. */
export const BROWSER_DIR = join(resolve(import.meta.dirname, '../../..'), 'node_modules/.cache/stillframe/browser');

/** The browser that the program itself would use here: `npm test` has seen to it that there is one. */
export const ANY_BROWSER: Executable = await anyBrowser();

/** One browser of each kind that this machine has. */
export const EACH_KIND: Executable[] = [
  ANY_BROWSER,
  ...(await listBrowsers(BROWSER_DIR)).filter(isOfOtherKind).slice(0, 1),
];

/** It asks for nothing by itself, and runs as root too. */
export const QUIET_FLAGS = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
];

/** That browser, started by Playwright itself: for tests of what runs in a page. */
export function launchAnyBrowser(options: LaunchOptions): Promise<Browser> {
  const { path, env } = ANY_BROWSER;
  return chromium.launch({ executablePath: path, env: { ...process.env, ...env }, ...options });
}

/** Tells a new data directory what is known of the browsers, so that a program that uses it need not test them again. */
export function rememberBrowsers(dataDir: string): void {
  const known = join('chromium', 'browsers.json');
  if (existsSync(join(BROWSER_DIR, known))) cpSync(join(BROWSER_DIR, known), join(dataDir, known));
}

async function anyBrowser(): Promise<Executable> {
  const found = await findChromium({
    chromium: process.env.STILLFRAME_CHROMIUM ?? null,
    dataDir: BROWSER_DIR,
    sandbox: true,
  });
  if (found === null) throw new Error('No Chromium for the tests. Run: npm test, which installs one');
  return found;
}

function isOfOtherKind({ kind }: Executable): boolean {
  return kind !== ANY_BROWSER.kind;
}
