import { periodOf } from '../../contract/pricing.js';
import { ANSWERED_BATCH, type BatchRow, COMPLETED_BATCHES, toBatch } from '../batches.js';
import { newJobRow, type Picture, type Queries } from '../rows.js';
import { answerKnownBatch, isTooMuch } from '../rules/batches.js';
import { MAX_DELIVERY_AGE_MS, newDelivery } from '../rules/deliveries.js';
import { digestsOf, isUsable, queueUpload } from '../rules/jobs.js';
import type { AcceptRules, BatchAcceptance, NewBatch, NewJob } from '../store.js';
import { encryptOptions, type Vault } from '../vault.js';
import { joinTurns, refuseSum } from './accept.js';
import { type Database, LOCKS } from './connect.js';

/** Rows of one statement. */
const SLICE_ROWS = 200;

interface BatchToAccept {
  batch: NewBatch;
  jobs: readonly NewJob[];
  rules: AcceptRules;
}

/** Accepts a batch as one transaction, which locks the account's row as a submission does. */
export function acceptBatch(
  database: Database,
  vault: Vault,
  { batch, jobs, rules }: BatchToAccept,
): Promise<BatchAcceptance> {
  const prepared = jobs.map((job) => ({ job, digests: digestsOf(vault, job) }));
  return database.transaction(async (queries): Promise<BatchAcceptance> => {
    const { id, accountId, keyId, requestId, idempotencyKey, webhook, enqueuedAt } = batch;
    const find = (byId: string, key: string | null) => queries.one<BatchRow>(ANSWERED_BATCH, [byId, accountId, key]);
    const known = idempotencyKey === null ? null : await find('', idempotencyKey);
    if (known !== null) return answerKnownBatch(vault, batch, known);
    await queries.run('SELECT pg_advisory_xact_lock($1, 0)', [LOCKS.batches]);
    if (isTooMuch(jobs.length, await countBatched(queries, accountId))) return { kind: 'queue_full' };
    const price = jobs.reduce((sum, job) => sum + job.price, 0);
    const refusal = await refuseSum(queries, { accountId, price, enqueuedAt });
    if (refusal !== null) return refusal;
    // A second submission with the same key waits here, and is then repeated, since its row violates the index.
    await queries.run(INSERT_BATCH, [
      id,
      accountId,
      keyId,
      requestId,
      idempotencyKey,
      vault.digest('identity', batch.identity),
      jobs.length,
      webhook?.url ?? null,
      enqueuedAt,
    ]);
    if (webhook !== null) {
      const { deliveryId, url, origin, secret } = newDelivery(vault, id, { webhook, now: enqueuedAt });
      const values = [id, deliveryId, accountId, url, origin, secret, rules.webhookMaxAttempts];
      await queries.run(INSERT_DELIVERY, values);
    }
    await joinTurns(queries, batch);
    const kept = await findKept(
      queries,
      accountId,
      prepared.map(({ digests }) => digests.cache),
    );
    for (let at = 0; at < prepared.length; at += SLICE_ROWS) {
      const rows = prepared.slice(at, at + SLICE_ROWS).map(({ job, digests }) => {
        const found = job.cacheTtl === 0 ? undefined : kept.get(digests.cache ?? '');
        const picture = found !== undefined && isUsable(found, job) ? found : null;
        return rowOf(vault, queueUpload({ job, digests, source: { kept: picture, leaderId: null } }));
      });
      await queries.run(INSERT_JOBS, [JSON.stringify(rows), periodOf(enqueuedAt)]);
    }
    await completeIn(queries, enqueuedAt, id);
    const accepted = await find(id, null);
    if (accepted === null) throw new Error(`batch ${id} was not found after its acceptance`);
    return { kind: 'accepted', batch: toBatch(accepted) };
  });
}

const INSERT_BATCH = `INSERT INTO batches (id, account_id, key_id, request_id, idempotency_key, identity_digest, total, webhook_url, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
const INSERT_DELIVERY = `INSERT INTO deliveries (job_id, delivery_id, account_id, url, origin, secret, max_attempts, state, generation, attempts)
  VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', 1, 0)`;

async function countBatched(queries: Queries, accountId: string): Promise<{ all: number; ofAccount: number }> {
  const found = await queries.one<{ all: number; own: number }>(
    `SELECT count(*) AS all, count(*) FILTER (WHERE account_id = $1) AS own FROM jobs WHERE batch_id IS NOT NULL AND ended_at IS NULL`,
    [accountId],
  );
  return { all: found?.all ?? 0, ofAccount: found?.own ?? 0 };
}

/** The newest pictures of some cache digests. */
async function findKept(
  queries: Queries,
  accountId: string,
  digests: readonly (string | null)[],
): Promise<Map<string, Picture>> {
  const found = await queries.all<Picture & { digest: string }>(
    `SELECT wanted.digest, newest.* FROM (SELECT DISTINCT unnest($2::text[]) AS digest) wanted CROSS JOIN LATERAL (
        SELECT job.id AS job_id, job.rendered_at, job.worker_id, artifacts.name AS artifact_name, artifacts.data, artifacts.gone_at
          FROM jobs job JOIN artifacts ON artifacts.name = job.artifact_name
          WHERE job.account_id = $1 AND job.cache_digest = wanted.digest AND job.rendered_at IS NOT NULL
          ORDER BY job.rendered_at DESC LIMIT 1) newest`,
    [accountId, digests.filter((digest) => digest !== null)],
  );
  return new Map(found.map((picture) => [picture.digest, picture]));
}

