import type { Principal } from '../account/authenticate.js';
import type { JobSnapshot } from '../contract/job.js';
import { periodEnd, type WireUsage } from '../contract/pricing.js';
import type { AccountStore, JobStore } from '../store/store.js';

/** Finds a job that this key submitted; null for a missing job and for another key's (interface.md, GET /v1/jobs/{id}). */
export async function lookupJob(
  store: Pick<JobStore, 'findJob'>,
  id: string,
  principal: Principal,
): Promise<JobSnapshot | null> {
  return ownJob(await store.findJob(id), principal);
}

/** Finds a job by the idempotency key of its submission; null as in `lookupJob`. */
export async function lookupRequest(
  store: Pick<JobStore, 'findJobByIdempotencyKey'>,
  key: string,
  principal: Principal,
): Promise<JobSnapshot | null> {
  return ownJob(await store.findJobByIdempotencyKey(principal.accountId, key), principal);
}

function ownJob(job: JobSnapshot | null, principal: Principal): JobSnapshot | null {
  return job !== null && job.accountId === principal.accountId && job.keyId === principal.keyId ? job : null;
}

/** Reads an account's credits and jobs of the current period. */
export async function readUsage(
  store: Pick<AccountStore, 'usage' | 'jobCounts'>,
  accountId: string,
  now: number,
): Promise<WireUsage> {
  const [usage, counts] = await Promise.all([store.usage(accountId, now), store.jobCounts(accountId, now)]);
  return { ...usage, resets_at: periodEnd(now), jobs: counts.byState, errors: counts.byCode };
}
