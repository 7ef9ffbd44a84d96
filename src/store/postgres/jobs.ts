import { eventOf } from '../../contract/job.js';
import { periodOf } from '../../contract/pricing.js';
import { IN_FLIGHT, IS_HELD, JOB_COLUMNS, type JobRow, ownData, type Queries, sharedData } from '../rows.js';
import { IS_HELD_DELIVERY, MAX_DELIVERY_AGE_MS } from '../rules/deliveries.js';
import {
  CANCELED,
  CANCELED_OUTCOME,
  CRASHED,
  HORIZON_MS,
  outcomeOf,
  RENEWED_MS,
  SLICE_FOLLOWERS,
  slotTimeOf,
  toClaimedJob,
  toEnded,
  toProgress,
  UNREADABLE,
} from '../rules/jobs.js';
import type {
  Claim,
  ClaimedJob,
  EndedJob,
  FinishedCapture,
  JobClaim,
  JobStore,
  OwnClaims,
  UploadedPicture,
} from '../store.js';
import { decryptOptions, type Vault } from '../vault.js';
import { type Database, HELD_LOCKS, LOCKS, RELAXED } from './connect.js';

/**
 * Claims the next jobs for a lease: each from the account whose turn it is, synchronous before asynchronous, first in, first out
 * (decisions.md, Jobs), by the function `stillframe_claim_jobs` of drizzle-pg/. Claims that a crash of the database forgets are made again.
 */
