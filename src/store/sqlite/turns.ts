/**
 * Start-time fair queueing between accounts by slot time: a claim adds the job's expected duration to the account's tag (virtual ms), its
 * end corrects that, and the smallest tag is next. Idle accounts start at the tag of the latest claim, so idle time earns no credit. That
 * tag is the counter `turn`, which never decreases. Each function runs inside the caller's transaction.
 */
import type { JobRow } from '../rows.js';
import { slotTimeOf } from '../rules/jobs.js';
import type { Sql } from './connection.js';

/** An account counts as active for this long after it queued a job. */
const ACTIVE_MS = 3_600_000;

/** Lists accounts with queued jobs, the next one first. */
export function accountsInTurn(sql: Sql): string[] {
  return sql
    .all<{ accountId: string }>('SELECT account_id FROM turns WHERE queued > 0 ORDER BY tag')
    .map((turn) => turn.accountId);
}

/** Called before a job of the account is queued. If nothing is queued or running, all accounts start equal. */
export function joinTurns(sql: Sql, accountId: string, now: number): void {
  sql.run(
    `UPDATE counters SET value = max(value, (SELECT ifnull(max(tag), 0) FROM turns)) WHERE name = 'turn'
      AND (SELECT sum(value) FROM counters WHERE name IN ('waiting', 'prioritized', 'delayed', 'active')) = 0`,
  );
  sql.run(
    `UPDATE turns SET tag = iif(queued = 0, max(tag, (SELECT value FROM counters WHERE name = 'turn')), tag), seen_at = $2
      WHERE account_id = $1`,
    [accountId, now],
  );
}

/**
 * Charges a claim in advance.
 * @param atLeast ms that it will take in any case
 * @returns the charged ms
 */
export function bookTurn(sql: Sql, accountId: string, atLeast: number): number {
  const booked = sql.one<{ tag: number; bookedMs: number }>(
    'UPDATE turns SET tag = tag + max(typical_ms, $2) WHERE account_id = $1 RETURNING tag, max(typical_ms, $2) AS booked_ms',
    [accountId, atLeast],
  );
  const { tag, bookedMs } = booked ?? { tag: 0, bookedMs: 0 };
  sql.run(`UPDATE counters SET value = max(value, $1) WHERE name = 'turn'`, [tag - bookedMs]);
  return bookedMs;
}

/** Corrects the charge to the actual time, when the job has released its slot. */
export function correctTurn(sql: Sql, job: JobRow, now: number): void {
  const tookMs = slotTimeOf(job, now);
  if (tookMs === null) return;
  sql.run(
    'UPDATE turns SET tag = tag + $2 - $3, typical_ms = CAST((3 * typical_ms + $2) / 4 AS integer) WHERE account_id = $1',
    [job.accountId, tookMs, job.bookedMs],
  );
}

/** Undoes the charge, when the claim is undone. */
export function refundTurn(sql: Sql, { accountId, bookedMs }: JobRow): void {
  sql.run('UPDATE turns SET tag = tag - $2 WHERE account_id = $1', [accountId, bookedMs ?? 0]);
}

/** Returns whether another account has queued a job within the last hour. */
export function isAnotherActive(sql: Sql, accountId: string, now: number): boolean {
  return (
    sql.one('SELECT 1 FROM turns WHERE seen_at > $1 AND account_id <> $2 LIMIT 1', [now - ACTIVE_MS, accountId]) !==
    null
  );
}
