import { checkHealth, type Health, type HealthDeps } from '../capture/health.js';

const FRESH_MS = 200;

/** Caches health for 200 ms, since it is requested often while the server is saturated. */
export class RecentHealth {
  private seen: { at: number; health: Promise<Health> } | null = null;

  constructor(private readonly deps: HealthDeps) {}

  ask(): Promise<Health> {
    const now = this.deps.now();
    if (this.seen === null || Math.abs(now - this.seen.at) > FRESH_MS) this.seen = { at: now, health: checkHealth(this.deps) };
    return this.seen.health;
  }

  /** Drops the cached result after a change. */
  forget(): void {
    this.seen = null;
  }
}