function rowOf(vault: Vault, { job, digests, source }: Prepared) {
  const isQueued = source.kept === null;
  return {
    ...newJobRow(job, digests, source),
    delayMs: job.options.delay,
    price: job.price,
    sealed: isQueued ? encryptOptions(vault, job.id, job.options).toString('base64') : null,
  };
}

interface Prepared {
  job: NewJob;
  digests: Parameters<typeof newJobRow>[1];
  source: Parameters<typeof newJobRow>[2];
}

/** Inserts the rows of `rowOf` ($1) in a month ($2), with their queue entries, orders and credits. */
const INSERT_JOBS = `WITH input AS (
    SELECT * FROM json_to_recordset($1::json) AS input(id text, "accountId" text, "keyId" text, "requestId" text, mode text, state text,
      lane text, "identityDigest" text, "cacheDigest" text, "timeoutMs" bigint, "delayMs" bigint, "attemptBudget" int, "enqueuedAt" bigint,
      progress int, "endedAt" bigint, "workerId" text, "artifactName" text, data text, traceparent text, url text, "batchId" text,
      "batchIndex" int, price bigint, sealed text)),
  job AS (
    INSERT INTO jobs (id, account_id, key_id, request_id, mode, state, lane, identity_digest, cache_digest, timeout_ms, delay_ms,
        attempts_made, attempt_budget, enqueued_at, progress, ended_at, worker_id, artifact_name, data, traceparent, url, batch_id, batch_index)
      SELECT id, "accountId", "keyId", "requestId", mode, state, lane, "identityDigest", "cacheDigest", "timeoutMs", "delayMs",
          0, "attemptBudget", "enqueuedAt", progress, "endedAt", "workerId", "artifactName", data, traceparent, url, "batchId", "batchIndex"
        FROM input ORDER BY "batchIndex"
      RETURNING seq, id, account_id, enqueued_at, ended_at),
  entry AS (INSERT INTO queue_entries (seq, account_id, lane) SELECT seq, account_id, 2 FROM job WHERE ended_at IS NULL),
  ordered AS (INSERT INTO orders (job_id, sealed)
    SELECT job.id, decode(input.sealed, 'base64') FROM job JOIN input ON input.id = job.id WHERE input.sealed IS NOT NULL),
  reserved AS (INSERT INTO reservations (job_id, account_id, period, credits, state, created_at)
    SELECT job.id, account_id, $2::text, input.price, CASE WHEN ended_at IS NULL THEN 'pending' ELSE 'settled' END, enqueued_at
      FROM job JOIN input ON input.id = job.id)
  INSERT INTO tallies (account_id, period, name, reserved, settled, jobs)
    SELECT account_id, $2::text, CASE WHEN ended_at IS NULL THEN '' ELSE 'completed' END,
      sum(CASE WHEN ended_at IS NULL THEN input.price ELSE 0 END), sum(CASE WHEN ended_at IS NULL THEN 0 ELSE input.price END),
      sum(CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END)
    FROM job JOIN input ON input.id = job.id GROUP BY account_id, ended_at IS NULL`;

/** Completes the batches, or one, whose jobs have ended. @returns whether there was one */
export async function completeBatches(database: Database, now: number): Promise<boolean> {
  const active = await database.one('SELECT 1 FROM batches WHERE completed_at IS NULL LIMIT 1');
  return active !== null && (await completeIn(database, now, ''));
}

async function completeIn(queries: Queries, now: number, id: string): Promise<boolean> {
  const completed = await queries.all(
    `WITH batch AS (${COMPLETED_BATCHES})
     UPDATE deliveries SET event = 'batch.completed', due_at = $1::bigint, next_attempt_at = $1::bigint,
         expires_at = $1::bigint + ${MAX_DELIVERY_AGE_MS}
       FROM batch WHERE deliveries.job_id = batch.id AND deliveries.event IS NULL RETURNING deliveries.job_id`,
    [now, id],
  );
  return completed.length > 0;
}

export function removeBatch(database: Database, id: string, keyId: string | null, now: number): Promise<boolean> {
  return database.transaction(async (queries) => {
    const batch = await queries.one<BatchRow>(
      'SELECT * FROM batches WHERE id = $1 AND removed_at IS NULL AND ($2::text IS NULL OR key_id = $2) FOR NO KEY UPDATE',
      [id, keyId],
    );
    if (batch === null) return false;
    await queries.run(
      'UPDATE batches SET removed_at = $2::bigint, completed_at = coalesce(completed_at, $2::bigint) WHERE id = $1',
      [id, now],
    );
    await queries.run(
      batch.completedAt !== null
        ? 'DELETE FROM deliveries WHERE job_id = $1 AND $2::bigint IS NOT NULL'
        : `UPDATE deliveries SET event = 'batch.canceled', due_at = $2::bigint, next_attempt_at = $2::bigint,
            expires_at = $2::bigint + ${MAX_DELIVERY_AGE_MS} WHERE job_id = $1 AND event IS NULL`,
      [id, now],
    );
    return true;
  });
}
