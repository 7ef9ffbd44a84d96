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
import { settlesWithin, within } from './within.js';

/** A browser that has not responded for this long is considered hung. */
const ANSWER_TIMEOUT_MS = 10_000;
const ASK_EVERY_MS = 5_000;
/** How often the browser's processes are checked. A fault that is found twice in a row is one. */
const LOOK_EVERY_MS = 500;
const LOOK_AGAIN_MS = 100;
const OPEN_TIMEOUT_MS = 15_000;
/** As long as for an answer: on a busy machine, the captures of the other pages would be lost with a browser that is only slow. */
const CLOSE_TIMEOUT_MS = ANSWER_TIMEOUT_MS;
/** Time limit for resizing an open page, which is immediate unless its browser has stopped drawing. */
const EMULATE_TIMEOUT_MS = 5_000;
/** A capture that takes this long may be waiting for a browser that has stopped drawing. */
const LONG_LEASE_MS = 5_000;

export interface PooledBrowserOptions {
  launch: LaunchOptions;
  egress: Pick<Egress, 'openCaptureProxy'>;
  /** Whether pages get a clock that can be run ahead. */
  clock: boolean;
  /** See PageSession. */
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
  /** Page sessions in use. */
  active = 0;
  /** Page sessions used in total. */
  served = 0;
  /** Accepts no new captures, and is stopped after its last one. */
  retiring = false;
  lastAnswerAt: number;
  private readonly sessions = new Set<OpenPageSession>();
  /** Since when each page session has been in use. */
  private readonly leasedAt = new Map<OpenPageSession, number>();
  private primedWith: Emulation | undefined;
  private warm: WarmSession[] = [];
  private readonly watch: NodeJS.Timeout;
  private readonly processes: BrowserProcesses;
  private faultsInARow = 0;
  /** Whether the browser has room for its temporary files. */
  roomy = true;
  private lastAskedAt: number;
  private readonly group: GroupWatch;
  private readonly priority: RendererPriority;
  private readonly renderers: Renderers;
  /** Aborted when the browser can no longer be used: pending work on it may never settle by itself. */
  private readonly end = new AbortController();

  private constructor(
    private readonly options: PooledBrowserOptions,
    readonly chromium: ChromiumProcess,
    private readonly browserSession: CDPSession,
  ) {
    this.lastAnswerAt = options.now();
    this.lastAskedAt = this.lastAnswerAt;
    const { pid } = chromium;
    this.group = new GroupWatch(pid);
    this.processes = new BrowserProcesses(pid, this.group);
    this.renderers = new Renderers(browserSession);
    this.priority = new RendererPriority(options.launch.user, () =>
      options.log.warn('process priorities cannot be lowered on this system: heavy pages slow down other captures'),
    );
    this.watch = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.watch.unref();
    void chromium.exited.then(() => this.lose(chromium.fault() ?? 'the browser process ended'));
    chromium.browser.once('disconnected', () => this.lose(chromium.fault() ?? 'the browser closed its pipe'));
  }

