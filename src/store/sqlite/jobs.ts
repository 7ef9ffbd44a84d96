import { and, asc, desc, eq, exists, getTableColumns, gt, gte, inArray, isNotNull, isNull, lt, lte, ne, or, sql } from 'drizzle-orm';
import type { Claim } from '../store.js';
import { columnsThroughIndex, indexedBy, matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { jobLookUps } from './job-look-ups.js';
import { artifacts, deliveries, type JobRow, jobs } from './schema.js';

export type NewJobRow = Omit<JobRow, 'seq'>;

/** The result of a job: `data` and `artifactName`, or `error`. */
export type Ending = Pick<JobRow, 'data' | 'error' | 'artifactName'> & { state: 'completed' | 'failed'; now: number };

/** A place in the order in which jobs ended. */
export interface EndedPlace {
  endedAt: number;
  seq: number;
}

interface EndedRow extends EndedPlace {
  id: string;
  artifactName: string | null;
  isPending: boolean;
}

interface Booking {
  workerId: string;
  now: number;
  /** Slot time in ms that the claim is charged in advance (turns.ts). */
  bookedMs: number;
}

const OUTCOME = {
  ...parameters(jobs, 'state', 'artifactName', 'data', 'error'),
  ...{ endedAt: sql`${sql.placeholder('now')}`, progress: 100 },
};
const IS_HELD = and(matching(jobs, 'id', 'workerId'), eq(jobs.attemptsMade, sql.placeholder('attempt')), eq(jobs.state, 'active'));
// These are literals, as in the conditions of the indexes, which bound parameters would not use.
const IS_ACTIVE = sql`${jobs.state} = 'active'`;
const IS_DELAYED = sql`${jobs.state} = 'delayed'`;
const IS_CLAIMABLE = sql`${jobs.state} in ('waiting', 'prioritized', 'delayed') and ${jobs.leaderId} is null`;
const IS_QUEUED = inArray(jobs.state, ['waiting', 'prioritized']);

/** Synchronous statements. The caller owns the transaction. Each change of state names the state that it expects. */
export function jobsTable(orm: Orm) {
  return { ...jobLookUps(orm), ...admission(orm), ...claims(orm), ...leases(orm), ...endings(orm), ...following(orm), ...deletion(orm) };
}

function admission(orm: Orm) {
  const { seq, ...given } = getTableColumns(jobs);
  const insert = orm
    .insert(jobs)
    .values(parameters(jobs, ...(Object.keys(given) as (keyof NewJobRow)[])))
    .prepare();
  const ofDigest = and(matching(jobs, 'accountId', 'cacheDigest'), isNotNull(jobs.cacheDigest));
  const { id, renderedAt, workerId, artifactName, data } = jobs;
  const rendered = orm
    .select({ id, renderedAt, workerId, artifactName, data, goneAt: artifacts.goneAt, keptData: artifacts.data })
    .from(jobs)
    .innerJoin(artifacts, eq(artifacts.name, jobs.artifactName))
    .where(and(ofDigest, isNotNull(jobs.renderedAt)))
    .orderBy(desc(jobs.renderedAt))
    .limit(1)
    .prepare();
  const inFlight = orm
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(ofDigest, isNull(jobs.endedAt), isNull(jobs.leaderId)))
    .orderBy(asc(seq))
    .limit(1)
    .prepare();
  const sharing = orm
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(or(eq(jobs.id, sql.placeholder('leaderId')), matching(jobs, 'leaderId')), gte(jobs.timeoutMs, sql.placeholder('timeoutMs'))))
    .orderBy(asc(seq))
    .limit(1)
    .prepare();
  const promote = orm
    .update(jobs)
    .set({ lane: 'prioritized', state: sql`iif(${jobs.state} = 'waiting', 'prioritized', ${jobs.state})` })
    .where(and(matching(jobs, 'id'), eq(jobs.lane, 'waiting'), inArray(jobs.state, ['waiting', 'delayed', 'active'])))
    .prepare();
  return {
    insert(row: NewJobRow): void {
      insert.run(row);
    },
    /** Finds the newest picture that was rendered for this digest, not taken from the cache. */
    findRendered: (accountId: string, cacheDigest: string) => rendered.get({ accountId, cacheDigest }) ?? null,
    /** Finds the oldest unfinished job that renders for this digest. */
    findInFlight: (accountId: string, cacheDigest: string): string | null => inFlight.get({ accountId, cacheDigest })?.id ?? null,
    /** Finds the oldest job with at least this timeout among a leader and its followers. */
    findSharing: (leaderId: string, timeoutMs: number): string | null => sharing.get({ leaderId, timeoutMs })?.id ?? null,
    /** Gives an asynchronous job the priority of a synchronous one. */
    promote(id: string): void {
      promote.run({ id });
    },
  };
}

