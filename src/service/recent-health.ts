import { checkHealth, type Health, type HealthDeps } from '../capture/health.js';

const FRESH_MS = 200;

/** Health is asked for often while saturated: one look serves all who ask within 200 ms. */
export class RecentHealth {
  private seen: { at: number; health: Promise<Health> } | null = null;

  constructor(private readonly deps: HealthDeps) {}

  ask(): Promise<Health> {
    const now = this.deps.now();
    if (this.seen === null || Math.abs(now - this.seen.at) > FRESH_MS) this.seen = { at: now, health: checkHealth(this.deps) };
    return this.seen.health;
  }

  /** What was seen before a change is not told after it. */
  forget(): void {
    this.seen = null;
  }
}
