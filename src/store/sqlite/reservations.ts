import type { SettlementStatus } from '../store.js';
import type { Db } from './connect.js';
import type { CountersTable } from './counters.js';

/** What a job costs, and to which month it counts. */
export interface Reservation {
  jobId: string;
  accountId: string;
  period: string;
  credits: number;
  createdAt: number;
}

/**
 * The credit ledger. A reservation belongs to the month of its submission, and is settled or released once; sums by month are kept
 * beside it, since jobs are deleted before their month is over. Synchronous statements; the caller owns the transaction.
 */
export function reservationsTable(db: Db, counters: CountersTable) {
  const standing = db.prepare<[string, string], { quota: number | null; settled: number; reserved: number }>(
    `SELECT a.quota, ifnull(u.settled, 0) AS settled, ifnull(u.reserved, 0) AS reserved
     FROM accounts a LEFT JOIN usage u ON u.account_id = a.id AND u.period = ? WHERE a.id = ?`,
  );
  const insert = db.prepare<Reservation & { state: 'pending' | 'settled' }>(
    `INSERT INTO reservations (job_id, account_id, period, credits, state, created_at)
     VALUES (@jobId, @accountId, @period, @credits, @state, @createdAt)`,
  );
  const book = db.prepare<{ accountId: string; period: string; settled: number; reserved: number }>(
    `INSERT INTO usage (account_id, period, settled, reserved) VALUES (@accountId, @period, @settled, @reserved)
     ON CONFLICT DO UPDATE SET settled = settled + excluded.settled, reserved = reserved + excluded.reserved`,
  );
  const end = db.prepare<[string, string], { accountId: string; period: string; credits: number }>(
    `UPDATE reservations SET state = ? WHERE job_id = ? AND state = 'pending'
     RETURNING account_id AS accountId, period, credits`,
  );
  const settleSum = db.prepare(
    'UPDATE usage SET reserved = reserved - @credits, settled = settled + @credits WHERE account_id = @accountId AND period = @period',
  );
  const releaseSum = db.prepare('UPDATE usage SET reserved = reserved - @credits WHERE account_id = @accountId AND period = @period');
  const oldest = db.prepare<[], number | null>(`SELECT min(created_at) FROM reservations WHERE state = 'pending'`).pluck();

  return {
    /** What the account has used of its month's quota. */
    standing: (accountId: string, period: string) => standing.get(period, accountId) ?? { quota: null, settled: 0, reserved: 0 },
    reserve(reservation: Reservation): void {
      insert.run({ ...reservation, state: 'pending' });
      book.run({ accountId: reservation.accountId, period: reservation.period, settled: 0, reserved: reservation.credits });
      counters.add('credits/pending', 1);
    },
    /** For a job that is completed as it comes. */
    charge(reservation: Reservation): void {
      insert.run({ ...reservation, state: 'settled' });
      book.run({ accountId: reservation.accountId, period: reservation.period, settled: reservation.credits, reserved: 0 });
      counters.add('credits/settled', 1);
    },
    /** @throws Error when the job's credits are not pending: nothing is ever charged twice */
    settle(jobId: string): void {
      settleSum.run(endOnce('settled', jobId));
      counters.add('credits/settled', 1);
    },
    /** @throws Error as `settle` */
    release(jobId: string): void {
      releaseSum.run(endOnce('released', jobId));
      counters.add('credits/released', 1);
    },
    status(now: number): SettlementStatus {
      const counts = counters.all();
      const of = (name: string) => counts.get(name) ?? 0;
      const since = oldest.get() ?? null;
      return {
        pending: of('credits/pending'),
        settled: of('credits/settled'),
        released: of('credits/released'),
        oldestPendingMs: since === null ? 0 : Math.max(0, now - since),
      };
    },
  };

  function endOnce(state: 'settled' | 'released', jobId: string) {
    const reservation = end.get(state, jobId);
    if (reservation === undefined) throw new Error(`credits of ${jobId} are not pending`);
    counters.add('credits/pending', -1);
    return reservation;
  }
}
