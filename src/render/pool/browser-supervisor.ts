import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import type { Egress } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import type { Emulation } from '../emulate/emulation-of.js';
import type { Executable } from '../launch/executable.js';
import { type LaunchMode, launchSandboxed, SandboxMissing, type SandboxSetting } from '../launch/launch-mode.js';
import { renderersSandboxed } from '../launch/process-table.js';
import { PooledBrowser } from './pooled-browser.js';
import { removeUnusedRoot } from './profile-dir.js';

/** The number of captures after which a browser is replaced. */
const RECYCLE_AFTER_CAPTURES = 500;
/** The memory of the browser process itself at which it is replaced. */
const RECYCLE_AT_BYTES = 700 * 1024 * 1024;
/** Delays between attempts to restart a browser. The first attempt is immediate. */
const RESTART_WAITS_MS = [0, 250, 1_000, 5_000];

export interface SupervisorOptions {
  executable: Executable;
  egress: Pick<Egress, 'openCaptureProxy'>;
  browsers: number;
  /** The directory of profiles (see profilesRoot). */
  profiles: string;
  /** The directory for large files (see PageSession). */
  temporaryDir: string;
  sandbox: SandboxSetting;
  /** Whether pages get a clock that can run ahead (see PoolOptions). */
  clock?: boolean;
  /** Chromium's version, if known before the start. */
  version: string | null;
  /** The emulation of the page that each browser draws before its first use. */
  emulation: Emulation;
  recycleAfter: number | undefined;
  followAfterMs: number | undefined;
  log: Log;
  now(): number;
  /** Called when a browser has started, and may open pages. */
  onReady(browser: PooledBrowser): void;
}

/** The delay of the other browsers after the first, unless needed sooner, so that the first captures have the machine to themselves. */
const FOLLOW_AFTER_MS = 2_000;

interface Slot {
  browser: PooledBrowser | null;
  failures: number;
}

/** Keeps a number of browsers running: restarts crashed ones, and replaces worn ones after their successor has started. */
export class BrowserSupervisor implements AsyncDisposable {
  private readonly slots: Slot[];
  private readonly starting = new Set<PooledBrowser>();
  private readonly retired = new Set<PooledBrowser>();
  /** Dedicated browsers (see startDedicated). */
  private readonly dedicated = new Set<PooledBrowser>();
  private readonly ended = new AbortController();
  private readonly startAllNow = new AbortController();
  /** Background work, which stopping waits for. */
  private readonly background = new Set<Promise<unknown>>();
  private waiters: (() => void)[] = [];
  private mode: LaunchMode | undefined;
  private confined = false;
  private ending: Promise<void> | undefined;

  constructor(private readonly options: SupervisorOptions) {
    this.slots = Array.from({ length: options.browsers }, () => ({ browser: null, failures: 0 }));
  }

  /**
   * Resolves with the first browser. The others follow later, or at once after `startAll`.
   * @throws Error if none can be started in any mode
   */
  async start(): Promise<void> {
    const { sandbox, log } = this.options;
    const launching = launchSandboxed(sandbox, (tried) => this.launch(tried));
    // A failure is reported by this method. Stopping waits for the launch to end.
    this.runInBackground(Promise.allSettled([launching]));
    const { started, mode, concession } = await launching;
    this.mode = mode;
    this.confined = mode.sandbox && (renderersSandboxed(started.chromium.pid) ?? true);
    if (!this.confined && sandbox === 'required') {
      await started[Symbol.asyncDispose]();
      throw new SandboxMissing('its renderers have no seccomp filter');
    }
    if (!this.confined && sandbox) log.warn({ reason: concession }, 'Chromium runs without its sandbox: this system does not allow it');
    if (!sandbox && concession !== null) log.warn({ reason: concession }, 'Chromium runs as root: it could not be started as another user');
    this.install(this.slots[0], started);
    for (const slot of this.slots.slice(1)) this.runInBackground(this.startLater(slot));
  }

  /** Starts the remaining browsers now. Must be called when one browser is not enough. */
  startAll(): void {
    this.startAllNow.abort();
  }

  /** Whether renderers run in Chromium's sandbox, as reported by the kernel. */
  get sandboxed(): boolean {
    return this.confined;
  }

  get over(): boolean {
    return this.ended.signal.aborted;
  }

  /** Browsers that accept new captures. */
  live(): PooledBrowser[] {
    return this.slots.flatMap(({ browser }) => (browser?.live === true ? [browser] : []));
  }

  /** All browsers, including those that accept no new captures. */
  running(): PooledBrowser[] {
    return [...new Set([...this.slots.flatMap(({ browser }) => browser ?? []), ...this.starting, ...this.retired, ...this.dedicated])];
  }

  /** Starts a dedicated browser for one capture, outside the slots. It accepts no others, and is stopped after it. */
  async startDedicated(): Promise<PooledBrowser> {
    const browser = await this.launch();
    browser.retiring = true;
    this.dedicated.add(browser);
    if (this.over) await browser[Symbol.asyncDispose]();
    return browser;
  }

