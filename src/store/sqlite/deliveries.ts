/** Webhook deliveries. Each function that writes runs inside the caller's transaction. */
import type { WebhookOptions } from '../../contract/capture-request.js';
import type { DeliveryStatus } from '../../contract/delivery.js';
import type { WebhookEvent } from '../../contract/job.js';
import { type DeliveryRow, type FoundJob, JOB_BY_ID } from '../rows.js';
import {
  attemptFields,
  DELIVERY_EXPIRED,
  DELIVERY_STATUS,
  type HeldDelivery,
  IS_HELD_DELIVERY,
  MAX_DELIVERY_AGE_MS,
  newDelivery,
  REDELIVER,
  SET_ATTEMPT,
  toDueDelivery,
  totalsOf,
  UNSIGNABLE,
} from '../rules/deliveries.js';
import type { AttemptOutcome, DeliveryStore, DueDelivery, NewJob, Redelivery } from '../store.js';
import type { Vault } from '../vault.js';
import type { Sql } from './connection.js';
import { add } from './ledger.js';
import { nextReceiver, type ReceiverKey, recordResponse, recordSilence, refreshReceivers } from './receivers.js';

/** Makes a delivery due at a time, and until it expires. */
export const dueAt = (time: string) => `due_at = ${time}, next_attempt_at = ${time}, expires_at = ${time} + ${MAX_DELIVERY_AGE_MS}`;

export function insertDelivery(
  sql: Sql,
  vault: Vault,
  { job, webhook, maxAttempts }: { job: NewJob; webhook: WebhookOptions; maxAttempts: number },
): void {
  const { deliveryId, url, origin, secret } = newDelivery(vault, job.id, { webhook, now: job.enqueuedAt });
  sql.run(
    `INSERT INTO deliveries (job_id, delivery_id, account_id, url, origin, secret, max_attempts, state, generation, attempts)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', 1, 0)`,
    [job.id, deliveryId, job.accountId, url, origin, secret, maxAttempts],
  );
}

/** Makes the delivery of an ended job due now. @returns false if there is none */
export function announceDelivery(sql: Sql, jobId: string, { event, now }: { event: WebhookEvent; now: number }): boolean {
  const receiver = sql.one<ReceiverKey>(
    `UPDATE deliveries SET event = $2, ${dueAt('$3')} WHERE job_id = $1 AND event IS NULL RETURNING account_id, origin`,
    [jobId, event, now],
  );
  if (receiver !== null) refreshReceivers(sql, [receiver]);
  return receiver !== null;
}

/** Claims the most overdue delivery of the next receiver. */
export function claimNextDelivery(sql: Sql, vault: Vault, claim: Parameters<DeliveryStore['claimNextDelivery']>[0]): DueDelivery | null {
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
    const due = toDueDelivery(vault, row, sql.one<FoundJob>(JOB_BY_ID, [row.jobId]));
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
  const receiver = sql.one<ReceiverKey>(`UPDATE deliveries SET ${SET_ATTEMPT} WHERE ${IS_HELD_DELIVERY} RETURNING account_id, origin`, [
    ...[deliveryId, generation, attempt],
    ...attemptFields(outcome, now),
  ]);
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
export function redeliver(sql: Sql, { jobId, generation, now }: { jobId: string; generation: number; now: number }): Redelivery {
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
