import { type GroupProcess, TICK_MS } from '../launch/process-table.js';

/**
 * The load of one browser's shared processes (browser, GPU, network), which serve all its pages. A page that keeps them busy delays all
 * other pages of the browser.
 */
export class SharedLoad {
  /** CPU time between the last two samples, and its share of one core; 0 before that. */
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

  /** To be called when the browser has no captures: earlier load does not predict later load. */
  forget(): void {
    this.spentMs = 0;
    this.share = 0;
    this.seenAt = null;
  }
}
