/**
 * Trial "retention": a million jobs whose time is over are deleted while new ones come and go. No statement may take longer than 50 ms, the
 * database's log stays bounded, and every old job, its credits, deliveries and pictures with it, is gone in the end, while what is
 * young stays.
 *
 * Sabotage that turns it red: leave the index `jobs_ended` out of drizzle/0000_tables.sql.
 */
import { closeSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sweep } from '../../src/capture/sweep.js';
import { silentLog } from '../../src/log.js';
import { Database, type Db } from '../../src/store/sqlite/driver.js';
import type { Store } from '../../src/store/store.js';
import { aCaller, aCapture, aDataDir, aNewJob, type Caller, claimOne, openAt, RULES } from '../store/factories.js';
import { openProcessorWait, type ProcessorWait } from './processor-wait.js';
import type { TrialResult } from './trial-result.js';

export interface RetentionOptions {
  /** Old jobs; 1,000,000 when absent. */
  jobs?: number;
}

const STATEMENT_MS = 50;
/** journal_size_limit, and what a transaction under way may add. */
const WAL_MAX_BYTES = 64 * 1024 * 1024 + 8_000_000;
const HOUR_MS = 3_600_000;
const OLD_MS = 31 * 24 * HOUR_MS;
const YOUNG_MS = 24 * HOUR_MS;
const YOUNG_JOBS = 1_000;

export async function run({ jobs = 1_000_000 }: RetentionOptions = {}): Promise<TrialResult<number>> {
  const dataDir = aDataDir();
  await using _directory = { [Symbol.asyncDispose]: async () => rmSync(dataDir, { recursive: true, force: true }) };
  const caller = await begin(dataDir);
  fill(dataDir, caller, { jobs, endedAt: Date.now() - OLD_MS, name: 'old' });
  fill(dataDir, caller, { jobs: YOUNG_JOBS, endedAt: Date.now() - YOUNG_MS, name: 'young' });
  using wait = openProcessorWait();
  const watch = watchStatements(wait);
  const wal = { most: 0 };
  const sampling = setInterval(() => {
    wal.most = Math.max(wal.most, statSync(join(dataDir, 'stillframe.db-wal'), { throwIfNoEntry: false })?.size ?? 0);
  }, 50);
  const store = await openAt(dataDir);
  const over = new AbortController();
  const from = performance.now();
  const load = keepWorking(store, caller, over.signal);
  const removed: string[] = [];
  const deps = {
    store,
    own: () => ({ jobs: [], deliveries: [] }),
    artifacts: { remove: async (name: string) => void removed.push(name), list: async function* () {} },
    ...{ onEnded: () => undefined, onRequeued: () => undefined, log: silentLog(), now: Date.now, cautiousNow: Date.now },
    ...{ artifactTtlMs: 7 * 24 * HOUR_MS, jobTtlMs: 30 * 24 * HOUR_MS, maxStorageBytes: 10e9 },
  };
  await sweep(deps, over.signal);
  const seconds = (performance.now() - from) / 1_000;
  over.abort();
  const worked = await load;
  clearInterval(sampling);
  watch.end();
  const status = await store.queueStatus();
  await store[Symbol.asyncDispose]();
  const left = countLeft(dataDir);
  const figures = {
    jobs,
    deleted_per_second: Math.round(jobs / seconds),
    seconds: Math.round(seconds),
    statements: watch.count,
    slowest_statement_ms: round(watch.slowestMs),
    slowest_statement_by_clock_ms: round(watch.slowestByClockMs),
    jobs_meanwhile: worked.jobs,
    slowest_job_step_ms: round(worked.slowestMs),
    largest_wal_mb: round(wal.most / 1e6),
    pictures_removed: removed.length,
  };
  const problems: string[] = [];
  if (left.old > 0) problems.push(`${left.old} old rows are left`);
  if (left.young !== YOUNG_JOBS) problems.push(`${left.young} of ${YOUNG_JOBS} young jobs are left`);
  if (status.completed !== YOUNG_JOBS + worked.jobs)
    problems.push(`${status.completed} completed jobs are counted, ${YOUNG_JOBS + worked.jobs} are there`);
  if (removed.length !== Math.floor(jobs / PICTURE_EVERY)) problems.push(`${removed.length} pictures were removed`);
  if (watch.slowestMs > STATEMENT_MS) problems.push(`a statement took ${round(watch.slowestMs)} ms: ${watch.slowest}`);
  if (wal.most > WAL_MAX_BYTES) problems.push(`the log grew to ${round(wal.most / 1e6)} MB`);
  return { ok: problems.length === 0, figures, problems };
}

async function begin(dataDir: string): Promise<Caller> {
  await using store = await openAt(dataDir);
  return await aCaller(store);
}

/** Every so many of the old jobs still has its picture; the others' are gone already. */
const PICTURE_EVERY = 20;
const DELIVERY_EVERY = 4;

