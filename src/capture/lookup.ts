import type { Principal } from '../account/authenticate.js';
import type { JobSnapshot } from '../contract/job.js';
import type { JobStore } from '../store/store.js';

/** The job, if this key submitted it; null for a missing job and for another key's (interface.md, GET /v1/jobs/{id}). */
export async function lookupJob(store: Pick<JobStore, 'findJob'>, id: string, principal: Principal): Promise<JobSnapshot | null> {
  return mine(await store.findJob(id), principal);
}

/** The same by the idempotency key used at submission. */
export async function lookupRequest(
  store: Pick<JobStore, 'findJobByIdempotencyKey'>,
  key: string,
  principal: Principal,
): Promise<JobSnapshot | null> {
  return mine(await store.findJobByIdempotencyKey(principal.accountId, key), principal);
}

function mine(job: JobSnapshot | null, principal: Principal): JobSnapshot | null {
  return job !== null && job.accountId === principal.accountId && job.keyId === principal.keyId ? job : null;
}
