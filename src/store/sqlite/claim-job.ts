import { toStoredError } from '../../contract/capture-error.js';
import type { Claim, ClaimedJob, JobClaim } from '../store.js';
import { endJob } from './end-job.js';
import type { JobRow } from './schema.js';
import type { Tables } from './tables.js';

type ClaimTables = Pick<Tables, 'jobs' | 'orders' | 'outcomes' | 'reservations' | 'deliveries' | 'counters' | 'turns'>;

/**
 * Claims the next job: from the account whose turn it is (turns.ts), synchronous before asynchronous, first in, first out (decisions.md,
 * Jobs). Runs inside the caller's transaction.
 */
export function claimNextJob(tables: ClaimTables, claim: JobClaim): ClaimedJob | null {
  const { jobs, orders, counters, turns } = tables;
  if (counters.isPaused()) return null;
  for (;;) {
    const job = nextInTurn(tables, claim);
    if (job === null) return null;
    const options = orders.open(job.id);
    const bookedMs = turns.book(job.accountId, options?.delay ?? 0);
    if (!jobs.claim(job, { ...claim, bookedMs })) throw new Error(`job ${job.id} was not ${job.state} as it was read`);
    if (options !== null) return toClaimedJob(job, options, claim);
    failUnreadable(tables, job, claim);
  }
}

/** Returns a job to the queue until `dueAt`, for a second attempt. Runs inside the caller's transaction. */
export function retryLater(
  { jobs, turns }: Pick<Tables, 'jobs' | 'turns'>,
  claim: Claim,
  at: { dueAt: number; now: number; begunAt: number | undefined },
): boolean {
  const job = jobs.delay(claim, at.dueAt, at.begunAt ?? null);
  if (job !== null) turns.correct(job, at.now);
  return job !== null;
}

/** Undoes a claim. Runs inside the caller's transaction. */
export function release({ jobs, turns }: Pick<Tables, 'jobs' | 'turns'>, claim: Claim): boolean {
  const job = jobs.putBack(claim, claim.attempt - 1);
  if (job !== null) turns.refund(job);
  return job !== null;
}

function nextInTurn({ jobs, turns }: ClaimTables, { now, keptSlot = false }: JobClaim): JobRow | null {
  for (const accountId of turns.inTurn()) {
    if (keptSlot && jobs.hasRunning(accountId) && turns.isAnotherActive(accountId, now)) continue;
    const job = jobs.nextClaimable(accountId, now);
    if (job !== null) return job;
  }
  return null;
}

/** Fails a job whose order cannot be decrypted, so that it does not block the queue. */
function failUnreadable(tables: ClaimTables, job: JobRow, claim: { workerId: string; now: number }): void {
  const error = JSON.stringify(toStoredError(new Error('the order cannot be opened')));
  endJob(
    tables,
    { id: job.id, workerId: claim.workerId, attempt: job.attemptsMade + 1 },
    { state: 'failed', now: claim.now, error, data: null, artifactName: null },
  );
}

function toClaimedJob(job: JobRow, options: ClaimedJob['options'], claim: { workerId: string; now: number }): ClaimedJob {
  const { id, accountId, requestId, mode, attemptBudget, enqueuedAt, dueAt, traceparent } = job;
  return {
    ...{ id, accountId, requestId, mode, options, attemptBudget, enqueuedAt, dueAt, traceparent },
    attempt: job.attemptsMade + 1,
    claimedAt: claim.now,
    workerId: claim.workerId,
    firstClaimedAt: job.firstClaimedAt ?? claim.now,
  };
}
