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
import { type Database, LOCKS, RELAXED } from './connect.js';

type DeliveryClaim = Parameters<DeliveryStore['claimNextDelivery']>[0];

interface Receiver {
  accountId: string;
  origin: string;
}

/**
 * Receivers with waiting deliveries and a free slot: one look-up per receiver, however long its backlog. A receiver that does not respond
 * is paused (a circuit breaker), with one attempt in between. Parameter 1 is the number of concurrent attempts per receiver.
 */
const RECEIVERS = `WITH RECURSIVE receiver(account_id, origin) AS (
    (SELECT account_id, origin FROM deliveries WHERE due_at IS NOT NULL AND claimed_until IS NULL ORDER BY account_id, origin LIMIT 1)
    UNION ALL SELECT next.account_id, next.origin FROM receiver CROSS JOIN LATERAL (
      SELECT account_id, origin FROM deliveries
        WHERE due_at IS NOT NULL AND claimed_until IS NULL AND (account_id, origin) > (receiver.account_id, receiver.origin)
        ORDER BY account_id, origin LIMIT 1) next),
  busy AS (SELECT account_id, origin, count(*) AS attempts FROM deliveries WHERE claimed_until IS NOT NULL GROUP BY 1, 2)
  SELECT receiver.account_id, receiver.origin, greatest(first.due_at, known.paused_until) AS ready_at,
      coalesce((SELECT sum(attempts) FROM busy WHERE busy.account_id = receiver.account_id), 0)::bigint AS held,
      coalesce((SELECT sum(attempts) FROM busy), 0)::bigint AS total
    FROM receiver
    CROSS JOIN LATERAL (SELECT min(due_at) AS due_at FROM deliveries
      WHERE account_id = receiver.account_id AND origin = receiver.origin AND due_at IS NOT NULL AND claimed_until IS NULL) first
    LEFT JOIN receivers known ON known.account_id = receiver.account_id AND known.origin = receiver.origin
    LEFT JOIN busy ON busy.account_id = receiver.account_id AND busy.origin = receiver.origin
    WHERE coalesce(busy.attempts, 0) < CASE WHEN coalesce(known.silences, 0) >= ${SILENCES_BEFORE_PAUSE} THEN 1 ELSE $1::int END`;

/** Claims the most overdue delivery of the next receiver, one claim at a time, so that no slot is given away twice. */
export async function claimNextDelivery(
  database: Database,
  vault: Vault,
  claim: DeliveryClaim & { nodeId: string },
): Promise<DueDelivery | null> {
  for (;;) {
    // The check of an idle worker must not cost a lock.
    if ((await nextReceiver(database, claim)) === null) return null;
    const row = await database.transaction((queries) => claimRow(queries, claim));
    if (row === null) return null;
    const [job, batch] = await Promise.all([
      database.one<FoundJob>(JOB_BY_ID, [row.jobId]),
      row.event?.startsWith('batch.') ? database.one<BatchRow>(BATCH_BY_ID, [row.jobId]) : null,
    ]);
    const due = toDueDelivery(vault, row, { job, batch });
    if (due !== null) return due;
    await recordAttempt(database, { ...row, attempt: row.attempts + 1 }, UNSIGNABLE, claim.now);
  }
}

/** Returns when a receiver with a free slot is ready next; null if none is. */
export async function nextDeliveryDueAt(queries: Queries, perReceiver: number): Promise<number | null> {
  const found = await queries.one<{ at: number | null }>(`SELECT min(ready_at) AS at FROM (${RECEIVERS}) ready`, [
    perReceiver,
  ]);
  return found?.at ?? null;
}

/** Records an attempt. @returns false if it was recorded already, or the generation has changed */
export function recordAttempt(
  database: Database,
  ...[held, outcome, now]: Parameters<DeliveryStore['recordAttempt']>
): Promise<boolean> {
  return database.transaction(async (queries) => {
    const receiver = await queries.one<Receiver>(
      `UPDATE deliveries SET node_id = NULL, ${SET_ATTEMPT} WHERE ${IS_HELD_DELIVERY} RETURNING account_id, origin`,
      [held.deliveryId, held.generation, held.attempt, ...attemptFields(outcome, now)],
    );
    if (receiver === null) return false;
    if (outcome.status === null) await recordSilence(queries, receiver, now);
    else await recordResponse(queries, receiver);
    await queries.run(`INSERT INTO tallies (account_id, period, name, jobs) SELECT $1, '', unnest($2::text[]), 1`, [
      receiver.accountId,
      totalsOf(outcome),
    ]);
    return true;
  });
}

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

async function claimRow(queries: Queries, claim: DeliveryClaim & { nodeId: string }): Promise<DeliveryRow | null> {
  // An attempt whose claim a crash of the database loses is made again.
  await queries.run(`SELECT pg_advisory_xact_lock($1, 0) FROM ${RELAXED}`, [LOCKS.deliveryClaim]);
  const receiver = await nextReceiver(queries, claim);
  if (receiver === null) return null;
  return await queries.one<DeliveryRow>(
    `UPDATE deliveries SET claimed_until = $3::bigint, node_id = $4
      WHERE job_id = (SELECT job_id FROM deliveries WHERE account_id = $1 AND origin = $2 AND due_at <= $5 AND claimed_until IS NULL
        ORDER BY due_at LIMIT 1 FOR UPDATE)
      RETURNING job_id, delivery_id, event, generation, attempts, max_attempts, url, secret`,
    [receiver.accountId, receiver.origin, claim.now + claim.leaseMs, claim.nodeId, claim.now],
  );
}

/**
 * Chooses the account with the fewest running attempts, which must leave as many slots free as it uses, and its receiver that is ready
 * longest.
 */
async function nextReceiver(queries: Queries, { now, perReceiver, atOnce = Number.MAX_SAFE_INTEGER }: DeliveryClaim) {
  return await queries.one<Receiver>(
    `SELECT * FROM (${RECEIVERS}) ready WHERE ready_at <= $2 AND held < $3::bigint - total ORDER BY held, ready_at LIMIT 1`,
    [perReceiver, now, atOnce],
  );
}

/** Resets a receiver's pause after an attempt with a response, whatever its status. */
async function recordResponse(queries: Queries, { accountId, origin }: Receiver): Promise<void> {
  await queries.run('DELETE FROM receivers WHERE account_id = $1 AND origin = $2', [accountId, origin]);
}

/** Counts an attempt without a response. Attempts that were running when the pause began do not prolong it. */
async function recordSilence(queries: Queries, { accountId, origin }: Receiver, now: number): Promise<void> {
  await queries.run(
    `INSERT INTO receivers AS known (account_id, origin, silences, paused_until) VALUES ($1, $2, 1, 0)
     ON CONFLICT (account_id, origin) DO UPDATE SET silences = known.silences + 1,
       paused_until = CASE WHEN known.silences + 1 < ${SILENCES_BEFORE_PAUSE} THEN 0
         ELSE $3::bigint + least(${FIRST_PAUSE_MS} * 2 ^ least(known.silences + 1 - ${SILENCES_BEFORE_PAUSE}, 10), ${LONGEST_PAUSE_MS})::bigint END
     WHERE known.paused_until <= $3`,
    [accountId, origin, now],
  );
}
