import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority, setPriority } from 'node:os';
import { TimeoutError } from 'p-timeout';
import type { CDPSession } from 'playwright-core';
import type { Egress } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import type { Emulation } from '../emulate/emulation-of.js';
import { BrowserProcesses } from '../launch/browser-processes.js';
import { ChromiumProcess, type LaunchOptions } from '../launch/chromium-process.js';
import { type GroupProcess, GroupWatch, killProcess, readProcess, threadsOf } from '../launch/process-table.js';
import { SYSTEM_PATH, type Unprivileged } from '../launch/unprivileged.js';
import { BROWSER_NICENESS } from '../launch/with-niceness.js';
import { SharedLoss } from '../page-session.js';
import { applyPageEmulation, type OpenPageSession, openPageSession } from './open-page-session.js';
import { BROWSER_ROOM_BYTES } from './profile-dir.js';
import { Renderers } from './renderers.js';
import { endsInTime, withTimeout } from './with-timeout.js';

/** A browser that has not responded for this long counts as hung. */
const ANSWER_TIMEOUT_MS = 10_000;
const PING_EVERY_MS = 5_000;
/** How often the browser's processes are checked. A fault counts if it is found twice in a row. */
const CHECK_EVERY_MS = 500;
const CHECK_AGAIN_MS = 100;
const OPEN_TIMEOUT_MS = 15_000;
/**
 * The same limit as for a response: losing a browser that is only slow, on a busy machine, would lose the captures of its
 * other pages.
 */
const CLOSE_TIMEOUT_MS = ANSWER_TIMEOUT_MS;
/** The time limit for resizing an open page, which is immediate unless its browser has stopped drawing. */
const EMULATE_TIMEOUT_MS = 5_000;
/** A capture that takes this long may be waiting for a browser that has stopped drawing. */
const LONG_LEASE_MS = 5_000;

export interface PooledBrowserOptions {
  launch: LaunchOptions;
  egress: Pick<Egress, 'openCaptureProxy'>;
  /** Whether pages get a clock that can run ahead. */
  clock: boolean;
  /** The directory for large files (see PageSession). */
  temporaryDir: string;
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
  /** The number of page sessions in use. */
  active = 0;
  /** The total number of page sessions used. */
  served = 0;
  /** Whether it accepts no new captures, and is stopped after its last one. */
  retiring = false;
  lastAnswerAt: number;
  private readonly sessions = new Set<OpenPageSession>();
  /** The start of use of each page session. */
  private readonly leasedAt = new Map<OpenPageSession, number>();
  private primedWith: Emulation | undefined;
  private warm: WarmSession[] = [];
  private readonly watch: NodeJS.Timeout;
  private readonly processes: BrowserProcesses;
  private faultsInARow = 0;
  /** Whether the browser has room for its temporary files. */
  roomy = true;
  private lastPingAt: number;
  private readonly group: GroupWatch;
  private readonly priority: RendererPriority;
  private readonly renderers: Renderers;
  /** Aborted when the browser can no longer be used. Pending work on it may never end by itself. */
  private readonly end = new AbortController();

  private constructor(
    private readonly options: PooledBrowserOptions,
    readonly chromium: ChromiumProcess,
    private readonly browserSession: CDPSession,
  ) {
    this.lastAnswerAt = options.now();
    this.lastPingAt = this.lastAnswerAt;
    const { pid } = chromium;
    this.group = new GroupWatch(pid);
    this.processes = new BrowserProcesses(pid, this.group);
    this.renderers = new Renderers(browserSession);
    this.priority = new RendererPriority(options.launch.user, () =>
      options.log.warn('process priorities cannot be lowered on this system: heavy pages slow down other captures'),
    );
    this.watch = setInterval(() => this.check(), CHECK_EVERY_MS);
    this.watch.unref();
    void chromium.exited.then(() => this.lose(chromium.fault() ?? 'the browser process ended'));
    chromium.browser.once('disconnected', () => this.lose(chromium.fault() ?? 'the browser closed its pipe'));
  }

