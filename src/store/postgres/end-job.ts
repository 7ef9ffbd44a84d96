import { eventOf } from '../../contract/job.js';
import { periodOf } from '../../contract/pricing.js';
import { RENDERED_DATA, SHARED_DATA } from '../result-data.js';
import { codeOfFailure, MAX_DELIVERY_AGE_MS, SLICE_FOLLOWERS } from '../rules.js';
import type { Claim, EndedJob, FinishedCapture } from '../store.js';
import type { Database, Queries } from './connect.js';
import { IS_HELD, JOB_COLUMNS, type JobRow, LANE } from './job-rows.js';
import { LOCKS } from './locks.js';
import { settleTurn } from './turns.js';

/** The result of a claimed job: a capture, or an error as JSON. */
export type Ending = { now: number } & ({ state: 'completed'; capture: FinishedCapture } | { state: 'failed'; error: string });

type EndedRow = JobRow & { announced: boolean };

/**
 * Ends a claimed job, in one statement with its credits, order, picture and delivery; then the first slice of its followers, which the sweep
 * ends if that fails.
 *
 * @param mayHaveEnded whether an earlier call lost its connection: if it was committed after all, its job is returned
 * @returns the ended jobs, the claimed one first; empty if the claim was lost
 */
export async function endJob(database: Database, held: Claim, ending: Ending, { mayHaveEnded = false } = {}): Promise<EndedJob[]> {
  const row = (await endClaimed(database, held, ending)) ?? (mayHaveEnded ? await alreadyEnded(database, held, ending) : null);
  if (row === null) return [];
  const followers = await settleTurn(database, row, ending.now)
    .then((isFollowed) => (isFollowed ? endFollowers(database, row.id) : null))
    .catch(() => null);
  return [toEnded(row), ...(followers ?? [])];
}

/**
 * Ends the next slice of an ended job's followers with the same result. After a failure, followers with a longer timeout continue: the
 * first of them renders for the others. @returns null if none is left, or others are ending them
 */
