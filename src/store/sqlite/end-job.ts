import { eventOf } from '../../contract/job.js';
import { periodOf } from '../../contract/pricing.js';
import { IS_HELD, type JobRow, SHARED_DATA } from '../rows.js';
import { outcomeOf, SLICE_FOLLOWERS, toEnded } from '../rules/claims.js';
import type { Claim, EndedJob } from '../store.js';
import { findInFlight, findJob, promote } from './accept.js';
import type { Sql } from './connection.js';
import { announceDelivery } from './deliveries.js';
import { countOutcome, endCredits } from './ledger.js';
import { correctTurn } from './turns.js';

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
  const [first, ...others] = [own, ...together].map((row) => toEnded(row, { state: ending.state, hasWebhook: row.webhookUrl !== null }));
  return first === undefined ? [] : [{ ...first, isFollowed: isFollowed(sql, id) }, ...others];
}

/**
 * Ends the next slice of an ended job's followers with the same result. After a failure, followers with a longer timeout continue: the
 * first of them renders for the others. Runs inside the caller's transaction.
 * @returns the ended jobs
 */
export function endFollowers(sql: Sql, leader: JobRow): EndedJob[] {
  const { state, endedAt, artifactName, error } = leader;
  if ((state !== 'completed' && state !== 'failed') || endedAt === null) return [];
  const ending: Ending = { state, now: endedAt, artifactName, error, data: state === 'completed' ? SHARED_DATA : null };
  const ended: EndedJob[] = [];
  const deadline = performance.now() + SLICE_MS;
  for (const follower of followersOf(sql, leader.id, SLICE_FOLLOWERS)) {
    if (state === 'failed' && follower.timeoutMs > leader.timeoutMs) continueFollower(sql, leader, follower);
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

function endWithEffects(sql: Sql, row: JobRow, { state, now, error }: Ending): EndedJob {
  // secure_delete overwrites the bytes of the order.
  sql.run('DELETE FROM orders WHERE job_id = $1', [row.id]);
  countOutcome(sql, row.accountId, periodOf(now), outcomeOf(state, error));
  endCredits(sql, row.id, state === 'completed' ? 'settled' : 'released');
  const hasWebhook = row.webhookUrl !== null && announceDelivery(sql, row.id, { event: eventOf(state), now });
  return toEnded(row, { state, hasWebhook });
}

function expectOne(changed: number, id: string): void {
  if (changed !== 1) throw new Error(`job ${id} did not follow as it was read`);
}
