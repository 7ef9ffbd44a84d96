import type { Db } from './connect.js';
import type { CountersTable } from './counters.js';
import type { JobRow } from './schema.js';

/** Longer than any capture holds its slot: whatever seems to have taken longer was measured by a clock that jumped. */
const LONGEST_SLOT_MS = 180_000;
/** An account counts as active for so long after it queued a job. */
const ACTIVE_MS = 3_600_000;

/**
 * Start-time fair queueing between accounts, by slot time rather than by jobs. Each account has a tag in virtual ms. A claim moves it
 * on by what the job is expected to take, and the job's end corrects that to what it took; the waiting account with the smallest tag is
 * next. An account that comes back starts at the tag of the latest claim: idle time earns no credit. Synchronous statements; the
 * caller owns the transaction.
 */
export function turnsTable(db: Db, counters: CountersTable) {
  const inTurn = db.prepare<[], string>('SELECT account_id FROM turns WHERE queued > 0 ORDER BY tag').pluck();
  const latest = db.prepare<[], number | null>('SELECT max(tag) FROM turns').pluck();
  const join = db.prepare<{ accountId: string; turn: number; now: number }>(
    'UPDATE turns SET tag = iif(queued = 0, max(tag, @turn), tag), seen_at = @now WHERE account_id = @accountId',
  );
  const book = db.prepare<{ accountId: string; atLeast: number }, { tag: number; bookedMs: number }>(
    `UPDATE turns SET tag = tag + max(typical_ms, @atLeast) WHERE account_id = @accountId
     RETURNING tag, max(typical_ms, @atLeast) AS bookedMs`,
  );
  const correct = db.prepare<{ accountId: string; tookMs: number; bookedMs: number }>(
    `UPDATE turns SET tag = tag + @tookMs - @bookedMs, typical_ms = cast((3 * typical_ms + @tookMs) / 4 AS INTEGER)
     WHERE account_id = @accountId`,
  );
  const refund = db.prepare<[number, string]>('UPDATE turns SET tag = tag - ? WHERE account_id = ?');
  const other = db.prepare<[number, string], number>('SELECT 1 FROM turns WHERE seen_at > ? AND account_id <> ? LIMIT 1').pluck();
  return {
    /** Accounts with queued jobs, the next one first. */
    inTurn: () => inTurn.all(),
    /** Before a job of the account is queued. When nothing at all is queued or running, all accounts begin even. */
    join(accountId: string, now: number): void {
      if (counters.unfinished() === 0) counters.raiseTurn(latest.get() ?? 0);
      join.run({ accountId, turn: counters.turn(), now });
    },
    /** Books a claim. @param atLeast ms that it will take in any case @returns the ms that were booked */
    book(accountId: string, atLeast: number): number {
      const { tag, bookedMs } = book.get({ accountId, atLeast }) ?? { tag: 0, bookedMs: 0 };
      counters.raiseTurn(tag - bookedMs);
      return bookedMs;
    },
    /** The job has given its slot back: corrects what was booked to what it took. */
    settle({ accountId, claimedAt, bookedMs }: JobRow, now: number): void {
      if (claimedAt === null || bookedMs === null) return;
      const tookMs = now - claimedAt;
      if (tookMs >= 0 && tookMs <= LONGEST_SLOT_MS) correct.run({ accountId, tookMs, bookedMs });
    },
    /** The claim is undone. */
    refund({ accountId, bookedMs }: JobRow): void {
      refund.run(bookedMs ?? 0, accountId);
    },
    /** Whether another account than this has queued a job within the last hour. */
    isAnotherActive: (accountId: string, now: number): boolean => other.get(now - ACTIVE_MS, accountId) === 1,
  };
}