function claims(orm: Orm) {
  const now = sql.placeholder('now');
  const columns = columnsThroughIndex(jobs);
  const next = orm
    .select(columns)
    .from(indexedBy(jobs, 'jobs_claimable'))
    .where(and(matching(jobs, 'accountId'), IS_CLAIMABLE, or(isNull(jobs.dueAt), lte(jobs.dueAt, now))))
    .orderBy(asc(jobs.lane), asc(jobs.seq))
    .limit(1)
    .prepare();
  const running = orm
    .select({ id: columns.id })
    .from(indexedBy(jobs, 'jobs_leased'))
    .where(and(IS_ACTIVE, matching(jobs, 'accountId')))
    .limit(1)
    .prepare();
  const claim = orm
    .update(jobs)
    .set({
      ...parameters(jobs, 'workerId', 'leaseExpiresAt', 'bookedMs'),
      ...{ state: 'active', attemptsMade: sql`${jobs.attemptsMade} + 1`, claimedAt: sql`${now}`, dueAt: null, progress: 0 },
      firstClaimedAt: sql`ifnull(${jobs.firstClaimedAt}, ${now})`,
    })
    .where(and(matching(jobs, 'id', 'state', 'attemptsMade'), isNull(jobs.leaderId)))
    .prepare();
  const released = { leaseExpiresAt: null, workerId: null, progress: 0 };
  const delay = orm
    .update(jobs)
    .set({
      ...{ ...released, ...parameters(jobs, 'dueAt'), state: 'delayed' },
      firstClaimedAt: sql`ifnull(${sql.placeholder('begunAt')}, ${jobs.firstClaimedAt})`,
    })
    .where(and(IS_HELD, lt(jobs.attemptsMade, jobs.attemptBudget)))
    .returning()
    .prepare();
  const firstClaimedAt = sql`iif(${sql.placeholder('attemptsMade')} = 0, null, ${jobs.firstClaimedAt})`;
  const putBack = orm
    .update(jobs)
    .set({ ...released, ...parameters(jobs, 'attemptsMade'), state: sql`${jobs.lane}`, firstClaimedAt })
    .where(IS_HELD)
    .returning()
    .prepare();
  return {
    nextClaimable: (accountId: string, now: number): JobRow | null => next.get({ accountId, now }) ?? null,
    hasRunning: (accountId: string): boolean => running.get({ accountId }) !== undefined,
    claim: (job: JobRow, { workerId, now, bookedMs, leaseMs }: Booking & { leaseMs: number }): boolean =>
      claim.run({ ...job, workerId, now, bookedMs, leaseExpiresAt: now + leaseMs }).changes === 1,
    /**
     * Delays a job.
     * @returns null if the claim was lost or no attempt is left
     */
    delay: (held: Claim, dueAt: number, begunAt: number | null): JobRow | null => delay.get({ ...held, dueAt, begunAt }) ?? null,
    /**
     * Returns a job to its lane; null if the claim was lost.
     * @param attemptsMade the new count
     */
    putBack: (held: Claim, attemptsMade: number): JobRow | null => putBack.get({ ...held, attemptsMade }) ?? null,
  };
}

function leases(orm: Orm) {
  const now = sql.placeholder('now');
  const horizon = sql.placeholder('horizon');
  const renew = orm
    .update(jobs)
    .set({ ...parameters(jobs, 'leaseExpiresAt'), progress: sql`max(${jobs.progress}, ${sql.placeholder('progress')})` })
    .where(IS_HELD)
    .prepare();
  const renewLapsed = orm
    .update(jobs)
    .set(parameters(jobs, 'leaseExpiresAt'))
    .where(and(IS_HELD, lte(jobs.leaseExpiresAt, now)))
    .prepare();
  const abandoned = orm
    .select(columnsThroughIndex(jobs))
    .from(indexedBy(jobs, 'jobs_leased'))
    .where(and(IS_ACTIVE, lte(jobs.leaseExpiresAt, sql.placeholder('leasedUntil'))))
    .orderBy(asc(jobs.seq))
    .prepare();
  const pullDelayed = orm
    .update(jobs)
    .set({ dueAt: sql`${now}` })
    .where(and(IS_DELAYED, gt(jobs.dueAt, horizon)))
    .prepare();
  const pullLeases = orm
    .update(jobs)
    .set({ leaseExpiresAt: sql`${horizon}` })
    .where(and(IS_ACTIVE, gt(jobs.leaseExpiresAt, horizon)))
    .prepare();
  return {
    renew: (held: Claim, leaseExpiresAt: number, progress: number): boolean =>
      renew.run({ ...held, leaseExpiresAt, progress }).changes === 1,
    /** Renews only an expired lease. */
    renewLapsed(held: Claim, { now, until }: { now: number; until: number }): void {
      renewLapsed.run({ ...held, now, leaseExpiresAt: until });
    },
    /** Limits times to the horizon: delayed jobs beyond it are due now, and leases beyond it end there unless they are renewed. */
    pullForward(now: number, horizon: number): void {
      pullDelayed.run({ now, horizon });
      pullLeases.run({ now, horizon });
    },
    /** Lists active jobs whose lease has expired by then. */
    abandoned: (leasedUntil: number): JobRow[] => abandoned.all({ leasedUntil }),
  };
}

