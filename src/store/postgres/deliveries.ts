import type { DeliveryStatus } from '../../contract/delivery.js';
import { DELIVERY_EXPIRED, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, MAX_DELIVERY_AGE_MS, SILENCES_BEFORE_PAUSE } from '../rules.js';
import { toSnapshot } from '../snapshot.js';
import type { DeliveryStore, DueDelivery, Redelivery } from '../store.js';
import type { Vault } from '../vault.js';
import type { Database, Queries } from './connect.js';
import { findJob } from './job-rows.js';
import { LOCKS } from './locks.js';

type DeliveryClaim = Parameters<DeliveryStore['claimNextDelivery']>[0];
type Held = Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>;

interface ReceiverRow {
  accountId: string;
  origin: string;
  /** When its next waiting delivery may be claimed, in Unix ms. */
  readyAt: number;
  /** Running attempts of its account. */
  held: number;
  /** Running attempts of all accounts. */
  total: number;
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
  SELECT receiver.account_id AS "accountId", receiver.origin, greatest(first.due_at, known.paused_until) AS "readyAt",
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
    const secret = openSecret(vault, row);
    const job = await findJob(database, row.jobId);
    const due = { ...row, attempt: row.attempts + 1 };
    if (secret !== null && job !== null) {
      const { deliveryId, jobId, generation, attempt, maxAttempts, url } = due;
      return { deliveryId, jobId, generation, attempt, maxAttempts, url, secret, job: toSnapshot(job), traceparent: job.traceparent };
    }
    // Such a delivery can never be signed, so it must not be claimed again.
    await recordAttempt(database, due, { kind: 'failed', status: null, error: 'the secret cannot be read' }, claim.now);
  }
}

/** Returns when a receiver with a free slot is ready next; null if none is. */
export async function nextDeliveryDueAt(queries: Queries, perReceiver: number): Promise<number | null> {
  const found = await queries.one<{ at: number | null }>(`SELECT min("readyAt") AS at FROM (${RECEIVERS}) ready`, [perReceiver]);
  return found?.at ?? null;
}

/** @returns false if the delivery's generation or attempt has changed */
export function recordAttempt(database: Database, ...[held, outcome, now]: Parameters<DeliveryStore['recordAttempt']>): Promise<boolean> {
  return database.transaction(async (queries) => {
    const receiver = await record(queries, held, outcome, now);
    if (receiver === null) return false;
    if (outcome.status === null) await recordSilence(queries, receiver, now);
    else await recordResponse(queries, receiver);
    const names = [
      ...(outcome.kind === 'delivered' ? [] : ['webhooks/errors']),
      ...(outcome.kind === 'retry' ? [] : [`webhooks/${outcome.kind}`]),
    ];
    await queries.run(`INSERT INTO tallies (account_id, period, name, jobs) SELECT $1, '', unnest($2::text[]), 1`, [
      receiver.accountId,
      names,
    ]);
    return true;
  });
}

/**
 * Fails deliveries that are too old.
 * @returns their number
 */
