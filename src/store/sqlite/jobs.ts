import { getTableColumns } from 'drizzle-orm';
import type { Claim } from '../store.js';
import { insertInto, selectList } from './columns.js';
import type { Db } from './connect.js';
import { type JobRow, jobs } from './schema.js';

/** A row, whether the queue is paused (which its reported state depends on), and `data` of its artifact. */
export type FoundJob = JobRow & { paused: 0 | 1; keptData: string | null };
export type NewJobRow = Omit<JobRow, 'seq'>;

/** How a job ends: `data` and `artifactName` or `error`. */
export type Ending = Pick<JobRow, 'data' | 'error' | 'artifactName'> & { state: 'completed' | 'failed'; now: number };

/** Jobs that wait for their delivery, for a day at most, are passed over up to so many: a slice of deletions stays short. */
const LOOK_AHEAD_ROWS = 1_000;

interface Booking {
  workerId: string;
  now: number;
  /** turns.ts */
  bookedMs: number;
}

const COLUMNS = selectList(jobs, 'j');
const FOUND = `SELECT ${COLUMNS}, q.paused, a.data AS keptData FROM jobs j JOIN queue q LEFT JOIN artifacts a ON a.name = j.artifact_name`;
const HELD = `id = @id AND state = 'active' AND worker_id = @workerId AND attempts_made = @attempt`;
const QUEUED = `state IN ('waiting', 'prioritized', 'delayed') AND leader_id IS NULL`;

/** Synchronous statements; the caller owns the transaction. Each change of state names the state that it expects. */
export function jobsTable(db: Db) {
  return { ...lookUps(db), ...admission(db), ...claims(db), ...endings(db) };
}

function lookUps(db: Db) {
  const byId = db.prepare<[string], FoundJob>(`${FOUND} WHERE j.id = ?`);
  const byIdempotencyKey = db.prepare<[string, string], FoundJob>(`${FOUND} WHERE j.account_id = ? AND j.idempotency_key = ?`);
  const ofKey = db.prepare<[string, string, number, number], FoundJob>(
    `${FOUND} WHERE j.key_id = ? AND j.state = ? AND j.seq < ? ORDER BY j.seq DESC LIMIT ?`,
  );
  const unfinished = db.prepare<[string], { state: JobRow['state']; jobs: number }>(
    `SELECT state, count(*) AS jobs FROM jobs INDEXED BY jobs_unfinished WHERE account_id = ? AND ended_at IS NULL GROUP BY state`,
  );
  const nextDue = db.prepare<[], number | null>(`SELECT min(due_at) FROM jobs WHERE state = 'delayed'`).pluck();
  const newest = db.prepare<[], number>('SELECT enqueued_at FROM jobs WHERE seq = (SELECT max(seq) FROM jobs)').pluck();
  return {
    find: (id: string): FoundJob | null => byId.get(id) ?? null,
    findByIdempotencyKey: (accountId: string, key: string): FoundJob | null => byIdempotencyKey.get(accountId, key) ?? null,
    /** Newest first, one state after the other merged by the caller. @param before exclusive order of acceptance */
    ofKey: (keyId: string, page: { state: JobRow['state']; before: number; limit: number }): FoundJob[] =>
      ofKey.all(keyId, page.state, page.before, page.limit),
    /** Of an account, by state. */
    unfinished: (accountId: string) => unfinished.all(accountId),
    nextDueAt: (): number | null => nextDue.get() ?? null,
    newestAt: (): number | null => newest.get() ?? null,
  };
}

function admission(db: Db) {
  const insert = db.prepare<NewJobRow>(
    insertInto(
      jobs,
      Object.keys(getTableColumns(jobs)).filter((key) => key !== 'seq'),
    ),
  );
  const rendered = db.prepare<[string, string], JobRow & { goneAt: number | null; keptData: string | null }>(
    `SELECT ${COLUMNS}, a.gone_at AS goneAt, a.data AS keptData FROM jobs j JOIN artifacts a ON a.name = j.artifact_name
     WHERE j.account_id = ? AND j.cache_digest = ? AND j.cache_digest IS NOT NULL AND j.rendered_at IS NOT NULL
     ORDER BY j.rendered_at DESC LIMIT 1`,
  );
  const inFlight = db.prepare<[string, string], { id: string }>(
    `SELECT id FROM jobs WHERE account_id = ? AND cache_digest = ? AND cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL
     ORDER BY seq LIMIT 1`,
  );
  const promote = db.prepare<[string]>(
    `UPDATE jobs SET lane = 'prioritized', state = iif(state = 'waiting', 'prioritized', state)
     WHERE id = ? AND lane = 'waiting' AND state IN ('waiting', 'delayed', 'active')`,
  );
  return {
    insert(row: NewJobRow): void {
      insert.run(row);
    },
    /** The newest picture that was really rendered for this digest. */
    findRendered: (accountId: string, cacheDigest: string) => rendered.get(accountId, cacheDigest) ?? null,
    /** The oldest unfinished job that renders for this digest. */
    findInFlight: (accountId: string, cacheDigest: string): string | null => inFlight.get(accountId, cacheDigest)?.id ?? null,
    /** Lets an async job take a sync one's place in the queue. */
    promote(id: string): void {
      promote.run(id);
    },
  };
}

