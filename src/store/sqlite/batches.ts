import { setImmediate as nextTurn } from 'node:timers/promises';
import { ANSWERED_BATCH, type BatchRow, COMPLETED_BATCHES } from '../batches.js';
import { type Digests, newJobRow } from '../rows.js';
import { answerKnownBatch, isTooMuch } from '../rules/batches.js';
import { queueUpload, refuseOverQuota } from '../rules/jobs.js';
import type { AcceptRules, BatchAcceptance, NewBatch, NewJob } from '../store.js';
import type { Vault } from '../vault.js';
import { findKept, insertAcceptedJob, insertJob } from './accept.js';
import type { Sql } from './connection.js';
import { announceDelivery, insertDelivery, type ReceiverKey, refreshReceivers } from './deliveries.js';
import { addReserved, countBatched, insertReservation, standingOf } from './ledger.js';
import { joinTurns } from './turns.js';

/** Jobs that are inserted in one turn of the event loop. */
const INSERTED_AT_ONCE = 50;

/** A job with what takes long to make of it. */
export type PreparedJob = { job: NewJob; digests: Digests; sealed: Buffer };

/** Accepts a batch inside the caller's transaction, which may be long. @returns null once it is accepted */
export async function acceptBatch(
  sql: Sql,
  vault: Vault,
  { batch, jobs, rules }: { batch: NewBatch; jobs: readonly PreparedJob[]; rules: AcceptRules },
): Promise<BatchAcceptance | null> {
  const { id, accountId, keyId, requestId, idempotencyKey, webhook, enqueuedAt } = batch;
  const known = idempotencyKey === null ? null : sql.one<BatchRow>(ANSWERED_BATCH, ['', accountId, idempotencyKey]);
  if (known !== null) return answerKnownBatch(vault, batch, known);
  if (isTooMuch(jobs.length, { all: countBatched(sql), ofAccount: countBatched(sql, accountId) }))
    return { kind: 'queue_full' };
  const price = jobs.reduce((sum, { job }) => sum + job.price, 0);
  const refusal = refuseOverQuota({ price, enqueuedAt }, standingOf(sql, batch));
  if (refusal !== null) return refusal;
  sql.run(
    `INSERT INTO batches (id, account_id, key_id, request_id, idempotency_key, identity_digest, total, webhook_url, created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      id,
      accountId,
      keyId,
      requestId,
      idempotencyKey,
      vault.digest('identity', batch.identity),
      jobs.length,
      webhook?.url ?? null,
      enqueuedAt,
    ],
  );
  if (webhook !== null) insertDelivery(sql, vault, { job: batch, webhook, maxAttempts: rules.webhookMaxAttempts });
  joinTurns(sql, accountId, enqueuedAt);
  const queued = { credits: 0, jobs: 0 };
  for (const [index, { job, digests, sealed }] of jobs.entries()) {
    if (index % INSERTED_AT_ONCE === INSERTED_AT_ONCE - 1) await nextTurn();
    const kept = findKept(sql, job, { cacheDigest: digests.cache, missing: null });
    // Those that a picture answers, and those that upload one, are few.
    if (kept !== null)
      insertAcceptedJob(sql, vault, queueUpload({ job, rules, digests, source: { kept, leaderId: null } }));
    else {
      insertJob(sql, newJobRow(job, digests, { kept: null, leaderId: null }));
      sql.run('INSERT INTO orders (job_id, sealed) VALUES ($1, $2)', [job.id, sealed]);
      insertReservation(sql, job, 'pending');
      queued.credits += job.price;
      queued.jobs++;
    }
  }
  if (queued.jobs > 0) addReserved(sql, batch, queued);
  completeBatches(sql, enqueuedAt, id);
  return null;
}

/** Completes a batch, or all, whose jobs have ended. Runs inside the caller's transaction. @returns whether a delivery is due */
export function completeBatches(sql: Sql, now: number, id: string): boolean {
  const due = sql
    .all<{ id: string }>(COMPLETED_BATCHES, [now, id])
    .map((batch) => announceDelivery(sql, batch.id, { event: 'batch.completed', now }));
  return due.includes(true);
}

/** Runs inside the caller's transaction. */
export function removeBatch(sql: Sql, id: string, keyId: string | null, now: number): boolean {
  const batch = sql.one<BatchRow>(
    'SELECT * FROM batches WHERE id = $1 AND removed_at IS NULL AND ($2 IS NULL OR key_id = $2)',
    [id, keyId],
  );
  if (batch === null) return false;
  sql.run('UPDATE batches SET removed_at = $2, completed_at = ifnull(completed_at, $2) WHERE id = $1', [id, now]);
  if (batch.completedAt === null) announceDelivery(sql, id, { event: 'batch.canceled', now });
  else
    refreshReceivers(
      sql,
      sql.all<ReceiverKey>('DELETE FROM deliveries WHERE job_id = $1 RETURNING account_id, origin', [id]),
    );
  return true;
}
