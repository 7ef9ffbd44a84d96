/** Whether a server lives, as the others that share the database see it. */

import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { type DatabaseProxy, startDatabaseProxy } from '../fixtures/database-proxy.js';
import { createDatabase, dropDatabase } from '../fixtures/databases.js';
import { aCaller, aNewJob, type Caller, claimNext, claimOf, openAt, RULES } from '../store/factories.js';

const LEASE_MS = 30_000;
/** As many as make a silent node a lost one, and some more. */
const BEATS = 6;
const WAIT = { timeout: 20_000, interval: 20 };

let url: string;
let proxy: DatabaseProxy;
/** The one that works, and another one that would take its work over. */
let worker: Store;
let other: Store;
let caller: Caller;

beforeAll(async () => {
  url = await createDatabase(inject('postgresUrl'));
  proxy = await startDatabaseProxy(url);
  worker = await openAt(proxy.url);
  other = await openAt(url);
  caller = await aCaller(other);
});

afterAll(async () => {
  await worker[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await dropDatabase(url);
});

let claimed: Awaited<ReturnType<typeof claimNext>>;

beforeEach(async () => {
  await other.accept(aNewJob(caller, { enqueuedAt: other.now() }), RULES);
  claimed = await claimNext(worker, { now: worker.now(), leaseMs: LEASE_MS });
});

test('a server that only lost its listening connection keeps its captures', async () => {
  const told: string[] = [];
  other.watch(({ kind }) => told.push(kind));
  proxy.cutListeners(true);
  await beatsOfWorker();
  expect(told).not.toContain('node_lost');
  expect(await other.recover({ now: other.now(), starting: false })).toEqual({ requeued: 0, ended: [] });
  proxy.cutListeners(false);
  const failure = { code: 'target_error', message: '', retriable: false, status: 502 } as const;
  expect(await worker.fail(claimOf(claimed), failure, worker.now())).toHaveLength(1);
});

test("a jump of the database's clock takes no capture away until its server ends", async () => {
  const before = other.now();
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  await database.query(`CREATE OR REPLACE FUNCTION stillframe_now() RETURNS bigint LANGUAGE sql VOLATILE
    AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 2 * ${LEASE_MS} $$`);
  await database.end();
  await expect.poll(() => other.now(), WAIT).toBeGreaterThan(before + LEASE_MS);
  expect(await other.recover({ now: other.now(), starting: false })).toEqual({ requeued: 0, ended: [] });
  await worker[Symbol.asyncDispose]();
  expect(await other.recover({ now: other.now(), starting: false })).toEqual({ requeued: 1, ended: [] });
  worker = await openAt(proxy.url);
});

test('a claim whose answer was lost is undone by the next one', async () => {
  await other.accept(aNewJob(caller, { enqueuedAt: other.now() }), RULES);
  const dropped = proxy.dropAnswer(/stillframe_claim/);
  const claim = { workerId: 'host-1-1', now: worker.now(), leaseMs: LEASE_MS };
  await expect(worker.claimNextJobs([claim])).rejects.toMatchObject({ status: 503 });
  await dropped;
  expect(await worker.claimNextJobs([claim])).toMatchObject([{ attempt: 1, workerId: 'host-1-1' }]);
});

test('a server beyond the four oldest recovers its own lost claims, and leaves those of lost servers to the oldest', async () => {
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  await database.query(`INSERT INTO nodes (id, lock_key, started_at, seen_at, facts) OVERRIDING SYSTEM VALUE
    SELECT 'older ' || n, -n, 0, 9e15::bigint, '{}' FROM generate_series(1, 4) n`);
  await expect.poll(() => other.cleansUp(), WAIT).toBe(false);
  await database.query(`UPDATE jobs SET node_id = 'a lost one' WHERE id = $1`, [claimed.id]);
  await other.accept(aNewJob(caller, { enqueuedAt: other.now() }), RULES);
  await claimNext(other, { now: other.now(), leaseMs: 0 });
  const recover = async () => (await other.recover({ now: other.now(), starting: false })).requeued;
  expect([await recover(), await recover()]).toEqual([1, 0]);
  await database.query(`DELETE FROM nodes WHERE id LIKE 'older %'`);
  await expect.poll(() => other.cleansUp(), WAIT).toBe(true);
  expect(await recover()).toBe(1);
  await database.end();
});

/** Resolves when the working server has told so many times that it lives. */
async function beatsOfWorker(): Promise<void> {
  const seen = new Set<number>();
  const beats = async () => {
    for (const { seenAt } of (await other.nodes()).slice(0, 1)) seen.add(seenAt);
    return seen.size;
  };
  await expect.poll(beats, WAIT).toBeGreaterThan(BEATS);
}
