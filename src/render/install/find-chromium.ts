import { accessSync, constants, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { versionOf } from '../launch/chromium-process.js';
import type { Executable } from '../launch/executable.js';
import { BrowserError, firstLine, SandboxMissing } from '../launch/launch-mode.js';
import { copiesDir, namedBrowser, ownCopies, playwrightCache, systemBrowsers } from './browser-places.js';
import type { BrowserCheckOptions } from './check-browser.js';

/** Increased when the test of checkBrowser checks more, so that known browsers are tested again. */
export const BROWSER_CHECK_VERSION = 3;

interface FindOptions extends BrowserCheckOptions {
  /** The value of --chromium or STILLFRAME_CHROMIUM; null if not set. */
  chromium: string | null;
}

export interface RankedBrowser extends Executable {
  /** Whether its test has failed recently. */
  failed: boolean;
}

/** About a quarter of a year of releases. No maintained package is further behind. */
const FAR_BEHIND_MAJORS = 6;
/** More than Chromium will ever have. */
const MAJORS_MAX = 10_000;
/** The time, in ms, for which a browser ranks last after a failure, which may have been a temporary problem of the machine. */
const FAILURE_COUNTS_MS = 24 * 3_600_000;

/**
 * The browser to use: the configured one, or the best of those in the data directory, the system and Playwright's cache. It
 * has passed the test, now or at an earlier start.
 * @returns null if none works
 * @throws BrowserError if the configured one does not work, since it is never replaced, or if only the sandbox is missing
 */
export async function findChromium(options: FindOptions): Promise<Executable | null> {
  if (options.chromium !== null) return checkNamed(options.chromium, options);
  return firstWorking(await listBrowsers(options.dataDir), options, () => {});
}

/** All browsers of this machine, best first and untested. */
export async function listBrowsers(dataDir: string): Promise<RankedBrowser[]> {
  const found = [...ownCopies(dataDir), ...systemBrowsers(), ...playwrightCache()];
  return rankBrowsers(await Promise.all(found.map((executable) => withVersion(executable, dataDir))));
}

/**
 * Sorts browsers by failure (recent failures last), distance behind the newest, kind (headless shells first), and version.
 * Equal ones keep their order.
 */
export function rankBrowsers(found: readonly RankedBrowser[]): RankedBrowser[] {
  const newest = Math.max(0, ...found.filter(({ failed }) => !failed).map(({ version }) => majorOf(version)));
  const rank = ({ failed, version, kind }: RankedBrowser) => {
    const isFarBehind = newest - majorOf(version) >= FAR_BEHIND_MAJORS;
    const group = Number(failed) * 4 + Number(isFarBehind) * 2 + Number(kind !== 'headless-shell');
    return group * MAJORS_MAX - majorOf(version);
  };
  return [...found].sort((a, b) => rank(a) - rank(b));
}

async function withVersion(executable: Executable, dataDir: string): Promise<RankedBrowser> {
  const known = recallBrowser(executable, dataDir);
  const version = known?.version ?? (await versionOf(executable));
  if (known === null) rememberBrowser(executable, dataDir, { version });
  const failedAt = known?.failedAt ?? null;
  const failed = failedAt !== null && Math.abs(Date.now() - failedAt) < FAILURE_COUNTS_MS;
  return { ...executable, version: version ?? undefined, failed };
}

/**
 * @param onFailure called for each browser that does not work, with the reason
 * @returns the first one that works; null if none does
 * @throws BrowserError if none works, and one only because the required sandbox is missing
 */
export async function firstWorking(
  found: readonly Executable[],
  options: BrowserCheckOptions,
  onFailure: (executable: Executable, error: Error) => void,
): Promise<Executable | null> {
  let unconfined: SandboxMissing | null = null;
  for (const executable of found) {
    try {
      return await check(executable, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      if (error instanceof SandboxMissing) unconfined ??= error;
      onFailure(executable, error as Error);
    }
  }
  if (unconfined !== null) throw unconfined;
  return null;
}

async function checkNamed(path: string, options: BrowserCheckOptions): Promise<Executable> {
  const executable = namedBrowser(path, 'STILLFRAME_CHROMIUM');
  try {
    accessSync(executable.path, constants.X_OK);
    return await check(executable, options);
  } catch (error) {
    if (error instanceof SandboxMissing) throw error;
    const rule = 'it must be the path of a Chromium that can capture';
    throw new BrowserError(`STILLFRAME_CHROMIUM (--chromium) is "${path}": ${rule}. ${firstLine(error)}`, {
      cause: error,
    });
  }
}

async function check(executable: Executable, options: BrowserCheckOptions): Promise<Executable> {
  const known = recallBrowser(executable, options.dataDir);
  if (known?.proof === BROWSER_CHECK_VERSION && known.version !== null)
    return { ...executable, version: known.version, drawsOnDemand: known.drawsOnDemand };
  try {
    const { checkBrowser } = await import('./check-browser.js');
    const found = await checkBrowser(executable, options);
    rememberBrowser(executable, options.dataDir, { ...found, proof: BROWSER_CHECK_VERSION, failedAt: null });
    return { ...executable, ...found };
  } catch (error) {
    const isItsFault = !(error instanceof SandboxMissing) && options.signal?.aborted !== true;
    if (isItsFault) rememberBrowser(executable, options.dataDir, { failedAt: Date.now() });
    throw error;
  }
}

interface KnownBrowser {
  /** Identifies the file's content. */
  file: string;
  /** The version, for instance `156.0.8078.79`; null if it reports none. */
  version: string | null;
  /** Whether it can draw only on demand. */
  drawsOnDemand: boolean;
  /** The version of the test that it has passed; 0 for none. */
  proof: number;
  /** When it last failed, in Unix ms; null if it has not failed since it last passed. */
  failedAt: number | null;
}

/** @returns null if this file is unknown */
export function recallBrowser(executable: Executable, dataDir: string): KnownBrowser | null {
  const found = read(dataDir)[executable.path];
  return found !== undefined && found.file === fingerprint(executable) ? found : null;
}

/** Stores a result for the file. If the data directory is not writable, the next start only takes longer. */
export function rememberBrowser(executable: Executable, dataDir: string, news: Partial<KnownBrowser>): void {
  try {
    const unknown = { version: null, drawsOnDemand: false, proof: 0, failedAt: null };
    const entry = { ...unknown, ...recallBrowser(executable, dataDir), ...news, file: fingerprint(executable) };
    const [file, draft] = [recordFile(dataDir), `${recordFile(dataDir)}.${process.pid}`];
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(draft, JSON.stringify({ ...read(dataDir), [executable.path]: entry }), { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    // The data directory is read-only or full.
  }
}

function read(dataDir: string): Record<string, KnownBrowser> {
  try {
    return JSON.parse(readFileSync(recordFile(dataDir), 'utf8')) as Record<string, KnownBrowser>;
  } catch {
    return {};
  }
}

function recordFile(dataDir: string): string {
  return join(copiesDir(dataDir), 'browsers.json');
}

function fingerprint({ path, env }: Executable): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return JSON.stringify([found?.size, found?.mtimeMs, found?.ino, env ?? {}]);
}

/** The major version; 0 if unknown. */
function majorOf(version: string | null | undefined): number {
  return Number.parseInt(version ?? '', 10) || 0;
}

/**
 * Describes the age of a browser, for messages.
 * @returns null if it is not far behind, or its age is unknown
 */
export function describeAge(version: string): string | null {
  const behind = playwrightMajor() - majorOf(version);
  if (majorOf(version) === 0 || behind < FAR_BEHIND_MAJORS) return null;
  return `${behind} major versions behind Chromium ${playwrightMajor()}, and without the security fixes since`;
}

/** The version that Playwright was released with: a recent Chromium version that is known without a network. */
function playwrightMajor(): number {
  try {
    const { browsers } = JSON.parse(readFileSync(fileOfPlaywright('browsers.json'), 'utf8')) as {
      browsers: { name: string; browserVersion?: string }[];
    };
    return majorOf(browsers.find(({ name }) => name === 'chromium')?.browserVersion);
  } catch {
    return 0;
  }
}

/** The path of a file of the installed Playwright. */
export function fileOfPlaywright(name: string): string {
  return join(dirname(createRequire(import.meta.url).resolve('playwright-core/package.json')), name);
}
