import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { lowerPriority } from '../launch/lower-priority.js';
import type { GroupProcess } from '../launch/process-table.js';
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

/** Niceness of a browser's shared processes, if the whole browser has a lower priority. */
const GENERAL_NICENESS = 14;
const MOST_NICE = 19;

/** Gives long-running renderers a lower priority than new ones, which costs nothing while the CPU is idle. */
export class RendererPriority {
  /** Whether the whole browser has a lower priority, not only long-running renderers. */
  wholeBrowser = false;
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
      const more = Math.max(step?.niceness ?? 0, this.wholeBrowser ? GENERAL_NICENESS : 0);
      if (more === 0) continue;
      const niceness = Math.min(usual + more, MOST_NICE);
      if (before.get(pid) !== niceness) void this.lower(pid, niceness);
      this.yielding.set(pid, niceness);
    }
  }

  private async lower(pid: number, niceness: number): Promise<void> {
    if (this.isRefused || (await lowerPriority(threadsOf(pid), niceness, this.user)) || this.isRefused) return;
    this.isRefused = true;
    this.onRefused();
  }
}

/** Niceness belongs to a thread; new threads inherit it. */
function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}
