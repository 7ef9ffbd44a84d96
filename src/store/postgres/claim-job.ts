import { CaptureError, toStoredError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { Claim, ClaimedJob, JobClaim } from '../store.js';
import type { Vault } from '../vault.js';
import type { Database } from './connect.js';
import { endJob } from './end-job.js';
import { IS_HELD, JOB_COLUMNS, type JobRow, LANE } from './job-rows.js';
import { openOrder } from './orders.js';
import { RELAXED, settleTurn } from './turns.js';

/**
 * Claims the next job: of the account that is next, synchronous before asynchronous, first in, first out (decisions.md, Jobs). The look
 * itself is the function `stillframe_claim_1` of the migrations. A claim that a crash of the database forgets is made again.
 */
export async function claimNextJob(database: Database, vault: Vault, claim: JobClaim & { nodeId: string }): Promise<ClaimedJob | null> {
  for (;;) {
    const row = await claimRow(database, claim);
    if (row === null) return null;
    const options = openOrder(vault, row.id, row.sealed);
    if (options !== null) return toClaimedJob(row, options, claim);
    // It would block the queue.
    const held = { id: row.id, workerId: claim.workerId, attempt: row.attemptsMade };
    await endJob(database, held, { state: 'failed', error: JSON.stringify(toStoredError(UNREADABLE)), now: claim.now });
  }
}

/** Returns a job to the queue until `dueAt`, for a second attempt. @returns false if the claim was lost, or no attempt is left */
export async function retryLater(database: Database, claim: Claim, { dueAt, now }: { dueAt: number; now: number }): Promise<boolean> {
  const job = await database.one<JobRow>(
    `WITH job AS (
      UPDATE jobs SET state = 'delayed', due_at = $4::bigint, lease_expires_at = NULL, node_id = NULL, worker_id = NULL, progress = 0
        WHERE ${IS_HELD} AND attempts_made < attempt_budget RETURNING *),
     entry AS (INSERT INTO queue_entries (seq, account_id, lane, due_at) SELECT seq, account_id, ${LANE}, due_at FROM job)
     SELECT ${JOB_COLUMNS} FROM job`,
    [claim.id, claim.workerId, claim.attempt, dueAt],
  );
  if (job !== null) await settleTurn(database, job, now);
  return job !== null;
}

/** Undoes a claim. @returns false if it was lost */
export async function release(database: Database, claim: Claim): Promise<boolean> {
  const job = await putBack(database, claim, claim.attempt - 1);
  if (job === null) return false;
  await database.run('UPDATE turns SET tag = tag - $2 WHERE account_id = $1', [job.accountId, job.bookedMs ?? 0]);
  return true;
}

/** Returns a job to its lane. @param attemptsMade the new count @returns null if the claim was lost */
export function putBack(database: Pick<Database, 'one'>, claim: Claim, attemptsMade: number): Promise<JobRow | null> {
  return database.one<JobRow>(
    `WITH job AS (
      UPDATE jobs SET state = lane, lease_expires_at = NULL, node_id = NULL, worker_id = NULL, progress = 0, attempts_made = $4::int,
          first_claimed_at = CASE WHEN $4::int = 0 THEN NULL ELSE first_claimed_at END
        WHERE ${IS_HELD} RETURNING *),
     entry AS (INSERT INTO queue_entries (seq, account_id, lane) SELECT seq, account_id, ${LANE} FROM job)
     SELECT ${JOB_COLUMNS} FROM job`,
    [claim.id, claim.workerId, claim.attempt, attemptsMade],
  );
}

/** @returns false if the claim was lost */
export async function renewLease(
  database: Database,
  claim: Claim,
  { now, leaseMs, progress }: { now: number; leaseMs: number; progress: number },
): Promise<boolean> {
  const changed = await database.run(
    `UPDATE jobs SET lease_expires_at = $4::bigint, progress = greatest(progress, $5::int) FROM ${RELAXED} WHERE ${IS_HELD}`,
    [claim.id, claim.workerId, claim.attempt, now + leaseMs, Math.max(0, Math.min(99, Math.round(progress)))],
  );
  return changed === 1;
}

/**
 * Records the name of an artifact before it is stored. What a crash of the database forgets, the sweep of old objects finds.
 *
 * @returns false if the claim was lost
 */
export async function announceArtifact(database: Database, claim: Claim, name: string): Promise<boolean> {
  const held = await database.one(
    `WITH job AS (SELECT id, worker_id, attempts_made FROM jobs, ${RELAXED} WHERE ${IS_HELD}),
     announced AS (INSERT INTO removals (name, job_id, worker_id, attempt) SELECT $4, id, worker_id, attempts_made FROM job ON CONFLICT DO NOTHING)
     SELECT 1 FROM job`,
    [claim.id, claim.workerId, claim.attempt, name],
  );
  return held !== null;
}

const UNREADABLE = new CaptureError({ code: 'internal_error', message: 'the order cannot be opened' });

type ClaimedRow = JobRow & { sealed: Buffer | null; wasDueAt: number | null };

/** Two statements: the first one may wait for other claims, and would read the job and its order as they were when it began. */
async function claimRow(database: Database, { now, leaseMs, workerId, nodeId, keptSlot = false }: JobClaim & { nodeId: string }) {
  const claimed = await database.one<{ seq: number; dueAt: number | null }>(
    `SELECT claim.claimed_seq AS seq, claim.claimed_due AS "dueAt" FROM ${RELAXED}, stillframe_claim_1($1, $2, $3, $4, $5) claim`,
    [now, leaseMs, workerId, nodeId, keptSlot],
  );
  if (claimed === null) return null;
  const row = await database.one<JobRow & { sealed: Buffer | null }>(
    `SELECT ${JOB_COLUMNS}, orders.sealed FROM jobs job LEFT JOIN orders ON orders.job_id = job.id WHERE job.seq = $1`,
    [claimed.seq],
  );
  if (row === null) throw new Error('a claimed job is not there');
  return { ...row, wasDueAt: claimed.dueAt };
}

function toClaimedJob(row: ClaimedRow, options: CaptureOptions, claim: { workerId: string; now: number }): ClaimedJob {
  const { id, accountId, requestId, mode, attemptBudget, enqueuedAt, wasDueAt, traceparent } = row;
  return {
    ...{ id, accountId, requestId, mode, options, attemptBudget, enqueuedAt, dueAt: wasDueAt, traceparent },
    attempt: row.attemptsMade,
    claimedAt: claim.now,
    workerId: claim.workerId,
    firstClaimedAt: row.firstClaimedAt ?? claim.now,
  };
}