  /** @throws Error if Chromium does not start */
  static async start(options: PooledBrowserOptions): Promise<PooledBrowser> {
    const chromium = await ChromiumProcess.launch(options.launch);
    try {
      return new PooledBrowser(options, chromium, await within(chromium.browser.newBrowserCDPSession(), OPEN_TIMEOUT_MS));
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

  /** Page sessions opened in advance with these context options, including those still being opened. */
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
    const session = ready.lost.aborted ? await this.insteadOf(ready, emulation) : ready;
    try {
      await within(applyPageEmulation(session, emulation.pageOptions), EMULATE_TIMEOUT_MS);
      this.leasedAt.set(session, this.options.now());
      // The end of a process is noticed only if the process was noted before.
      if (this.leasedAt.size === 1) this.processes.look(this.options.now());
      return session;
    } catch (error) {
      if (error instanceof TimeoutError) this.lose('a page did not accept its emulation');
      await this.close(session);
      throw error;
    }
  }

  /**
   * Opens the first page session in advance and draws one pixel of it, so that no client waits for the set-up that a process's first picture
   * needs.
   */
  async prime(emulation: Emulation): Promise<void> {
    this.primedWith = emulation;
    const session = await this.openAndDraw(emulation);
    // The browser was lost while drawing: its open page sessions have been discarded already, so close this one.
    if (this.gone) return this.close(session);
    this.processes.look(this.options.now());
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

  /** Closes a page session within 10 s; a browser that does not manage that is killed. */
  async close(session: OpenPageSession): Promise<void> {
    this.sessions.delete(session);
    this.leasedAt.delete(session);
    if (this.gone) return void (await session.captureProxy[Symbol.asyncDispose]());
    const closed = await settlesWithin(session.close(), CLOSE_TIMEOUT_MS);
    if (closed) return;
    this.lose('a page could not be closed');
    await session.captureProxy[Symbol.asyncDispose]();
  }

  /** Loses the browser, and thus its captures, if one of the processes that all its pages need has ended or is stopped. */
  verify(): void {
    const fault = this.fault();
    if (fault !== null) this.lose(fault);
  }

  private fault(): string | null {
    return this.processes.fault() ?? (this.chromium.freeBytes() === null ? 'its profile directory is gone' : null);
  }

  /** Memory of the browser process itself in bytes, without renderers, which come and go; 0 if unknown. */
  memoryBytes(): number {
    return readProcess(this.chromium.pid)?.rssBytes ?? 0;
  }

  ownProcesses(): GroupProcess[] {
    return this.gone ? [] : this.group.processes(this.options.now());
  }

  /** Ends a renderer with its capture, or a process that all captures of the browser share with all of them; the browser stays. */
  endProcess({ pid, renderer }: GroupProcess, shared: boolean): void {
    if (pid === this.chromium.pid) this.lose('the browser process used too much memory');
    else if (!renderer) this.loseSessions('a process of the browser used too much memory');
    else if (shared) {
      const own = [...this.sessions].find(({ rendererPid }) => rendererPid === pid);
      own?.lose(new SharedLoss('memory was scarce'));
    }
    killProcess(pid);
  }

  /** Stops the browser; page sessions in use are lost. */
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
      const session = await within(opening, OPEN_TIMEOUT_MS, this.end.signal);
      this.sessions.add(session);
      return session;
    } catch (error) {
      if (error instanceof TimeoutError) this.lose('a page could not be opened');
      await captureProxy[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** For an unused page that has crashed, whose context and proxy are still open. */
  private async insteadOf(lost: OpenPageSession, emulation: Emulation): Promise<OpenPageSession> {
    const [session] = await Promise.all([this.open(emulation), this.close(lost)]);
    return session;
  }

  private async openAndDraw(emulation: Emulation): Promise<OpenPageSession> {
    const session = await this.open(emulation);
    const clip = { x: 0, y: 0, width: 1, height: 1, scale: 1 };
    try {
      await within(session.cdp.send('Page.captureScreenshot', { format: 'png', clip }), OPEN_TIMEOUT_MS);
      return session;
    } catch (error) {
      await this.close(session);
      throw error;
    }
  }

  private look(): void {
    const fault = this.fault();
    this.faultsInARow = fault === null ? 0 : this.faultsInARow + 1;
    if (fault !== null && this.faultsInARow >= 2) this.lose(fault);
    if (this.gone) return;
    if (fault !== null) setTimeout(() => this.look(), LOOK_AGAIN_MS).unref();
    this.tellOfRoom();
    const now = this.options.now();
    if (this.leasedAt.size > 0) this.endStoppedRenderers(now);
    if (this.leasedAt.size > 0) this.priority.update(this.group.processes(now));
    if (now - this.lastAskedAt >= ASK_EVERY_MS) void this.ask(now);
  }

  /** Ends the captures of renderers that are stopped: the page is not to blame, so they are repeated. */
  private endStoppedRenderers(now: number): void {
    for (const pid of this.processes.look(now)) {
      this.options.log.warn({ pid }, 'a renderer was stopped, and has been killed');
      killProcess(pid);
    }
  }

  private tellOfRoom(): void {
    const roomy = (this.chromium.freeBytes() ?? 0) >= BROWSER_ROOM_BYTES;
    const { profiles } = this.options.launch;
    if (this.roomy && !roomy)
      this.options.log.error({ dir: profiles }, 'the disk of the temporary directory is full: browsers cannot work');
    if (!this.roomy && roomy) this.options.log.info({ dir: profiles }, 'the disk of the temporary directory has room again');
    this.roomy = roomy;
  }

  private async ask(now: number): Promise<void> {
    this.lastAskedAt = now;
    const [answered, drawn] = await Promise.all([
      settlesWithin(this.browserSession.send('Browser.getVersion'), ANSWER_TIMEOUT_MS),
      settlesWithin(this.drawIfHeldUp(now), ANSWER_TIMEOUT_MS),
    ]);
    if (answered && drawn) this.lastAnswerAt = this.options.now();
    else this.lose(answered ? 'the browser did not draw' : 'the browser did not answer');
  }

  /** Checks the shared process that draws, which one page can block for all, by drawing. */
  private async drawIfHeldUp(now: number): Promise<void> {
    const isHeldUp = [...this.leasedAt.values()].some((since) => now - since >= LONG_LEASE_MS);
    if (isHeldUp && this.primedWith !== undefined) await this.close(await this.openAndDraw(this.primedWith));
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
 * Niceness of a process, in addition to that of every browser, by the CPU time that it has used, in clock ticks (1/100 s in /proc, on every
 * system that Chromium runs on). By time used and not by share, since with four processes on two cores none has a core to itself. Most pages
 * finish before the first step; of two that do not, the one that has used less runs first.
 */
const STEPS = [
  { ticks: 100, niceness: 16 },
  { ticks: 40, niceness: 10 },
];
const MOST_NICE = 19;

/** Gives long-running renderers a lower priority than new ones, which costs nothing while the CPU is idle. */
export class RendererPriority {
  /** Niceness by pid. */
  private yielding = new Map<number, number>();
  private isRefused = false;

  /**
   * @param user the user of the processes; null: the server's own
   * @param onRefused called once, if the system forbids lowering a priority
   */
  constructor(
    private readonly user: Unprivileged | null,
    private readonly onRefused: () => void,
  ) {}

  /** To be called with a browser's processes about twice a second. */
  update(processes: readonly GroupProcess[]): void {
    const before = this.yielding;
    this.yielding = new Map();
    const usual = getPriority() + BROWSER_NICENESS;
    for (const { pid, cpuTicks, renderer } of processes) {
      const step = renderer ? STEPS.find(({ ticks }) => cpuTicks >= ticks) : undefined;
      if (step === undefined) continue;
      const niceness = Math.min(usual + step.niceness, MOST_NICE);
      if (before.get(pid) !== niceness) void this.lower(pid, niceness);
      this.yielding.set(pid, niceness);
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

/** From util-linux or BusyBox; without either, priorities stay unchanged. */
const RENICE = 'renice';

/**
 * Sets the niceness (0 to 19) of threads. Root may lack the right to do so for threads of another user, as in a container; that user has it.
 * @param user the threads' user; null: the server's own
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

/** Never fails. */
async function runAs(user: Unprivileged | null, command: string, args: string[]): Promise<void> {
  const child = spawn(command, args, { ...user, stdio: 'ignore', env: { PATH: SYSTEM_PATH } });
  await once(child, 'exit').catch(() => {});
}

function setOwn(thread: number, niceness: number): void {
  try {
    if (isAbove(thread, niceness)) setPriority(thread, niceness);
  } catch {
    // A thread has ended, or the system forbids it; the check afterwards tells.
  }
}

function isAbove(thread: number, niceness: number): boolean {
  try {
    return getPriority(thread) < niceness;
  } catch {
    return false;
  }
}
