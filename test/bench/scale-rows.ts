/** Ended jobs of benchmark "scale", as the product leaves them: with their credits, pictures and deliveries. */
import type pg from 'pg';

/** Rows of one statement. */
const SLICE = 100_000;

export async function seedEnded(db: pg.Pool, count: number): Promise<void> {
  for (let from = 1; from <= count; from += SLICE) {
    await db.query(SEED, [from, Math.min(count, from + SLICE - 1)]);
  }
}

const SEED = `WITH old AS (SELECT n, 'job_' || lpad(n::text, 26, '0') AS id, 'acc_bench' || (CASE WHEN n % 2 = 0 THEN 0 ELSE n % accounts END) AS account,
      md5(n::text) || '.webp' AS name, 1764000000000 + n AS at
    FROM generate_series($1::bigint, $2::bigint) n, (SELECT greatest(1, count(*) - 1) AS accounts FROM accounts) known),
  kept AS (INSERT INTO artifacts (name, bytes, sha256, created_at, account_id, data)
    SELECT name, 30000, md5(name) || md5(id), at, account, repeat(md5(id), 20) FROM old),
  credited AS (INSERT INTO reservations (job_id, account_id, period, credits, state, created_at)
    SELECT id, account, '2026-11', 1, 'settled', at FROM old),
  sent AS (INSERT INTO deliveries (job_id, delivery_id, account_id, url, origin, secret, event, state, generation, attempts, max_attempts, delivered_at)
    SELECT id, 'dlv_' || id, account, 'https://hooks.example/hook', 'https://hooks.example', '', 'capture.completed', 'delivered', 1, 1, 5, at
    FROM old WHERE n % 2 = 0)
  INSERT INTO jobs (id, account_id, key_id, request_id, mode, state, lane, idempotency_key, identity_digest, cache_digest, timeout_ms, delay_ms,
      attempts_made, attempt_budget, enqueued_at, first_claimed_at, claimed_at, booked_ms, progress, worker_id, ended_at, rendered_at, artifact_name, data, url)
    SELECT id, account, 'key_' || account, 'req_' || n, 'async', 'completed', 'waiting', CASE WHEN n % 2 = 0 THEN md5(id) END, md5(id), md5(name), 30000, 0,
      1, 2, at, at, at, 1000, 100, 'worker', at, at, name, '{"tookMs":900}', 'https://example.com/' || n FROM old`;
