/** Decisions about webhook deliveries and their receivers. */
import type { WebhookOptions } from '../../contract/capture-request.js';
import { newId } from '../../contract/ids.js';
import { type BatchRow, toBatch } from '../batches.js';
import { type DeliveryRow, type FoundJob, toSnapshot } from '../rows.js';
import type { AttemptOutcome, DueDelivery, NotifiedEnd } from '../store.js';
import { openOrNull, placeOf, type Vault } from '../vault.js';

/** A delivery fails this long after its event, even if attempts are left, so that a dead receiver's backlog ends. */
export const MAX_DELIVERY_AGE_MS = 24 * 3_600_000;
export const DELIVERY_EXPIRED = 'It could not be delivered within 24 hours.';
/** Number of attempts in a row without a response after which a receiver is paused. */
export const SILENCES_BEFORE_PAUSE = 8;
export const FIRST_PAUSE_MS = 5_000;
export const LONGEST_PAUSE_MS = 300_000;
/** The error of a delivery that can never be signed, so that it is not claimed again. */
export const UNSIGNABLE: AttemptOutcome = {
  kind: 'failed',
  status: null,
  error: "The webhook's secret cannot be decrypted.",
};

/** Columns of `DeliveryStatus`. */
export const DELIVERY_STATUS = `job_id, delivery_id, event, url, state, attempts, max_attempts, generation, last_status, last_error,
  last_attempt_at, next_attempt_at, delivered_at`;
/** Condition that an attempt is held. Attempts are counted when they are recorded, so a crash may repeat one but never loses one. */
export const IS_HELD_DELIVERY = `delivery_id = $1 AND generation = $2 AND attempts = $3 - 1 AND state = 'pending' AND due_at IS NOT NULL`;

/** Returns what a delivery of a new job is stored with, besides its job. */
export function newDelivery(vault: Vault, jobId: string, { webhook, now }: { webhook: WebhookOptions; now: number }) {
  const { url, secret } = webhook;
  return {
    deliveryId: newId('delivery', now),
    url,
    origin: new URL(url).origin,
    secret: vault.seal(secret, placeOf.webhook(jobId)),
  };
}

type ClaimedRow = Pick<
  DeliveryRow,
  'jobId' | 'deliveryId' | 'event' | 'generation' | 'attempts' | 'maxAttempts' | 'url' | 'secret'
>;

/** Returns what an attempt needs; null if it cannot be signed. */
export function toDueDelivery(
  vault: Vault,
  row: ClaimedRow,
  { job, batch }: { job: FoundJob | null; batch: BatchRow | null },
): DueDelivery | null {
  const { jobId, deliveryId, generation, maxAttempts, url } = row;
  const secret = openOrNull(vault, row.secret, placeOf.webhook(jobId));
  const ended = endOf(row, job, batch);
  if (secret === null || ended === null) return null;
  const traceparent = job?.traceparent ?? null;
  return {
    deliveryId,
    jobId,
    generation,
    attempt: row.attempts + 1,
    maxAttempts,
    url,
    secret,
    ended,
    traceparent,
  };
}

function endOf({ event }: ClaimedRow, job: FoundJob | null, batch: BatchRow | null): NotifiedEnd | null {
  if (job !== null) return { kind: 'job', job: toSnapshot(job) };
  if (batch === null || (event !== 'batch.completed' && event !== 'batch.canceled')) return null;
  return { kind: 'batch', batch: toBatch(batch), event };
}

/** Returns the fields that an attempt changes, in the order of SET_ATTEMPT. */
export function attemptFields(outcome: AttemptOutcome, now: number): unknown[] {
  const nextAttemptAt = outcome.kind === 'retry' ? outcome.nextAttemptAt : null;
  const state = outcome.kind === 'retry' ? 'pending' : outcome.kind;
  return [
    outcome.status,
    'error' in outcome ? outcome.error : null,
    now,
    state,
    nextAttemptAt,
    state === 'delivered' ? now : null,
  ];
}

/** Records an attempt. Parameters 1 to 3 are those of IS_HELD_DELIVERY, 4 to 9 those of `attemptFields`. */
export const SET_ATTEMPT = `attempts = $3, last_status = $4, last_error = $5, last_attempt_at = $6, claimed_until = NULL, state = $7, due_at = $8,
  next_attempt_at = $8, delivered_at = $9, expires_at = CASE WHEN $7 = 'pending' THEN expires_at END`;

/** Makes an ended delivery due again at $3, once per generation ($2). */
export const REDELIVER = `UPDATE deliveries SET state = 'pending', generation = generation + 1, attempts = 0, last_status = NULL,
    last_error = NULL, last_attempt_at = NULL, delivered_at = NULL, due_at = $3, next_attempt_at = $3,
    expires_at = CAST($3 AS bigint) + ${MAX_DELIVERY_AGE_MS}
  WHERE job_id = $1 AND generation = $2 AND state IN ('delivered', 'failed')`;

/** Names the totals that an attempt adds to. */
export function totalsOf(outcome: AttemptOutcome): `webhooks/${'delivered' | 'failed' | 'errors'}`[] {
  if (outcome.kind === 'delivered') return ['webhooks/delivered'];
  return outcome.kind === 'failed' ? ['webhooks/errors', 'webhooks/failed'] : ['webhooks/errors'];
}

/** Returns until when a receiver is paused after some attempts without a response: 5 s at first, then twice as long each time up to 5 min. */
export function pausedUntil(silences: number, now: number): number {
  const pauses = silences - SILENCES_BEFORE_PAUSE;
  return pauses < 0 ? 0 : now + Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS);
}
