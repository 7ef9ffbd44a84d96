import { checkHealth, type Health, type HealthDeps } from '../capture/health.js';

const FRESH_MS = 200;

/** Caches health for 200 ms, since it is requested often while the server is saturated. */
export class RecentHealth {
  private latest: { at: number; health: Promise<Health> } | null = null;

  constructor(private readonly deps: HealthDeps) {}

  read(): Promise<Health> {
    const now = this.deps.now();
    if (this.latest === null || Math.abs(now - this.latest.at) > FRESH_MS)
      this.latest = { at: now, health: checkHealth(this.deps) };
    return this.latest.health;
  }

  /** Drops the cached result after a change. */
  forget(): void {
    this.latest = null;
  }
}

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