  /** Resolves when a browser has started, or the signal has aborted. */
  async browserStarted(signal: AbortSignal): Promise<void> {
    const woken = new Promise<void>((resolve) => this.waiters.push(resolve));
    await pTimeout(woken, { milliseconds: Number.POSITIVE_INFINITY, signal }).catch(() => {});
  }

  /** Must be called after each capture. Replaces a worn browser without effect on clients. */
  retireOrRecycle(browser: PooledBrowser): void {
    if (browser.retiring && browser.active === 0) this.runInBackground(browser[Symbol.asyncDispose]());
    else if (browser.live && this.isWorn(browser)) this.recycle(browser);
  }

  /** Runs maintenance work, logs its failure, and makes stopping wait for it. */
  runInBackground(work: Promise<unknown>): void {
    this.background.add(work);
    void work
      .catch((error: unknown) => this.options.log.error({ err: error }, 'browser maintenance failed'))
      .finally(() => this.background.delete(work));
  }

  /** Stops every browser within 3 s. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    this.ending ??= this.end();
    return this.ending;
  }

  private async end(): Promise<void> {
    this.ended.abort();
    await Promise.allSettled(this.running().map((browser) => browser[Symbol.asyncDispose]()));
    await Promise.allSettled(this.background);
    removeUnusedRoot(this.options.profiles);
    for (const wake of this.waiters) wake();
  }

  private isWorn(browser: PooledBrowser): boolean {
    return browser.served >= (this.options.recycleAfter ?? RECYCLE_AFTER_CAPTURES) || browser.memoryBytes() > RECYCLE_AT_BYTES;
  }

  private recycle(old: PooledBrowser): void {
    if (this.retired.has(old)) return;
    this.retired.add(old);
    this.options.log.debug({ served: old.served, memoryBytes: old.memoryBytes() }, 'recycling a browser');
    this.runInBackground(
      this.replaceWorn(old).catch((error: unknown) => {
        this.retired.delete(old);
        if (!this.over) throw error;
      }),
    );
  }

  private async replaceWorn(old: PooledBrowser): Promise<void> {
    const successor = await this.launch();
    const slot = this.slots.find(({ browser }) => browser === old);
    // The browser has crashed meanwhile, and is being replaced.
    if (slot === undefined || this.over) return successor[Symbol.asyncDispose]();
    old.retiring = true;
    this.install(slot, successor);
    this.retireOrRecycle(old);
  }

  private install(slot: Slot | undefined, browser: PooledBrowser): void {
    if (slot === undefined) return;
    slot.browser = browser;
    slot.failures = 0;
    this.options.onReady(browser);
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  private async startLater(slot: Slot): Promise<void> {
    const signal = AbortSignal.any([this.ended.signal, this.startAllNow.signal]);
    await sleep(this.options.followAfterMs ?? FOLLOW_AFTER_MS, undefined, { signal }).catch(() => {});
    await this.restart(slot);
  }

  private async restart(slot: Slot): Promise<void> {
    while (!this.over) {
      const waitMs = RESTART_WAITS_MS[Math.min(slot.failures, RESTART_WAITS_MS.length - 1)] ?? 0;
      await sleep(waitMs, undefined, { signal: this.ended.signal }).catch(() => {});
      if (this.over) return;
      try {
        const browser = await this.launch();
        if (this.over) await browser[Symbol.asyncDispose]();
        else this.install(slot, browser);
        return;
      } catch (error) {
        if (this.over) return;
        slot.failures += 1;
        this.options.log.error({ err: error, failures: slot.failures }, 'a browser could not be started');
      }
    }
  }

  private async launch(mode = this.mode): Promise<PooledBrowser> {
    if (mode === undefined) throw new Error('how browsers are to be confined is not known yet');
    const { executable, profiles, version, egress, temporaryDir, log, now, emulation } = this.options;
    const browser = await PooledBrowser.start({
      launch: { executable, profiles, version, ...mode, signal: this.ended.signal },
      egress,
      clock: this.options.clock ?? true,
      temporaryDir,
      log,
      now,
      onGone: (gone, why) => this.replace(gone, why),
    });
    this.starting.add(browser);
    try {
      if (this.over) throw new Error('the pool has ended');
      await browser.prime(emulation);
      if (!browser.live) throw new Error('the browser died as it drew for the first time');
      return browser;
    } catch (error) {
      await browser[Symbol.asyncDispose]();
      throw error;
    } finally {
      this.starting.delete(browser);
    }
  }

  private replace(gone: PooledBrowser, why: string): void {
    this.retired.delete(gone);
    this.dedicated.delete(gone);
    const slot = this.slots.find(({ browser }) => browser === gone);
    if (slot !== undefined) slot.browser = null;
    if (this.over || (slot === undefined && gone.active === 0)) return;
    const after = slot === undefined ? '' : '; starting another';
    this.options.log.warn({ pid: gone.chromium.pid, why, captures: gone.active }, `a browser was lost${after}`);
    if (slot !== undefined) this.runInBackground(this.restart(slot));
  }
}
