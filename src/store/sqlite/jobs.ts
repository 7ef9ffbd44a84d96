import { eventOf } from '../../contract/job.js';
import { periodOf } from '../../contract/pricing.js';
import { IS_HELD, JOB_COLUMNS, type JobRow, sharedData } from '../rows.js';
import { IS_HELD_DELIVERY, MAX_DELIVERY_AGE_MS } from '../rules/deliveries.js';
import {
  CRASHED,
  HORIZON_MS,
  outcomeOf,
  RENEWED_MS,
  SLICE_FOLLOWERS,
  toClaimedJob,
  toEnded,
  UNREADABLE,
} from '../rules/jobs.js';
import type { Claim, ClaimedJob, EndedJob, JobClaim, JobStore, OwnClaims } from '../store.js';
import { decryptOptions, type Vault } from '../vault.js';
import { findInFlight, findJob, promote } from './accept.js';
import { completeBatches } from './batches.js';
import type { Sql } from './connection.js';
import { announceDelivery, type ReceiverKey, refreshReceivers } from './deliveries.js';
import { countOutcome, endCredits, isPaused } from './ledger.js';
import { accountsInTurn, bookTurn, correctTurn, isAnotherActive, refundTurn } from './turns.js';

/** Claims jobs for some slots together, since each commit waits for the disk; ends with the first slot for which nothing is due. */
export function claimNextJobs(sql: Sql, vault: Vault, claims: readonly JobClaim[]): ClaimedJob[] {
  const jobs: ClaimedJob[] = [];
  for (const claim of claims) {
    const job = claimNextJob(sql, vault, claim);
    if (job === null) break;
    jobs.push(job);
  }
  return jobs;
}

/**
 * Claims the next job: from the account whose turn it is (turns.ts), synchronous before asynchronous before those of batches, first in,
 * first out (decisions.md, Jobs). Runs inside the caller's transaction.
 */
function claimNextJob(sql: Sql, vault: Vault, claim: JobClaim): ClaimedJob | null {
  if (isPaused(sql)) return null;
  for (;;) {
    const job = nextInTurn(sql, claim);
    if (job === null) return null;
    const order = sql.one<{ sealed: Buffer }>('SELECT sealed FROM orders WHERE job_id = $1', [job.id]);
    const options = decryptOptions(vault, job.id, order?.sealed ?? null);
    claimJob(sql, job, { ...claim, bookedMs: bookTurn(sql, job.accountId, options?.delay ?? 0) });
    if (options !== null) return toClaimedJob(job, options, claim);
    const held = { id: job.id, workerId: claim.workerId, attempt: job.attemptsMade + 1 };
    endJob(sql, held, { state: 'failed', now: claim.now, error: UNREADABLE, data: null, artifactName: null });
  }
}

function nextInTurn(sql: Sql, { now, keptSlot = false, takesBatches = true }: JobClaim): JobRow | null {
  for (const accountId of accountsInTurn(sql)) {
    if (keptSlot && hasRunning(sql, accountId) && isAnotherActive(sql, accountId, now)) continue;
    // The index is named, since the planner has no statistics to choose it by. The index's own condition must be repeated literally.
    const job = sql.one<JobRow>(
      `SELECT ${JOB_COLUMNS} FROM jobs job INDEXED BY jobs_claimable
        WHERE account_id = $1 AND state IN ('waiting', 'prioritized', 'delayed') AND leader_id IS NULL AND (due_at IS NULL OR due_at <= $2)
          AND ($3 OR batch_id IS NULL OR lane = 'prioritized')
        ORDER BY lane, (batch_id IS NOT NULL), seq LIMIT 1`,
      [accountId, now, takesBatches ? 1 : 0],
    );
    if (job !== null) return job;
  }
  return null;
}

function hasRunning(sql: Sql, accountId: string): boolean {
  const running = sql.one(
    `SELECT 1 FROM jobs INDEXED BY jobs_leased WHERE state = 'active' AND account_id = $1 LIMIT 1`,
    [accountId],
  );
  return running !== null;
}

