import { IS_HELD, JOB_COLUMNS, type JobRow } from '../rows.js';
import { toClaimedJob, toProgress, UNREADABLE } from '../rules/claims.js';
import type { Claim, ClaimedJob, JobClaim, JobStore } from '../store.js';
import { openOrder, type Vault } from '../vault.js';
import { type Database, RELAXED } from './connect.js';
import { correctTurns, endJob, LANE } from './end-job.js';

/**
 * Claims the next jobs: each from the account whose turn it is, synchronous before asynchronous, first in, first out (decisions.md, Jobs),
 * by the function `stillframe_claim_2` of the migrations. Claims that a crash of the database forgets are made again.
 */
export async function claimNextJobs(database: Database, vault: Vault, claims: readonly JobClaim[], nodeId: string): Promise<ClaimedJob[]> {
  const rows = await claimRows(database, claims, nodeId);
  const jobs: ClaimedJob[] = [];
  for (const [i, claim] of claims.slice(0, rows.length).entries()) {
    for (let row = rows[i]; row !== undefined; row = (await claimRows(database, [claim], nodeId))[0]) {
      const options = openOrder(vault, row.id, row.sealed);
      if (options !== null) {
        jobs.push(toClaimedJob(row, options, claim));
        break;
      }
      const held = { id: row.id, workerId: claim.workerId, attempt: row.attemptsMade + 1 };
      await endJob(database, held, { state: 'failed', error: UNREADABLE, now: claim.now });
    }
  }
  return jobs;
}

/**
 * Undoes claims that were committed although their call lost the connection: the jobs of these workers of this node, which know of none.
 */
export async function undoUnknown(database: Database, nodeId: string, workerIds: readonly string[]): Promise<void> {
  const unknown = await database.all<Claim>(
    `SELECT id, worker_id, attempts_made AS attempt FROM jobs
      WHERE ended_at IS NULL AND state = 'active' AND node_id = $1 AND worker_id = ANY($2)`,
    [nodeId, workerIds],
  );
  for (const claim of unknown) await release(database, claim);
}

/**
 * Returns a job to the queue until `dueAt`, for a second attempt.
 * @returns false if the claim was lost or no attempt is left
 */
export async function retryLater(
  database: Database,
  claim: Claim,
  { dueAt, now, begunAt }: { dueAt: number; now: number; begunAt: number | undefined },
): Promise<boolean> {
  const job = await database.one<JobRow>(
    `WITH job AS (
      UPDATE jobs SET state = 'delayed', due_at = $4::bigint, lease_expires_at = NULL, node_id = NULL, worker_id = NULL, progress = 0,
          first_claimed_at = coalesce($5::bigint, first_claimed_at)
        WHERE ${IS_HELD} AND attempts_made < attempt_budget RETURNING *),
     entry AS (INSERT INTO queue_entries (seq, account_id, lane, due_at) SELECT seq, account_id, ${LANE}, due_at FROM job)
     SELECT ${JOB_COLUMNS} FROM job`,
    [claim.id, claim.workerId, claim.attempt, dueAt, begunAt ?? null],
  );
  if (job !== null) await correctTurns(database, [{ ...job, now }]);
  return job !== null;
}

/** Undoes a claim. @returns false if it was lost */
export async function release(database: Database, claim: Claim): Promise<boolean> {
  const job = await putBack(database, claim, claim.attempt - 1);
  if (job === null) return false;
  await database.run('UPDATE turns SET tag = tag - $2 WHERE account_id = $1', [job.accountId, job.bookedMs ?? 0]);
  return true;
}

/**
 * Returns a job to its lane.
 * @param attemptsMade the new count
 * @returns null if the claim was lost
 */
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
  { now, leaseMs, progress }: Parameters<JobStore['renewLease']>[1],
): Promise<boolean> {
  const changed = await database.run(
    `UPDATE jobs SET lease_expires_at = $4::bigint, progress = greatest(progress, $5::int) FROM ${RELAXED} WHERE ${IS_HELD}`,
    [claim.id, claim.workerId, claim.attempt, now + leaseMs, toProgress(progress)],
  );
  return changed === 1;
}

/** The name of an artifact that a claim is about to store. */
export interface Announcement {
  claim: Claim;
  name: string;
}

/**
 * Records the names of artifacts before they are stored. The sweep of old objects finds those whose record a crash of the database loses.
 * @returns for each announcement whether its claim is still held
 */
export async function announceArtifacts(database: Database, announcements: readonly Announcement[]): Promise<boolean[]> {
  const held = await database.all<{ id: string }>(
    `WITH job AS (SELECT jobs.id, worker_id, attempts_made, given.name FROM ${RELAXED},
        unnest($1::text[], $2::text[], $3::int[], $4::text[]) AS given(id, worker, attempt, name)
        JOIN jobs ON jobs.id = given.id AND worker_id = given.worker AND attempts_made = given.attempt AND state = 'active'),
     announced AS (INSERT INTO removals (name, job_id, worker_id, attempt) SELECT name, id, worker_id, attempts_made FROM job ON CONFLICT DO NOTHING)
     SELECT id FROM job`,
    [
      announcements.map(({ claim }) => claim.id),
      announcements.map(({ claim }) => claim.workerId),
      announcements.map(({ claim }) => claim.attempt),
      announcements.map(({ name }) => name),
    ],
  );
  const ids = new Set(held.map((row) => row.id));
  return announcements.map(({ claim }) => ids.has(claim.id));
}

/** A claimed job, with the number of attempts and the times before the claim, and its order. */
type ClaimedRow = Parameters<typeof toClaimedJob>[0] & { sealed: Buffer | null };

function claimRows(database: Database, claims: readonly JobClaim[], nodeId: string): Promise<ClaimedRow[]> {
  const [first] = claims;
  return database.all<ClaimedRow>(
    `SELECT job_id AS id, account AS account_id, request AS request_id, job_mode AS mode, attempt - 1 AS attempts_made,
        budget AS attempt_budget, enqueued AS enqueued_at, first_claimed AS first_claimed_at, due AS due_at, trace AS traceparent,
        order_sealed AS sealed
      FROM ${RELAXED}, stillframe_claim_2($1, $2, $3, $4, $5)`,
    [...[first?.now, first?.leaseMs, claims.map(({ workerId }) => workerId), nodeId], claims.map(({ keptSlot = false }) => keptSlot)],
  );
}
