/**
 * Browsers, kept ready: several Chromium processes with pages opened ahead of need, each page used once, each process watched,
 * replaced when it dies and recycled before it bloats. Knows contexts and pages; must not know what a capture does on them.
 */
import { CaptureError } from '../../contract/capture-error.js';
import { type CaptureOptions, captureRequestSchema, toCaptureOptions } from '../../contract/capture-request.js';
import type { Egress } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import { type Shape, shapeOf } from '../emulate/shape-of.js';
import type { Stage } from '../stage.js';
import { versionOf } from './chromium-process.js';
import type { Executable } from './executable.js';
import { FavouriteShape } from './favourite-shape.js';
import { type LaunchMode, launchConfined } from './launch-mode.js';
import { PooledBrowser } from './pooled-browser.js';
import { renderersConfined } from './process-table.js';
import { profilesRoot, sweepProfiles } from './profile-dir.js';
import { reachableBy, unprivilegedUser } from './unprivileged.js';

/** Captures after which a browser is replaced, unseen by clients. */
const RECYCLE_AFTER_CAPTURES = 500;
/** Memory of the browser process itself after which it is replaced. */
const RECYCLE_AT_BYTES = 700 * 1024 * 1024;
const READY_WITHIN_MS = 30_000;
/** Between attempts to bring a browser back; the first is at once. */
const RESTART_WAITS_MS = [0, 250, 1_000, 5_000];

export interface PoolOptions {
  executable: Executable;
  egress: Pick<Egress, 'openDoor'>;
  /** Chromium processes. */
  browsers: number;
  /** Captures that each is meant to hold at once, and so the pages it has open ahead when it is idle. */
  pagesPerBrowser: number;
  /** Names this server's own place for profiles; the profiles themselves lie in the temporary directory. */
  runDir: string;
  sandbox: boolean;
  log: Log;
  now?(): number;
}

export interface StageLease {
  readonly stage: Stage;
  /** Closes page, context and door, within 2 s: kills the browser when it does not answer. Tolerates repetition. */
  release(): Promise<void>;
}

interface Slot {
  browser: PooledBrowser | null;
  failures: number;
}

export class BrowserPool implements AsyncDisposable {
  private readonly slots: Slot[];
  private readonly retired = new Set<PooledBrowser>();
  private readonly favourite: FavouriteShape;
  private readonly host = { platform: process.platform, arch: process.arch };
  private readonly ended = new AbortController();
  /** Work on browsers that nobody waits for: dispose does. */
  private readonly chores = new Set<Promise<void>>();
  private waiters: (() => void)[] = [];
  private mode: LaunchMode | undefined;
  private confined = false;

  private constructor(
    private readonly options: PoolOptions,
    private readonly profiles: string,
    private readonly executable: Executable,
    private readonly knownVersion: string | null,
  ) {
    this.slots = Array.from({ length: options.browsers }, () => ({ browser: null, failures: 0 }));
    this.favourite = new FavouriteShape();
  }

  /**
   * Settles when the first browser has drawn and has a page open ahead; the others follow.
   * @throws Error when no browser can be started in any mode
   */
  static async start(options: PoolOptions): Promise<BrowserPool> {
    const profiles = profilesRoot(options.runDir);
    const executable = reachableBy(unprivilegedUser(), options.executable, profiles);
    const [version, swept] = await Promise.all([versionOf(executable), sweepProfiles(profiles)]);
    if (swept > 0) options.log.info({ profiles: swept }, 'removed what an earlier server left behind');
    const pool = new BrowserPool(options, profiles, executable, version);
    await pool.startFirst();
    return pool;
  }

  /** Whether renderers run in Chromium's sandbox, as the kernel tells it. */
  get sandboxed(): boolean {
    return this.confined;
  }

  /** Chromium's full version, as `156.0.8078.79`. */
  get version(): string {
    return this.live()[0]?.version ?? this.knownVersion ?? 'unknown';
  }

  /** Browsers that have answered within the last 30 s. */
  readyBrowsers(): number {
    const since = this.now() - READY_WITHIN_MS;
    return this.live().filter((browser) => browser.lastAnswerAt >= since).length;
  }

