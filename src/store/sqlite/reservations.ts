import { and, eq, min, sql } from 'drizzle-orm';
import type { SettlementStatus } from '../store.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import type { CountersTable } from './counters.js';
import type { LinkCreditsTable } from './link-credits.js';
import { accounts, reservations, usage } from './schema.js';

/** The price of a job, and the month that it counts towards. */
export interface Reservation {
  jobId: string;
  accountId: string;
  period: string;
  credits: number;
  createdAt: number;
  /** The key whose link the job is for; null if it is for none. */
  linkKeyId: string | null;
}

interface Sums {
  counters: CountersTable;
  linkCredits: LinkCreditsTable;
}

/**
 * The credit ledger. A reservation belongs to the month of its submission, and is settled or released once; sums per month are stored
 * separately, since jobs may be deleted before the month is over. Synchronous statements. The caller owns the transaction.
 */
export function reservationsTable(orm: Orm, { counters, linkCredits }: Sums) {
  const { standing, insert, book, end, settleSum, releaseSum, oldest } = statementsOf(orm);
  return {
    /** Returns the account's quota, and the credits used and reserved in a month. */
    standing: (accountId: string, period: string) => standing.get({ id: accountId, period }) ?? { quota: null, settled: 0, reserved: 0 },
    reserve(reservation: Reservation): void {
      insert.run({ ...reservation, state: 'pending' });
      const { accountId, period, credits, linkKeyId } = reservation;
      book.run({ accountId, period, settled: 0, reserved: credits });
      if (linkKeyId !== null) linkCredits.add(linkKeyId, period, credits);
      counters.add('credits/pending', 1);
    },
    /** Charges a job that is completed at once. */
    charge(reservation: Reservation): void {
      insert.run({ ...reservation, state: 'settled' });
      book.run({ accountId: reservation.accountId, period: reservation.period, settled: reservation.credits, reserved: 0 });
      counters.add('credits/settled', 1);
    },
    /** @throws Error if the job's credits are not pending, so that nothing is charged twice */
    settle(jobId: string): void {
      settleSum.run(endOnce('settled', jobId));
      counters.add('credits/settled', 1);
    },
    /** @throws Error as `settle` */
    release(jobId: string): void {
      const { linkKeyId, period, credits, ...reservation } = endOnce('released', jobId);
      releaseSum.run({ ...reservation, period, credits });
      if (linkKeyId !== null) linkCredits.takeBack(linkKeyId, period, credits);
      counters.add('credits/released', 1);
    },
    status(now: number): SettlementStatus {
      const counts = counters.all();
      const of = (name: string) => counts.get(name) ?? 0;
      const since = oldest.get()?.createdAt ?? null;
      return {
        pending: of('credits/pending'),
        settled: of('credits/settled'),
        released: of('credits/released'),
        oldestPendingMs: since === null ? 0 : Math.max(0, now - since),
      };
    },
  };

  function endOnce(state: 'settled' | 'released', jobId: string) {
    const reservation = end.get({ state, jobId });
    if (reservation === undefined) throw new Error(`credits of ${jobId} are not pending`);
    counters.add('credits/pending', -1);
    return reservation;
  }
}

function statementsOf(orm: Orm) {
  const credits = sql.placeholder('credits');
  const standing = orm
    .select({
      quota: accounts.quota,
      settled: sql<number>`ifnull(${usage.settled}, 0)`,
      reserved: sql<number>`ifnull(${usage.reserved}, 0)`,
    })
    .from(accounts)
    .leftJoin(usage, and(eq(usage.accountId, accounts.id), eq(usage.period, sql.placeholder('period'))))
    .where(matching(accounts, 'id'))
    .prepare();
  const insert = orm
    .insert(reservations)
    .values(parameters(reservations, 'jobId', 'accountId', 'period', 'credits', 'state', 'createdAt', 'linkKeyId'))
    .prepare();
  const book = orm
    .insert(usage)
    .values(parameters(usage, 'accountId', 'period', 'settled', 'reserved'))
    .onConflictDoUpdate({
      target: [usage.accountId, usage.period],
      set: { settled: sql`${usage.settled} + excluded.settled`, reserved: sql`${usage.reserved} + excluded.reserved` },
    })
    .prepare();
  const end = orm
    .update(reservations)
    .set(parameters(reservations, 'state'))
    .where(and(matching(reservations, 'jobId'), eq(reservations.state, 'pending')))
    .returning({
      accountId: reservations.accountId,
      period: reservations.period,
      credits: reservations.credits,
      linkKeyId: reservations.linkKeyId,
    })
    .prepare();
  const ofMonth = matching(usage, 'accountId', 'period');
  const reserved = sql`${usage.reserved} - ${credits}`;
  const settleSum = orm
    .update(usage)
    .set({ reserved, settled: sql`${usage.settled} + ${credits}` })
    .where(ofMonth)
    .prepare();
  const releaseSum = orm.update(usage).set({ reserved }).where(ofMonth).prepare();
  // This is a literal, as in the condition of the index, which a bound parameter would not use.
  const isPending = sql`${reservations.state} = 'pending'`;
  const oldest = orm
    .select({ createdAt: min(reservations.createdAt) })
    .from(reservations)
    .where(isPending)
    .prepare();
  return { standing, insert, book, end, settleSum, releaseSum, oldest };
}
