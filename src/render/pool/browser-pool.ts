/**
 * A pool of Chromium processes with pages opened in advance. Each page is used once. Each process is monitored, restarted
 * after a crash, and recycled before it grows too large. Does not know what a capture does with its page.
 */

import { addAbortListener, EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaptureError } from '../../contract/capture-error.js';
import {
  type CaptureOptions,
  captureRequestSchema,
  isOwnDocument,
  toCaptureOptions,
} from '../../contract/capture-request.js';
import type { Egress, ProxyContext } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import { monotonicNow, unlessAborted } from '../deadlines.js';
import { describeAge } from '../install/find-chromium.js';
import { versionOf } from '../launch/chromium-process.js';
import { type Emulation, emulationOf } from '../launch/emulation.js';
import { type Executable, HOST } from '../launch/executable.js';
import { FontFolder } from '../launch/font-folder.js';
import { type LaunchMode, launchSandboxed, SandboxMissing, type SandboxSetting } from '../launch/launch-mode.js';
import { renderersSandboxed } from '../launch/process-table.js';
import {
  profilesRoot,
  removeUnusedRoot,
  sweepAbandoned,
  sweepProfiles,
  sweepTemporary,
  temporaryDirOf,
} from '../launch/profile-dir.js';
import { NoBrowser, type PageSession } from '../page-session.js';
import { MemoryGuard } from './memory-guard.js';
import type { OpenPageSession } from './open-page-session.js';
import { PooledBrowser } from './pooled-browser.js';

const READY_WITHIN_MS = 30_000;
/** The number of captures after which a browser is replaced. */
const RECYCLE_AFTER_CAPTURES = 500;
/** The delay of each browser after the one before it, unless needed sooner, so that the first captures have the machine to themselves. */
const FOLLOW_AFTER_MS = 2_000;
/** The maximum number of votes for the prevailing emulation. */
const VOTES_MAX = 8;
/** Delays before the first attempts to restart a browser, and before each later one. */
const RESTART_WAITS_MS = [0, 250, 1_000];
const RESTART_WAIT_MAX_MS = 5_000;

export interface PoolOptions {
  executable: Executable;
  egress: Pick<Egress, 'openCaptureProxy'>;
  /** The number of Chromium processes. */
  browsers: number;
  /**
   * The number of concurrent captures per browser, and thus of pages that an idle browser opens in advance. A browser with one page draws
   * only when it is told to, if it can: several pages of it would wait for each other.
   */
  pagesPerBrowser: number;
  /** Whether browsers may draw only on demand, which needs `clock`. Default: false. */
  framesOnDemand?: boolean;
  /** The folder of the operator's fonts; browsers are replaced when it changes. Default: none. */
  fontsDir?: string;
  /** Identifies this server's profiles, which are in the system's temporary directory, and holds the large files of its captures. */
  runDir: string;
  sandbox: SandboxSetting;
  /** Whether pages get a clock that can run ahead. Default: true. */
  clock?: boolean;
  /** The only capture that will be made: its page is opened in advance, and no other. Default: pages for any number of captures. */
  only?: CaptureOptions;
  log: Log;
  /** The number of captures after which a browser is replaced, without effect on clients. Default: 500. */
  recycleAfter?: number;
  /** The limit for the server and all browsers (see MemoryGuard). Default: no limit. */
  memoryBytes?: number;
  /** The delay in ms, after the first browser's start, of the others, unless needed sooner. Default: 2,000. */
  followAfterMs?: number;
  /** Aborts the start, and kills the browser that is being started. */
  signal?: AbortSignal;
  now?(): number;
}

export interface PageLease {
  readonly session: PageSession;
  /** Aborts `session.lost` if the browser has a fault that may have affected the page. */
  verify(): void;
  /** Lets the page leave the processor to other pages, until its end. */
  lowerPriority(): void;
  /** Must be called after a failure that a crash may have caused: the crash is reported a little later. Takes up to 1 s if the page does not respond. */
  awaitCrash(): Promise<void>;
  /** Closes page, context and proxy within 2 s, and kills the browser if it does not respond. May be called twice. */
  release(): Promise<void>;
}