export async function expireDeliveries(database: Database, { now, limit }: { now: number; limit: number }): Promise<number> {
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
export async function redeliver(database: Database, jobId: string, generation: number, now: number): Promise<Redelivery> {
  const before = await findDelivery(database, jobId);
  if (before === null) return { kind: 'delivery_unavailable' };
  if (before.generation !== generation) return { kind: 'generation_changed' };
  const changed = await database.run(
    `UPDATE deliveries SET state = 'pending', generation = generation + 1, attempts = 0, last_status = NULL, last_error = NULL,
        last_attempt_at = NULL, delivered_at = NULL, due_at = $3::bigint, next_attempt_at = $3::bigint,
        expires_at = $3::bigint + ${MAX_DELIVERY_AGE_MS}
      WHERE job_id = $1 AND generation = $2 AND state IN ('delivered', 'failed')`,
    [jobId, generation, now],
  );
  const after = await findDelivery(database, jobId);
  if (changed === 1 && after !== null) return { kind: 'accepted', status: after };
  return { kind: after !== null && after.generation !== generation ? 'generation_changed' : 'delivery_pending' };
}

export function findDelivery(queries: Queries, jobId: string): Promise<DeliveryStatus | null> {
  return queries.one<DeliveryStatus>(
    `SELECT job_id AS "jobId", delivery_id AS "deliveryId", event, url, state, attempts, max_attempts AS "maxAttempts", generation,
        last_status AS "lastStatus", last_error AS "lastError", last_attempt_at AS "lastAttemptAt", next_attempt_at AS "nextAttemptAt",
        delivered_at AS "deliveredAt" FROM deliveries WHERE job_id = $1`,
    [jobId],
  );
}

interface ClaimedRow {
  jobId: string;
  deliveryId: string;
  generation: number;
  attempts: number;
  maxAttempts: number;
  url: string;
  secret: Buffer;
}

async function claimRow(queries: Queries, claim: DeliveryClaim & { nodeId: string }): Promise<ClaimedRow | null> {
  await queries.run('SELECT pg_advisory_xact_lock($1, 0)', [LOCKS.deliveryClaim]);
  const receiver = await nextReceiver(queries, claim);
  if (receiver === null) return null;
  return await queries.one<ClaimedRow>(
    `UPDATE deliveries SET claimed_until = $3::bigint, node_id = $4
      WHERE job_id = (SELECT job_id FROM deliveries WHERE account_id = $1 AND origin = $2 AND due_at <= $5 AND claimed_until IS NULL
        ORDER BY due_at LIMIT 1 FOR UPDATE)
      RETURNING job_id AS "jobId", delivery_id AS "deliveryId", generation, attempts, max_attempts AS "maxAttempts", url, secret`,
    [receiver.accountId, receiver.origin, claim.now + claim.leaseMs, claim.nodeId, claim.now],
  );
}

/**
 * Chooses the account with the fewest running attempts, which must leave as many slots free as it uses, and its receiver that is ready
 * longest.
 */
async function nextReceiver(queries: Queries, { now, perReceiver, places = Number.MAX_SAFE_INTEGER }: DeliveryClaim) {
  return await queries.one<ReceiverRow>(
    `SELECT * FROM (${RECEIVERS}) ready WHERE "readyAt" <= $2 AND held < $3::bigint - total ORDER BY held, "readyAt" LIMIT 1`,
    [perReceiver, now, places],
  );
}

function openSecret(vault: Vault, { secret, jobId }: ClaimedRow): string | null {
  try {
    return vault.open(secret, `webhook:${jobId}`);
  } catch {
    return null;
  }
}

interface Receiver {
  accountId: string;
  origin: string;
}

/** Records an attempt. Attempts are counted when they are recorded, so a crash may repeat one but never loses one. */
function record(
  queries: Queries,
  held: Held,
  outcome: Parameters<DeliveryStore['recordAttempt']>[1],
  now: number,
): Promise<Receiver | null> {
  const ended = outcome.kind !== 'retry';
  return queries.one<Receiver>(
    `UPDATE deliveries SET attempts = $3, last_status = $4, last_error = $5, last_attempt_at = $6::bigint, claimed_until = NULL, node_id = NULL,
        state = $7, due_at = $8::bigint, next_attempt_at = $8::bigint, delivered_at = $9::bigint,
        expires_at = CASE WHEN $8::bigint IS NULL THEN NULL ELSE expires_at END
      WHERE delivery_id = $1 AND generation = $2 AND attempts = $3 - 1 AND state = 'pending' AND due_at IS NOT NULL
      RETURNING account_id AS "accountId", origin`,
    [
      ...[held.deliveryId, held.generation, held.attempt, outcome.status, 'error' in outcome ? outcome.error : null, now],
      outcome.kind === 'retry' ? 'pending' : outcome.kind,
      ended ? null : outcome.nextAttemptAt,
      outcome.kind === 'delivered' ? now : null,
    ],
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