  /** @throws Error if Chromium does not start */
  static async start(options: PooledBrowserOptions): Promise<PooledBrowser> {
    const chromium = await ChromiumProcess.launch(options.launch);
    try {
      return new PooledBrowser(options, chromium, await withTimeout(chromium.browser.newBrowserCDPSession(), OPEN_TIMEOUT_MS));
    } catch (error) {
      await chromium.kill();
      throw error;
    }
  }

  /** Whether it can no longer be used, not even by its running captures. */
  get gone(): boolean {
    return this.end.signal.aborted;
  }

  get live(): boolean {
    return !this.gone && !this.retiring;
  }

  get version(): string {
    return this.chromium.browser.version();
  }

  /** The number of page sessions opened in advance with these context options, including those being opened. */
  warmFor(key: string): number {
    return this.warm.filter((entry) => entry.key === key).length;
  }

  get warmCount(): number {
    return this.warm.length;
  }

  /**
   * A page session with the emulation, opened in advance if there is one.
   * @throws Error if it cannot be opened within 15 s
   */
  async take(emulation: Emulation): Promise<OpenPageSession> {
    const index = this.warm.findIndex((entry) => entry.key === emulation.key);
    const [found] = index === -1 ? [] : this.warm.splice(index, 1);
    const ready = await (found?.session ?? this.open(emulation));
    const session = ready.lost.aborted ? await this.replacePage(ready, emulation) : ready;
    try {
      await withTimeout(applyPageEmulation(session, emulation.pageOptions), EMULATE_TIMEOUT_MS);
      this.leasedAt.set(session, this.options.now());
      // The end of a process is noticed only if the process was recorded before.
      if (this.leasedAt.size === 1) this.processes.update(this.options.now());
      return session;
    } catch (error) {
      if (error instanceof TimeoutError) this.lose('a page did not accept its emulation');
      await this.close(session);
      throw error;
    }
  }

  /**
   * Opens the first page session in advance and draws one pixel of it, so that no client waits for the set-up of a process's
   * first picture.
   */
  async prime(emulation: Emulation): Promise<void> {
    this.primedWith = emulation;
    const session = await this.openAndDraw(emulation);
    // The browser was lost while drawing. Its other page sessions are already discarded, so this one is closed.
    if (this.gone) return this.close(session);
    this.processes.update(this.options.now());
    this.warm.push({ key: emulation.key, session: Promise.resolve(session) });
  }

  /** Opens a page session in advance. */
  prepare(emulation: Emulation): Promise<void> {
    const session = this.open(emulation);
    const entry = { key: emulation.key, session };
    this.warm.push(entry);
    return session.then(
      () => {},
      (error: unknown) => {
        this.warm = this.warm.filter((other) => other !== entry);
        if (!this.gone) this.options.log.debug({ err: error }, 'a page could not be opened ahead');
      },
    );
  }

  /** Discards page sessions that were opened in advance for other emulations. */
  async drop(keepKey: string): Promise<void> {
    const rest = this.warm.filter((entry) => entry.key !== keepKey);
    this.warm = this.warm.filter((entry) => entry.key === keepKey);
    await Promise.allSettled(rest.map(async (entry) => this.close(await entry.session)));
  }

  /** Closes a page session within 10 s, or kills the browser. */
  async close(session: OpenPageSession): Promise<void> {
    this.sessions.delete(session);
    this.leasedAt.delete(session);
    if (this.gone) return void (await session.captureProxy[Symbol.asyncDispose]());
    const closed = await endsInTime(session.close(), CLOSE_TIMEOUT_MS);
    if (closed) return;
    this.lose('a page could not be closed');
    await session.captureProxy[Symbol.asyncDispose]();
  }

  /** Loses the browser, and thus its captures, if a process that all its pages need has ended or is stopped. */
  verify(): void {
    const fault = this.fault();
    if (fault !== null) this.lose(fault);
  }

  private fault(): string | null {
    return this.processes.fault() ?? (this.chromium.freeBytes() === null ? 'its profile directory is gone' : null);
  }

  /** Memory of the browser process itself in bytes, without renderers, which vary in number; 0 if unknown. */
  memoryBytes(): number {
    return readProcess(this.chromium.pid)?.rssBytes ?? 0;
  }

  ownProcesses(): GroupProcess[] {
    return this.gone ? [] : this.group.processes(this.options.now());
  }

