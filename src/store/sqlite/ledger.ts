/** Credits and counters. Each function runs inside the caller's transaction. */
import { periodOf } from '../../contract/pricing.js';
import { refuseOverQuota } from '../rules/jobs.js';
import type { Charge, NewJob, QueueStatus, QuotaExceeded, SettlementStatus } from '../store.js';
import type { Sql } from './connection.js';

/** Counters that steps update; triggers (drizzle/0000_tables.sql) update the counts of jobs and bytes. */
type Counter = `credits/${'pending' | 'settled' | 'released'}` | `webhooks/${'delivered' | 'failed' | 'errors'}`;

/** The credits that an account, and a link of one of its keys, may still cost in the month of a submission. */
export interface Standing {
  quota: number | null;
  used: number;
  reserved: number;
  linksLimit: number | null;
  linksUsed: number;
}

export function standingOf(
  sql: Sql,
  { accountId, keyId = null, enqueuedAt }: Omit<Charge, 'price'> & { keyId?: string | null },
): Standing {
  const found = sql.one<Standing>(
    `SELECT accounts.quota, ifnull(usage.settled, 0) AS used, ifnull(usage.reserved, 0) AS reserved, api_keys.links_limit,
        ifnull(link_credits.credits, 0) AS links_used
      FROM accounts LEFT JOIN usage ON usage.account_id = accounts.id AND usage.period = $3
      LEFT JOIN api_keys ON api_keys.id = $2 LEFT JOIN link_credits ON link_credits.key_id = $2 AND link_credits.period = $3
      WHERE accounts.id = $1`,
    [accountId, keyId, periodOf(enqueuedAt)],
  );
  return found ?? { quota: null, used: 0, reserved: 0, linksLimit: null, linksUsed: 0 };
}

/**
 * Reserves the price of a job, or charges it if the job is completed at once. It belongs to the month of its submission, and is settled or
 * released once; sums per month are stored separately, since jobs may be deleted before the month is over.
 */
export function book(
  sql: Sql,
  { id, accountId, keyId, price, enqueuedAt, link }: NewJob,
  state: 'pending' | 'settled',
): void {
  const period = periodOf(enqueuedAt);
  insertReservation(sql, { id, accountId, keyId, price, enqueuedAt, link }, state);
  addUse(sql, {
    accountId,
    period,
    ...(state === 'settled' ? { settled: price, reserved: 0 } : { settled: 0, reserved: price }),
  });
  if (link) {
    sql.run(
      `INSERT INTO link_credits (key_id, period, credits) VALUES ($1, $2, $3)
        ON CONFLICT (key_id, period) DO UPDATE SET credits = link_credits.credits + excluded.credits`,
      [keyId, period, price],
    );
  }
  add(sql, `credits/${state}`, 1);
}