function claims(db: Db) {
  const next = db.prepare<[string, number], JobRow>(
    `SELECT ${COLUMNS} FROM jobs j INDEXED BY jobs_claimable
     WHERE j.account_id = ? AND ${QUEUED} AND (j.due_at IS NULL OR j.due_at <= ?) ORDER BY j.lane, j.seq LIMIT 1`,
  );
  const running = db
    .prepare<[string], number>(`SELECT 1 FROM jobs INDEXED BY jobs_leased WHERE state = 'active' AND account_id = ? LIMIT 1`)
    .pluck();
  const claim = db.prepare<Pick<JobRow, 'id' | 'state' | 'attemptsMade'> & Booking & { leaseExpiresAt: number }>(
    `UPDATE jobs SET state = 'active', attempts_made = attempts_made + 1, worker_id = @workerId, lease_expires_at = @leaseExpiresAt,
       first_claimed_at = ifnull(first_claimed_at, @now), claimed_at = @now, booked_ms = @bookedMs, due_at = NULL, progress = 0
     WHERE id = @id AND state = @state AND attempts_made = @attemptsMade AND leader_id IS NULL`,
  );
  const renew = db.prepare<Claim & { leaseExpiresAt: number; progress: number }>(
    `UPDATE jobs SET lease_expires_at = @leaseExpiresAt, progress = max(progress, @progress) WHERE ${HELD}`,
  );
  const renewLapsed = db.prepare<Claim & { now: number; until: number }>(
    `UPDATE jobs SET lease_expires_at = @until WHERE ${HELD} AND lease_expires_at <= @now`,
  );
  const delay = db.prepare<Claim & { dueAt: number }, JobRow>(
    `UPDATE jobs SET state = 'delayed', due_at = @dueAt, lease_expires_at = NULL, worker_id = NULL, progress = 0
     WHERE ${HELD} AND attempts_made < attempt_budget RETURNING ${selectList(jobs, 'jobs')}`,
  );
  const putBack = db.prepare<Claim & { attemptsMade: number }, JobRow>(
    `UPDATE jobs SET state = lane, attempts_made = @attemptsMade, lease_expires_at = NULL, worker_id = NULL, progress = 0,
       first_claimed_at = iif(@attemptsMade = 0, NULL, first_claimed_at) WHERE ${HELD} RETURNING ${selectList(jobs, 'jobs')}`,
  );
  const abandoned = db.prepare<[number], JobRow>(
    `SELECT ${COLUMNS} FROM jobs j INDEXED BY jobs_leased WHERE j.state = 'active' AND j.lease_expires_at <= ? ORDER BY j.seq`,
  );
  const pullDelayed = db.prepare<{ now: number; horizon: number }>(
    `UPDATE jobs SET due_at = @now WHERE state = 'delayed' AND due_at > @horizon`,
  );
  const pullLeases = db.prepare<{ now: number; horizon: number }>(
    `UPDATE jobs SET lease_expires_at = @horizon WHERE state = 'active' AND lease_expires_at > @horizon`,
  );
  return {
    nextClaimable: (accountId: string, now: number): JobRow | null => next.get(accountId, now) ?? null,
    hasRunning: (accountId: string): boolean => running.get(accountId) === 1,
    claim: (job: JobRow, { workerId, now, bookedMs, leaseMs }: Booking & { leaseMs: number }): boolean =>
      claim.run({ ...pick(job), workerId, now, bookedMs, leaseExpiresAt: now + leaseMs }).changes === 1,
    renew: (held: Claim, leaseExpiresAt: number, progress: number): boolean =>
      renew.run({ ...held, leaseExpiresAt, progress }).changes === 1,
    /** Only where the lease ran out. */
    renewLapsed(held: Claim, { now, until }: { now: number; until: number }): void {
      renewLapsed.run({ ...held, now, until });
    },
    /** null when the claim was lost, also when no attempt is left */
    delay: (held: Claim, dueAt: number): JobRow | null => delay.get({ ...held, dueAt }) ?? null,
    /** Back to its lane; null when the claim was lost. @param attemptsMade what the count shall be from now on */
    putBack: (held: Claim, attemptsMade: number): JobRow | null => putBack.get({ ...held, attemptsMade }) ?? null,
    /** Nothing waits beyond the horizon: delayed jobs are due now, leases end there unless they are renewed. */
    pullForward(now: number, horizon: number): void {
      pullDelayed.run({ now, horizon });
      pullLeases.run({ now, horizon });
    },
    /** Active jobs whose lease ran out by then. */
    abandoned: (leasedUntil: number): JobRow[] => abandoned.all(leasedUntil),
  };
}