  /** Ends a renderer with its capture, or a shared process with all captures of the browser. The browser remains in use. */
  endProcess({ pid, renderer }: GroupProcess, shared: boolean): void {
    if (pid === this.chromium.pid) this.lose('the browser process used too much memory');
    else if (!renderer) this.loseSessions('a process of the browser used too much memory');
    else if (shared) {
      const own = [...this.sessions].find(({ rendererPid }) => rendererPid === pid);
      own?.lose(new SharedLoss('memory was scarce'));
    }
    killProcess(pid);
  }

  /** Stops the browser. Page sessions in use are lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.lose('the browser was closed');
    await this.chromium.kill();
  }

  private async open(emulation: Emulation): Promise<OpenPageSession> {
    const captureProxy = await this.options.egress.openCaptureProxy();
    try {
      const { temporaryDir, clock } = this.options;
      const opening = openPageSession({
        chromium: this.chromium,
        renderers: this.renderers,
        captureProxy,
        emulation,
        clock,
        chromiumVersion: this.version,
        temporaryDir,
      });
      const session = await withTimeout(opening, OPEN_TIMEOUT_MS, this.end.signal);
      this.sessions.add(session);
      return session;
    } catch (error) {
      if (error instanceof TimeoutError) this.lose('a page could not be opened');
      await captureProxy[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Replaces an unused page that has crashed, whose context and proxy are still open. */
  private async replacePage(lost: OpenPageSession, emulation: Emulation): Promise<OpenPageSession> {
    const [session] = await Promise.all([this.open(emulation), this.close(lost)]);
    return session;
  }

  private async openAndDraw(emulation: Emulation): Promise<OpenPageSession> {
    const session = await this.open(emulation);
    const clip = { x: 0, y: 0, width: 1, height: 1, scale: 1 };
    try {
      await withTimeout(session.cdp.send('Page.captureScreenshot', { format: 'png', clip }), OPEN_TIMEOUT_MS);
      return session;
    } catch (error) {
      await this.close(session);
      throw error;
    }
  }

  private check(): void {
    const fault = this.fault();
    this.faultsInARow = fault === null ? 0 : this.faultsInARow + 1;
    if (fault !== null && this.faultsInARow >= 2) this.lose(fault);
    if (this.gone) return;
    if (fault !== null) setTimeout(() => this.check(), CHECK_AGAIN_MS).unref();
    this.checkDiskSpace();
    const now = this.options.now();
    if (this.leasedAt.size > 0) this.endStoppedRenderers(now);
    if (this.leasedAt.size > 0) this.priority.update(this.group.processes(now));
    if (now - this.lastPingAt >= PING_EVERY_MS) void this.ping(now);
  }

  /** Ends the captures of stopped renderers. They are repeated, since the page did not cause this. */
  private endStoppedRenderers(now: number): void {
    for (const pid of this.processes.update(now)) {
      this.options.log.warn({ pid }, 'a renderer was stopped, and has been killed');
      killProcess(pid);
    }
  }

  private checkDiskSpace(): void {
    const roomy = (this.chromium.freeBytes() ?? 0) >= BROWSER_ROOM_BYTES;
    const { profiles } = this.options.launch;
    if (this.roomy && !roomy)
      this.options.log.error({ dir: profiles }, 'the disk of the temporary directory is full: browsers cannot work');
    if (!this.roomy && roomy) this.options.log.info({ dir: profiles }, 'the disk of the temporary directory has room again');
    this.roomy = roomy;
  }

  private async ping(now: number): Promise<void> {
    this.lastPingAt = now;
    const [answered, drawn] = await Promise.all([
      endsInTime(this.browserSession.send('Browser.getVersion'), ANSWER_TIMEOUT_MS),
      endsInTime(this.drawIfStalled(now), ANSWER_TIMEOUT_MS),
    ]);
    if (answered && drawn) this.lastAnswerAt = this.options.now();
    else this.lose(answered ? 'the browser did not draw' : 'the browser did not answer');
  }

