import { toStoredError } from '../../contract/capture-error.js';
import type { ClaimedJob, JobStore } from '../store.js';
import { endJob } from './end-job.js';
import type { JobRow } from './schema.js';
import type { Tables } from './tables.js';

type ClaimTables = Pick<Tables, 'jobs' | 'orders' | 'reservations' | 'deliveries' | 'counters'>;

/**
 * The next job: the account whose last turn is longest ago, sync before async within it, first in first out (decisions.md, Jobs).
 * Runs inside the caller's transaction.
 */
export function claimNextJob(tables: ClaimTables, claim: Parameters<JobStore['claimNextJob']>[0]): ClaimedJob | null {
  const { jobs, orders, counters } = tables;
  if (counters.isPaused()) return null;
  for (;;) {
    const job = nextInTurn(jobs, claim.now);
    if (job === null) return null;
    if (!jobs.claim(job, claim)) throw new Error(`job ${job.id} was not ${job.state} as it was read`);
    jobs.takeTurn(job.accountId, counters.nextTurn());
    const options = orders.open(job.id);
    if (options !== null) return toClaimedJob(job, options, claim);
    failUnreadable(tables, job, claim);
  }
}

function nextInTurn(jobs: ClaimTables['jobs'], now: number): JobRow | null {
  for (const accountId of jobs.accountsInTurn()) {
    const job = jobs.nextClaimable(accountId, now);
    if (job !== null) return job;
  }
  return null;
}

/** A job that can never be read must not stand in everyone's way. */
function failUnreadable(tables: ClaimTables, job: JobRow, claim: { workerId: string; now: number }): void {
  const error = JSON.stringify(toStoredError(new Error('the order cannot be opened')));
  endJob(
    tables,
    { id: job.id, workerId: claim.workerId, attempt: job.attemptsMade + 1 },
    { state: 'failed', now: claim.now, error, data: null, artifactName: null },
  );
}

function toClaimedJob(job: JobRow, options: ClaimedJob['options'], claim: { workerId: string; now: number }): ClaimedJob {
  const { id, accountId, requestId, mode, attemptBudget, enqueuedAt, dueAt } = job;
  return {
    ...{ id, accountId, requestId, mode, options, attemptBudget, enqueuedAt, dueAt },
    attempt: job.attemptsMade + 1,
    claimedAt: claim.now,
    workerId: claim.workerId,
    firstClaimedAt: job.firstClaimedAt ?? claim.now,
  };
}