/** The capture's identity, and the files that only its page may reach. */
type CapturePassage = Pick<ProxyContext, 'requester' | 'local' | 'own'>;

export class BrowserPool implements AsyncDisposable {
  /** Whether renderers run in Chromium's sandbox, as reported by the kernel. */
  sandboxed = false;
  /** All browsers that can be used, including those that accept no new captures. */
  readonly #browsers = new Set<PooledBrowser>();
  /** The emulation of the page that a browser draws before its first use. */
  readonly #defaultEmulation: Emulation;
  /** The emulation of pages that are opened in advance: that of most captures lately, by a majority vote. */
  #usual: Emulation;
  #votes = 0;
  /** The version of the fonts with which a browser was started. */
  readonly #fontsOf = new WeakMap<PooledBrowser, string>();
  readonly #fonts: FontFolder;
  readonly #memory: MemoryGuard;
  readonly #now: () => number;
  readonly #ended = new AbortController();
  readonly #startAllNow = new AbortController();
  /** Emits `free` when a browser accepts captures, and when the pool has ended. */
  readonly #events = new EventEmitter().setMaxListeners(0);
  /** Background work, which stopping waits for. */
  readonly #background = new Set<Promise<unknown>>();
  #mode: LaunchMode | undefined;
  #ending: Promise<void> | undefined;

  private constructor(
    private readonly options: PoolOptions,
    private readonly profiles: string,
    private readonly knownVersion: string | null,
  ) {
    const first = options.only ?? toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/' }));
    this.#defaultEmulation = emulationOf(first, knownVersion ?? '0', HOST);
    this.#usual = this.#defaultEmulation;
    this.#now = options.now ?? monotonicNow;
    this.#fonts = new FontFolder(options.fontsDir ?? null, this.#now);
    const { memoryBytes = Number.POSITIVE_INFINITY, log } = options;
    this.#memory = new MemoryGuard({ memoryBytes, browsers: () => [...this.#browsers], log });
  }

