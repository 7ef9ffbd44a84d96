/**
 * Browsers, kept ready: several Chromium processes with pages opened ahead of need, each page used once, each process watched,
 * replaced when it dies and recycled before it bloats. Knows contexts and pages; must not know what a capture does on them.
 */
import { type CaptureOptions, captureRequestSchema, toCaptureOptions } from '../../contract/capture-request.js';
import type { Egress, Requester } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import { abortable } from '../abortable.js';
import { type Emulation, emulationOf } from '../emulate/emulation-of.js';
import { describeAge } from '../install/browser-age.js';
import { versionOf } from '../launch/chromium-process.js';
import type { Executable } from '../launch/executable.js';
import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import { badEmulation, isBadEmulation, noBrowser } from './acquire-failure.js';
import { BrowserKeeper } from './browser-keeper.js';
import { type Choice, chooseBrowser } from './choose-browser.js';
import { MostUsedEmulation } from './most-used-emulation.js';
import type { OpenPageSession } from './open-page-session.js';
import { type Expectation, PageHistory, type PageName, pageName } from './page-history.js';
import type { PooledBrowser } from './pooled-browser.js';
import { profilesRoot, sweepProfiles } from './profile-dir.js';
import { sweepAbandoned } from './sweep-abandoned.js';

const READY_WITHIN_MS = 30_000;
/** Where captures were quick so lately, more of them will come. */
const ABOUT_MS = 10_000;
const HOST = { platform: process.platform, arch: process.arch };

export interface PoolOptions {
  executable: Executable;
  egress: Pick<Egress, 'openCaptureProxy'>;
  /** Chromium processes. */
  browsers: number;
  /** Captures that each is meant to hold at once, and so the pages it has open ahead when it is idle. */
  pagesPerBrowser: number;
  /** Names this server's own place for profiles; the profiles themselves lie in the temporary directory. */
  runDir: string;
  /** `required`: rather no browser than one without its sandbox. */
  sandbox: boolean | 'required';
  log: Log;
  /** Captures after which a browser is replaced, unseen by clients; 500 when absent. */
  recycleAfter?: number;
  /** Memory of one page's renderer after which it is ended; a quarter of the machine's, from 1.5 to 3 GiB, when absent. */
  pageMaxBytes?: number;
  /** ms after the first browser's start at which the others start, unless they are wanted sooner; 2,000 when absent. */
  followAfterMs?: number;
  now?(): number;
}

export interface PageLease {
  readonly session: PageSession;
  /** Closes page, context and proxy, within 2 s, 5 s where the browser yields: kills it when it does not answer. Tolerates repetition. */
  release(): Promise<void>;
}

/** One capture's page, as its history knows it. */
interface Visit {
  /** null: nothing is learned of it. */
  page: PageName | null;
  expected: Expectation;
}

export class BrowserPool implements AsyncDisposable {
  private readonly mostUsed = new MostUsedEmulation();
  private readonly history = new PageHistory(() => this.now());
  /** When the last capture ended that was quick and no surprise, and the last one came that was known to be quick. */
  private quickAt = Number.NEGATIVE_INFINITY;
  private knownQuickAt = Number.NEGATIVE_INFINITY;
  private readonly keeper: BrowserKeeper;
  private readonly defaultEmulation: Emulation;

  private constructor(
    private readonly options: PoolOptions,
    profiles: string,
    private readonly knownVersion: string | null,
  ) {
    const plain = toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/' }));
    this.defaultEmulation = emulationOf(plain, knownVersion ?? '0', HOST);
    this.keeper = new BrowserKeeper({
      ...options,
      profiles,
      version: knownVersion,
      emulation: this.defaultEmulation,
      recycleAfter: options.recycleAfter,
      pageMaxBytes: options.pageMaxBytes,
      followAfterMs: options.followAfterMs,
      now: () => this.now(),
      onReady: (browser) => this.welcome(browser),
      onHeavy: (browser) => this.makeYield(browser),
    });
  }

  /**
   * Settles when the first browser has drawn; the other browsers follow, at once when they are wanted.
   * @throws Error when no browser can be started in any mode
   */
  static async start(options: PoolOptions): Promise<BrowserPool> {
    const profiles = profilesRoot(options.runDir);
    const [version, swept, abandoned] = await Promise.all([
      options.executable.version ?? versionOf(options.executable),
      sweepProfiles(profiles),
      sweepAbandoned(profiles),
    ]);
    if (swept + abandoned > 0)
      options.log.info({ directories: swept + abandoned }, 'removed processes and directories of an earlier server');
    const pool = new BrowserPool(options, profiles, version);
    try {
      await pool.keeper.start();
      pool.tellVersion();
      return pool;
    } catch (error) {
      await pool[Symbol.asyncDispose]();
      throw error;
    }
  }

