import { and, count, desc, eq, getTableColumns, isNull, lt, max, min, sql } from 'drizzle-orm';
import { columnsThroughIndex, indexedBy, matching } from './columns.js';
import type { Orm } from './connect.js';
import { artifacts, type JobRow, jobs, queue } from './schema.js';

/** A row, whether the queue is paused (which affects the reported state), and `data` of its artifact. */
export type FoundJob = JobRow & { paused: boolean; keptData: string | null };

/** Reads of jobs, as synchronous statements. */
export function jobLookUps(orm: Orm) {
  const found = () =>
    orm
      .select({ ...getTableColumns(jobs), paused: queue.paused, keptData: artifacts.data })
      .from(jobs)
      .crossJoin(queue)
      .leftJoin(artifacts, eq(artifacts.name, jobs.artifactName));
  const byId = found().where(matching(jobs, 'id')).prepare();
  const byIdempotencyKey = found()
    .where(matching(jobs, 'accountId', 'idempotencyKey'))
    .prepare();
  const ofKey = found()
    .where(and(matching(jobs, 'keyId', 'state'), lt(jobs.seq, sql.placeholder('before'))))
    .orderBy(desc(jobs.seq))
    .limit(sql.placeholder('limit'))
    .prepare();
  const newestStates = orm
    .select({ seq: jobs.seq, state: jobs.state })
    .from(jobs)
    .where(lt(jobs.seq, sql.placeholder('before')))
    .orderBy(desc(jobs.seq))
    .limit(sql.placeholder('limit'))
    .prepare();
  const bySeqs = found()
    .where(sql`${jobs.seq} in (select value from json_each(${sql.placeholder('seqs')}))`)
    .orderBy(desc(jobs.seq))
    .prepare();
  const columns = columnsThroughIndex(jobs);
  const unfinished = orm
    .select({ state: columns.state, jobs: count() })
    .from(indexedBy(jobs, 'jobs_unfinished'))
    .where(and(matching(jobs, 'accountId'), isNull(jobs.endedAt)))
    .groupBy(jobs.state)
    .prepare();
  const nextDue = orm
    .select({ dueAt: min(jobs.dueAt) })
    .from(jobs)
    // This is a literal, as in the condition of the index, which a bound parameter would not use.
    .where(sql`${jobs.state} = 'delayed'`)
    .prepare();
  const last = orm.select({ seq: max(jobs.seq) }).from(jobs);
  const newest = orm.select({ enqueuedAt: jobs.enqueuedAt }).from(jobs).where(eq(jobs.seq, last)).prepare();
  return {
    find: (id: string): FoundJob | null => byId.get({ id }) ?? null,
    findByIdempotencyKey: (accountId: string, key: string): FoundJob | null =>
      byIdempotencyKey.get({ accountId, idempotencyKey: key }) ?? null,
    /**
     * Lists jobs in one state, newest first; the caller merges several states.
     * @param before exclusive, in order of acceptance
     */
    ofKey: (keyId: string, page: { state: JobRow['state']; before: number; limit: number }): FoundJob[] => ofKey.all({ keyId, ...page }),
    /**
     * Lists job states, newest first.
     * @param before exclusive, in order of acceptance
     */
    newestStates: (before: number, limit: number) => newestStates.all({ before, limit }),
    /** Reads jobs, newest first. */
    bySeqs: (seqs: readonly number[]): FoundJob[] => bySeqs.all({ seqs: JSON.stringify(seqs) }),
    /** Counts the unfinished jobs of an account by state. */
    unfinished: (accountId: string) => unfinished.all({ accountId }),
    nextDueAt: (): number | null => nextDue.get()?.dueAt ?? null,
    newestAt: (): number | null => newest.get()?.enqueuedAt ?? null,
  };
}