function endings(db: Db) {
  const end = db.prepare<Claim & Ending & { renderedAt: number | null }, JobRow>(
    `UPDATE jobs SET state = @state, ended_at = @now, progress = 100, lease_expires_at = NULL, rendered_at = @renderedAt,
       artifact_name = @artifactName, data = @data, error = @error WHERE ${HELD} RETURNING ${selectList(jobs, 'jobs')}`,
  );
  const followers = db.prepare<[string, number], JobRow>(`SELECT ${COLUMNS} FROM jobs j WHERE j.leader_id = ? ORDER BY j.seq LIMIT ?`);
  const endedLeaders = db
    .prepare<[], string>(
      `SELECT l.id FROM jobs l WHERE l.ended_at IS NOT NULL AND l.id IN (SELECT DISTINCT leader_id FROM jobs WHERE leader_id IS NOT NULL)`,
    )
    .pluck();
  const endFollower = db.prepare<Ending & { id: string; leaderId: string; workerId: string }>(
    `UPDATE jobs SET state = @state, ended_at = @now, progress = 100, leader_id = NULL, worker_id = @workerId,
       artifact_name = @artifactName, data = @data, error = @error
     WHERE id = @id AND leader_id = @leaderId AND state IN ('waiting', 'prioritized')`,
  );
  const follow = db.prepare<{ id: string; from: string; to: string | null }>(
    `UPDATE jobs SET leader_id = @to WHERE id = @id AND leader_id = @from AND state IN ('waiting', 'prioritized')`,
  );
  const endedBefore = db.prepare<[number, number], { id: string; artifactName: string | null }>(
    `SELECT ended.id, ended.artifact_name AS artifactName FROM (
         SELECT id, artifact_name, ended_at FROM jobs WHERE ended_at < ? AND ended_at IS NOT NULL ORDER BY ended_at LIMIT ${LOOK_AHEAD_ROWS}) ended
     WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.job_id = ended.id AND d.state = 'pending')
     ORDER BY ended.ended_at LIMIT ?`,
  );
  const remove = db.prepare<[string]>(`DELETE FROM jobs WHERE id = ? AND state IN ('completed', 'failed')`);
  return {
    /** null when the claim was lost */
    end: (held: Claim, ending: Ending, renderedAt: number | null): JobRow | null => end.get({ ...held, ...ending, renderedAt }) ?? null,
    followersOf: (leaderId: string, limit: number): JobRow[] => followers.all(leaderId, limit),
    /** Ended jobs that are still followed: the process went down, or a step failed, between two slices. */
    endedLeaders: (): string[] => endedLeaders.all(),
    endFollower: (id: string, leader: { id: string; workerId: string }, ending: Ending): boolean =>
      endFollower.run({ ...ending, id, leaderId: leader.id, workerId: leader.workerId }).changes === 1,
    /** Follows another leader, or none. */
    follow: (id: string, from: string, to: string | null): boolean => follow.run({ id, from, to }).changes === 1,
    /** Ended jobs with nothing left to announce, oldest first. */
    endedBefore: (before: number, limit: number) => endedBefore.all(before, limit),
    /** Its order, credits and delivery go with it. */
    remove: (id: string): boolean => remove.run(id).changes === 1,
  };
}

function pick({ id, state, attemptsMade }: JobRow) {
  return { id, state, attemptsMade };
}
