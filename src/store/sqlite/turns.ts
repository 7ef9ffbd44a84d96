import { and, asc, gt, max, ne, sql } from 'drizzle-orm';
import { isSlotTime } from '../rules.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import type { CountersTable } from './counters.js';
import { type JobRow, turns } from './schema.js';

/** An account counts as active for this long after it queued a job. */
const ACTIVE_MS = 3_600_000;

/**
 * Start-time fair queueing between accounts by slot time: a claim adds the job's expected duration to the account's tag (virtual ms), its
 * end corrects that, and the smallest tag is next. Idle accounts start at the tag of the latest claim, so idle time earns no credit.
 */
export function turnsTable(orm: Orm, counters: CountersTable) {
  const { accountId, queued, tag, typicalMs, seenAt } = turns;
  const ofAccount = matching(turns, 'accountId');
  const tookMs = sql.placeholder('tookMs');
  const booked = sql<number>`max(${typicalMs}, ${sql.placeholder('atLeast')})`;
  // This is a literal, as in the condition of the index, which a bound parameter would not use.
  const inTurn = orm.select({ accountId }).from(turns).where(sql`${queued} > 0`).orderBy(asc(tag)).prepare();
  const latest = orm
    .select({ tag: max(tag) })
    .from(turns)
    .prepare();
  const join = orm
    .update(turns)
    .set({ tag: sql`iif(${queued} = 0, max(${tag}, ${sql.placeholder('turn')}), ${tag})`, ...parameters(turns, 'seenAt') })
    .where(ofAccount)
    .prepare();
  const book = orm
    .update(turns)
    .set({ tag: sql`${tag} + ${booked}` })
    .where(ofAccount)
    .returning({ tag, bookedMs: booked })
    .prepare();
  const correct = orm
    .update(turns)
    .set({
      tag: sql`${tag} + ${tookMs} - ${sql.placeholder('bookedMs')}`,
      typicalMs: sql`cast((3 * ${typicalMs} + ${tookMs}) / 4 as integer)`,
    })
    .where(ofAccount)
    .prepare();
  const refund = orm
    .update(turns)
    .set({ tag: sql`${tag} - ${sql.placeholder('bookedMs')}` })
    .where(ofAccount)
    .prepare();
  const other = orm
    .select({ accountId })
    .from(turns)
    .where(and(gt(seenAt, sql.placeholder('since')), ne(accountId, sql.placeholder('accountId'))))
    .limit(1)
    .prepare();
  return {
    /** Lists accounts with queued jobs, the next one first. */
    inTurn: (): string[] => inTurn.all().map((turn) => turn.accountId),
    /** Called before a job of the account is queued. If nothing is queued or running, all accounts start equal. */
    join(accountId: string, now: number): void {
      if (counters.unfinished() === 0) counters.raiseTurn(latest.get()?.tag ?? 0);
      join.run({ accountId, turn: counters.turn(), seenAt: now });
    },
    /**
     * Charges a claim in advance.
     * @param atLeast ms that it will take in any case
     * @returns the charged ms
     */
    book(accountId: string, atLeast: number): number {
      const { tag, bookedMs } = book.get({ accountId, atLeast }) ?? { tag: 0, bookedMs: 0 };
      counters.raiseTurn(tag - bookedMs);
      return bookedMs;
    },
    /** Corrects the charge to the actual time, when the job has released its slot. */
    correct({ accountId, claimedAt, bookedMs }: JobRow, now: number): void {
      if (claimedAt === null || bookedMs === null) return;
      const tookMs = now - claimedAt;
      if (isSlotTime(tookMs)) correct.run({ accountId, tookMs, bookedMs });
    },
    /** Undoes the charge, when the claim is undone. */
    refund({ accountId, bookedMs }: JobRow): void {
      refund.run({ accountId, bookedMs: bookedMs ?? 0 });
    },
    /** Returns whether another account has queued a job within the last hour. */
    isAnotherActive: (accountId: string, now: number): boolean => other.get({ accountId, since: now - ACTIVE_MS }) !== undefined,
  };
}
