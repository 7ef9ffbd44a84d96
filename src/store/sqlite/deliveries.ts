/** Webhook deliveries. Each function that writes runs inside the caller's transaction. */
import type { BatchEvent } from '../../contract/batch.js';
import type { WebhookOptions } from '../../contract/capture-request.js';
import type { DeliveryStatus } from '../../contract/delivery.js';
import type { WebhookEvent } from '../../contract/job.js';
import { BATCH_BY_ID, type BatchRow } from '../batches.js';
import { type DeliveryRow, type FoundJob, JOB_BY_ID } from '../rows.js';
import {
  attemptFields,
  DELIVERY_EXPIRED,
  DELIVERY_STATUS,
  IS_HELD_DELIVERY,
  MAX_DELIVERY_AGE_MS,
  newDelivery,
  pausedUntil,
  REDELIVER,
  SET_ATTEMPT,
  SILENCES_BEFORE_PAUSE,
  toDueDelivery,
  totalsOf,
  UNSIGNABLE,
} from '../rules/deliveries.js';
import type { AttemptOutcome, DeliveryStore, DueDelivery, HeldDelivery, NewJob, Redelivery } from '../store.js';
import type { Vault } from '../vault.js';
import type { Sql } from './connection.js';
import { add } from './ledger.js';

/** Makes a delivery due at a time, and until it expires. */
export const dueAt = (time: string) =>
  `due_at = ${time}, next_attempt_at = ${time}, expires_at = ${time} + ${MAX_DELIVERY_AGE_MS}`;

export function insertDelivery(
  sql: Sql,
  vault: Vault,
  {
    job,
    webhook,
    maxAttempts,
  }: { job: Pick<NewJob, 'id' | 'accountId' | 'enqueuedAt'>; webhook: WebhookOptions; maxAttempts: number },
): void {
  const { deliveryId, url, origin, secret } = newDelivery(vault, job.id, { webhook, now: job.enqueuedAt });
  sql.run(
    `INSERT INTO deliveries (job_id, delivery_id, account_id, url, origin, secret, max_attempts, state, generation, attempts)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', 1, 0)`,
    [job.id, deliveryId, job.accountId, url, origin, secret, maxAttempts],
  );
}

/** Makes the delivery of an ended job due now. @returns false if there is none */
export function announceDelivery(
  sql: Sql,
  jobId: string,
  { event, now }: { event: WebhookEvent | BatchEvent; now: number },
): boolean {
  const receiver = sql.one<ReceiverKey>(
    `UPDATE deliveries SET event = $2, ${dueAt('$3')} WHERE job_id = $1 AND event IS NULL RETURNING account_id, origin`,
    [jobId, event, now],
  );
  if (receiver !== null) refreshReceivers(sql, [receiver]);
  return receiver !== null;
}

/** Claims the most overdue delivery of the next receiver. */
export function claimNextDelivery(
  sql: Sql,
  vault: Vault,
  claim: Parameters<DeliveryStore['claimNextDelivery']>[0],
): DueDelivery | null {
  for (;;) {
    const receiver = nextReceiver(sql, claim);
    if (receiver === null) return null;
    const row = sql.one<DeliveryRow>(
      `UPDATE deliveries SET claimed_until = $4 WHERE job_id = (SELECT job_id FROM deliveries INDEXED BY deliveries_waiting
          WHERE account_id = $1 AND origin = $2 AND due_at IS NOT NULL AND claimed_until IS NULL AND due_at <= $3 ORDER BY due_at LIMIT 1)
        RETURNING *`,
      [receiver.accountId, receiver.origin, claim.now, claim.now + claim.leaseMs],
    );
    if (row === null) throw new Error(`no delivery to ${receiver.origin} was due as it was read`);
    refreshReceivers(sql, [receiver]);
    const due = toDueDelivery(vault, row, {
      job: sql.one<FoundJob>(JOB_BY_ID, [row.jobId]),
      batch: sql.one<BatchRow>(BATCH_BY_ID, [row.jobId]),
    });
    if (due !== null) return due;
    recordAttempt(sql, { ...row, attempt: row.attempts + 1 }, { outcome: UNSIGNABLE, now: claim.now });
  }
}