  /**
   * A fresh stage shaped for the options, opened ahead where possible. Its door has begun: traffic counts from here.
   * @throws CaptureError invalid_request (a locale or timezone that Chromium does not know), internal_error 503 when no
   * browser could be had before the signal aborted
   */
  async acquire(options: CaptureOptions, signal: AbortSignal): Promise<StageLease> {
    const shape = shapeOf(options, this.version, this.host);
    this.favourite.note(shape);
    for (;;) {
      const browser = await this.browserFor(shape, signal);
      const lease = await this.lease(browser, shape, signal);
      if (lease === null) continue;
      lease.stage.door.begin({ proxy: options.proxy });
      return lease;
    }
  }

  /** Ends every browser; captures still running are lost. Within 3 s. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ended.signal.aborted) return;
    this.ended.abort();
    const all = [...this.live(), ...this.retired];
    await Promise.allSettled(all.map((browser) => browser[Symbol.asyncDispose]()));
    await Promise.allSettled(this.chores);
    await Promise.allSettled(this.live().map((browser) => browser[Symbol.asyncDispose]()));
  }

  /** @returns null when the browser died meanwhile and another may do */
  private async lease(browser: PooledBrowser, shape: Shape, signal: AbortSignal): Promise<StageLease | null> {
    browser.active += 1;
    const taking = browser.take(shape);
    try {
      const stage = await abortable(taking, signal);
      browser.served += 1;
      let released: Promise<void> | undefined;
      return {
        stage,
        release: () => {
          released ??= this.giveBack(browser, stage);
          return released;
        },
      };
    } catch (error) {
      browser.active -= 1;
      void taking.then((stage) => browser.close(stage)).catch(() => {});
      if (signal.aborted) throw noBrowser(signal.reason);
      if (isBadEmulation(error)) throw badEmulation(error as Error);
      if (!browser.live) return null;
      throw error;
    }
  }

  private async giveBack(browser: PooledBrowser, stage: Parameters<PooledBrowser['close']>[0]): Promise<void> {
    browser.active -= 1;
    const closed = browser.close(stage);
    if (browser.retiring && browser.active === 0) this.chore(browser[Symbol.asyncDispose]());
    else if (browser.live && this.isSpent(browser)) this.recycle(browser);
    else this.fill(browser);
    await closed;
  }

  private isSpent(browser: PooledBrowser): boolean {
    return browser.served >= RECYCLE_AFTER_CAPTURES || browser.memoryBytes() > RECYCLE_AT_BYTES;
  }

  /** The successor comes first, so that no client waits for it. */
  private recycle(old: PooledBrowser): void {
    const slot = this.slots.find(({ browser }) => browser === old);
    if (slot === undefined || this.retired.has(old)) return;
    this.retired.add(old);
    this.options.log.debug({ served: old.served, memoryBytes: old.memoryBytes() }, 'recycling a browser');
    this.chore(
      this.launch().then(
        async (successor) => {
          slot.browser = successor;
          old.retiring = true;
          this.fill(successor);
          if (old.active === 0) await old[Symbol.asyncDispose]();
        },
        () => void this.retired.delete(old),
      ),
    );
  }

  /** Waits for a live browser when there is none. */
  private async browserFor(shape: Shape, signal: AbortSignal): Promise<PooledBrowser> {
    for (;;) {
      if (signal.aborted || this.ended.signal.aborted) throw noBrowser(signal.reason);
      const best = this.live().sort((a, b) => this.rank(b, shape) - this.rank(a, shape) || a.served - b.served)[0];
      if (best !== undefined) return best;
      await abortable(new Promise<void>((resolve) => this.waiters.push(resolve)), signal).catch(() => {});
    }
  }

  /** Room first, then a page that waits, then the fewest neighbours. */
  private rank(browser: PooledBrowser, shape: Shape): number {
    const room = browser.active < this.options.pagesPerBrowser ? 10_000 : 0;
    const waiting = browser.warmFor(shape.key) > 0 ? 1_000 : 0;
    return room + waiting - browser.active;
  }

