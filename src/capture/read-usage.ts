import { periodEnd, type WireUsage } from '../contract/pricing.js';
import type { AccountStore } from '../store/store.js';

/** Reads an account's credits and jobs of the current period. */
export async function readUsage(store: Pick<AccountStore, 'usage' | 'jobCounts'>, accountId: string, now: number): Promise<WireUsage> {
  const [usage, counts] = await Promise.all([store.usage(accountId, now), store.jobCounts(accountId, now)]);
  return { ...usage, resets_at: periodEnd(now), jobs: counts.byState, errors: counts.byCode };
}
