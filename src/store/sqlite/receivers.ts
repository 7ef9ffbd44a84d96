/**
 * The queue of receivers: a claim reads one row per origin, never its backlog. A receiver that does not respond is paused (a circuit
 * breaker), with one attempt in between, until it responds. Each function that writes runs inside the caller's transaction.
 */
import { pausedUntil, SILENCES_BEFORE_PAUSE } from '../rules/deliveries.js';
import type { Sql } from './connection.js';

/** An account's receiver. Accounts share neither slots nor pauses, even for the same origin. */
export interface ReceiverKey {
  accountId: string;
  origin: string;
}

/** Condition that a receiver has a waiting delivery and a free slot. Parameter 1 is the number of concurrent attempts per receiver. */
const IS_READY = `ready_at IS NOT NULL AND in_hand < iif(silences >= ${SILENCES_BEFORE_PAUSE}, 1, $1)`;

/** Lists the accounts with waiting deliveries with one look-up for each, however many receivers it has. */
const WAITING_ACCOUNTS = `WITH RECURSIVE holder(account_id) AS (
    SELECT min(account_id) FROM receivers WHERE ready_at IS NOT NULL
    UNION ALL SELECT (SELECT min(account_id) FROM receivers WHERE ready_at IS NOT NULL AND account_id > holder.account_id)
      FROM holder WHERE holder.account_id IS NOT NULL)
  SELECT account_id FROM holder WHERE account_id IS NOT NULL`;

/** Finds the next receiver: one of the account with the fewest running attempts, which must leave as many slots free as it uses. */
export function nextReceiver(
  sql: Sql,
  { now, perReceiver, places = Number.MAX_SAFE_INTEGER }: { now: number; perReceiver: number; places?: number },
): ReceiverKey | null {
  const busy = sql.all<{ accountId: string; attempts: number }>(
    'SELECT account_id, count(*) AS attempts FROM deliveries WHERE claimed_until IS NOT NULL GROUP BY account_id',
  );
  const held = new Map(busy.map((account) => [account.accountId, account.attempts]));
  const free = places - busy.reduce((sum, account) => sum + account.attempts, 0);
  let best: (ReceiverKey & { readyAt: number; held: number }) | null = null;
  for (const { accountId } of sql.all<{ accountId: string }>(WAITING_ACCOUNTS)) {
    const own = held.get(accountId) ?? 0;
    if (own >= free || (best !== null && own > best.held)) continue;
    const found = sql.one<ReceiverKey & { readyAt: number }>(
      `SELECT account_id, origin, ready_at FROM receivers INDEXED BY receivers_of
        WHERE account_id = $2 AND ${IS_READY} AND ready_at <= $3 ORDER BY ready_at LIMIT 1`,
      [perReceiver, accountId, now],
    );
    if (found === null || (best !== null && own === best.held && found.readyAt >= best.readyAt)) continue;
    best = { ...found, held: own };
  }
  return best;
}

/** Returns when a receiver with a free slot will be ready; null if none will. */
export function nextReadyAt(sql: Sql, perReceiver: number): number | null {
  const next = sql.one<{ readyAt: number }>(
    `SELECT ready_at FROM receivers INDEXED BY receivers_next WHERE ${IS_READY} ORDER BY ready_at LIMIT 1`,
    [perReceiver],
  );
  return next?.readyAt ?? null;
}

/** Updates receivers after any change of their deliveries. */
export function refreshReceivers(sql: Sql, keys: readonly ReceiverKey[]): void {
  for (const { accountId, origin } of new Map(keys.map((key) => [`${key.accountId} ${key.origin}`, key])).values()) {
    sql.run(
      `INSERT INTO receivers (account_id, origin, ready_at, in_hand) VALUES ($1, $2,
        (SELECT min(due_at) FROM deliveries WHERE account_id = $1 AND origin = $2 AND due_at IS NOT NULL AND claimed_until IS NULL),
        (SELECT count(*) FROM deliveries WHERE account_id = $1 AND origin = $2 AND claimed_until IS NOT NULL))
       ON CONFLICT (account_id, origin) DO UPDATE SET ready_at = max(excluded.ready_at, receivers.paused_until), in_hand = excluded.in_hand`,
      [accountId, origin],
    );
    sql.run('DELETE FROM receivers WHERE account_id = $1 AND origin = $2 AND ready_at IS NULL AND in_hand = 0', [accountId, origin]);
  }
}

/** Resets a receiver's pause after an attempt with a response, whatever its status. */
export function recordResponse(sql: Sql, { accountId, origin }: ReceiverKey): void {
  sql.run('UPDATE receivers SET silences = 0, paused_until = 0 WHERE account_id = $1 AND origin = $2', [accountId, origin]);
}

/** Counts an attempt without a response. Attempts that were running when the pause began do not prolong it. */
export function recordSilence(sql: Sql, { accountId, origin }: ReceiverKey, now: number): void {
  const known = sql.one<{ silences: number }>(
    'UPDATE receivers SET silences = silences + 1 WHERE account_id = $1 AND origin = $2 AND paused_until <= $3 RETURNING silences',
    [accountId, origin, now],
  );
  if (known === null) return;
  sql.run('UPDATE receivers SET paused_until = $3 WHERE account_id = $1 AND origin = $2', [
    ...[accountId, origin, pausedUntil(known.silences, now)],
  ]);
}