/** Rows as an ended job leaves them, in bulk. */
function fill(dataDir: string, { accountId, keyId }: Caller, rows: { jobs: number; endedAt: number; name: string }): void {
  const db = new Database(join(dataDir, 'stillframe.db'));
  const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @jobs)';
  db.pragma('synchronous = OFF');
  const given = {
    ...rows,
    accountId,
    keyId,
    every: PICTURE_EVERY,
    deliveryEvery: DELIVERY_EVERY,
    goneAt: rows.name === 'old' ? rows.endedAt + 7 * 24 * HOUR_MS : null,
  };
  const insert = (into: string, select: string) => db.prepare(`INSERT INTO ${into} ${numbers} ${select}`).run(given);
  db.transaction(() => {
    insert(
      'artifacts (name, bytes, sha256, created_at, gone_at, account_id, data)',
      `SELECT @name || '-' || i || '.webp', 1000, 'aa', @endedAt - i, iif(i % @every = 0, NULL, @goneAt), @accountId, '{}' FROM n`,
    );
    insert(
      `jobs (id, account_id, key_id, request_id, mode, state, lane, idempotency_key, identity_digest, cache_digest, timeout_ms, attempts_made,
         attempt_budget, enqueued_at, first_claimed_at, worker_id, progress, webhook_url, ended_at, rendered_at, artifact_name, data)`,
      `SELECT 'job_' || @name || i, @accountId, @keyId, 'req_' || i, 'async', 'completed', 'waiting', @name || i, 'identity ' || i, 'cache ' || i, 30000, 1,
         2, @endedAt - i - 900, @endedAt - i - 500, 'w', 100, iif(i % @deliveryEvery = 0, 'https://r.example/', NULL), @endedAt - i, @endedAt - i,
         @name || '-' || i || '.webp', '{}' FROM n`,
    );
    insert(
      'reservations (job_id, account_id, period, credits, state, created_at)',
      `SELECT 'job_' || @name || i, @accountId, '2026-01', 1, 'settled', @endedAt - i FROM n`,
    );
    insert(
      'deliveries (job_id, delivery_id, account_id, url, origin, secret, event, state, generation, attempts, max_attempts)',
      `SELECT 'job_' || @name || i, 'dlv_' || @name || i, @accountId, 'https://r.example/', 'https://r.example', x'00', 'capture.completed', 'delivered', 1, 1, 5
       FROM n WHERE i % @deliveryEvery = 0`,
    );
  })();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  // Or the first commit that is timed would wait for a gigabyte of ours to reach the disk.
  const file = openSync(join(dataDir, 'stillframe.db'), 'r+');
  fsyncSync(file);
  closeSync(file);
}

/** New jobs, one after the other, from submission to look-up. */
async function keepWorking(store: Store, caller: Caller, signal: AbortSignal): Promise<{ jobs: number; slowestMs: number }> {
  let jobs = 0;
  let slowestMs = 0;
  const timed = async <T>(step: Promise<T>): Promise<T> => {
    const from = performance.now();
    const result = await step;
    slowestMs = Math.max(slowestMs, performance.now() - from);
    return result;
  };
  while (!signal.aborted) {
    const job = aNewJob(caller, { enqueuedAt: Date.now(), cacheIdentity: `page ${jobs}` });
    await timed(store.accept(job, RULES));
    const claimed = await timed(claimOne(store, { workerId: 'w', now: Date.now(), leaseMs: 30_000 }));
    if (claimed !== null) await timed(store.complete(claimed, aCapture(), Date.now()));
    await timed(store.findJob(job.id));
    await timed(store.queueStatus());
    jobs++;
  }
  return { jobs, slowestMs };
}

/**
 * Times every statement of every connection made from now on, less what the thread waited for a processor: on a loaded machine the
 * slowest waited for 277 ms and computed for 0.3.
 */
function watchStatements(wait: ProcessorWait) {
  const prepare = Database.prototype.prepare;
  const end = () => {
    Database.prototype.prepare = prepare;
  };
  const seen = { count: 0, slowestMs: 0, slowest: '', slowestByClockMs: 0, end };
  Database.prototype.prepare = function prepareTimed(this: Db, sql: string) {
    const statement = prepare.call(this, sql);
    for (const way of ['run', 'get', 'all'] as const) {
      const call = statement[way].bind(statement) as (...values: unknown[]) => unknown;
      statement[way] = (...values: unknown[]) => {
        const waited = wait.ms();
        const from = performance.now();
        const result = call(...values) as never;
        const byClockMs = performance.now() - from;
        const ms = byClockMs - (wait.ms() - waited);
        seen.count++;
        seen.slowestByClockMs = Math.max(seen.slowestByClockMs, byClockMs);
        if (ms > seen.slowestMs) Object.assign(seen, { slowestMs: ms, slowest: sql.replace(/\s+/g, ' ').slice(0, 100) });
        return result;
      };
    }
    return statement;
  } as typeof prepare;
  return seen;
}

function countLeft(dataDir: string): { old: number; young: number } {
  const db = new Database(join(dataDir, 'stillframe.db'), { readonly: true });
  const count = (sql: string) => Number(db.prepare(sql).pluck().get());
  const old = ['jobs WHERE id', 'reservations WHERE job_id', 'deliveries WHERE job_id'].map((rows) =>
    count(`SELECT count(*) FROM ${rows} LIKE 'job_old%'`),
  );
  const left = {
    old: old.reduce((sum, rows) => sum + rows, 0) + count("SELECT count(*) FROM artifacts WHERE name LIKE 'old-%'"),
    young: count("SELECT count(*) FROM jobs WHERE id LIKE 'job_young%'"),
  };
  db.close();
  return left;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