function claimJob(sql: Sql, job: JobRow, { workerId, now, leaseMs, bookedMs }: JobClaim & { bookedMs: number }): void {
  const claimed = sql.run(
    `UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, worker_id = $4, claimed_at = $5, lease_expires_at = $6,
        booked_ms = $7, first_claimed_at = ifnull(first_claimed_at, $5), due_at = NULL, progress = 0
      WHERE id = $1 AND state = $2 AND attempts_made = $3 AND leader_id IS NULL`,
    [job.id, job.state, job.attemptsMade, workerId, now, now + leaseMs, bookedMs],
  );
  if (claimed !== 1) throw new Error(`job ${job.id} was not ${job.state} as it was read`);
}

/** Returns a job to the queue until `dueAt`, for a second attempt. Runs inside the caller's transaction. */
export function retryLater(
  sql: Sql,
  claim: Claim,
  at: { dueAt: number; now: number; begunAt: number | undefined },
): boolean {
  const job = sql.one<JobRow>(
    `UPDATE jobs SET state = 'delayed', due_at = $4, lease_expires_at = NULL, worker_id = NULL, progress = 0,
        first_claimed_at = ifnull($5, first_claimed_at)
      WHERE ${IS_HELD} AND attempts_made < attempt_budget RETURNING *`,
    [claim.id, claim.workerId, claim.attempt, at.dueAt, at.begunAt ?? null],
  );
  if (job !== null) correctTurn(sql, job, at.now);
  return job !== null;
}

/** Undoes a claim. Runs inside the caller's transaction. */
export function release(sql: Sql, claim: Claim): boolean {
  const job = putBack(sql, claim, claim.attempt - 1);
  if (job !== null) refundTurn(sql, job);
  return job !== null;
}

/**
 * Returns a job to its lane; null if the claim was lost.
 * @param attemptsMade the new count
 */
export function putBack(sql: Sql, claim: Claim, attemptsMade: number): JobRow | null {
  return sql.one<JobRow>(
    `UPDATE jobs SET state = lane, lease_expires_at = NULL, worker_id = NULL, progress = 0, attempts_made = $4,
        first_claimed_at = iif($4 = 0, NULL, first_claimed_at)
      WHERE ${IS_HELD} RETURNING *`,
    [claim.id, claim.workerId, claim.attempt, attemptsMade],
  );
}

const NONE: OwnClaims = { jobs: [], deliveries: [] };
const FOR_EVER = Number.MAX_SAFE_INTEGER;

/**
 * Releases the claims of a process that has ended, or of a stuck worker: active jobs with an attempt left are queued again, the others
 * fail, and claimed deliveries are due again. If the clock was set back, delayed work is due at once. Runs inside the caller's transaction.
 */