export async function endFollowers(database: Database, leaderId: string): Promise<EndedJob[] | null> {
  const isFollowed = await database.one('SELECT 1 FROM jobs WHERE leader_id = $1 LIMIT 1', [leaderId]);
  if (isFollowed === null) return null;
  const leader = await database.one<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs job WHERE job.id = $1`, [leaderId]);
  if (leader === null || leader.endedAt === null) return null;
  const ended = await endSlice(database, leader);
  const wentOn = leader.state === 'failed' && ended.length < SLICE_FOLLOWERS && (await goOn(database, leader));
  return ended.length > 0 || wentOn ? ended.map(toEnded) : null;
}

/** Ended jobs that still have followers, because a node died or a step failed between two slices. */
export async function endedLeaders(database: Queries): Promise<string[]> {
  const found = await database.all<{ id: string }>(
    `SELECT id FROM jobs WHERE ended_at IS NOT NULL AND id IN (SELECT DISTINCT leader_id FROM jobs WHERE leader_id IS NOT NULL)`,
  );
  return found.map((leader) => leader.id);
}

function endClaimed(database: Database, { id, workerId, attempt }: Claim, ending: Ending): Promise<EndedRow | null> {
  const held = [id, workerId, attempt];
  const { now } = ending;
  if (ending.state === 'failed') {
    const update = `UPDATE jobs SET state = 'failed', error = $4, ended_at = $5::bigint, progress = 100, lease_expires_at = NULL, node_id = NULL
      WHERE ${IS_HELD} RETURNING *`;
    return database.one<EndedRow>(concluding(update), [...held, ending.error, now, periodOf(now), codeOfFailure(ending.error), 'released']);
  }
  const { artifact, data } = ending.capture;
  const update = `UPDATE jobs SET state = 'completed', data = $4, ended_at = $5::bigint, rendered_at = $5::bigint, artifact_name = $9,
      progress = 100, lease_expires_at = NULL, node_id = NULL
    WHERE ${IS_HELD} RETURNING *`;
  const kept = `INSERT INTO artifacts (name, bytes, sha256, created_at, account_id, data)
    SELECT $9, $10::bigint, $11, $5::bigint, account_id, $12 FROM job`;
  const picture = `INSERT INTO tallies (account_id, period, name, bytes) SELECT account_id, '', 'pictures', $10::bigint FROM job`;
  const announced = 'DELETE FROM removals USING job WHERE name = $9';
  return database.one<EndedRow>(concluding(update, `kept AS (${kept}), weighed AS (${picture}), stored AS (${announced}),`), [
    ...held,
    ...[RENDERED_DATA, now, periodOf(now), 'completed', 'settled'],
    ...[artifact.name, artifact.bytes, artifact.sha256, JSON.stringify(data)],
  ]);
}

async function alreadyEnded(database: Database, { id, workerId, attempt }: Claim, ending: Ending): Promise<EndedRow | null> {
  return await database.one<EndedRow>(
    `SELECT ${JOB_COLUMNS}, job.webhook_url IS NOT NULL AS announced FROM jobs job
      WHERE job.id = $1 AND job.worker_id = $2 AND job.attempts_made = $3 AND job.state = $4 AND job.ended_at IS NOT NULL
        AND (job.artifact_name = $5 OR job.error = $6)`,
    [
      ...[id, workerId, attempt, ending.state],
      ending.state === 'completed' ? ending.capture.artifact.name : null,
      ending.state === 'failed' ? ending.error : null,
    ],
  );
}

/**
 * One statement: `update` ends jobs, the rest follows for each of them. Parameters: 5 the time, 6 its period, 7 the outcome, 8 the new
 * state of the credits. @throws Error if a job's credits are not pending, so that nothing is charged twice
 */
function concluding(update: string, further = ''): string {
  return `WITH job AS (${update}), ${further}
    wiped AS (DELETE FROM orders USING job WHERE orders.job_id = job.id),
    charged AS (UPDATE reservations SET state = $8 FROM job WHERE reservations.job_id = job.id AND reservations.state = 'pending'
      RETURNING reservations.account_id, reservations.period, reservations.credits),
    counted AS (INSERT INTO tallies (account_id, period, name, reserved, settled, jobs)
      SELECT account_id, period, CASE period WHEN $6::text THEN $7::text ELSE '' END, -credits, CASE $8 WHEN 'settled' THEN credits ELSE 0 END,
        CASE period WHEN $6::text THEN 1 ELSE 0 END FROM charged
      UNION ALL SELECT account_id, $6::text, $7::text, 0, 0, 1 FROM charged WHERE period <> $6::text),
    announced AS (UPDATE deliveries SET event = CASE job.state WHEN 'completed' THEN '${eventOf('completed')}' ELSE '${eventOf('failed')}' END,
        due_at = $5::bigint, next_attempt_at = $5::bigint, expires_at = $5::bigint + ${MAX_DELIVERY_AGE_MS}
      FROM job WHERE deliveries.job_id = job.id AND deliveries.event IS NULL RETURNING deliveries.job_id)
    SELECT ${JOB_COLUMNS}, EXISTS (SELECT 1 FROM announced WHERE announced.job_id = job.id) AS announced FROM job
      WHERE stillframe_expect((SELECT count(*) FROM charged) = (SELECT count(*) FROM job), 'credits are not pending')
      ORDER BY job.seq`;
}

/** Followers of a failed render with a longer timeout than its own are left. */
function endSlice(database: Database, leader: JobRow): Promise<EndedRow[]> {
  const { id, state, error, endedAt, timeoutMs, workerId, artifactName } = leader;
  const now = endedAt ?? 0;
  const isCompleted = state === 'completed';
  const update = `UPDATE jobs SET leader_id = NULL, state = $4, ended_at = $5::bigint, progress = 100, worker_id = $2, data = $9,
      artifact_name = $10, error = $11
    WHERE id IN (SELECT follower.id FROM jobs follower WHERE follower.leader_id = $1 AND ($4 = 'completed' OR follower.timeout_ms <= $3)
      ORDER BY follower.seq LIMIT ${SLICE_FOLLOWERS} FOR NO KEY UPDATE SKIP LOCKED) RETURNING *`;
  return database.all<EndedRow>(concluding(update), [
    ...[id, workerId ?? '', timeoutMs, state, now, periodOf(now), isCompleted ? 'completed' : codeOfFailure(error)],
    ...[isCompleted ? 'settled' : 'released', isCompleted ? SHARED_DATA : null, artifactName, error],
  ]);
}

/**
 * Lets the next followers of a failed render continue: behind the oldest render in flight of the same digest, or, if there is none, behind
 * the first of them, which is queued. @returns false if none is left
 */
function goOn(database: Database, leader: JobRow): Promise<boolean> {
  return database.transaction(async (queries) => {
    await queries.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCKS.cacheDigest, `${leader.accountId} ${leader.cacheDigest}`]);
    const inFlight = await queries.one<{ id: string; endedAt: number | null }>(
      `SELECT id, ended_at AS "endedAt" FROM jobs WHERE id = (
        SELECT id FROM jobs WHERE account_id = $1 AND cache_digest = $2 AND ended_at IS NULL AND leader_id IS NULL ORDER BY seq LIMIT 1)
       FOR NO KEY UPDATE`,
      [leader.accountId, leader.cacheDigest],
    );
    // It ended meanwhile: look again.
    if (inFlight !== null && inFlight.endedAt !== null) return true;
    const heirs = await queries.all<{ id: string; lane: string }>(
      `SELECT id, lane FROM jobs WHERE leader_id = $1 ORDER BY seq LIMIT ${SLICE_FOLLOWERS} FOR NO KEY UPDATE SKIP LOCKED`,
      [leader.id],
    );
    const [first, ...others] = heirs;
    if (first === undefined) return false;
    const next = inFlight?.id ?? first.id;
    if (inFlight === null) await queries.run(QUEUE_HEIR, [first.id]);
    const following = inFlight === null ? others : heirs;
    await queries.run('UPDATE jobs SET leader_id = $1 WHERE id = ANY($2)', [next, following.map((heir) => heir.id)]);
    if (following.some((heir) => heir.lane === 'prioritized')) await promote(queries, next);
    return true;
  });
}

const QUEUE_HEIR = `WITH job AS (UPDATE jobs SET leader_id = NULL WHERE id = $1 RETURNING seq, account_id, lane)
  INSERT INTO queue_entries (seq, account_id, lane) SELECT seq, account_id, ${LANE} FROM job`;

/** Gives an asynchronous job the priority of a synchronous one. An entry that is being claimed needs none. */
export async function promote(queries: Queries, id: string): Promise<void> {
  await queries.run(
    `WITH promoted AS (
      UPDATE jobs SET lane = 'prioritized', state = CASE state WHEN 'waiting' THEN 'prioritized' ELSE state END
        WHERE id = $1 AND lane = 'waiting' AND ended_at IS NULL RETURNING seq)
     UPDATE queue_entries SET lane = 0 WHERE seq IN (
       SELECT entry.seq FROM queue_entries entry JOIN promoted ON promoted.seq = entry.seq FOR UPDATE OF entry SKIP LOCKED)`,
    [id],
  );
}

function toEnded({ id, requestId, accountId, state, announced }: EndedRow): EndedJob {
  return { id, requestId, accountId, state: state === 'completed' ? 'completed' : 'failed', hasWebhook: announced };
}