/** Records one attempt. @returns false if it was recorded already, or the generation has changed */
export function recordAttempt(
  sql: Sql,
  { deliveryId, generation, attempt }: HeldDelivery,
  { outcome, now }: { outcome: AttemptOutcome; now: number },
): boolean {
  const receiver = sql.one<ReceiverKey>(
    `UPDATE deliveries SET ${SET_ATTEMPT} WHERE ${IS_HELD_DELIVERY} RETURNING account_id, origin`,
    [deliveryId, generation, attempt, ...attemptFields(outcome, now)],
  );
  if (receiver === null) return false;
  if (outcome.status === null) recordSilence(sql, receiver, now);
  else recordResponse(sql, receiver);
  refreshReceivers(sql, [receiver]);
  for (const total of totalsOf(outcome)) add(sql, total, 1);
  return true;
}

/** Fails deliveries that are too old and not being attempted. @returns their number */
export function expireDeliveries(sql: Sql, { now, limit }: { now: number; limit: number }): number {
  const expired = sql.all<ReceiverKey>(
    `UPDATE deliveries SET state = 'failed', last_error = $3, due_at = NULL, next_attempt_at = NULL, expires_at = NULL
      WHERE job_id IN (SELECT job_id FROM deliveries WHERE expires_at IS NOT NULL AND expires_at <= $1 AND claimed_until IS NULL
        ORDER BY expires_at LIMIT $2)
      RETURNING account_id, origin`,
    [now, limit, DELIVERY_EXPIRED],
  );
  refreshReceivers(sql, expired);
  if (expired.length > 0) add(sql, 'webhooks/failed', expired.length);
  return expired.length;
}

/** Makes an ended delivery due again, once per generation. */
export function redeliver(
  sql: Sql,
  { jobId, generation, now }: { jobId: string; generation: number; now: number },
): Redelivery {
  const before = findDelivery(sql, jobId);
  if (before === null) return { kind: 'delivery_unavailable' };
  if (before.generation !== generation) return { kind: 'generation_changed' };
  const receiver = sql.one<ReceiverKey>(`${REDELIVER} RETURNING account_id, origin`, [jobId, generation, now]);
  if (receiver === null) return { kind: 'delivery_pending' };
  refreshReceivers(sql, [receiver]);
  return { kind: 'accepted', status: findDelivery(sql, jobId) ?? before };
}

export function findDelivery(sql: Sql, jobId: string): DeliveryStatus | null {
  return sql.one<DeliveryStatus>(`SELECT ${DELIVERY_STATUS} FROM deliveries WHERE job_id = $1`, [jobId]);
}

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
  { now, perReceiver, atOnce = Number.MAX_SAFE_INTEGER }: { now: number; perReceiver: number; atOnce?: number },
): ReceiverKey | null {
  const busy = sql.all<{ accountId: string; attempts: number }>(
    'SELECT account_id, count(*) AS attempts FROM deliveries WHERE claimed_until IS NOT NULL GROUP BY account_id',
  );
  const held = new Map(busy.map((account) => [account.accountId, account.attempts]));
  const free = atOnce - busy.reduce((sum, account) => sum + account.attempts, 0);
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
    sql.run('DELETE FROM receivers WHERE account_id = $1 AND origin = $2 AND ready_at IS NULL AND in_hand = 0', [
      accountId,
      origin,
    ]);
  }
}

/** Resets a receiver's pause after an attempt with a response, whatever its status. */
export function recordResponse(sql: Sql, { accountId, origin }: ReceiverKey): void {
  sql.run('UPDATE receivers SET silences = 0, paused_until = 0 WHERE account_id = $1 AND origin = $2', [
    accountId,
    origin,
  ]);
}

/** Counts an attempt without a response. Attempts that were running when the pause began do not prolong it. */
export function recordSilence(sql: Sql, { accountId, origin }: ReceiverKey, now: number): void {
  const known = sql.one<{ silences: number }>(
    'UPDATE receivers SET silences = silences + 1 WHERE account_id = $1 AND origin = $2 AND paused_until <= $3 RETURNING silences',
    [accountId, origin, now],
  );
  if (known === null) return;
  sql.run('UPDATE receivers SET paused_until = $3 WHERE account_id = $1 AND origin = $2', [
    accountId,
    origin,
    pausedUntil(known.silences, now),
  ]);
}