  /** Checks, by drawing, the shared process that draws, which one page can block for all. */
  private async drawIfStalled(now: number): Promise<void> {
    const isStalled = [...this.leasedAt.values()].some((since) => now - since >= LONG_LEASE_MS);
    if (isStalled && this.primedWith !== undefined) await this.close(await this.openAndDraw(this.primedWith));
  }

  /** Marks the browser's own captures as lost (decisions.md, Jobs). */
  private lose(why: string): void {
    if (this.gone) return;
    this.end.abort(new Error(why));
    clearInterval(this.watch);
    this.loseSessions(why);
    const idle = this.warm;
    this.warm = [];
    void Promise.allSettled(idle.map(async (entry) => (await entry.session).captureProxy[Symbol.asyncDispose]()));
    void this.chromium.kill();
    this.options.onGone(this, why);
  }

  private loseSessions(why: string): void {
    const reason = this.leasedAt.size > 1 ? new SharedLoss(why) : new Error(why);
    for (const session of this.sessions) session.lose(reason);
  }
}

/**
 * Additional niceness of a process by its used CPU time, in clock ticks (1/100 s in /proc), a better measure than its share:
 * with four processes on two cores, none has a core to itself. Most pages finish before the first step.
 */
const STEPS = [
  { ticks: 100, niceness: 16 },
  { ticks: 40, niceness: 10 },
];
const NICENESS_MAX = 19;

/** Gives long-running renderers a lower priority than new ones, which costs nothing while the CPU is idle. */
export class RendererPriority {
  /** The niceness set so far, by pid. */
  private lowered = new Map<number, number>();
  private isRefused = false;

  /**
   * @param user the user of the processes; null for the server's own
   * @param onRefused called once, if the system does not allow lowering a priority
   */
  constructor(
    private readonly user: Unprivileged | null,
    private readonly onRefused: () => void,
  ) {}

  /** Must be called with a browser's processes about twice a second. */
  update(processes: readonly GroupProcess[]): void {
    const before = this.lowered;
    this.lowered = new Map();
    const usual = getPriority() + BROWSER_NICENESS;
    for (const { pid, cpuTicks, renderer } of processes) {
      const step = renderer ? STEPS.find(({ ticks }) => cpuTicks >= ticks) : undefined;
      if (step === undefined) continue;
      const niceness = Math.min(usual + step.niceness, NICENESS_MAX);
      if (before.get(pid) !== niceness) void this.lower(pid, niceness);
      this.lowered.set(pid, niceness);
    }
  }

  private async lower(pid: number, niceness: number): Promise<void> {
    // Niceness belongs to a thread; new threads inherit it.
    const threads = threadsOf(pid).map(({ tid }) => tid);
    if (this.isRefused || (await lowerPriority(threads, niceness, this.user)) || this.isRefused) return;
    this.isRefused = true;
    this.onRefused();
  }
}

/** Part of util-linux or BusyBox. Without it, priorities stay unchanged. */
const RENICE = 'renice';

/**
 * Sets the niceness (0 to 19) of threads. Root may lack the right to do so for another user's threads, as in a container,
 * but that user has it.
 * @param user the threads' user; null for the server's own
 * @returns whether all threads that still exist have the niceness
 */
export async function lowerPriority(threads: readonly number[], niceness: number, user: Unprivileged | null): Promise<boolean> {
  for (const thread of threads) setOwn(thread, niceness);
  const left = () => threads.filter((thread) => isAbove(thread, niceness));
  const refused = left();
  if (refused.length === 0 || user === null) return refused.length === 0;
  await runAs(user, RENICE, [String(niceness), '-p', ...refused.map(String)]);
  return left().length === 0;
}

/** Runs a command to its end, and ignores its failure. */
async function runAs(user: Unprivileged | null, command: string, args: string[]): Promise<void> {
  const child = spawn(command, args, { ...user, stdio: 'ignore', env: { PATH: SYSTEM_PATH } });
  await once(child, 'exit').catch(() => {});
}

function setOwn(thread: number, niceness: number): void {
  try {
    if (isAbove(thread, niceness)) setPriority(thread, niceness);
  } catch {
    // The thread has ended, or the system does not allow it. The later check finds out.
  }
}

function isAbove(thread: number, niceness: number): boolean {
  try {
    return getPriority(thread) < niceness;
  } catch {
    return false;
  }
}
