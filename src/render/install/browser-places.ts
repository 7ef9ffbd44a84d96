import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type Executable, kindOf } from '../launch/executable.js';
import { entriesOf } from '../launch/profile-dir.js';

/** The directory of this program's own browsers. */
export function copiesDir(dataDir: string): string {
  return join(dataDir, 'chromium');
}

/** Browsers in the data directory: the headless shell before the full browser, newer versions before older. */
export function ownCopies(dataDir: string): Executable[] {
  const inflated = inflatedIn(inflatedDir(dataDir), 'data directory');
  return [...downloads(copiesDir(dataDir), 'data directory'), ...(inflated === null ? [] : [inflated])];
}

/** Browsers of the system. Headless shells come first, since they capture about twice as fast (operation.md, Start-up). */
export function systemBrowsers(): Executable[] {
  const paths = [...SHELLS, ...(process.platform === 'darwin' ? MAC_BROWSERS : BROWSERS)].filter(isFile).map(unwrap);
  return [...new Set(paths)].map((path) => ({ path, kind: kindOf(path), source: 'system' }));
}

/** Browsers that Playwright has downloaded for this user. */
export function playwrightCache(): Executable[] {
  const cache = process.platform === 'darwin' ? 'Library/Caches/ms-playwright' : '.cache/ms-playwright';
  return downloads(join(homedir(), cache), "Playwright's cache");
}

/** The browser that the operator has configured. */
export function namedBrowser(path: string, source: string): Executable {
  const inflatedCopy = inflatedIn(dirname(path), source);
  if (inflatedCopy?.path === path) return inflatedCopy;
  return { path: isFile(path) ? unwrap(path) : path, kind: kindOf(path), source };
}

/** The directory of the copy from an npm package, which includes its libraries. */
export function inflatedDir(dataDir: string): string {
  return join(copiesDir(dataDir), 'inflated');
}

const SHELLS = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium-headless-shell',
  '/usr/lib64/chromium-browser/headless_shell',
  '/usr/lib/chromium-browser/headless_shell',
  '/usr/bin/chrome-headless-shell',
  '/opt/chrome-headless-shell/chrome-headless-shell',
  '/headless-shell/headless-shell',
];

const BROWSERS = [
  '/usr/lib/chromium/chromium',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/opt/google/chrome/chrome',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/usr/bin/microsoft-edge',
  '/snap/bin/chromium',
];

const MAC_BROWSERS = ['Chromium', 'Google Chrome', 'Microsoft Edge'].map(
  (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
);

/** Expects Playwright's layout: <name>-<revision>/<platform>/<program>. */
function downloads(root: string, source: string): Executable[] {
  const found = entriesOf(root).flatMap((dir) => {
    const [, name, revision] = /^(chromium_headless_shell|chromium)-(\d+)$/.exec(dir) ?? [];
    if (name === undefined) return [];
    const programs = entriesOf(join(root, dir)).flatMap((platform) =>
      PROGRAMS.map((program) => join(root, dir, platform, program)),
    );
    return programs.filter(isFile).map((path) => ({ path, shell: name !== 'chromium', revision: Number(revision) }));
  });
  found.sort((a, b) => Number(b.shell) - Number(a.shell) || b.revision - a.revision);
  return found.map(({ path, shell }) => ({ path, kind: shell ? 'headless-shell' : 'chromium', source }));
}

const PROGRAMS = ['chrome-headless-shell', 'headless_shell', 'chrome', 'Chromium.app/Contents/MacOS/Chromium'];

/** @returns null if the directory has no such copy */
function inflatedIn(home: string, source: string): Executable | null {
  const path = join(home, 'chromium');
  const libraries = join(home, 'al2023', 'lib');
  if (!isFile(path) || !existsSync(libraries)) return null;
  const env: Record<string, string> = { LD_LIBRARY_PATH: libraries };
  // Its own fonts are used only if the system has none.
  if (!existsSync('/etc/fonts/fonts.conf')) env.FONTCONFIG_PATH = join(home, 'fonts');
  return { path, kind: 'headless-shell', env, source };
}

/**
 * The program behind a distribution's wrapper script, or the script if there is none. Wrappers add flags, environment
 * variables, and a process between server and browser.
 */
function unwrap(path: string): string {
  const real = realpathSync(path);
  if (!isScript(real)) return real;
  const candidates = [join(dirname(real), 'chrome'), ...LIBRARIES.map((dir) => join(dir, basename(path)))];
  return candidates.find((candidate) => isFile(candidate) && !isScript(candidate)) ?? path;
}

const LIBRARIES = ['/usr/lib/chromium', '/usr/lib64/chromium-browser', '/usr/lib/chromium-browser'];

function isScript(path: string): boolean {
  const head = Buffer.alloc(2);
  const file = openSync(path, 'r');
  try {
    readSync(file, head, 0, 2, 0);
  } finally {
    closeSync(file);
  }
  return head.toString('latin1') === '#!';
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
