import { and, asc, eq, gt, notExists, sql } from 'drizzle-orm';
import type { Claim } from '../store.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { jobs, removals } from './schema.js';

/** Synchronous statements. The caller owns the transaction. */
export function removalsTable(orm: Orm) {
  const { name, jobId, workerId, attempt } = removals;
  const add = orm
    .insert(removals)
    .values(parameters(removals, 'name', 'jobId', 'workerId', 'attempt'))
    .onConflictDoNothing()
    .prepare();
  const isClaim = and(eq(jobs.workerId, workerId), eq(jobs.attemptsMade, attempt), sql`${jobs.state} = 'active'`);
  const liveClaim = orm
    .select({ one: sql`1` })
    .from(jobs)
    .where(and(eq(jobs.id, jobId), isClaim));
  const due = orm
    .select({ name })
    .from(removals)
    .where(and(gt(name, sql.placeholder('after')), notExists(liveClaim)))
    .orderBy(asc(name))
    .limit(sql.placeholder('limit'))
    .prepare();
  const forget = orm.delete(removals).where(matching(removals, 'name')).prepare();

  return {
    /** Adds the removal of a deleted artifact. */
    add(name: string): void {
      add.run({ name, jobId: null, workerId: null, attempt: null });
    },
    /** Adds the removal of an artifact that a claim is about to store. */
    announce(name: string, claim: Claim): void {
      add.run({ name, jobId: claim.id, workerId: claim.workerId, attempt: claim.attempt });
    },
    due: (after: string, limit: number): string[] => due.all({ after, limit }).map((row) => row.name),
    forget(name: string): void {
      forget.run({ name });
    },
  };
}
