/**
 * A pool of Chromium processes with pages opened in advance. Each page is used once. Each process is monitored, restarted
 * after a crash, and recycled before it grows too large. Does not know what a capture does with its page.
 */

import { existsSync, lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import pTimeout from 'p-timeout';
import { type CaptureOptions, captureRequestSchema, toCaptureOptions } from '../../contract/capture-request.js';
import type { Egress, Passage } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import { type Emulation, emulationOf } from '../emulate/emulation-of.js';
import { describeAge } from '../install/browser-age.js';
import { versionOf } from '../launch/chromium-process.js';
import type { Executable } from '../launch/executable.js';
import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import { badEmulation, isBadEmulation, noBrowser } from './acquire-failure.js';
import { BrowserSupervisor } from './browser-supervisor.js';
import { MemoryGuard } from './memory-guard.js';
import type { OpenPageSession } from './open-page-session.js';
import { isOwnedName, ownerIsVisible, ownerLives } from './owned-name.js';
import type { PooledBrowser } from './pooled-browser.js';
import { copiesOf, entriesOf, profilesRoot, removeUnusedRoot, sweepProfiles } from './profile-dir.js';

const READY_WITHIN_MS = 30_000;
const HOST = { platform: process.platform, arch: process.arch };

export interface PoolOptions {
  executable: Executable;
  egress: Pick<Egress, 'openCaptureProxy'>;
  /** The number of Chromium processes. */
  browsers: number;
  /** The number of concurrent captures per browser, and thus of pages that an idle browser opens in advance. */
  pagesPerBrowser: number;
  /** Identifies this server's profiles, which are in the system's temporary directory, and holds the large files of its captures. */
  runDir: string;
  /** `required` never starts a browser without its sandbox. */
  sandbox: boolean | 'required';
  /** Whether pages get a clock that can run ahead. Default: true. */
  clock?: boolean;
  log: Log;
  /** The number of captures after which a browser is replaced, without effect on clients. Default: 500. */
  recycleAfter?: number;
  /** The limit for the server and all browsers (see MemoryGuard). Default: no limit. */
  memoryBytes?: number;
  /** The delay in ms, after the first browser's start, of the others, unless needed sooner. Default: 2,000. */
  followAfterMs?: number;
  /** Aborts the start, and kills the browser that is being started. */
  signal?: AbortSignal | undefined;
  now?(): number;
}

export interface PageLease {
  readonly session: PageSession;
  /** Aborts `session.lost` if the browser has a fault that may have affected the page. */
  verify(): void;
  /** Closes page, context and proxy within 2 s, and kills the browser if it does not respond. May be called twice. */
  release(): Promise<void>;
}

/** The capture's identity, and the local files that only its page may reach. */
type CapturePassage = Pick<Passage, 'requester' | 'local'>;

export class BrowserPool implements AsyncDisposable {
  private readonly mostUsed = new MostUsedEmulation();
  private readonly supervisor: BrowserSupervisor;
  private readonly defaultEmulation: Emulation;
  private readonly memory: MemoryGuard;

  private constructor(
    private readonly options: PoolOptions,
    profiles: string,
    private readonly knownVersion: string | null,
  ) {
    const plain = toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/' }));
    this.defaultEmulation = emulationOf(plain, knownVersion ?? '0', HOST);
    this.supervisor = new BrowserSupervisor({
      ...options,
      profiles,
      temporaryDir: temporaryDirOf(options.runDir),
      version: knownVersion,
      emulation: this.defaultEmulation,
      recycleAfter: options.recycleAfter,
      followAfterMs: options.followAfterMs,
      now: () => this.now(),
      onReady: (browser) => this.onBrowserReady(browser),
    });
    const { memoryBytes = Number.POSITIVE_INFINITY, log } = options;
    this.memory = new MemoryGuard({ memoryBytes, browsers: () => this.supervisor.running(), log });
  }

  /**
   * Resolves when the first browser has drawn a page. The others follow, at once if needed.
   * @throws Error if no browser can be started in any mode
   */
  static async start(options: PoolOptions): Promise<BrowserPool> {
    const profiles = profilesRoot(options.runDir);
    const [version, swept, abandoned, unfinished] = await Promise.all([
      options.executable.version ?? versionOf(options.executable),
      sweepProfiles(profiles),
      sweepAbandoned(profiles),
      sweepTemporary(temporaryDirOf(options.runDir)),
    ]);
    if (swept + abandoned + unfinished > 0)
      options.log.info({ directories: swept + abandoned + unfinished }, 'removed processes and directories of an earlier server');
    const pool = new BrowserPool(options, profiles, version);
    const stop = (): void => void pool[Symbol.asyncDispose]();
    options.signal?.addEventListener('abort', stop, { once: true });
    try {
      options.signal?.throwIfAborted();
      await pool.supervisor.start();
      pool.logVersion();
      return pool;
    } catch (error) {
      await pool[Symbol.asyncDispose]();
      throw error;
    } finally {
      options.signal?.removeEventListener('abort', stop);
    }
  }

  private logVersion(): void {
    const { executable, log } = this.options;
    const age = describeAge(this.version);
    const found = { version: this.version, path: executable.path, source: executable.source };
    if (age === null) log.info(found, 'Chromium started');
    else log.warn({ ...found, age }, 'Chromium is outdated: update it, or run: stillframe browser install --playwright');
  }

  /** Whether renderers run in Chromium's sandbox, as reported by the kernel. */
  get sandboxed(): boolean {
    return this.supervisor.sandboxed;
  }

  /** Chromium's full version, for instance `156.0.8078.79`. */
  get version(): string {
    return this.knownVersion ?? this.supervisor.live()[0]?.version ?? 'unknown';
  }

  /** The number of browsers that have responded in the last 30 s and have room for their temporary files. */
  readyBrowsers(): number {
    const since = this.now() - READY_WITHIN_MS;
    return this.supervisor.live().filter(({ lastAnswerAt, roomy }) => lastAnswerAt >= since && roomy).length;
  }

  /**
   * A new page session with the emulation of the options, opened in advance if possible. Its proxy counts traffic from now on.
   * @throws CaptureError invalid_request (a locale or timezone that Chromium does not know), internal_error 503 if no browser
   * was available before the signal aborted
   */
  async acquire(options: CaptureOptions, signal: AbortSignal, passage: CapturePassage = {}): Promise<PageLease> {
    const emulation = emulationOf(options, this.version, HOST);
    this.mostUsed.note(emulation);
    for (;;) {
      const browser = await this.reserve(emulation, signal);
      const lease = await this.lease(browser, emulation, signal);
      if (lease === null) continue;
      this.begin(lease, options, passage);
      return lease;
    }
  }

  private begin({ session }: PageLease, { proxy, html, url }: CaptureOptions, passage: CapturePassage): void {
    session.captureProxy.begin({ proxy, target: html === null ? url : null, ...passage });
  }

  /** Like `acquire`, but in a new browser that no other capture uses and that is stopped on release. */
  async acquireAlone(options: CaptureOptions, signal: AbortSignal, passage: CapturePassage = {}): Promise<PageLease> {
    const emulation = emulationOf(options, this.version, HOST);
    const starting = this.supervisor.startDedicated();
    const browser = await pTimeout(starting, { milliseconds: Number.POSITIVE_INFINITY, signal }).catch((error: unknown) => {
      this.supervisor.runInBackground(starting.then((late) => late[Symbol.asyncDispose]()));
      throw noBrowser(signal.aborted ? signal.reason : error);
    });
    browser.active += 1;
    const lease = await this.lease(browser, emulation, signal);
    if (lease === null) throw noBrowser(new Error('the browser died before it had a page'));
    this.begin(lease, options, passage);
    return lease;
  }

  /** Stops every browser within 3 s. Running captures are lost. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    this.memory[Symbol.dispose]();
    return this.supervisor[Symbol.asyncDispose]();
  }

  /** @returns null if the browser has crashed meanwhile, and another one can be tried */
  private async lease(browser: PooledBrowser, emulation: Emulation, signal: AbortSignal): Promise<PageLease | null> {
    const taking = browser.take(emulation);
    try {
      const session = await pTimeout(taking, { milliseconds: Number.POSITIVE_INFINITY, signal });
      browser.served += 1;
      let released: Promise<void> | undefined;
      return {
        session,
        verify: () => browser.verify(),
        release: () => {
          released ??= this.release(browser, session);
          return released;
        },
      };
    } catch (error) {
      this.supervisor.runInBackground(this.releaseLate(browser, taking));
      if (signal.aborted) throw noBrowser(signal.reason);
      if (isBadEmulation(error)) throw badEmulation(error as Error);
      if (browser.gone) return null;
      throw error;
    }
  }

  private async release(browser: PooledBrowser, session: OpenPageSession): Promise<void> {
    const closed = browser.close(session);
    browser.active -= 1;
    // The next page is opened while this one is being closed.
    this.fill(browser);
    await closed;
    this.supervisor.retireOrRecycle(browser);
  }

  /** Releases a page session that is no longer needed, or could not be opened. */
  private async releaseLate(browser: PooledBrowser, taking: Promise<OpenPageSession>): Promise<void> {
    const [outcome] = await Promise.allSettled([taking]);
    if (outcome.status === 'fulfilled') return this.release(browser, outcome.value);
    browser.active -= 1;
    this.fill(browser);
    this.supervisor.retireOrRecycle(browser);
  }

  /** Waits for a browser if there is none. Counts the capture at once, so that two concurrent ones get different browsers. */
  private async reserve(emulation: Emulation, signal: AbortSignal): Promise<PooledBrowser> {
    for (;;) {
      if (signal.aborted || this.supervisor.over) throw noBrowser(signal.reason);
      const { pagesPerBrowser } = this.options;
      const browser = chooseBrowser(this.supervisor.live(), { emulationKey: emulation.key, pagesPerBrowser });
      if (browser !== null) {
        if (browser.active > 0) this.supervisor.startAll();
        browser.active += 1;
        return browser;
      }
      await this.supervisor.browserStarted(signal);
    }
  }

  /** Closes the page that a new browser has drawn, if another emulation is needed. */
  private onBrowserReady(browser: PooledBrowser): void {
    const wanted = this.mostUsed.current;
    if (wanted !== null) this.supervisor.runInBackground(browser.drop(wanted.key));
    this.fill(browser);
  }

  /** Opens pages in advance, with the emulation that was most used recently. */
  private fill(browser: PooledBrowser): void {
    const emulation = this.mostUsed.current ?? this.defaultEmulation;
    const room = this.options.pagesPerBrowser - browser.active;
    if (!browser.live || room <= 0) return;
    if (browser.warmCount >= room && browser.warmFor(emulation.key) === 0) this.supervisor.runInBackground(browser.drop(emulation.key));
    for (let count = browser.warmCount; count < room; count++) this.supervisor.runInBackground(browser.prepare(emulation));
  }

  private now(): number {
    return this.options.now?.() ?? monotonicNow();
  }
}

/** The properties of a browser that the choice depends on. */
export interface Candidate {
  /** The number of running captures. */
  readonly active: number;
  /** The total number of captures. */
  readonly served: number;
  /** The number of open pages with this emulation. */
  warmFor(key: string): number;
}

interface Call {
  emulationKey: string;
  /** The number of concurrent captures per browser. */
  pagesPerBrowser: number;
}

/**
 * Chooses a capture's browser: one with a free slot, then one with an open page, then the one with the fewest running
 * captures.
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

const RECENT_MAX = 16;

/** The emulation that most of the last 16 captures used. The latest one wins a tie. */
class MostUsedEmulation {
  private recent: Emulation[] = [];

  note(emulation: Emulation): void {
    this.recent = [...this.recent.slice(1 - RECENT_MAX), emulation];
  }

  /** The latest emulation with the most used context options; null before the first capture. */
  get current(): Emulation | null {
    const counts = new Map<string, number>();
    for (const { key } of this.recent) counts.set(key, (counts.get(key) ?? 0) + 1);
    let best: Emulation | null = null;
    for (const emulation of this.recent) {
      if (best === null || (counts.get(emulation.key) ?? 0) >= (counts.get(best.key) ?? 0)) best = emulation;
    }
    return best;
  }
}

const ROOT = /^(stillframe-[0-9a-f]{10})(?:-browser)?$/;
/** A root directory is created shortly before its first profile, so a new one may be empty. */
const YOUNG_MS = 60_000;
/** No capture takes longer than this. */
const CAPTURE_MAX_MS = 60 * 60_000;

/** The directory of large files of captures, each in a directory whose name identifies its process. */
function temporaryDirOf(dataDir: string): string {
  return join(dataDir, 'temporary');
}

/**
 * Removes files left by captures of killed servers, including those that are not visible from here.
 * @returns the number of directories removed
 */
export async function sweepTemporary(dir: string): Promise<number> {
  const left = entriesOf(dir).filter((name) => isLeftBehind(name) || isOldWithHiddenOwner(dir, name));
  await Promise.all(left.map((name) => rm(join(dir, name), { recursive: true, force: true })));
  return left.length;
}

/** Whether a directory is old and its owner is not visible from here, for example because it runs in another container. */
function isOldWithHiddenOwner(dir: string, name: string): boolean {
  return isOwnedName(name) && !ownerIsVisible(name) && isOlderThan(CAPTURE_MAX_MS, join(dir, name));
}

/**
 * Removes profiles left in the temporary directory by killed servers of other data directories, which may never start again,
 * and kills their browsers.
 * @param root the profile directory of this server, which is kept
 * @returns the number of directories removed
 */
export async function sweepAbandoned(root: string): Promise<number> {
  const dir = dirname(root);
  const names = new Set(entriesOf(dir).flatMap((name) => ROOT.exec(name)?.[1] ?? []));
  names.delete(basename(root));
  const abandoned = [...names].map((name) => join(dir, name)).filter(isAbandoned);
  for (const other of abandoned) {
    await sweepProfiles(other);
    removeUnusedRoot(other);
  }
  return abandoned.length;
}

function isAbandoned(root: string): boolean {
  const places = [root, copiesOf(root)].filter((place) => existsSync(place));
  return places.every((place) => isOwnDirectory(place) && isOlderThan(YOUNG_MS, place)) && entriesOf(root).every(isLeftBehind);
}

function isLeftBehind(name: string): boolean {
  return isOwnedName(name) && ownerIsVisible(name) && !ownerLives(name);
}

function isOwnDirectory(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? 0);
}

function isOlderThan(ms: number, path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > ms;
}
