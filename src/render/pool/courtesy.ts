import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { lowerPriority } from '../launch/lower-priority.js';
import type { GroupProcess } from '../launch/process-table.js';
import type { Unprivileged } from '../launch/unprivileged.js';
import { BROWSER_NICENESS } from '../launch/with-niceness.js';

/**
 * From so many clock ticks (hundredths of a second, as /proc counts them on every system that Chromium runs on) of its own on, a process is so
 * nice, beyond what every browser is. By what it has used and not by its share: where four of them press on two cores, none has a core to itself. Most
 * pages are done before the first step; of two that are not, the one that has used less goes first.
 */
const STEPS = [
  { ticks: 100, niceness: 16 },
  { ticks: 40, niceness: 10 },
];

/** Of what all of a browser's pages share, where it yields as a whole. */
const GENERAL_NICENESS = 14;
const MOST_NICE = 19;

/** Makes renderers that go on and on yield to those that have just begun. Where nobody else wants the processor, it costs them nothing. */
export class Courtesy {
  /** Everything yields, and not only renderers that go on and on. */
  general = false;
  /** Niceness by pid. */
  private yielding = new Map<number, number>();
  private isRefused = false;

  /**
   * @param user that the processes belong to; null: ours
   * @param onRefused called once, when the system does not let us lower a priority
   */
  constructor(
    private readonly user: Unprivileged | null,
    private readonly onRefused: () => void,
  ) {}

  /** To be told of a browser's processes about twice a second. */
  look(processes: readonly GroupProcess[]): void {
    const before = this.yielding;
    this.yielding = new Map();
    const usual = getPriority() + BROWSER_NICENESS;
    for (const { pid, cpuTicks, renderer } of processes) {
      const step = renderer ? STEPS.find(({ ticks }) => cpuTicks >= ticks) : undefined;
      const more = Math.max(step?.niceness ?? 0, this.general ? GENERAL_NICENESS : 0);
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

/** Niceness is a thread's own; those that come later have their parent's. */
function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}
