import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { isRenderer, type ProcessEntry } from './process-table.js';

/** Clock ticks a second, as the kernel counts them for /proc on every system that Chromium runs on. */
const TICKS_PER_S = 100;
/** Of one core, since the last look. */
const GREEDY_SHARE = 0.8;
/** Of 0 to 19: at 10 a process gets about a tenth of what an ordinary one does, where there is not enough for both. */
const YIELDING_NICENESS = 10;

/** Makes renderers that keep a core to themselves yield to the others. Where nobody else wants the core, it costs them nothing. */
export class Courtesy {
  private lookedAt = 0;
  private ticks = new Map<number, number>();
  private readonly yielding = new Set<number>();

  /**
   * To be told of a browser's processes about once a second.
   *
   * @param now Unix ms
   */
  look(processes: readonly ProcessEntry[], now: number): void {
    const most = ((now - this.lookedAt) / 1_000) * TICKS_PER_S * GREEDY_SHARE;
    const greedy = processes.filter(({ pid, cpuTicks }) => cpuTicks - (this.ticks.get(pid) ?? 0) > most);
    this.ticks = new Map(processes.map(({ pid, cpuTicks }) => [pid, cpuTicks]));
    this.lookedAt = now;
    for (const { pid } of greedy) if (isRenderer(pid)) this.makeYield(pid);
  }

  private makeYield(pid: number): void {
    if (!this.yielding.has(pid)) for (const thread of threadsOf(pid)) lowerPriority(thread);
    this.yielding.add(pid);
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

function lowerPriority(thread: number): void {
  try {
    setPriority(thread, YIELDING_NICENESS);
  } catch {
    // It has ended meanwhile, or the system forbids it: the page keeps its share.
  }
}