  private tellVersion(): void {
    const { executable, log } = this.options;
    const age = describeAge(this.version);
    const found = { version: this.version, path: executable.path, source: executable.source };
    if (age === null) log.info(found, 'Chromium started');
    else log.warn({ ...found, age }, 'Chromium is outdated: update it, or run: stillframe browser install');
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
   * A fresh page session with the emulation of the options, opened ahead where possible. Its proxy has begun: traffic counts from here.
   * @throws CaptureError invalid_request (a locale or timezone that Chromium does not know), internal_error 503 when no
   * browser could be had before the signal aborted
   */
  async acquire(options: CaptureOptions, signal: AbortSignal, requester: Requester = {}): Promise<PageLease> {
    const emulation = emulationOf(options, this.version, HOST);
    this.mostUsed.note(emulation);
    for (;;) {
      const visit = this.visitOf(options);
      const browser = await this.reserve(emulation, visit.expected, signal);
      const lease = await this.lease(browser, { emulation, visit }, signal);
      if (lease === null) continue;
      lease.session.captureProxy.begin({ proxy: options.proxy, target: options.html === null ? options.url : null, requester });
      return lease;
    }
  }

  /** Ends every browser; captures still running are lost. Within 3 s, tolerates repetition. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.keeper[Symbol.asyncDispose]();
  }

  /** @returns null when the browser died meanwhile and another may do */
  private async lease(
    browser: PooledBrowser,
    { emulation, visit }: { emulation: Emulation; visit: Visit },
    signal: AbortSignal,
  ): Promise<PageLease | null> {
    const taking = browser.take(emulation, (heavy) => this.learn(visit, heavy));
    try {
      const session = await abortable(taking, signal);
      browser.served += 1;
      let released: Promise<void> | undefined;
      return {
        session,
        release: () => {
          released ??= this.giveBack(browser, session);
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

  private async giveBack(browser: PooledBrowser, session: OpenPageSession): Promise<void> {
    const closed = browser.close(session);
    browser.active -= 1;
    // The next page opens while this one closes.
    this.fill(browser);
    await closed;
    this.keeper.retireOrRecycle(browser);
  }

  /** For a page session that nobody waits for any more, or that never came. */
  private async giveBackLate(browser: PooledBrowser, taking: Promise<OpenPageSession>): Promise<void> {
    const [outcome] = await Promise.allSettled([taking]);
    if (outcome.status === 'fulfilled') return this.giveBack(browser, outcome.value);
    browser.active -= 1;
    this.fill(browser);
    this.keeper.retireOrRecycle(browser);
  }

  /** Waits for a live browser when there is none. Counted at once, so that two captures that come together part. */
  private async reserve(emulation: Emulation, page: Expectation, signal: AbortSignal): Promise<PooledBrowser> {
    for (;;) {
      if (signal.aborted || this.keeper.over) throw noBrowser(signal.reason);
      const choice = this.choose(emulation, page);
      if (choice !== null) {
        const { browser, toYield } = choice;
        if (browser.active > 0) this.keeper.hurry();
        browser.active += 1;
        if (toYield) this.makeYield(browser);
        return browser;
      }
      await this.keeper.newcomer(signal);
    }
  }

  private choose(emulation: Emulation, page: Expectation): Choice<PooledBrowser> | null {
    if (page === 'quick') this.knownQuickAt = this.now();
    return chooseBrowser(this.keeper.live(), {
      page,
      emulationKey: emulation.key,
      pagesPerBrowser: this.options.pagesPerBrowser,
      quickAbout: this.isLately(this.quickAt),
      knownQuickAbout: this.isLately(this.knownQuickAt),
    });
  }

  /** What a caller's script or proxy makes of a page says nothing of it to others. */
  private visitOf({ url, fullPage, customJs, proxy }: CaptureOptions): Visit {
    const page = customJs === null && proxy === null ? pageName(url, fullPage) : null;
    return { page, expected: page === null ? 'unknown' : this.history.expect(page) };
  }

  private learn({ page, expected }: Visit, heavy: boolean): void {
    if (page !== null) this.history.note(page, heavy);
    if (!heavy && expected !== 'heavy') this.quickAt = this.now();
  }

  private isLately(at: number): boolean {
    return Math.abs(this.now() - at) < ABOUT_MS;
  }

  /** Only for the sake of others, and only while another browser stays that does not. */
  private makeYield(browser: PooledBrowser): void {
    if (!this.isLately(this.quickAt) || this.keeper.live().every((other) => other === browser || other.yielding)) return;
    this.options.log.debug(
      { pid: browser.chromium.pid, captures: browser.active },
      'a browser with heavy pages now runs at a lower priority',
    );
    browser.yieldToOthers();
  }

  /** It comes with the page that it has drawn on, which is of no use where another emulation is asked for. */
  private welcome(browser: PooledBrowser): void {
    const wanted = this.mostUsed.current;
    if (wanted !== null) this.keeper.chore(browser.drop(wanted.key));
    this.fill(browser);
  }

  /** Opens pages ahead, of the emulation most asked for lately. */
  private fill(browser: PooledBrowser): void {
    const emulation = this.mostUsed.current ?? this.defaultEmulation;
    const room = this.options.pagesPerBrowser - browser.active;
    if (!browser.live || room <= 0) return;
    if (browser.warmCount >= room && browser.warmFor(emulation.key) === 0) this.keeper.chore(browser.drop(emulation.key));
    for (let count = browser.warmCount; count < room; count++) this.keeper.chore(browser.prepare(emulation));
  }

  private now(): number {
    return this.options.now?.() ?? monotonicNow();
  }
}
