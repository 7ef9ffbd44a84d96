import { type GroupProcess, TICK_MS } from '../launch/process-table.js';

/**
 * How busy one browser's shared processes are: those that draw, fetch and steer for all its pages. A page that keeps them busy holds up every
 * other page there, however few they are.
 */
export class SharedLoad {
  /** Processor time between the last two looks, and how much of one core that was; 0 before that. */
  spentMs = 0;
  share = 0;
  private seen = new Map<number, number>();
  private seenAt: number | null = null;

  /** @param now ms */
  look(processes: readonly GroupProcess[], now: number): void {
    const before = this.seen;
    this.seen = new Map(processes.filter(({ renderer }) => !renderer).map(({ pid, cpuTicks }) => [pid, cpuTicks]));
    let ticks = 0;
    for (const [pid, cpuTicks] of this.seen) ticks += cpuTicks - (before.get(pid) ?? cpuTicks);
    const elapsedMs = this.seenAt === null ? 0 : now - this.seenAt;
    this.spentMs = elapsedMs > 0 ? ticks * TICK_MS : 0;
    this.share = elapsedMs > 0 ? this.spentMs / elapsedMs : 0;
    this.seenAt = now;
  }

  /** Nothing is on the browser: what was seen says nothing of what comes. */
  forget(): void {
    this.spentMs = 0;
    this.share = 0;
    this.seenAt = null;
  }
}
