import { getPriority } from 'node:os';
import { lowerPriority } from '../launch/lower-priority.js';
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
