import { getPriority } from 'node:os';
import { lowerPriority, runWhenIdle } from '../launch/lower-priority.js';
import { type GroupProcess, threadsOf } from '../launch/process-table.js';
import type { Unprivileged } from '../launch/unprivileged.js';
import { BROWSER_NICENESS } from '../launch/with-niceness.js';

/**
 * Niceness of a process, in addition to that of every browser, by the CPU time that it has used, in clock ticks (1/100 s in /proc, on every
 * system that Chromium runs on). By time used and not by share, since with four processes on two cores none has a core to itself. Most pages
 * finish before the first step; of two that do not, the one that has used less runs first.
 */
const STEPS = [
  { ticks: 100, niceness: 16 },
  { ticks: 40, niceness: 10 },
];
/** CPU time from which the threads of a renderer run only while no other process wants the CPU. */
const IDLE_TICKS = 100;
/** Chromium's thread for messages of other processes. It must go on: without it a page cannot be closed. */
const MESSAGE_THREAD = 'Chrome_ChildIOT';

/** Niceness of a browser's shared processes, if the whole browser has a lower priority. */
const GENERAL_NICENESS = 14;
const MOST_NICE = 19;

/** Gives long-running renderers a lower priority than new ones, which costs nothing while the CPU is idle. */
export class RendererPriority {
  /** Whether the whole browser has a lower priority, not only long-running renderers. */
  wholeBrowser = false;
  /** Niceness by pid. */
  private yielding = new Map<number, number>();
  /** Threads that run only while the CPU is idle, by pid. */
  private idle = new Map<number, Set<number>>();
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
    const idle = this.idle;
    this.idle = new Map();
    const usual = getPriority() + BROWSER_NICENESS;
    for (const { pid, cpuTicks, renderer } of processes) {
      if (renderer && cpuTicks >= IDLE_TICKS) this.idle.set(pid, this.makeIdle(pid, idle.get(pid)));
      const step = renderer ? STEPS.find(({ ticks }) => cpuTicks >= ticks) : undefined;
      const more = Math.max(step?.niceness ?? 0, this.wholeBrowser ? GENERAL_NICENESS : 0);
      if (more === 0) continue;
      const niceness = Math.min(usual + more, MOST_NICE);
      if (before.get(pid) !== niceness) void this.lower(pid, niceness);
      this.yielding.set(pid, niceness);
    }
  }

  /** @returns the threads of the process that run only while the CPU is idle */
  private makeIdle(pid: number, already: ReadonlySet<number> = new Set()): Set<number> {
    const busy = threadsOf(pid).filter(({ tid, name, cpuTicks }) => already.has(tid) || (cpuTicks > 0 && name !== MESSAGE_THREAD));
    const threads = busy.map(({ tid }) => tid);
    void runWhenIdle(
      threads.filter((thread) => !already.has(thread)),
      this.user,
    );
    return new Set(threads);
  }

  private async lower(pid: number, niceness: number): Promise<void> {
    // Niceness belongs to a thread; new threads inherit it.
    const threads = threadsOf(pid).map(({ tid }) => tid);
    if (this.isRefused || (await lowerPriority(threads, niceness, this.user)) || this.isRefused) return;
    this.isRefused = true;
    this.onRefused();
  }
}