export function recover(
  sql: Sql,
  { now, starting, own = NONE }: Parameters<JobStore['recover']>[0],
): { requeued: number; ended: EndedJob[] } {
  renew(sql, own, now);
  pullForward(sql, now);
  const leasedUntil = starting ? FOR_EVER : now;
  unclaimDeliveries(sql, { now, leasedUntil });
  const ended: EndedJob[] = [];
  let requeued = 0;
  const abandoned = sql.all<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs job INDEXED BY jobs_leased WHERE state = 'active' AND lease_expires_at <= $1 ORDER BY seq`,
    [leasedUntil],
  );
  for (const job of abandoned) {
    const held = { id: job.id, workerId: job.workerId ?? '', attempt: job.attemptsMade };
    if (job.attemptsMade < job.attemptBudget) requeued += putBack(sql, held, job.attemptsMade) === null ? 0 : 1;
    else ended.push(...endJob(sql, held, { state: 'failed', now, error: CRASHED, data: null, artifactName: null }));
  }
  return { requeued, ended };
}

/** Renews own claims first, since running work is not abandoned, whatever the clock says. */
function renew(sql: Sql, own: OwnClaims, now: number): void {
  for (const { id, workerId, attempt } of own.jobs) {
    sql.run(`UPDATE jobs SET lease_expires_at = $4 WHERE ${IS_HELD} AND lease_expires_at <= $5`, [
      id,
      workerId,
      attempt,
      now + RENEWED_MS,
      now,
    ]);
  }
  for (const { deliveryId, generation, attempt } of own.deliveries) {
    sql.run(`UPDATE deliveries SET claimed_until = $4 WHERE ${IS_HELD_DELIVERY} AND claimed_until <= $5`, [
      deliveryId,
      generation,
      attempt,
      now + RENEWED_MS,
      now,
    ]);
  }
}

/** Limits times to the horizon: delayed jobs beyond it are due now, and leases beyond it end there unless they are renewed. */
function pullForward(sql: Sql, now: number): void {
  const horizon = now + HORIZON_MS;
  sql.run(`UPDATE jobs SET due_at = $1 WHERE state = 'delayed' AND due_at > $2`, [now, horizon]);
  sql.run(`UPDATE jobs SET lease_expires_at = $1 WHERE state = 'active' AND lease_expires_at > $1`, [horizon]);
  sql.run('UPDATE deliveries SET claimed_until = $1 WHERE claimed_until > $1', [horizon]);
}

function unclaimDeliveries(sql: Sql, { now, leasedUntil }: { now: number; leasedUntil: number }): void {
  const horizon = now + HORIZON_MS;
  const released = sql.all<ReceiverKey>(
    'UPDATE deliveries SET claimed_until = NULL WHERE claimed_until <= $1 RETURNING account_id, origin',
    [leasedUntil],
  );
  const pulled = sql.all<ReceiverKey>(
    `UPDATE deliveries SET due_at = $1, next_attempt_at = $1, expires_at = min(expires_at, $1 + ${MAX_DELIVERY_AGE_MS})
      WHERE due_at > $2 RETURNING account_id, origin`,
    [now, horizon],
  );
  const unpaused = sql.all<ReceiverKey>(
    'UPDATE receivers SET paused_until = 0 WHERE ready_at IS NOT NULL AND ready_at > $1 RETURNING account_id, origin',
    [horizon],
  );
  refreshReceivers(sql, [...released, ...pulled, ...unpaused]);
}

/** A slice ends no further follower after this time: commit and log lines add to it, and all of it blocks the event loop. */
const SLICE_MS = 4;

/** The result of a job: `data` and `artifactName`, or `error`. */
export type Ending = Pick<JobRow, 'data' | 'error' | 'artifactName'> & {
  state: 'completed' | 'failed';
  now: number;
  /** The job has rendered no picture, but uploaded a stored one. */
  isStored?: true;
};

/**
 * Ends a claimed job and the first slice of its followers (`endFollowers` ends the others), together with credits, orders and deliveries.
 * Runs inside the caller's transaction.
 * @returns the ended jobs, the claimed one first, also if an earlier try was committed although its sync failed; empty if the claim was
 * lost
 */
export function endJob(sql: Sql, held: Claim, ending: Ending): EndedJob[] {
  const { state, now, artifactName, data, error } = ending;
  const renderedAt = state === 'completed' && !ending.isStored ? now : null;
  const job = sql.one<JobRow>(
    `UPDATE jobs SET state = $4, ended_at = $5, rendered_at = $6, artifact_name = $7, data = $8, error = $9, progress = 100,
        lease_expires_at = NULL
      WHERE ${IS_HELD} RETURNING *`,
    [held.id, held.workerId, held.attempt, state, now, renderedAt, artifactName, data, error],
  );
  if (job === null) return endedEarlier(sql, held, ending);
  correctTurn(sql, job, now);
  const own = endWithEffects(sql, job, ending);
  const followers = endFollowers(sql, job);
  return [{ ...own, isFollowed: followers.length > 0 || isFollowed(sql, job.id) }, ...followers];
}

function endedEarlier(sql: Sql, { id, workerId, attempt }: Claim, ending: Ending): EndedJob[] {
  const own = findJob(sql, id);
  const isSame = own?.workerId === workerId && own.attemptsMade === attempt && own.state === ending.state;
  if (!isSame || own.artifactName !== ending.artifactName || own.error !== ending.error) return [];
  const together = sql.all<JobRow>(
    'SELECT * FROM jobs WHERE ended_at = $1 AND worker_id = $2 AND account_id = $3 AND cache_digest = $4 AND id <> $5',
    [own.endedAt, workerId, own.accountId, own.cacheDigest, id],
  );
  const [first, ...others] = [own, ...together].map((row) =>
    toEnded(row, { state: ending.state, hasWebhook: row.webhookUrl !== null }),
  );
  return first === undefined ? [] : [{ ...first, isFollowed: isFollowed(sql, id) }, ...others];
}

/**
 * Ends the next slice of an ended job's followers with the same result. After a failure, followers with a longer timeout continue, and
 * after a removal all of them: the first renders for the others. Runs inside the caller's transaction.
 * @returns the ended jobs
 */
export function endFollowers(sql: Sql, leader: JobRow): EndedJob[] {
  const { state, endedAt, artifactName, error } = leader;
  if ((state !== 'completed' && state !== 'failed') || endedAt === null) return [];
  const ending: Ending = {
    state,
    now: endedAt,
    artifactName,
    error,
    data: state === 'completed' ? sharedData(leader) : null,
  };
  const ended: EndedJob[] = [];
  const deadline = performance.now() + SLICE_MS;
  for (const follower of followersOf(sql, leader.id, SLICE_FOLLOWERS)) {
    if (leader.removedAt !== null || (state === 'failed' && follower.timeoutMs > leader.timeoutMs))
      continueFollower(sql, leader, follower);
    else {
      endFollower(sql, leader, { follower, ending });
      ended.push(endWithEffects(sql, follower, ending));
    }
    if (performance.now() > deadline) break;
  }
  return ended;
}

export function isFollowed(sql: Sql, leaderId: string): boolean {
  return followersOf(sql, leaderId, 1).length > 0;
}

function followersOf(sql: Sql, leaderId: string, limit: number): JobRow[] {
  return sql.all<JobRow>('SELECT * FROM jobs WHERE leader_id = $1 ORDER BY seq LIMIT $2', [leaderId, limit]);
}

/** Condition of a follower ($1) of a job ($2). */
const FOLLOWS = `id = $1 AND leader_id = $2 AND state IN ('waiting', 'prioritized')`;

function endFollower(sql: Sql, leader: JobRow, { follower, ending }: { follower: JobRow; ending: Ending }): void {
  const { state, now, artifactName, data, error } = ending;
  const changed = sql.run(
    `UPDATE jobs SET leader_id = NULL, state = $3, ended_at = $4, worker_id = $5, artifact_name = $6, data = $7, error = $8, progress = 100
      WHERE ${FOLLOWS}`,
    [follower.id, leader.id, state, now, leader.workerId ?? '', artifactName, data, error],
  );
  expectOne(changed, follower.id);
}

function continueFollower(sql: Sql, from: JobRow, follower: JobRow): void {
  const next = follower.cacheDigest === null ? null : findInFlight(sql, follower.accountId, follower.cacheDigest);
  expectOne(sql.run(`UPDATE jobs SET leader_id = $3 WHERE ${FOLLOWS}`, [follower.id, from.id, next]), follower.id);
  if (next !== null && follower.lane === 'prioritized') promote(sql, next);
}

export function endWithEffects(
  sql: Sql,
  row: JobRow,
  { state, now, error, outcome }: Pick<Ending, 'state' | 'now' | 'error'> & { outcome?: string },
): EndedJob {
  // secure_delete overwrites the bytes of the order.
  sql.run('DELETE FROM orders WHERE job_id = $1', [row.id]);
  countOutcome(sql, row.accountId, periodOf(now), outcome ?? outcomeOf(state, error));
  endCredits(sql, row.id, state === 'completed' ? 'settled' : 'released');
  const hasWebhook = row.webhookUrl !== null && announceDelivery(sql, row.id, { event: eventOf(state), now });
  const isBatchDue = row.batchId !== null && completeBatches(sql, now, row.batchId);
  return toEnded(row, { state, hasWebhook: hasWebhook || isBatchDue });
}

function expectOne(changed: number, id: string): void {
  if (changed !== 1) throw new Error(`job ${id} is no longer a follower: its row changed inside the transaction`);
}
