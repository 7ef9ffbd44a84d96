import type { CDPSession } from 'playwright-core';
import type { Egress } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import { succeedsWithin, TimeoutError } from '../deadlines.js';
import { answerOf, ChromiumProcess, type LaunchOptions } from '../launch/chromium-process.js';
import type { Emulation } from '../launch/emulation.js';
import { RendererPriority } from '../launch/process-priority.js';
import { type BrowserProcess, BrowserProcesses, isStoppedRenderer, killProcess } from '../launch/process-table.js';
import { BROWSER_ROOM_BYTES } from '../launch/profile-dir.js';
import { isClosed, pageCrashed, SharedLoss } from '../page-session.js';
import {
  applyPageEmulation,
  type OpenPageSession,
  openPageSession,
  type PageHost,
  Renderers,
} from './open-page-session.js';

/** A browser that has not responded for this long counts as hung. */
const ANSWER_TIMEOUT_MS = 10_000;
const PING_EVERY_MS = 5_000;
/** The interval at which the browser's processes are checked. */
const CHECK_EVERY_MS = 500;
const OPEN_TIMEOUT_MS = 15_000;
/**
 * The same limit as for a response: losing a browser that is only slow, on a busy machine, would lose the captures of its
 * other pages.
 */
const CLOSE_TIMEOUT_MS = ANSWER_TIMEOUT_MS;
/** The time limit for resizing an open page, which is immediate unless its browser has stopped drawing. */
const EMULATE_TIMEOUT_MS = 5_000;
/** The time limit for a page to show that its renderer lives. */
const PAGE_ANSWERS_MS = 1_000;
/** A capture that takes this long may be waiting for a browser that has stopped drawing. */
const LONG_LEASE_MS = 5_000;

interface PooledBrowserOptions extends Pick<PageHost, 'clock' | 'temporaryDir'> {
  launch: LaunchOptions;
  egress: Pick<Egress, 'openCaptureProxy'>;
  /** The emulation of the page that it draws before its first use. */
  emulation: Emulation;
  log: Log;
  now(): number;
  /** Called once, when the browser can no longer be used. */
  onGone(browser: PooledBrowser, why: string): void;
}

interface WarmSession {
  key: string;
  session: Promise<OpenPageSession>;
}

/** One Chromium of the pool: its page sessions, including those opened in advance, and its health checks. */
export class PooledBrowser implements AsyncDisposable {
  /**
   * `serving` and `worn` browsers accept captures, the latter until their successor has started; a `retiring` one is stopped
   * after its last capture.
   */
  state: 'starting' | 'serving' | 'worn' | 'retiring' = 'starting';
  /** The number of page sessions in use. */
  active = 0;
  /** The total number of page sessions used. */
  served = 0;
  /** Whether the browser has room for its temporary files. */
  roomy = true;
  lastAnswerAt: number;
  #lastPingAt: number;
  readonly #sessions = new Set<OpenPageSession>();
  #warm: WarmSession[] = [];
  readonly #host: PageHost;
  readonly #processes: BrowserProcesses;
  readonly #priority: RendererPriority;
  readonly #watch: NodeJS.Timeout;
  /** Aborted when the browser can no longer be used. Pending work on it may never end by itself. */
  readonly #end = new AbortController();