  /**
   * Resolves when the first browser has drawn a page. The others follow, at once if needed.
   * @throws Error if no browser can be started in any mode
   */
  static async start(options: PoolOptions): Promise<BrowserPool> {
    const profiles = profilesRoot(options.runDir);
    const [version, ...swept] = await Promise.all([
      options.executable.version ?? versionOf(options.executable),
      sweepProfiles(profiles),
      sweepAbandoned(profiles),
      sweepTemporary(temporaryDirOf(options.runDir)),
    ]);
    const directories = swept.reduce((sum, count) => sum + count);
    if (directories > 0) options.log.info({ directories }, 'removed processes and directories of an earlier server');
    const pool = new BrowserPool(options, profiles, version);
    using _abort = options.signal && addAbortListener(options.signal, () => void pool[Symbol.asyncDispose]());
    try {
      options.signal?.throwIfAborted();
      await pool.#startFirst();
      pool.#logVersion();
      return pool;
    } catch (error) {
      await pool[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Chromium's full version, for instance `156.0.8078.79`. */
  get version(): string {
    return this.knownVersion ?? this.#live()[0]?.chromium.browser.version() ?? 'unknown';
  }

  /** The number of browsers that have responded in the last 30 s and have room for their temporary files. */
  readyBrowsers(): number {
    const since = this.#now() - READY_WITHIN_MS;
    return this.#live().filter(({ lastAnswerAt, roomy }) => lastAnswerAt >= since && roomy).length;
  }

  /**
   * A new page session with the emulation of the options, opened in advance if possible. Its proxy counts traffic from now on.
   * @throws CaptureError invalid_request (a locale or timezone that Chromium does not know), internal_error 503 if no browser
   * was available before the signal aborted
   */
  async acquire(options: CaptureOptions, signal: AbortSignal, passage: CapturePassage = {}): Promise<PageLease> {
    const emulation = emulationOf(options, this.version, HOST);
    this.#vote(emulation);
    this.#followFonts();
    for (;;) {
      const browser = await this.#reserve(emulation, signal);
      const lease = await this.#lease(browser, emulation, signal);
      if (lease !== null) return begin(lease, options, passage);
    }
  }

  /** Like `acquire`, but in a new browser that draws by itself, that no other capture uses, and that is stopped on release. */
  async acquireAlone(options: CaptureOptions, signal: AbortSignal, passage: CapturePassage = {}): Promise<PageLease> {
    const emulation = emulationOf(options, this.version, HOST);
    const starting = this.#launch({ drawsOnDemand: false });
    const browser = await unlessAborted(starting, signal).catch((error: unknown) => {
      this.#runInBackground(starting.then((late) => late[Symbol.asyncDispose]()));
      throw new NoBrowser(signal.aborted ? signal.reason : error);
    });
    browser.state = 'retiring';
    browser.active += 1;
    const lease = await this.#lease(browser, emulation, signal);
    if (lease === null) throw new NoBrowser(new Error('the browser died before it had a page'));
    return begin(lease, options, passage);
  }

  /** Stops every browser within 3 s. Running captures are lost. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  get #drawsOnDemand(): boolean {
    const { executable, framesOnDemand = false, clock = true, pagesPerBrowser } = this.options;
    return framesOnDemand && clock && pagesPerBrowser === 1 && executable.drawsOnDemand === true;
  }

  get #over(): boolean {
    return this.#ended.signal.aborted;
  }

  async #end(): Promise<void> {
    this.#memory[Symbol.dispose]();
    this.#ended.abort();
    await Promise.allSettled([...this.#browsers].map((browser) => browser[Symbol.asyncDispose]()));
    await Promise.allSettled(this.#background);
    removeUnusedRoot(this.profiles);
    this.#events.emit('free');
  }

  /** Runs maintenance work, logs its failure, and makes stopping wait for it. */
  #runInBackground(work: Promise<unknown>): void {
    this.#background.add(work);
    void work
      .catch((error: unknown) => this.options.log.error({ err: error }, 'browser maintenance failed'))
      .finally(() => this.#background.delete(work));
  }

  async #startFirst(): Promise<void> {
    const { sandbox, log, browsers } = this.options;
    const launching = launchSandboxed(sandbox, (mode) => this.#launch({ mode }));
    // A failure is reported by this method. Stopping waits for the launch to end.
    this.#runInBackground(Promise.allSettled([launching]));
    const { started, mode, concession } = await launching;
    this.#mode = mode;
    this.sandboxed = mode.sandbox && (renderersSandboxed(started.chromium.pid) ?? true);
    if (!this.sandboxed && sandbox === 'required') throw new SandboxMissing('its renderers have no seccomp filter');
    if (!this.sandboxed && sandbox)
      log.warn({ reason: concession }, 'Chromium runs without its sandbox: this system does not allow it');
    if (!sandbox && concession !== null)
      log.warn({ reason: concession }, 'Chromium runs as root: it could not be started as another user');
    this.#serve(started);
    for (let count = 1; count < browsers; count++) this.#runInBackground(this.#startLater(count));
  }

  #logVersion(): void {
    const { executable, log } = this.options;
    const age = describeAge(this.version);
    const found = { version: this.version, path: executable.path, source: executable.source };
    if (age === null) log.info(found, 'Chromium started');
    else
      log.warn({ ...found, age }, 'Chromium is outdated: update it, or run: stillframe browser install --playwright');
  }

  /** @param place the number of browsers that start before it */
  async #startLater(place: number): Promise<void> {
    const signal = AbortSignal.any([this.#ended.signal, this.#startAllNow.signal]);
    await sleep(place * (this.options.followAfterMs ?? FOLLOW_AFTER_MS), undefined, { signal }).catch(() => {});
    await this.#startAnother();
  }

  async #startAnother(): Promise<void> {
    for (let failures = 0; !this.#over; failures++) {
      await sleep(RESTART_WAITS_MS[failures] ?? RESTART_WAIT_MAX_MS, undefined, { signal: this.#ended.signal }).catch(
        () => {},
      );
      if (this.#over) return;
      try {
        return this.#serve(await this.#launch());
      } catch (error) {
        if (!this.#over) this.options.log.error({ err: error, failures }, 'a browser could not be started');
      }
    }
  }

  /** @returns a browser that has drawn a page, and accepts no captures yet */
  async #launch({ mode = this.#mode, drawsOnDemand = this.#drawsOnDemand } = {}): Promise<PooledBrowser> {
    if (mode === undefined) throw new Error('how browsers are to be confined is not known yet');
    const { executable, egress, clock = true, runDir, fontsDir = null, log } = this.options;
    const fonts = this.#fonts.version();
    const browser = await PooledBrowser.start({
      launch: {
        executable,
        fonts: fontsDir,
        profiles: this.profiles,
        version: this.knownVersion,
        drawsOnDemand,
        ...mode,
        signal: this.#ended.signal,
      },
      egress,
      clock,
      log,
      now: this.#now,
      emulation: this.#defaultEmulation,
      temporaryDir: temporaryDirOf(runDir),
      onGone: (gone, why) => this.#replaceGone(gone, why),
    });
    this.#browsers.add(browser);
    this.#fontsOf.set(browser, fonts);
    try {
      if (this.#over) throw new Error('the pool has ended');
      await browser.prime();
      return browser;
    } catch (error) {
      await browser[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Lets a browser accept captures. Closes the page that it has drawn, if another emulation is needed. */
  #serve(browser: PooledBrowser): void {
    browser.state = 'serving';
    this.#runInBackground(browser.drop(this.#usual.key));
    this.#fill(browser);
    this.#events.emit('free');
  }

  #replaceGone(gone: PooledBrowser, why: string): void {
    this.#browsers.delete(gone);
    const accepted = gone.state === 'serving' || gone.state === 'worn';
    if (this.#over || (!accepted && gone.active === 0)) return;
    const after = accepted ? '; starting another' : '';
    this.options.log.warn({ pid: gone.chromium.pid, why, captures: gone.active }, `a browser was lost${after}`);
    if (accepted) this.#runInBackground(this.#startAnother());
  }

  /** Must be called after each capture. Replaces a worn browser without effect on clients. */
  #retireOrRecycle(browser: PooledBrowser): void {
    if (browser.state === 'retiring' && browser.active === 0) this.#runInBackground(browser[Symbol.asyncDispose]());
    const isWorn = browser.served >= (this.options.recycleAfter ?? RECYCLE_AFTER_CAPTURES);
    if (browser.state === 'serving' && !browser.gone && isWorn) this.#runInBackground(this.#recycle(browser));
  }

  async #recycle(old: PooledBrowser): Promise<void> {
    old.state = 'worn';
    try {
      const successor = await this.#launch();
      // The browser has crashed meanwhile, and is being replaced.
      if (old.gone) return await successor[Symbol.asyncDispose]();
      old.state = 'retiring';
      this.#serve(successor);
      this.#retireOrRecycle(old);
    } catch (error) {
      old.state = 'serving';
      if (!this.#over) throw error;
    }
  }

  /** Lets browsers that were started with other fonts than there are now accept no more captures, and starts others. */
  #followFonts(): void {
    const current = this.#fonts.version();
    for (const browser of this.#live()) {
      // A worn one is being replaced.
      if (browser.state !== 'serving' || this.#fontsOf.get(browser) === current) continue;
      browser.state = 'retiring';
      this.#retireOrRecycle(browser);
      this.#runInBackground(this.#startAnother());
    }
  }

  #live(): PooledBrowser[] {
    return [...this.#browsers].filter(({ live }) => live);
  }

  /** Waits for a browser if there is none. Counts the capture at once, so that two concurrent ones get different browsers. */
  async #reserve(emulation: Emulation, signal: AbortSignal): Promise<PooledBrowser> {
    for (;;) {
      if (signal.aborted || this.#over) throw new NoBrowser(signal.reason);
      const { pagesPerBrowser } = this.options;
      const browser = chooseBrowser(this.#live(), emulation.key, pagesPerBrowser);
      // One browser is not enough.
      if (browser === null || browser.active > 0) this.#startAllNow.abort();
      const isFull = browser === null || (this.#drawsOnDemand && browser.active >= pagesPerBrowser);
      if (!isFull) {
        browser.active += 1;
        return browser;
      }
      await once(this.#events, 'free', { signal }).catch(() => {});
    }
  }

  /** @returns null if the browser has crashed meanwhile, and another one can be tried */
  async #lease(browser: PooledBrowser, emulation: Emulation, signal: AbortSignal): Promise<PageLease | null> {
    const taking = browser.take(emulation);
    try {
      const session = await unlessAborted(taking, signal);
      browser.served += 1;
      let released: Promise<void> | undefined;
      return {
        session,
        verify: () => browser.verify(),
        lowerPriority: () => browser.lowerPriority(session),
        awaitCrash: () => browser.awaitCrash(session),
        release: () => {
          released ??= this.#release(browser, session);
          return released;
        },
      };
    } catch (error) {
      const late = taking.catch(() => null);
      this.#runInBackground(late.then((session) => this.#release(browser, session)));
      if (signal.aborted) throw new NoBrowser(signal.reason);
      const field = /Invalid (timezone|locale)/i.exec((error as Error).message)?.[1]?.toLowerCase();
      if (field !== undefined) {
        const message = `The browser does not support this \`${field}\`.`;
        throw new CaptureError({ code: 'invalid_request', message, details: { field }, cause: error });
      }
      if (browser.gone) return null;
      throw error;
    }
  }

  /** @param session null if none could be opened */
  async #release(browser: PooledBrowser, session: OpenPageSession | null): Promise<void> {
    if (session !== null) await browser.rest(session);
    const closed = session === null ? null : browser.close(session);
    browser.active -= 1;
    this.#events.emit('free');
    // The next page is opened while this one is being closed.
    if (this.options.only === undefined) this.#fill(browser);
    await closed;
    this.#retireOrRecycle(browser);
  }

  /** An emulation is replaced by another one once as many captures have used others as it. */
  #vote(emulation: Emulation): void {
    if (emulation.key !== this.#usual.key && this.#votes > 0) this.#votes -= 1;
    else {
      this.#votes = emulation.key === this.#usual.key ? Math.min(this.#votes + 1, VOTES_MAX) : 1;
      this.#usual = emulation;
    }
  }

  /**
   * Opens pages in advance. A browser that draws on demand has one more than it can use at once: where all are in use, each capture would
   * wait for its page otherwise.
   */
  #fill(browser: PooledBrowser): void {
    const emulation = this.#usual;
    const room = this.options.pagesPerBrowser - browser.active + (this.#drawsOnDemand ? 1 : 0);
    if (!browser.live || room <= 0) return;
    if (browser.warmCount >= room && browser.warmFor(emulation.key) === 0)
      this.#runInBackground(browser.drop(emulation.key));
    for (let count = browser.warmCount; count < room; count++) this.#runInBackground(browser.prepare(emulation));
  }
}

function begin(lease: PageLease, options: CaptureOptions, passage: CapturePassage): PageLease {
  lease.session.captureProxy.begin({
    proxy: options.proxy,
    target: isOwnDocument(options) ? null : options.url,
    ...passage,
  });
  return lease;
}

/**
 * Chooses a capture's browser: one with a free slot, then one with an open page, then the one with the fewest running
 * captures.
 * @param live in a stable order
 * @returns null if there is no browser
 */
export function chooseBrowser<T extends Candidate>(
  live: readonly T[],
  emulationKey: string,
  pagesPerBrowser: number,
): T | null {
  const isFull = ({ active }: T) => Number(active >= pagesPerBrowser);
  const isCold = (browser: T) => Number(browser.warmFor(emulationKey) === 0);
  const [best] = [...live].sort(
    (a, b) => isFull(a) - isFull(b) || isCold(a) - isCold(b) || a.active - b.active || a.served - b.served,
  );
  return best ?? null;
}

export type Candidate = Pick<PooledBrowser, 'active' | 'served' | 'warmFor'>;
