import type { DeliveryStatus } from '../../contract/delivery.js';
import { BATCH_BY_ID, type BatchRow } from '../batches.js';
import { type DeliveryRow, type FoundJob, JOB_BY_ID, type Queries } from '../rows.js';
import {
  attemptFields,
  DELIVERY_EXPIRED,
  DELIVERY_STATUS,
  FIRST_PAUSE_MS,
  IS_HELD_DELIVERY,
  LONGEST_PAUSE_MS,
  REDELIVER,
  SET_ATTEMPT,
  SILENCES_BEFORE_PAUSE,
  toDueDelivery,
  totalsOf,
  UNSIGNABLE,
} from '../rules/deliveries.js';
import type { DeliveryStore, DueDelivery, Redelivery } from '../store.js';
import type { Vault } from '../vault.js';
import { type Database, RELAXED } from './connect.js';

type DeliveryClaim = Parameters<DeliveryStore['claimNextDelivery']>[0];

/** Claims the most overdue delivery of the next receiver, by the function `stillframe_claim_delivery` of drizzle-pg/. */
export async function claimNextDelivery(
  database: Database,
  vault: Vault,
  claim: DeliveryClaim & { nodeId: string },
): Promise<DueDelivery | null> {
  const { now, leaseMs, perReceiver, atOnce = Number.MAX_SAFE_INTEGER, nodeId } = claim;
  for (;;) {
    const row = await database.one<DeliveryRow>(CLAIM, [now, now + leaseMs, perReceiver, atOnce, nodeId]);
    if (row === null) return null;
    const [job, batch] = await Promise.all([
      database.one<FoundJob>(JOB_BY_ID, [row.jobId]),
      row.event?.startsWith('batch.') ? database.one<BatchRow>(BATCH_BY_ID, [row.jobId]) : null,
    ]);
    const due = toDueDelivery(vault, row, { job, batch });
    if (due !== null) return due;
    await recordAttempt(database, { ...row, attempt: row.attempts + 1 }, UNSIGNABLE, now);
  }
}

/** An attempt whose claim a crash of the database loses is made again. */
const CLAIM = `SELECT job_id, delivery_id, event, generation, attempts, max_attempts, url, secret
  FROM ${RELAXED}, stillframe_claim_delivery($1, $2, $3, ${SILENCES_BEFORE_PAUSE}, $4, $5)`;

/** Returns when a receiver with a free slot is ready next; null if none is. */
export async function nextDeliveryDueAt(queries: Queries, perReceiver: number): Promise<number | null> {
  const found = await queries.one<{ at: number | null }>(
    `SELECT min(ready_at) AS at FROM stillframe_receivers($1, ${SILENCES_BEFORE_PAUSE})`,
    [perReceiver],
  );
  return found?.at ?? null;
}

/** Records an attempt. @returns false if it was recorded already, or the generation has changed */
export async function recordAttempt(
  database: Database,
  ...[held, outcome, now]: Parameters<DeliveryStore['recordAttempt']>
): Promise<boolean> {
  const fields = attemptFields(outcome, now);
  const values = [held.deliveryId, held.generation, held.attempt, ...fields, totalsOf(outcome)];
  return (await database.one(outcome.status === null ? RECORD_SILENCE : RECORD_RESPONSE, values)) !== null;
}

/** Builds the statement that records an attempt, and what it says about the receiver. */
function recording(receiver: string): string {
  return `WITH attempt AS (UPDATE deliveries SET node_id = NULL, ${SET_ATTEMPT} WHERE ${IS_HELD_DELIVERY} RETURNING account_id, origin),
    ${receiver},
    counted AS (INSERT INTO tallies (account_id, period, name, jobs) SELECT account_id, '', name, 1 FROM attempt, unnest($10::text[]) name)
    SELECT 1 FROM attempt`;
}

/** A response, whatever its status, resets the receiver's pause. */
const RECORD_RESPONSE = recording(`answered AS (DELETE FROM receivers USING attempt
    WHERE receivers.account_id = attempt.account_id AND receivers.origin = attempt.origin)`);
/** Attempts that were running when the pause began do not prolong it. */
const RECORD_SILENCE = recording(`silent AS (INSERT INTO receivers AS known (account_id, origin, silences, paused_until)
      SELECT account_id, origin, 1, 0 FROM attempt
    ON CONFLICT (account_id, origin) DO UPDATE SET silences = known.silences + 1,
      paused_until = CASE WHEN known.silences + 1 < ${SILENCES_BEFORE_PAUSE} THEN 0
        ELSE $6::bigint + least(${FIRST_PAUSE_MS} * 2 ^ least(known.silences + 1 - ${SILENCES_BEFORE_PAUSE}, 10), ${LONGEST_PAUSE_MS})::bigint END
    WHERE known.paused_until <= $6)`);

/**
 * Fails deliveries that are too old.
 * @returns their number
 */
export async function expireDeliveries(
  database: Database,
  { now, limit }: { now: number; limit: number },
): Promise<number> {
  const expired = await database.all(
    `WITH expired AS (
      UPDATE deliveries SET state = 'failed', last_error = $3, due_at = NULL, next_attempt_at = NULL, expires_at = NULL
        WHERE job_id IN (SELECT job_id FROM deliveries WHERE expires_at <= $1 AND claimed_until IS NULL ORDER BY expires_at LIMIT $2
          FOR UPDATE SKIP LOCKED) RETURNING account_id),
     counted AS (INSERT INTO tallies (account_id, period, name, jobs) SELECT account_id, '', 'webhooks/failed', 1 FROM expired)
     SELECT 1 FROM expired`,
    [now, limit, DELIVERY_EXPIRED],
  );
  return expired.length;
}

/** Makes an ended delivery due again, once per generation. */
export async function redeliver(
  database: Database,
  jobId: string,
  generation: number,
  now: number,
): Promise<Redelivery> {
  const before = await findDelivery(database, jobId);
  if (before === null) return { kind: 'delivery_unavailable' };
  if (before.generation !== generation) return { kind: 'generation_changed' };
  const changed = await database.run(REDELIVER, [jobId, generation, now]);
  const after = await findDelivery(database, jobId);
  if (changed === 1 && after !== null) return { kind: 'accepted', status: after };
  return { kind: after !== null && after.generation !== generation ? 'generation_changed' : 'delivery_pending' };
}

export function findDelivery(queries: Queries, jobId: string): Promise<DeliveryStatus | null> {
  return queries.one<DeliveryStatus>(`SELECT ${DELIVERY_STATUS} FROM deliveries WHERE job_id = $1`, [jobId]);
}