/** Inserts what a job costs into the ledger, without the sums. */
export function insertReservation(
  sql: Sql,
  { id, accountId, keyId, price, enqueuedAt, link }: Pick<NewJob, 'id' | 'keyId' | 'link'> & Charge,
  state: 'pending' | 'settled',
): void {
  sql.run(
    `INSERT INTO reservations (job_id, account_id, period, credits, state, created_at, link_key_id) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, accountId, periodOf(enqueuedAt), price, state, enqueuedAt, link ? keyId : null],
  );
}

/** Adds the reservations of some jobs to the sums. */
export function addReserved(
  sql: Sql,
  { accountId, enqueuedAt }: Omit<Charge, 'price'>,
  { credits, jobs }: { credits: number; jobs: number },
): void {
  addUse(sql, { accountId, period: periodOf(enqueuedAt), settled: 0, reserved: credits });
  add(sql, 'credits/pending', jobs);
}

function addUse(sql: Sql, use: { accountId: string; period: string; settled: number; reserved: number }): void {
  const values = [use.accountId, use.period, use.settled, use.reserved];
  // An INSERT with ON CONFLICT would check a negative sum before it is added.
  const added = sql.run(
    'UPDATE usage SET settled = settled + $3, reserved = reserved + $4 WHERE account_id = $1 AND period = $2',
    values,
  );
  if (added === 0) sql.run('INSERT INTO usage (account_id, period, settled, reserved) VALUES ($1, $2, $3, $4)', values);
}

/** Charges credits for which there is no job. */
export function charge(sql: Sql, order: Charge): QuotaExceeded | null {
  const refusal = refuseOverQuota(order, standingOf(sql, order));
  if (refusal === null)
    addUse(sql, { accountId: order.accountId, period: periodOf(order.enqueuedAt), settled: order.price, reserved: 0 });
  return refusal;
}

/** Settles or releases the credits of a job. @throws Error if they are not pending, so that nothing is charged twice */
export function endCredits(sql: Sql, jobId: string, state: 'settled' | 'released'): void {
  const booked = sql.one<{ accountId: string; period: string; credits: number; linkKeyId: string | null }>(
    `UPDATE reservations SET state = $2 WHERE job_id = $1 AND state = 'pending' RETURNING account_id, period, credits, link_key_id`,
    [jobId, state],
  );
  if (booked === null) throw new Error(`credits of ${jobId} are not pending`);
  const { accountId, period, credits, linkKeyId } = booked;
  addUse(sql, { accountId, period, settled: state === 'settled' ? credits : 0, reserved: -credits });
  if (state === 'released' && linkKeyId !== null) {
    sql.run('UPDATE link_credits SET credits = credits - $3 WHERE key_id = $1 AND period = $2', [
      linkKeyId,
      period,
      credits,
    ]);
  }
  add(sql, 'credits/pending', -1);
  add(sql, `credits/${state}`, 1);
}

/** Counts the end of a job in a month. @param outcome `completed`, or the code of a failure */
export function countOutcome(sql: Sql, accountId: string, period: string, outcome: string): void {
  sql.run(
    `INSERT INTO outcomes (account_id, period, outcome, jobs) VALUES ($1, $2, $3, 1)
      ON CONFLICT (account_id, period, outcome) DO UPDATE SET jobs = outcomes.jobs + 1`,
    [accountId, period, outcome],
  );
}

export function add(sql: Sql, counter: Counter, by: number): void {
  sql.run('UPDATE counters SET value = value + $2 WHERE name = $1', [counter, by]);
}

export function countersOf(sql: Sql): (name: string) => number {
  const counters = new Map(
    sql.all<{ name: string; value: number }>('SELECT name, value FROM counters').map((row) => [row.name, row.value]),
  );
  return (name) => counters.get(name) ?? 0;
}

/** Counts jobs that can be claimed now or later, that is, without followers of a shared render. */
export function countQueued(sql: Sql): number {
  return sumOf(sql, `'waiting', 'prioritized', 'delayed'`);
}

/** Counts waiting jobs, including followers of a shared render. */
export function countWaiting(sql: Sql): number {
  return sumOf(sql, `'waiting', 'prioritized', 'delayed', 'waiting/following', 'prioritized/following'`);
}

/** Counts captures of batches that have not ended, of all accounts or of one. */
export function countBatched(sql: Sql, accountId: string | null = null): number {
  const found = sql.one<{ jobs: number }>(
    `SELECT count(*) AS jobs FROM jobs INDEXED BY jobs_unfinished_of_batch
      WHERE batch_id IS NOT NULL AND ended_at IS NULL AND ($1 IS NULL OR account_id = $1)`,
    [accountId],
  );
  return found?.jobs ?? 0;
}

function sumOf(sql: Sql, names: string): number {
  return sql.one<{ value: number }>(`SELECT sum(value) AS value FROM counters WHERE name IN (${names})`)?.value ?? 0;
}

export function isPaused(sql: Sql): boolean {
  return sql.one<{ paused: number }>('SELECT paused FROM queue')?.paused === 1;
}

/** Counts stored jobs by state. */
export function queueStatus(sql: Sql): QueueStatus {
  const of = countersOf(sql);
  return {
    waiting: of('waiting') + of('waiting/following'),
    active: of('active'),
    prioritized: of('prioritized') + of('prioritized/following'),
    delayed: of('delayed'),
    completed: of('completed'),
    failed: of('failed'),
    paused: isPaused(sql),
  };
}

export function settlement(sql: Sql, now: number): SettlementStatus {
  const of = countersOf(sql);
  const since =
    sql.one<{ at: number | null }>(`SELECT min(created_at) AS at FROM reservations WHERE state = 'pending'`)?.at ??
    null;
  return {
    pending: of('credits/pending'),
    settled: of('credits/settled'),
    released: of('credits/released'),
    oldestPendingMs: since === null ? 0 : Math.max(0, now - since),
  };
}
