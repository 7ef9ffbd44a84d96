import { isRenderer, type ProcessEntry } from './process-table.js';

const TICK_MS = 10;

/**
 * How busy one browser's shared processes are: those that draw, fetch and steer for all its pages. A page that keeps them busy holds up every
 * other page there, however few they are.
 */
export class SharedLoad {
  /** Of one processor core, between the last two looks; 0 before that. */
  share = 0;
  private seen = new Map<number, number>();
  private seenAt: number | null = null;

  /** @param now ms */
  look(processes: readonly ProcessEntry[], now: number): void {
    const before = this.seen;
    this.seen = new Map(processes.filter(({ pid }) => !isRenderer(pid)).map(({ pid, cpuTicks }) => [pid, cpuTicks]));
    let ticks = 0;
    for (const [pid, cpuTicks] of this.seen) ticks += cpuTicks - (before.get(pid) ?? cpuTicks);
    this.share = this.seenAt === null || now <= this.seenAt ? 0 : (ticks * TICK_MS) / (now - this.seenAt);
    this.seenAt = now;
  }

  /** Nothing is on the browser: what was seen says nothing of what comes. */
  forget(): void {
    this.share = 0;
    this.seenAt = null;
  }
}
