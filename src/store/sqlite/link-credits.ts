import { eq, sql } from 'drizzle-orm';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { linkCredits } from './schema.js';

/** Synchronous statements. The caller owns the transaction. */
export function linkCreditsTable(orm: Orm) {
  const add = orm
    .insert(linkCredits)
    .values(parameters(linkCredits, 'keyId', 'period', 'credits'))
    .onConflictDoUpdate({
      target: [linkCredits.keyId, linkCredits.period],
      set: { credits: sql`${linkCredits.credits} + excluded.credits` },
    })
    .prepare();
  // An insert with a negative sum would violate the table's CHECK before it became an update.
  const take = orm
    .update(linkCredits)
    .set({ credits: sql`${linkCredits.credits} - ${sql.placeholder('credits')}` })
    .where(matching(linkCredits, 'keyId', 'period'))
    .prepare();
  const ofKey = orm
    .select({ credits: linkCredits.credits })
    .from(linkCredits)
    .where(matching(linkCredits, 'keyId', 'period'))
    .prepare();
  const ofMonth = orm
    .select({ keyId: linkCredits.keyId, credits: linkCredits.credits })
    .from(linkCredits)
    .where(eq(linkCredits.period, sql.placeholder('period')))
    .prepare();
  return {
    add(keyId: string, period: string, credits: number): void {
      add.run({ keyId, period, credits });
    },
    takeBack(keyId: string, period: string, credits: number): void {
      take.run({ keyId, period, credits });
    },
    of: (keyId: string, period: string): number => ofKey.get({ keyId, period })?.credits ?? 0,
    ofMonth: (period: string): Map<string, number> =>
      new Map(ofMonth.all({ period }).flatMap(({ keyId, credits }) => (credits === 0 ? [] : [[keyId, credits] as const]))),
  };
}

export type LinkCreditsTable = ReturnType<typeof linkCreditsTable>;
