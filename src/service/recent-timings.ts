const KEPT = 1_000;

/** Stage timings of captures that ended recently, for `Server-Timing`. The oldest are dropped first. */
export class RecentTimings {
  private readonly byJob = new Map<string, Record<string, number>>();

  /** @param timings ms by stage */
  keep(jobId: string, timings: Record<string, number>): void {
    this.byJob.set(jobId, timings);
    if (this.byJob.size <= KEPT) return;
    const oldest = this.byJob.keys().next().value;
    if (oldest !== undefined) this.byJob.delete(oldest);
  }

  of(jobId: string): Record<string, number> | null {
    return this.byJob.get(jobId) ?? null;
  }
}
