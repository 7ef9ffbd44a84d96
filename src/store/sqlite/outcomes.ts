import { sql } from 'drizzle-orm';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { outcomes } from './schema.js';

/** Synchronous statements. The caller owns the transaction. */
export function outcomesTable(orm: Orm) {
  const add = orm
    .insert(outcomes)
    .values({ ...parameters(outcomes, 'accountId', 'period', 'outcome'), jobs: 1 })
    .onConflictDoUpdate({ target: [outcomes.accountId, outcomes.period, outcomes.outcome], set: { jobs: sql`${outcomes.jobs} + 1` } })
    .prepare();
  const ofPeriod = orm
    .select({ outcome: outcomes.outcome, jobs: outcomes.jobs })
    .from(outcomes)
    .where(matching(outcomes, 'accountId', 'period'))
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