  /** Opens pages ahead, of the shape most asked for lately. */
  private fill(browser: PooledBrowser): void {
    const shape = this.favourite.current ?? this.defaultShape();
    const room = this.options.pagesPerBrowser - browser.active;
    if (!browser.live || room <= 0) return;
    if (browser.warmCount >= room && browser.warmFor(shape.key) === 0) this.chore(browser.drop(shape.key));
    for (let count = browser.warmCount; count < room; count++) this.chore(browser.prepare(shape));
  }

  private async startFirst(): Promise<void> {
    const { started, mode, concession } = await launchConfined(this.options.sandbox, (mode) => this.launch(mode));
    this.mode = mode;
    this.confined = mode.sandbox && (renderersConfined(started.chromium.pid) ?? true);
    if (!this.confined && this.options.sandbox) {
      this.options.log.warn({ reason: concession }, 'Chromium runs without its sandbox: this system refuses it');
    }
    await this.install(this.slots[0], started);
    for (const slot of this.slots.slice(1)) this.chore(this.restart(slot));
  }

  private async install(slot: Slot | undefined, browser: PooledBrowser): Promise<void> {
    if (slot === undefined) return;
    slot.browser = browser;
    slot.failures = 0;
    this.fill(browser);
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  private async restart(slot: Slot): Promise<void> {
    while (!this.ended.signal.aborted) {
      await delay(RESTART_WAITS_MS[Math.min(slot.failures, RESTART_WAITS_MS.length - 1)] ?? 0, this.ended.signal);
      if (this.ended.signal.aborted) return;
      try {
        return await this.install(slot, await this.launch());
      } catch (error) {
        slot.failures += 1;
        this.options.log.error({ err: error, failures: slot.failures }, 'a browser could not be started');
      }
    }
  }

  private async launch(mode = this.mode): Promise<PooledBrowser> {
    const browser = await PooledBrowser.start({
      launch: {
        executable: this.executable,
        profiles: this.profiles,
        version: this.knownVersion,
        sandbox: mode?.sandbox ?? false,
        user: mode?.user ?? null,
      },
      egress: this.options.egress,
      log: this.options.log,
      now: () => this.now(),
      onGone: (gone, why) => this.replace(gone, why),
    });
    try {
      await browser.prime(this.defaultShape());
      return browser;
    } catch (error) {
      await browser[Symbol.asyncDispose]();
      throw error;
    }
  }

  private replace(gone: PooledBrowser, why: string): void {
    this.retired.delete(gone);
    const slot = this.slots.find(({ browser }) => browser === gone);
    if (slot === undefined) return;
    slot.browser = null;
    if (this.ended.signal.aborted) return;
    this.options.log.warn({ pid: gone.chromium.pid, why, captures: gone.active }, 'a browser is lost; starting another');
    this.chore(this.restart(slot));
  }

  private live(): PooledBrowser[] {
    return this.slots.map(({ browser }) => browser).filter((browser) => browser?.live === true) as PooledBrowser[];
  }

  private defaultShape(): Shape {
    const plain = toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/' }));
    return shapeOf(plain, this.knownVersion ?? this.version, this.host);
  }

  private chore(work: Promise<void>): void {
    this.chores.add(work);
    void work
      .catch((error: unknown) => this.options.log.error({ err: error }, 'browser upkeep failed'))
      .finally(() => this.chores.delete(work));
  }

  private now(): number {
    return this.options.now?.() ?? Date.now();
  }
}

function noBrowser(reason: unknown): CaptureError {
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: 'No browser was free in time. The capture can be tried again.',
    cause: reason,
  });
}

function isBadEmulation(error: unknown): boolean {
  return error instanceof Error && /Invalid (timezone|locale)|locale.*not.*valid/i.test(error.message);
}

function badEmulation(error: Error): CaptureError {
  const field = /timezone/i.test(error.message) ? 'timezone' : 'locale';
  return new CaptureError({
    code: 'invalid_request',
    message: `The browser does not know this \`${field}\`.`,
    details: { field },
    cause: error,
  });
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