export async function claimNextJobs(
  database: Database,
  vault: Vault,
  claims: readonly JobClaim[],
  by: Claimant,
): Promise<ClaimedJob[]> {
  const rows = await claimRows(database, claims, by);
  const jobs: ClaimedJob[] = [];
  for (const [i, claim] of claims.slice(0, rows.length).entries()) {
    for (let row = rows[i]; row !== undefined; row = (await claimRows(database, [claim], by))[0]) {
      const options = decryptOptions(vault, row.id, row.sealed);
      if (options !== null) {
        jobs.push(toClaimedJob(row, options, claim));
        break;
      }
      const held = { id: row.id, workerId: claim.workerId, attempt: row.attemptsMade + 1 };
      await endJob(database, held, { state: 'failed', error: UNREADABLE, now: claim.now }, by.corrections);
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

interface Retry {
  dueAt: number;
  now: number;
  begunAt: number | undefined;
  corrections: Corrections;
}

/**
 * Returns a job to the queue until `dueAt`, for a second attempt.
 * @returns false if the claim was lost or no attempt is left
 */
export async function retryLater(
  database: Database,
  claim: Claim,
  { dueAt, now, begunAt, corrections }: Retry,
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
  if (job !== null) corrections.add([{ ...job, now }]);
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
export async function announceArtifacts(
  database: Database,
  announcements: readonly Announcement[],
): Promise<boolean[]> {
  const held = await database.all<{ id: string }>(
    `WITH job AS (SELECT jobs.id, worker_id, attempts_made, input.name FROM ${RELAXED},
        unnest($1::text[], $2::text[], $3::int[], $4::text[]) AS input(id, worker, attempt, name)
        JOIN jobs ON ${CLAIMED}),
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

/** A node, with the corrections of turns that precede its next claim. */
interface Claimant {
  nodeId: string;
  corrections: Corrections;
}

function claimRows(
  database: Database,
  claims: readonly JobClaim[],
  { nodeId, corrections }: Claimant,
): Promise<ClaimedRow[]> {
  const [first] = claims;
  return database.all<ClaimedRow>(
    `SELECT job_id AS id, account AS account_id, request AS request_id, job_mode AS mode, attempt - 1 AS attempts_made,
        budget AS attempt_budget, enqueued AS enqueued_at, first_claimed AS first_claimed_at, due AS due_at, trace AS traceparent,
        order_sealed AS sealed, batch AS batch_id
      FROM ${RELAXED}, stillframe_claim_corrected($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      first?.now,
      first?.leaseMs,
      claims.map(({ workerId }) => workerId),
      nodeId,
      claims.map(({ keptSlot = false }) => keptSlot),
      claims.map(({ takesBatches = true }) => takesBatches),
      ...correctionValues(corrections.take()),
    ],
  );
}

const NONE: OwnClaims = { jobs: [], deliveries: [] };

type Recovery = Parameters<JobStore['recover']>[0];

/** A node's view of itself and of others. */
interface Known extends Claimant {
  lost: readonly string[];
  alive: readonly string[];
  /** Whether it recovers what others leave behind, too. */
  isGuard: boolean;
}

/**
 * Releases claims of ended nodes, and expired leases except those of live nodes, which renew their own. Active jobs with an attempt left
 * are queued again, others fail, and deliveries are due again. Each step checks the claim, so that several nodes may recover at once.
 */
export async function recover(
  database: Database,
  { nodeId, lost, alive, isGuard, corrections }: Known,
  { now, own = NONE }: Recovery,
): Promise<{ requeued: number; ended: EndedJob[]; failures: unknown[] }> {
  await renewLapsed(database, own, now);
  if (isGuard) {
    await forgetLostNodes(database, lost);
    await pullForward(database, now, now + HORIZON_MS);
  }
  // A claim of its own whose answer was lost is known to no node.
  const isAbandoned = isGuard ? isAbandonedByAny : isAbandonedByOwn;
  const known = isGuard ? [now, nodeId, alive] : [now, nodeId];
  await database.run(
    `UPDATE deliveries SET claimed_until = NULL, node_id = NULL
      WHERE claimed_until IS NOT NULL AND ${isAbandoned('claimed_until')}`,
    known,
  );
  const abandoned = await database.all<{ id: string; workerId: string; attempt: number; budget: number }>(
    `SELECT id, worker_id, attempts_made AS attempt, attempt_budget AS budget FROM jobs
      WHERE ended_at IS NULL AND lease_expires_at IS NOT NULL AND ${isAbandoned('lease_expires_at')} ORDER BY seq`,
    known,
  );
  const ended: EndedJob[] = [];
  let requeued = 0;
  const failures: unknown[] = [];
  for (const { budget, ...held } of abandoned) {
    try {
      if (held.attempt < budget) requeued += (await putBack(database, held, held.attempt)) === null ? 0 : 1;
      else ended.push(...(await endJob(database, held, { state: 'failed', now, error: CRASHED }, corrections)));
    } catch (error) {
      // One job that cannot be ended must not stop the others.
      failures.push(error);
    }
  }
  await corrections.flush();
  return { requeued, ended, failures };
}

/** Builds a condition. Its parameters are 1 the time, 2 this node. */
function isAbandonedByOwn(until: string): string {
  return `(${until} <= $1 AND node_id = $2)`;
}

/** Builds a condition. Its parameters are 1 the time, 2 this node, 3 other nodes that are alive. */
function isAbandonedByAny(until: string): string {
  return `((${until} <= $1 AND node_id <> ALL($3)) OR (node_id <> $2 AND node_id NOT IN (SELECT id FROM nodes)))`;
}

/** Renews the leases of own claims, since own work is not abandoned, whatever the clock says. */
async function renewLapsed(database: Database, own: OwnClaims, now: number): Promise<void> {
  for (const { id, workerId, attempt } of own.jobs) {
    await database.run(`UPDATE jobs SET lease_expires_at = $5::bigint WHERE ${IS_HELD} AND lease_expires_at <= $4`, [
      id,
      workerId,
      attempt,
      now,
      now + RENEWED_MS,
    ]);
  }
  for (const { deliveryId, generation, attempt } of own.deliveries) {
    await database.run(
      `UPDATE deliveries SET claimed_until = $5::bigint WHERE ${IS_HELD_DELIVERY} AND claimed_until <= $4`,
      [deliveryId, generation, attempt, now, now + RENEWED_MS],
    );
  }
}

/** Deletes the nodes that this node has found without a lock for a while, and that still have none. */
async function forgetLostNodes(database: Database, lost: readonly string[]): Promise<void> {
  if (lost.length === 0) return;
  await database.run(`DELETE FROM nodes WHERE id = ANY($1) AND lock_key NOT IN (${HELD_LOCKS})`, [lost]);
}

/** Limits times to the horizon: delayed work beyond it is due now, and leases beyond it end there unless they are renewed. */
async function pullForward(database: Database, now: number, horizon: number): Promise<void> {
  const times = [now, horizon];
  await database.run(
    `WITH entry AS (UPDATE queue_entries SET due_at = $1::bigint WHERE due_at > $2 RETURNING seq)
     UPDATE jobs SET due_at = $1::bigint FROM entry WHERE jobs.seq = entry.seq AND jobs.state = 'delayed'`,
    times,
  );
  await database.run('UPDATE jobs SET lease_expires_at = $1::bigint WHERE ended_at IS NULL AND lease_expires_at > $1', [
    horizon,
  ]);
  await database.run(
    `UPDATE deliveries SET due_at = $1::bigint, next_attempt_at = $1::bigint, expires_at = least(expires_at, $1::bigint + ${MAX_DELIVERY_AGE_MS})
      WHERE due_at > $2`,
    times,
  );
  await database.run('UPDATE deliveries SET claimed_until = $1::bigint WHERE claimed_until > $1', [horizon]);
  await database.run('UPDATE receivers SET paused_until = 0 WHERE paused_until > $1', [horizon]);
}

/** Lane of a queue entry, from the lane of its job. */
export const LANE = `CASE WHEN lane = 'prioritized' THEN 0 WHEN batch_id IS NULL THEN 1 ELSE 2 END`;
/** Prefix of the name under which `tallies` counts the credits of a key's links; the id of the key follows it. */
export const LINK_SUM = 'link/';

/** The result of a claimed job: a capture, or an error as JSON. */
export type Ending = { now: number } & (
  | { state: 'completed'; capture: FinishedCapture | UploadedPicture }
  | { state: 'failed'; error: string }
);

/** A claim and its result. */
export interface ClaimEnd {
  held: Claim;
  ending: Ending;
  /** An earlier call with this claim lost its connection, so that it may have been committed. */
  mayHaveEnded: boolean;
}

/** The fields that describe a job that a statement has ended. */
export type EndedRow = Pick<JobRow, 'id' | 'url' | 'accountId' | 'requestId' | 'claimedAt' | 'bookedMs' | 'batchId'> & {
  state: 'completed' | 'failed';
  hasWebhook: boolean;
  isFollowed: boolean;
};

/**
 * Ends jobs for the workers that hold them, all completed or all failed, in one statement with their credits, orders, pictures and
 * deliveries, so that one failure undoes all; then ends the first slice of each job's followers, which the sweep ends if that fails.
 * @returns for each claim the ended jobs, the claimed one first; none if the claim was lost
 */
export async function endJobs(
  database: Database,
  ends: readonly ClaimEnd[],
  corrections: Corrections,
): Promise<EndedJob[][]> {
  const rows = await endClaimed(database, ends);
  const known = new Map(rows.map((row) => [row.id, row]));
  const times = new Map(ends.map(({ held, ending }) => [held.id, ending.now]));
  for (const end of ends) {
    const before = end.mayHaveEnded && !known.has(end.held.id) ? await alreadyEnded(database, end) : null;
    if (before !== null) known.set(before.id, before);
  }
  corrections.add([...known.values()].map((row) => ({ ...row, now: times.get(row.id) ?? 0 })));
  return await Promise.all(ends.map(({ held }) => withFollowers(database, known.get(held.id))));
}

/** Ends one job like `endJobs`, for any server. */
export async function endJob(
  database: Database,
  held: Claim,
  ending: Ending,
  corrections: Corrections,
): Promise<EndedJob[]> {
  return (await endJobs(database, [{ held, ending, mayHaveEnded: false }], corrections))[0] ?? [];
}

async function withFollowers(database: Database, row: EndedRow | undefined): Promise<EndedJob[]> {
  if (row === undefined) return [];
  if (!row.isFollowed) return [toEnded(row, row)];
  const followers = await endFollowers(database, row.id).catch(() => []);
  return [{ ...toEnded(row, row), isFollowed: followers !== null }, ...(followers ?? [])];
}

/**
 * Ends the next slice of an ended job's followers with the same result. After a failure, followers with a longer timeout continue, and
 * after a removal all of them: the first renders for the others.
 * @returns null if none is left or others are ending them
 */
export async function endFollowers(database: Database, leaderId: string): Promise<EndedJob[] | null> {
  const isFollowed = await database.one('SELECT 1 FROM jobs WHERE leader_id = $1 LIMIT 1', [leaderId]);
  if (isFollowed === null) return null;
  const leader = await database.one<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs job WHERE job.id = $1`, [leaderId]);
  if (leader === null || leader.endedAt === null) return null;
  const ended = leader.removedAt === null ? await endSlice(database, leader) : [];
  const continued =
    leader.state === 'failed' && ended.length < SLICE_FOLLOWERS && (await continueFollowers(database, leader));
  return ended.length > 0 || continued ? ended.map((row) => toEnded(row, row)) : null;
}

/** Finds ended jobs that still have followers, because a node died or a step failed between two slices. */
export async function endedLeaders(database: Queries): Promise<string[]> {
  const found = await database.all<{ id: string }>(
    `SELECT id FROM jobs WHERE ended_at IS NOT NULL AND id IN (SELECT DISTINCT leader_id FROM jobs WHERE leader_id IS NOT NULL)`,
  );
  return found.map((leader) => leader.id);
}

/** Ends claimed jobs with the same outcome, so that an error undoes them all. */
async function endClaimed(database: Database, ends: readonly ClaimEnd[]): Promise<EndedRow[]> {
  const completed = ends.flatMap(completionOf);
  if (completed.length > 0) {
    const further = ends.flatMap(furtherOf);
    if (further.length === 0) return await database.all<EndedRow>(COMPLETE, columnsOf(completed));
    return await database.all<EndedRow>(COMPLETE_SEVERAL, [...columnsOf(completed), ...columnsOf(further)]);
  }
  return await database.all<EndedRow>(FAIL, columnsOf(ends.flatMap(failureOf)));
}

type Values = readonly (string | number)[];

function completionOf({ held, ending }: ClaimEnd): Values[] {
  if (ending.state !== 'completed') return [];
  const { capture, now } = ending;
  const claim = claimValues(held, now);
  // A stored picture has its row already, and neither bytes nor facts here.
  if ('stored' in capture) return [[...claim, capture.stored, 0, '', '', ownData(capture)]];
  const { artifact, data } = capture;
  return [[...claim, artifact.name, artifact.bytes, artifact.sha256, JSON.stringify(data), ownData(capture)]];
}

function artifactNameOf(capture: FinishedCapture | UploadedPicture): string {
  return 'stored' in capture ? capture.stored : capture.artifact.name;
}

function furtherOf({ held, ending }: ClaimEnd): Values[] {
  if (ending.state !== 'completed' || 'stored' in ending.capture) return [];
  const { artifact, further = [] } = ending.capture;
  return further.map(({ name, bytes, sha256 }) => [held.id, artifact.name, name, bytes, sha256]);
}

function failureOf({ held, ending }: ClaimEnd): Values[] {
  return ending.state === 'failed'
    ? [[...claimValues(held, ending.now), ending.error, outcomeOf('failed', ending.error)]]
    : [];
}

function claimValues({ id, workerId, attempt }: Claim, now: number): Values {
  return [id, workerId, attempt, now, periodOf(now)];
}

/** Converts rows to the parameters of `unnest`: an array for each column. */
function columnsOf(rows: readonly Values[]): unknown[] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}

const ENDED_COLUMNS =
  'job.id, job.url, job.account_id, job.request_id, job.state, job.claimed_at, job.booked_ms, job.batch_id';

/** The ids are passed twice, so that the plan for a small table, which is kept, looks them up in a large one as well. */
const CLAIMED = `jobs.id = input.id AND jobs.id = ANY($1) AND worker_id = input.worker AND attempts_made = input.attempt AND state = 'active'`;

/** Columns for `RETURNING` that `concluding` needs of a job, besides `period`, `outcome` and `bytes`. */
const ENDED = 'jobs.id, jobs.url, seq, jobs.account_id, request_id, state, claimed_at, booked_ms, ended_at, batch_id';

const SET_COMPLETED = `UPDATE jobs SET state = 'completed', data = input.own, ended_at = input.now,
      rendered_at = CASE WHEN input.facts <> '' THEN input.now END, artifact_name = input.name, progress = 100, lease_expires_at = NULL, node_id = NULL
    FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
        $10::text[]) AS input(id, worker, attempt, now, period, name, bytes, sha256, facts, own)
    WHERE ${CLAIMED} RETURNING ${ENDED}, input.period, 'completed' AS outcome, input.bytes, input.name, input.sha256, input.facts`;
const KEEP = `kept AS (INSERT INTO artifacts (name, bytes, sha256, created_at, account_id, data)
      SELECT name, bytes, sha256, ended_at, account_id, facts FROM job WHERE facts <> ''),
    stored AS (DELETE FROM removals USING job WHERE removals.name = job.name AND job.facts <> ''),`;
const COMPLETE = concluding(SET_COMPLETED, KEEP);

/** Completes jobs of which some have further pictures. */
const COMPLETE_SEVERAL = concluding(
  SET_COMPLETED,
  `${KEEP}
    further AS (INSERT INTO artifacts (name, bytes, sha256, created_at, account_id, data, first_name)
      SELECT file.name, file.bytes, file.sha256, job.ended_at, job.account_id, '{}', job.name
      FROM job JOIN unnest($11::text[], $12::text[], $13::text[], $14::bigint[], $15::text[]) AS file(id, first, name, bytes, sha256)
        ON file.id = job.id AND file.first = job.name
      RETURNING name, account_id, bytes),
    further_counted AS (INSERT INTO tallies (account_id, period, name, bytes)
      SELECT account_id, '', 'pictures', sum(bytes) FROM further GROUP BY account_id),
    further_stored AS (DELETE FROM removals USING further WHERE removals.name = further.name),`,
);

const FAIL = concluding(
  `UPDATE jobs SET state = 'failed', error = input.error, ended_at = input.now, progress = 100, lease_expires_at = NULL, node_id = NULL
    FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::text[])
      AS input(id, worker, attempt, now, period, error, outcome)
    WHERE ${CLAIMED} RETURNING ${ENDED}, input.period, input.outcome, 0::bigint AS bytes`,
);

const END_FOLLOWERS = concluding(
  `UPDATE jobs SET leader_id = NULL, state = $4, ended_at = $5::bigint, progress = 100, worker_id = $2, data = $8, artifact_name = $9,
      error = $10
    WHERE id IN (SELECT follower.id FROM jobs follower WHERE follower.leader_id = $1 AND ($4 = 'completed' OR follower.timeout_ms <= $3)
      ORDER BY follower.seq LIMIT ${SLICE_FOLLOWERS} FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING ${ENDED}, $6::text AS period, $7::text AS outcome, 0::bigint AS bytes`,
);

const CANCEL = concluding(
  `UPDATE jobs SET state = 'failed', error = $3, ended_at = $2::bigint, removed_at = $2::bigint, url = '', progress = 100,
      worker_id = coalesce(worker_id, ''), lease_expires_at = NULL, node_id = NULL, due_at = NULL, leader_id = NULL
    WHERE id = $1 AND ended_at IS NULL
    RETURNING ${ENDED}, $4::text AS period, '${CANCELED_OUTCOME}' AS outcome, 0::bigint AS bytes`,
  'unqueued AS (DELETE FROM queue_entries USING job WHERE queue_entries.seq = job.seq),',
);

/** Cancels a job, whose row the transaction has locked. */
export function cancelLocked(queries: Queries, id: string, now: number): Promise<EndedRow | null> {
  return queries.one<EndedRow>(CANCEL, [id, now, CANCELED, periodOf(now)]);
}

async function alreadyEnded(
  database: Database,
  { held: { id, workerId, attempt }, ending }: ClaimEnd,
): Promise<EndedRow | null> {
  return await database.one<EndedRow>(
    `SELECT ${ENDED_COLUMNS}, webhook_url IS NOT NULL AS has_webhook, stillframe_is_followed(id) AS is_followed FROM jobs job
      WHERE job.id = $1 AND job.worker_id = $2 AND job.attempts_made = $3 AND job.state = $4 AND job.ended_at IS NOT NULL
        AND (job.artifact_name = $5 OR job.error = $6)`,
    [
      id,
      workerId,
      attempt,
      ending.state,
      ending.state === 'completed' ? artifactNameOf(ending.capture) : null,
      ending.state === 'failed' ? ending.error : null,
    ],
  );
}

/**
 * Builds one statement: `update` ends jobs, and the rest, which charges credits, follows for each of them. It fails if a job's credits are
 * not pending, so that nothing is charged twice.
 */
function concluding(update: string, further = ''): string {
  return `WITH job AS (${update}), ${further}
    wiped AS (DELETE FROM orders USING job WHERE orders.job_id = job.id),
    charged AS (UPDATE reservations SET state = CASE job.state WHEN 'completed' THEN 'settled' ELSE 'released' END
      FROM job WHERE reservations.job_id = job.id AND reservations.state = 'pending'
      RETURNING reservations.account_id, reservations.period, reservations.credits, reservations.state,
        reservations.link_key_id, job.period AS ended_in, job.outcome, job.bytes),
    counted AS (INSERT INTO tallies (account_id, period, name, reserved, settled, jobs, bytes)
      SELECT account_id, period, CASE WHEN link_key_id IS NOT NULL THEN '${LINK_SUM}' || link_key_id WHEN period = ended_in THEN outcome ELSE '' END,
        -credits, CASE state WHEN 'settled' THEN credits ELSE 0 END,
        CASE WHEN link_key_id IS NULL AND period = ended_in THEN 1 ELSE 0 END, bytes FROM charged
      UNION ALL SELECT account_id, ended_in, outcome, 0, 0, 1, 0 FROM charged WHERE period <> ended_in OR link_key_id IS NOT NULL),
    announced AS (UPDATE deliveries SET event = CASE job.state WHEN 'completed' THEN '${eventOf('completed')}' ELSE '${eventOf('failed')}' END,
        due_at = job.ended_at, next_attempt_at = job.ended_at, expires_at = job.ended_at + ${MAX_DELIVERY_AGE_MS}
      FROM job WHERE deliveries.job_id = job.id AND deliveries.event IS NULL RETURNING deliveries.job_id)
    SELECT ${ENDED_COLUMNS}, EXISTS (SELECT 1 FROM announced WHERE announced.job_id = job.id) AS has_webhook,
        stillframe_is_followed(job.id) AS is_followed FROM job
      WHERE stillframe_expect((SELECT count(*) FROM charged) = (SELECT count(*) FROM job), 'credits are not pending')
      ORDER BY job.seq`;
}

/** Ends a slice of followers, except those of a failed render whose timeout is longer than its own. */
function endSlice(database: Database, leader: JobRow): Promise<EndedRow[]> {
  const { id, state, error, endedAt, timeoutMs, workerId, artifactName } = leader;
  const now = endedAt ?? 0;
  const ending = state === 'completed' ? state : 'failed';
  return database.all<EndedRow>(END_FOLLOWERS, [
    id,
    workerId ?? '',
    timeoutMs,
    state,
    now,
    periodOf(now),
    outcomeOf(ending, error),
    ending === 'completed' ? sharedData(leader) : null,
    artifactName,
    error,
  ]);
}

/**
 * Lets the next followers of a failed render continue: behind the oldest render in flight of the same digest, or else behind the first of
 * them, which is queued.
 * @returns false if none is left
 */
function continueFollowers(database: Database, leader: JobRow): Promise<boolean> {
  return database.transaction(async (queries) => {
    await queries.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [
      LOCKS.cacheDigest,
      `${leader.accountId} ${leader.cacheDigest}`,
    ]);
    const inFlight = await queries.one<{ id: string; endedAt: number | null }>(
      `SELECT id, ended_at FROM jobs WHERE id = (${IN_FLIGHT}) FOR NO KEY UPDATE`,
      [leader.accountId, leader.cacheDigest],
    );
    // The render in flight has just ended, so the caller looks again.
    if (inFlight !== null && inFlight.endedAt !== null) return true;
    const remaining = await queries.all<{ id: string; lane: string }>(
      `SELECT id, lane FROM jobs WHERE leader_id = $1 ORDER BY seq LIMIT ${SLICE_FOLLOWERS} FOR NO KEY UPDATE SKIP LOCKED`,
      [leader.id],
    );
    const [first, ...others] = remaining;
    if (first === undefined) return false;
    const next = inFlight?.id ?? first.id;
    if (inFlight === null) await queries.run(QUEUE_FOLLOWER, [first.id]);
    const following = inFlight === null ? others : remaining;
    await queries.run('UPDATE jobs SET leader_id = $1 WHERE id = ANY($2)', [
      next,
      following.map((follower) => follower.id),
    ]);
    if (following.some((follower) => follower.lane === 'prioritized')) await promote(queries, next);
    return true;
  });
}

const QUEUE_FOLLOWER = `WITH job AS (UPDATE jobs SET leader_id = NULL WHERE id = $1 RETURNING seq, account_id, lane, batch_id)
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

/** A job that has released its slot, and when. */
type Correction = Pick<JobRow, 'accountId' | 'claimedAt' | 'bookedMs'> & { now: number };

function correctionValues(corrections: readonly Correction[]): unknown[] {
  return [
    corrections.map(({ accountId }) => accountId),
    corrections.map((job) => slotTimeOf(job, job.now)),
    corrections.map(({ bookedMs }) => bookedMs),
  ];
}

/** The longest time for which corrections wait for the next claim. */
const CORRECTED_WITHIN_MS = 500;

/**
 * Corrects the charges of accounts to the actual time, when jobs have released their slots: with the next claim of this node, since both
 * need the same lock, or else in a statement of its own. Those of a claim that fails are lost: the account stays charged with the time that
 * was expected.
 */
export class Corrections {
  readonly #queries: Queries;
  #waiting: Correction[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  add(corrections: readonly Correction[]): void {
    this.#waiting.push(...corrections);
    this.#timer ??= setTimeout(() => void this.flush(), CORRECTED_WITHIN_MS);
  }

  isWaiting(accountId: string): boolean {
    return this.#waiting.some((one) => one.accountId === accountId);
  }

  take(): Correction[] {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    return this.#waiting.splice(0);
  }

  /** If this fails, the accounts stay charged with the time that was expected. */
  async flush(): Promise<void> {
    const corrections = this.take();
    if (corrections.length === 0) return;
    const values = correctionValues(corrections);
    await this.#queries.run(`SELECT stillframe_settle($1, $2, $3) FROM ${RELAXED}`, values).catch(() => undefined);
  }
}