  private constructor(
    private readonly options: PooledBrowserOptions,
    readonly chromium: ChromiumProcess,
    private readonly browserSession: CDPSession,
  ) {
    const { clock, temporaryDir, launch } = options;
    this.lastAnswerAt = options.now();
    this.#lastPingAt = this.lastAnswerAt;
    this.#host = {
      chromium,
      renderers: new Renderers(browserSession),
      clock,
      temporaryDir,
      drawsOnDemand: launch.drawsOnDemand,
    };
    this.#processes = new BrowserProcesses(chromium.pid);
    this.#priority = new RendererPriority(launch.user);
    this.#watch = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
    void chromium.exited.then(() => this.#lose(chromium.fault ?? 'the browser process ended'));
    chromium.browser.once('disconnected', () => this.#lose(chromium.fault ?? 'the browser closed its pipe'));
  }

  /** @throws Error if Chromium does not start */
  static async start(options: PooledBrowserOptions): Promise<PooledBrowser> {
    const chromium = await ChromiumProcess.launch(options.launch);
    try {
      return new PooledBrowser(
        options,
        chromium,
        await answerOf(chromium.browser.newBrowserCDPSession(), OPEN_TIMEOUT_MS),
      );
    } catch (error) {
      await chromium.kill();
      throw error;
    }
  }

  /** Whether it can no longer be used, not even by its running captures. */
  get gone(): boolean {
    return this.#end.signal.aborted;
  }

  /** Whether it accepts new captures. */
  get live(): boolean {
    return !this.gone && (this.state === 'serving' || this.state === 'worn');
  }

  /** The number of page sessions opened in advance with these context options, including those being opened. */
  warmFor(key: string): number {
    return this.#warm.filter((entry) => entry.key === key).length;
  }

  get warmCount(): number {
    return this.#warm.length;
  }

  /**
   * Opens the first page session in advance and draws one pixel of it, so that no client waits for the set-up of a process's
   * first picture.
   * @throws Error if the browser does not draw
   */
  async prime(): Promise<void> {
    const session = await this.#openAndDraw();
    this.#processes.update(this.options.now());
    this.#warm.push({ key: this.options.emulation.key, session: Promise.resolve(session) });
  }

  /**
   * A page session with the emulation, opened in advance if there is one.
   * @throws Error if it cannot be opened within 15 s
   */
  async take(emulation: Emulation): Promise<OpenPageSession> {
    const index = this.#warm.findIndex((entry) => entry.key === emulation.key);
    const [found] = index === -1 ? [] : this.#warm.splice(index, 1);
    const opened = await found?.session.catch(() => null);
    let session = opened ?? (await this.#open(emulation));
    // The crash of an unused page may not have been reported yet. Its context and proxy are still open.
    if (session === opened && !(await session.answers(PAGE_ANSWERS_MS)))
      [session] = await Promise.all([this.#open(emulation), this.close(session)]);
    session.frames?.start();
    try {
      await answerOf(applyPageEmulation(session, emulation.pageOptions), EMULATE_TIMEOUT_MS);
    } catch (error) {
      if (error instanceof TimeoutError) this.#lose('a page did not accept its emulation');
      await this.close(session);
      throw error;
    }
    const now = this.options.now();
    session.leasedAt = now;
    // The end of a process is noticed only if the process was recorded before.
    if (this.#leased().length === 1) this.#processes.update(now);
    return session;
  }

  /** Opens a page session in advance. */
  async prepare(emulation: Emulation): Promise<void> {
    const entry = { key: emulation.key, session: this.#open(emulation) };
    this.#warm.push(entry);
    try {
      await entry.session;
    } catch (error) {
      this.#warm = this.#warm.filter((other) => other !== entry);
      if (!this.gone) this.options.log.debug({ err: error }, 'a page could not be opened ahead');
    }
  }

  /** Discards page sessions that were opened in advance for other emulations. */
  async drop(keepKey: string): Promise<void> {
    const rest = this.#warm.filter((entry) => entry.key !== keepKey);
    this.#warm = this.#warm.filter((entry) => entry.key === keepKey);
    await Promise.allSettled(rest.map(async (entry) => this.close(await entry.session)));
  }

  /**
   * Ends the drawing of a page, so that others can be drawn. A page that does not end its frame is closed, and the browser is lost if it
   * cannot draw another one.
   */
  async rest(session: OpenPageSession): Promise<void> {
    if (session.frames === null || (await session.frames.stop()) || this.gone) return;
    await this.close(session);
    const draws = async () => await this.close(await this.#openAndDraw());
    if (!this.gone && !(await succeedsWithin(draws(), { ms: ANSWER_TIMEOUT_MS, isPatient: true })))
      this.#lose('the browser did not draw');
  }

  /** Closes a page session within 10 s, or kills the browser. May be called twice. */
  async close(session: OpenPageSession): Promise<void> {
    if (!this.#sessions.delete(session)) return;
    if (!this.gone) {
      if (await succeedsWithin(session.close(), { ms: CLOSE_TIMEOUT_MS, isPatient: true })) return;
      this.#lose('a page could not be closed');
    }
    await session.captureProxy[Symbol.asyncDispose]();
  }

  /** Loses the browser, and thus its captures, if a process that all its pages need has ended or is stopped. */
  verify(): void {
    const fault =
      this.#processes.fault() ?? (this.chromium.freeBytes() === null ? 'its profile directory is gone' : null);
    if (fault !== null) this.#lose(fault);
  }

  /** Gives the renderer of a page a lower priority than others, until it ends with its page. */
  lowerPriority({ rendererPid }: OpenPageSession): void {
    if (rendererPid !== null) this.#priority.lower(rendererPid);
  }

  /** After a failure of the page, waits until it has shown that its renderer lives, or its crash has been reported. */
  async awaitCrash(session: OpenPageSession): Promise<void> {
    this.verify();
    await session.answers(PAGE_ANSWERS_MS);
  }

  ownProcesses(): BrowserProcess[] {
    return this.gone ? [] : this.#processes.list(this.options.now());
  }

  /** Ends a renderer with its capture, or a shared process with all captures of the browser. The browser remains in use. */
  endProcess({ pid, role }: BrowserProcess, shared: boolean): void {
    if (pid === this.chromium.pid) this.#lose('the browser process used too much memory');
    else if (role !== 'renderer') this.#loseSessions('a process of the browser used too much memory');
    else if (shared) {
      const own = [...this.#sessions].find(({ rendererPid }) => rendererPid === pid);
      own?.lose(new SharedLoss('memory was scarce'));
    }
    killProcess(pid);
  }

  /** Stops the browser. Page sessions in use are lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#lose('the browser was closed');
    await this.chromium.kill();
  }

  #leased(): OpenPageSession[] {
    return [...this.#sessions].filter(({ leasedAt }) => leasedAt !== null);
  }

  async #open(emulation: Emulation): Promise<OpenPageSession> {
    const captureProxy = await this.options.egress.openCaptureProxy();
    try {
      const session = await answerOf(
        openPageSession(this.#host, emulation, captureProxy),
        OPEN_TIMEOUT_MS,
        this.#end.signal,
      );
      this.#sessions.add(session);
      return session;
    } catch (error) {
      // A browser that draws on demand opens its next page beside a capture, which may be what keeps it from that.
      const isBeside = this.options.launch.drawsOnDemand && this.#leased().length > 0;
      if (error instanceof TimeoutError && !isBeside) this.#lose('a page could not be opened');
      await captureProxy[Symbol.asyncDispose]();
      throw isClosed(error) ? pageCrashed(error) : error;
    }
  }

  async #openAndDraw(): Promise<OpenPageSession> {
    const session = await this.#open(this.options.emulation);
    const clip = { x: 0, y: 0, width: 1, height: 1, scale: 1 };
    try {
      await answerOf(
        session.cdp.send('Page.captureScreenshot', { format: 'png', clip }),
        OPEN_TIMEOUT_MS,
        this.#end.signal,
      );
      return session;
    } catch (error) {
      await this.close(session);
      throw error;
    }
  }

  #check(): void {
    this.verify();
    if (this.gone) return;
    this.#checkDiskSpace();
    const now = this.options.now();
    if (this.#leased().length > 0) {
      const processes = this.#processes.update(now);
      // The captures of stopped renderers are repeated, since the page did not cause this.
      for (const { pid } of processes.filter(isStoppedRenderer)) {
        this.options.log.warn({ pid }, 'a renderer was stopped, and has been killed');
        killProcess(pid);
      }
      this.#priority.update(processes);
    }
    if (now - this.#lastPingAt >= PING_EVERY_MS) void this.#ping(now);
  }

  #checkDiskSpace(): void {
    const { launch, log } = this.options;
    const roomy = (this.chromium.freeBytes() ?? 0) >= BROWSER_ROOM_BYTES;
    if (roomy === this.roomy) return;
    this.roomy = roomy;
    if (roomy) log.info({ dir: launch.profiles }, 'the disk of the temporary directory has room again');
    else log.error({ dir: launch.profiles }, 'the disk of the temporary directory is full: browsers cannot work');
  }

  async #ping(now: number): Promise<void> {
    this.#lastPingAt = now;
    const [answered, drawn] = await Promise.all([
      succeedsWithin(this.browserSession.send('Browser.getVersion'), { ms: ANSWER_TIMEOUT_MS, isPatient: true }),
      succeedsWithin(this.#drawIfStalled(now), { ms: ANSWER_TIMEOUT_MS, isPatient: true }),
    ]);
    if (answered && drawn) this.lastAnswerAt = this.options.now();
    else this.#lose(answered ? 'the browser did not draw' : 'the browser did not answer');
  }

  /**
   * Checks, by drawing, the shared process that draws, which one page can block for all. A browser that draws on demand has only one
   * page, beside which no other may draw.
   */
  async #drawIfStalled(now: number): Promise<void> {
    if (this.options.launch.drawsOnDemand) return;
    const isStalled = this.#leased().some(({ leasedAt }) => now - (leasedAt ?? now) >= LONG_LEASE_MS);
    if (isStalled) await this.close(await this.#openAndDraw());
  }

  /** Marks the browser's own captures as lost (decisions.md, Jobs). */
  #lose(why: string): void {
    if (this.gone) return;
    this.#end.abort(new Error(why));
    clearInterval(this.#watch);
    this.#loseSessions(why);
    const idle = this.#warm;
    this.#warm = [];
    void Promise.allSettled(idle.map(async (entry) => (await entry.session).captureProxy[Symbol.asyncDispose]()));
    void this.chromium.kill();
    this.options.onGone(this, why);
  }

  #loseSessions(why: string): void {
    const reason = this.#leased().length > 1 ? new SharedLoss(why) : new Error(why);
    for (const session of this.#sessions) session.lose(reason);
  }
}
