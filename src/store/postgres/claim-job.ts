import { IS_HELD, JOB_COLUMNS, type JobRow } from '../rows.js';
import { CRASHED, HORIZON_MS, RENEWED_MS, toClaimedJob, toProgress, UNREADABLE } from '../rules/claims.js';
import { IS_HELD_DELIVERY, MAX_DELIVERY_AGE_MS } from '../rules/deliveries.js';
import type { Claim, ClaimedJob, EndedJob, JobClaim, JobStore, OwnClaims } from '../store.js';
import { openOrder, type Vault } from '../vault.js';
import { type Database, HAS_LOCK, RELAXED } from './connect.js';
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

const NONE: OwnClaims = { jobs: [], deliveries: [] };

type Recovery = Parameters<JobStore['recover']>[0];

/** A node's view of itself and of others. */
interface Known {
  nodeId: string;
  lost: readonly string[];
  alive: readonly string[];
}

/**
 * Releases claims of ended nodes, and expired leases except those of live nodes, which renew their own. Active jobs with an attempt left
 * are queued again, others fail, and deliveries are due again. Each step checks the claim, so that several nodes may recover at once.
 */
export async function recover(
  database: Database,
  { nodeId, lost, alive }: Known,
  { now, own = NONE }: Recovery,
): Promise<{ requeued: number; ended: EndedJob[]; failures: unknown[] }> {
  await renewLapsed(database, own, now);
  await forgetLostNodes(database, lost);
  await pullForward(database, now, now + HORIZON_MS);
  await database.run(
    `UPDATE deliveries SET claimed_until = NULL, node_id = NULL
      WHERE claimed_until IS NOT NULL AND ${isAbandoned('claimed_until')}`,
    [now, nodeId, alive],
  );
  const abandoned = await database.all<{ id: string; workerId: string; attempt: number; budget: number }>(
    `SELECT id, worker_id, attempts_made AS attempt, attempt_budget AS budget FROM jobs
      WHERE ended_at IS NULL AND lease_expires_at IS NOT NULL AND ${isAbandoned('lease_expires_at')} ORDER BY seq`,
    [now, nodeId, alive],
  );
  const ended: EndedJob[] = [];
  let requeued = 0;
  const failures: unknown[] = [];
  for (const { budget, ...held } of abandoned) {
    try {
      if (held.attempt < budget) requeued += (await putBack(database, held, held.attempt)) === null ? 0 : 1;
      else ended.push(...(await endJob(database, held, { state: 'failed', now, error: CRASHED })));
    } catch (error) {
      // One job that cannot be ended must not stop the others.
      failures.push(error);
    }
  }
  return { requeued, ended, failures };
}

/** Builds a condition. Its parameters are 1 the time, 2 this node, 3 other nodes that are alive. */
function isAbandoned(until: string): string {
  return `((${until} <= $1 AND node_id <> ALL($3)) OR (node_id <> $2 AND node_id NOT IN (SELECT id FROM nodes)))`;
}

/** Renews the leases of own claims, since own work is not abandoned, whatever the clock says. */
async function renewLapsed(database: Database, own: OwnClaims, now: number): Promise<void> {
  for (const { id, workerId, attempt } of own.jobs) {
    await database.run(`UPDATE jobs SET lease_expires_at = $5::bigint WHERE ${IS_HELD} AND lease_expires_at <= $4`, [
      ...[id, workerId, attempt, now, now + RENEWED_MS],
    ]);
  }
  for (const { deliveryId, generation, attempt } of own.deliveries) {
    await database.run(`UPDATE deliveries SET claimed_until = $5::bigint WHERE ${IS_HELD_DELIVERY} AND claimed_until <= $4`, [
      ...[deliveryId, generation, attempt, now, now + RENEWED_MS],
    ]);
  }
}

/** Deletes the nodes that this node has found without a lock for a while, and that still have none. */
async function forgetLostNodes(database: Database, lost: readonly string[]): Promise<void> {
  if (lost.length === 0) return;
  await database.run(`DELETE FROM nodes WHERE id = ANY($1) AND NOT ${HAS_LOCK}`, [lost]);
}

/** Limits times to the horizon: delayed work beyond it is due now, and leases beyond it end there unless they are renewed. */
async function pullForward(database: Database, now: number, horizon: number): Promise<void> {
  const times = [now, horizon];
  await database.run(
    `WITH entry AS (UPDATE queue_entries SET due_at = $1::bigint WHERE due_at > $2 RETURNING seq)
     UPDATE jobs SET due_at = $1::bigint FROM entry WHERE jobs.seq = entry.seq AND jobs.state = 'delayed'`,
    times,
  );
  await database.run('UPDATE jobs SET lease_expires_at = $1::bigint WHERE ended_at IS NULL AND lease_expires_at > $1', [horizon]);
  await database.run(
    `UPDATE deliveries SET due_at = $1::bigint, next_attempt_at = $1::bigint, expires_at = least(expires_at, $1::bigint + ${MAX_DELIVERY_AGE_MS})
      WHERE due_at > $2`,
    times,
  );
  await database.run('UPDATE deliveries SET claimed_until = $1::bigint WHERE claimed_until > $1', [horizon]);
  await database.run('UPDATE receivers SET paused_until = 0 WHERE paused_until > $1', [horizon]);
}