function endings(orm: Orm) {
  const end = orm
    .update(jobs)
    .set({ ...OUTCOME, ...parameters(jobs, 'renderedAt'), leaseExpiresAt: null })
    .where(IS_HELD)
    .returning()
    .prepare();
  return {
    /**
     * Ends a job.
     * @returns null if the claim was lost
     */
    end: (held: Claim, ending: Ending, renderedAt: number | null): JobRow | null => end.get({ ...held, ...ending, renderedAt }) ?? null,
  };
}

function following(orm: Orm) {
  const followers = orm
    .select()
    .from(jobs)
    .where(matching(jobs, 'leaderId'))
    .orderBy(asc(jobs.seq))
    .limit(sql.placeholder('limit'))
    .prepare();
  const leaders = orm.selectDistinct({ id: jobs.leaderId }).from(jobs).where(isNotNull(jobs.leaderId));
  const endedLeaders = orm
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(isNotNull(jobs.endedAt), inArray(jobs.id, leaders)))
    .prepare();
  const isFollower = and(matching(jobs, 'id'), eq(jobs.leaderId, sql.placeholder('from')), IS_QUEUED);
  const endFollower = orm
    .update(jobs)
    .set({ ...OUTCOME, ...parameters(jobs, 'workerId'), leaderId: null })
    .where(isFollower)
    .prepare();
  const follow = orm.update(jobs).set(parameters(jobs, 'leaderId')).where(isFollower).prepare();
  const together = orm
    .select()
    .from(jobs)
    .where(and(matching(jobs, 'endedAt', 'workerId', 'accountId', 'cacheDigest'), ne(jobs.id, sql.placeholder('id'))))
    .prepare();
  return {
    /** Lists the followers that ended together with an ended job. */
    endedWith: ({ id, endedAt, workerId, accountId, cacheDigest }: JobRow): JobRow[] =>
      together.all({ id, endedAt, workerId, accountId, cacheDigest }),
    followersOf: (leaderId: string, limit: number): JobRow[] => followers.all({ leaderId, limit }),
    /** Finds ended jobs that still have followers, because the process ended or a step failed between two slices. */
    endedLeaders: (): string[] => endedLeaders.all().map((leader) => leader.id),
    endFollower: (id: string, leader: { id: string; workerId: string }, ending: Ending): boolean =>
      endFollower.run({ ...ending, id, from: leader.id, workerId: leader.workerId }).changes === 1,
    /** Changes the leader of a follower; null for none. */
    follow: (id: string, from: string, to: string | null): boolean => follow.run({ id, from, leaderId: to }).changes === 1,
  };
}

function deletion(orm: Orm) {
  const pending = orm
    .select({ jobId: deliveries.jobId })
    .from(deliveries)
    .where(and(eq(deliveries.jobId, jobs.id), eq(deliveries.state, 'pending')));
  const endedAt = sql.placeholder('endedAt');
  const endedAfter = orm
    .select({
      id: jobs.id,
      artifactName: jobs.artifactName,
      endedAt: jobs.endedAt,
      seq: jobs.seq,
      isPending: sql<number>`${exists(pending)}`,
    })
    .from(jobs)
    .where(
      and(
        // The first condition lets the index start there; the second one leaves out those of the same millisecond.
        gte(jobs.endedAt, endedAt),
        or(gt(jobs.endedAt, endedAt), gt(jobs.seq, sql.placeholder('seq'))),
        lt(jobs.endedAt, sql.placeholder('before')),
        isNotNull(jobs.endedAt),
      ),
    )
    .orderBy(asc(jobs.endedAt), asc(jobs.seq))
    .limit(sql.placeholder('limit'))
    .prepare();
  const remove = orm
    .delete(jobs)
    .where(and(matching(jobs, 'id'), inArray(jobs.state, ['completed', 'failed'])))
    .prepare();
  return {
    /** Lists ended jobs from a place on, oldest first, and whether each has a pending delivery. */
    endedAfter: (place: EndedPlace, { before, limit }: { before: number; limit: number }): EndedRow[] =>
      endedAfter.all({ ...place, before, limit }).map((row) => ({ ...row, endedAt: row.endedAt ?? 0, isPending: row.isPending === 1 })),
    /** Deletes a job, and with it its order, credits and delivery. */
    remove: (id: string): boolean => remove.run({ id }).changes === 1,
  };
}
