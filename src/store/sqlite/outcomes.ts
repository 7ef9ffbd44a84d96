import { and, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Db } from './connect.js';
import { outcomes } from './schema.js';

/** Synchronous statements; the caller owns the transaction. */
export function outcomesTable(db: Db) {
  const orm = drizzle(db);
  const add = orm
    .insert(outcomes)
    .values({
      accountId: sql.placeholder('accountId'),
      period: sql.placeholder('period'),
      outcome: sql.placeholder('outcome'),
      jobs: 1,
    })
    .onConflictDoUpdate({ target: [outcomes.accountId, outcomes.period, outcomes.outcome], set: { jobs: sql`${outcomes.jobs} + 1` } })
    .prepare();
  const ofPeriod = orm
    .select({ outcome: outcomes.outcome, jobs: outcomes.jobs })
    .from(outcomes)
    .where(and(eq(outcomes.accountId, sql.placeholder('accountId')), eq(outcomes.period, sql.placeholder('period'))))
    .prepare();

  return {
    /** @param outcome `completed`, or the code of a failure */
    count(accountId: string, period: string, outcome: string): void {
      add.run({ accountId, period, outcome });
    },
    of: (accountId: string, period: string): Map<string, number> =>
      new Map(ofPeriod.all({ accountId, period }).map(({ outcome, jobs }) => [outcome, jobs])),
  };
}
