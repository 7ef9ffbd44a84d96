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
import { abortable } from './abortable.js';
import { BrowserKeeper } from './browser-keeper.js';
import { versionOf } from './chromium-process.js';
import type { Executable } from './executable.js';
import { FavouriteShape } from './favourite-shape.js';
import type { OpenStage } from './open-stage.js';
import type { PooledBrowser } from './pooled-browser.js';
import { profilesRoot, sweepProfiles } from './profile-dir.js';

const READY_WITHIN_MS = 30_000;
const HOST = { platform: process.platform, arch: process.arch };

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
  /** Captures after which a browser is replaced, unseen by clients; 500 when absent. */
  recycleAfter?: number;
  /** Memory of one page's renderer after which it is ended; a quarter of the machine's, from 1.5 to 3 GiB, when absent. */
  pageMaxBytes?: number;
  /** ms after the first browser's start at which the others start, unless they are wanted sooner; 2,000 when absent. */
  followAfterMs?: number;
  now?(): number;
}

export interface StageLease {
  readonly stage: Stage;
  /** Closes page, context and door, within 2 s: kills the browser when it does not answer. Tolerates repetition. */
  release(): Promise<void>;
}

export class BrowserPool implements AsyncDisposable {
  private readonly favourite = new FavouriteShape();
  private readonly keeper: BrowserKeeper;
  private readonly defaultShape: Shape;

  private constructor(
    private readonly options: PoolOptions,
    profiles: string,
    private readonly knownVersion: string | null,
  ) {
    const plain = toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/' }));
    this.defaultShape = shapeOf(plain, knownVersion ?? '0', HOST);
    this.keeper = new BrowserKeeper({
      ...options,
      profiles,
      version: knownVersion,
      shape: this.defaultShape,
      recycleAfter: options.recycleAfter,
      pageMaxBytes: options.pageMaxBytes,
      followAfterMs: options.followAfterMs,
      now: () => this.now(),
      onReady: (browser) => this.welcome(browser),
    });
  }

  /**
   * Settles when the first browser has drawn; the other browsers follow, at once when they are wanted.
   * @throws Error when no browser can be started in any mode
   */
  static async start(options: PoolOptions): Promise<BrowserPool> {
    const profiles = profilesRoot(options.runDir);
    const [version, swept] = await Promise.all([versionOf(options.executable), sweepProfiles(profiles)]);
    if (swept > 0) options.log.info({ profiles: swept }, 'removed what an earlier server left behind');
    const pool = new BrowserPool(options, profiles, version);
    await pool.keeper.start();
    return pool;
  }

  /** Whether renderers run in Chromium's sandbox, as the kernel tells it. */
  get sandboxed(): boolean {
    return this.keeper.sandboxed;
  }

  /** Chromium's full version, as `156.0.8078.79`. */
  get version(): string {
    return this.knownVersion ?? this.keeper.live()[0]?.version ?? 'unknown';
  }

  /** Browsers that have answered within the last 30 s. */
  readyBrowsers(): number {
    const since = this.now() - READY_WITHIN_MS;
    return this.keeper.live().filter((browser) => browser.lastAnswerAt >= since).length;
  }

  /**
   * A fresh stage shaped for the options, opened ahead where possible. Its door has begun: traffic counts from here.
   * @throws CaptureError invalid_request (a locale or timezone that Chromium does not know), internal_error 503 when no
   * browser could be had before the signal aborted
   */
  async acquire(options: CaptureOptions, signal: AbortSignal): Promise<StageLease> {
    const shape = shapeOf(options, this.version, HOST);
    this.favourite.note(shape);
    for (;;) {
      const browser = await this.reserve(shape, signal);
      const lease = await this.lease(browser, shape, signal);
      if (lease === null) continue;
      lease.stage.door.begin({ proxy: options.proxy });
      return lease;
    }
  }

  /** Ends every browser; captures still running are lost. Within 3 s, tolerates repetition. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.keeper[Symbol.asyncDispose]();
  }

  /** @returns null when the browser died meanwhile and another may do */
  private async lease(browser: PooledBrowser, shape: Shape, signal: AbortSignal): Promise<StageLease | null> {
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
      this.keeper.chore(this.giveBackLate(browser, taking));
      if (signal.aborted) throw noBrowser(signal.reason);
      if (isBadEmulation(error)) throw badEmulation(error as Error);
      if (!browser.live) return null;
      throw error;
    }
  }

  private async giveBack(browser: PooledBrowser, stage: OpenStage): Promise<void> {
    const closed = browser.close(stage);
    browser.active -= 1;
    // The next page opens while this one closes.
    this.fill(browser);
    await closed;
    this.keeper.retireOrRecycle(browser);
  }

  /** For a stage that nobody waits for any more, or that never came. */
  private async giveBackLate(browser: PooledBrowser, taking: Promise<OpenStage>): Promise<void> {
    const [outcome] = await Promise.allSettled([taking]);
    if (outcome.status === 'fulfilled') return this.giveBack(browser, outcome.value);
    browser.active -= 1;
    this.fill(browser);
    this.keeper.retireOrRecycle(browser);
  }

  /** Waits for a live browser when there is none. Counted at once, so that two captures that come together part. */
  private async reserve(shape: Shape, signal: AbortSignal): Promise<PooledBrowser> {
    for (;;) {
      if (signal.aborted || this.keeper.over) throw noBrowser(signal.reason);
      const best = this.keeper.live().sort((a, b) => this.rank(b, shape) - this.rank(a, shape) || a.served - b.served)[0];
      if (best !== undefined) {
        if (best.active > 0) this.keeper.hurry();
        best.active += 1;
        return best;
      }
      await this.keeper.newcomer(signal);
    }
  }

  /** Room first, then a page that waits, then the fewest neighbours. What holds up all pages outweighs one that waits, and three neighbours. */
  private rank(browser: PooledBrowser, shape: Shape): number {
    const room = browser.active < this.options.pagesPerBrowser ? 10_000 : 0;
    const waiting = browser.warmFor(shape.key) > 0 ? 1_000 : 0;
    const strain = browser.strained ? 1_003 : 0;
    return room + waiting - strain - browser.active;
  }

  /** It comes with the page that it has drawn on, which is of no use where another shape is asked for. */
  private welcome(browser: PooledBrowser): void {
    const wanted = this.favourite.current;
    if (wanted !== null) this.keeper.chore(browser.drop(wanted.key));
    this.fill(browser);
  }

  /** Opens pages ahead, of the shape most asked for lately. */
  private fill(browser: PooledBrowser): void {
    const shape = this.favourite.current ?? this.defaultShape;
    const room = this.options.pagesPerBrowser - browser.active;
    if (!browser.live || room <= 0) return;
    if (browser.warmCount >= room && browser.warmFor(shape.key) === 0) this.keeper.chore(browser.drop(shape.key));
    for (let count = browser.warmCount; count < room; count++) this.keeper.chore(browser.prepare(shape));
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
  return error instanceof Error && /Invalid (timezone|locale)/i.test(error.message);
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
