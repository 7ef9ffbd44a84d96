import { describe, expect, test } from 'vitest';
import type { StoredError } from '../../src/contract/capture-error.js';
import type { NewJob, Store } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aNewJob,
  aStore,
  type Caller,
  claimNext,
  claimOf,
  claimOne,
  gatherStatistics,
  NOON,
  RULES,
  someOptions,
  withCaller,
} from './factories.js';

const FAILURE: StoredError = { code: 'target_error', message: 'no', retriable: false, status: 502, details: { status: 404 } };

async function queueJobs(store: Store, caller: Caller, given: { count: number } & Partial<NewJob>): Promise<void> {
  const { count, ...job } = given;
  for (let i = 0; i < count; i++) await store.accept(aNewJob(caller, job), RULES);
}

/** The accounts of the next claims, each job ended before the next claim when it is said how long it took. */
async function claimsOf(store: Store, count: number, { tookMs, now = NOON }: { tookMs?: number; now?: number } = {}): Promise<string[]> {
  const accounts: string[] = [];
  for (let i = 0; i < count; i++) {
    const job = await claimNext(store, { now });
    accounts.push(job.accountId);
    if (tookMs !== undefined) await store.complete(claimOf(job), aCapture(), now + tookMs);
  }
  return accounts;
}

describe('turns', () => {
  test('count the time that jobs take, not their number', async () => {
    await using it = await aStore();
    const [slow, quick] = [await aCaller(it.store), await aCaller(it.store)];
    await queueJobs(it.store, slow, { count: 10 });
    await gatherStatistics(it.dataDir);
    const first = await claimNext(it.store);
    await queueJobs(it.store, quick, { count: 12 });
    await it.store.complete(claimOf(first), aCapture(), NOON + 30_000);
    const accounts = await claimsOf(it.store, 12, { tookMs: 400, now: NOON + 30_000 });
    expect(accounts.filter((id) => id === slow.accountId)).toHaveLength(0);
    // Its jobs are expected to take as long as the first.
    await queueJobs(it.store, quick, { count: 40 });
    const later = await claimsOf(it.store, 40, { tookMs: 400, now: NOON + 40_000 });
    expect(later.filter((id) => id === slow.accountId).length).toBeLessThanOrEqual(3);
  });

  test('a requested delay counts from the claim on', async () => {
    await using it = await aStore();
    const [slow, quick] = [await aCaller(it.store), await aCaller(it.store)];
    await queueJobs(it.store, slow, { count: 4, options: someOptions({ delay: 30_000 }) });
    await queueJobs(it.store, quick, { count: 10 });
    const [first, ...others] = await claimsOf(it.store, 11);
    expect(first).toBe(slow.accountId);
    expect(new Set(others)).toEqual(new Set([quick.accountId]));
  });

  test('a kept slot goes to accounts with nothing running, once more than one is active', async () => {
    await using it = await aStore();
    const [busy, calm] = [await aCaller(it.store), await aCaller(it.store)];
    await queueJobs(it.store, busy, { count: 5 });
    await claimNext(it.store);
    expect((await claimNext(it.store, { keptSlot: true })).accountId).toBe(busy.accountId);
    await queueJobs(it.store, calm, { count: 2 });
    expect((await claimNext(it.store, { keptSlot: true })).accountId).toBe(calm.accountId);
    const kept = { workerId: 'w', leaseMs: 1_000, keptSlot: true };
    expect(await claimOne(it.store, { ...kept, now: NOON })).toBeNull();
    expect(await claimOne(it.store, { ...kept, now: NOON + 3_600_001 })).not.toBeNull();
  });
});

describe('a claim', () => {
  test('carries the whole order and counts the attempt', async () => {
    await using it = await withCaller();
    const options = someOptions({ headers: { cookie: 'session=1' }, customJs: 'x()' });
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const job = aNewJob(it.caller, { mode: 'sync', options, traceparent });
    await it.store.accept(job, RULES);
    const { id, accountId, requestId, mode, attemptBudget, enqueuedAt } = job;
    expect(await claimOne(it.store, { workerId: 'host-1-3', now: NOON + 7, leaseMs: 1_000 })).toEqual({
      ...{ id, accountId, requestId, mode, options, attempt: 1, attemptBudget, enqueuedAt, traceparent },
      ...{ claimedAt: NOON + 7, workerId: 'host-1-3', firstClaimedAt: NOON + 7, dueAt: null },
    });
    expect(await it.store.findJob(job.id)).toMatchObject({ state: 'active', attemptsMade: 1, result: null });
  });

  test('keeps its lease by renewing it, and records progress that never decreases', async () => {
    await using it = await withCaller();
    await it.store.accept(aNewJob(it.caller), RULES);
    const claim = claimOf(await claimNext(it.store, { leaseMs: 100 }));
    expect(await it.store.renewLease(claim, { now: NOON + 90, leaseMs: 100, progress: 60 })).toBe(true);
    expect(await it.store.renewLease(claim, { now: NOON + 95, leaseMs: 100, progress: 40 })).toBe(true);
    expect((await it.store.findJob(claim.id))?.progress).toBe(60);
    expect(await it.store.recover({ now: NOON + 150, starting: false })).toEqual({ requeued: 0, ended: [] });
    expect(await it.store.recover({ now: NOON + 195, starting: false })).toMatchObject({ requeued: 1 });
    expect(await it.store.renewLease(claim, { now: NOON + 196, leaseMs: 100, progress: 70 })).toBe(false);
    expect((await it.store.findJob(claim.id))?.progress).toBe(0);
  });

  test('is due again at the time of its second attempt', async () => {
    await using it = await withCaller();
    await it.store.accept(aNewJob(it.caller), RULES);
    await it.store.retryLater(claimOf(await claimNext(it.store)), NOON + 500, NOON);
    expect(await it.store.nextDueAt()).toBe(NOON + 500);
    expect(await claimNext(it.store, { now: NOON + 600 })).toMatchObject({ attempt: 2, firstClaimedAt: NOON, dueAt: NOON + 500 });
    expect(await it.store.nextDueAt()).toBeNull();
  });
});

describe('an end', () => {
  test('success settles the credits, keeps the artifact and stores the result', async () => {
    await using it = await withCaller();
    const job = aNewJob(it.caller, { price: 3 });
    await it.store.accept(job, RULES);
    expect(await it.store.settlement(NOON + 50)).toEqual({ pending: 1, settled: 0, released: 0, oldestPendingMs: 50 });
    const capture = aCapture();
    await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON + 900);
    const { id, accountId, keyId, requestId, attemptBudget, enqueuedAt, mode } = job;
    expect(await it.store.findJob(id)).toEqual({
      ...{ id, accountId, keyId, requestId, attemptBudget, enqueuedAt, mode, webhookUrl: null },
      ...{ state: 'completed', url: 'https://example.com/', progress: 100, attemptsMade: 1 },
      result: { outcome: { ok: true, data: capture.data }, durationMs: 900, completedAt: NOON + 900, workerId: 'host-1-0' },
    });
    expect(await it.store.settlement(NOON + 950)).toEqual({ pending: 0, settled: 1, released: 0, oldestPendingMs: 0 });
    expect(await it.store.usage(it.caller.accountId, NOON)).toMatchObject({ credits: 3, reserved: 0 });
    expect(await it.store.findArtifact(capture.artifact.name)).toEqual({ ...capture.artifact, createdAt: NOON + 900, goneAt: null });
  });

  test('a failed job and those that shared its render keep their URLs, without secret parts', async () => {
    await using it = await withCaller();
    const options = someOptions({ url: 'https://example.com/reports/q3?token=SECRET#/SECRET' });
    const url = 'https://example.com/reports/q3';
    const jobs = [1, 2].map(() => aNewJob(it.caller, { options, cacheIdentity: 'shared' }));
    for (const job of jobs) expect(await it.store.accept(job, RULES)).toMatchObject({ job: { url } });
    const ended = await it.store.fail(claimOf(await claimNext(it.store)), FAILURE, NOON + 5);
    expect(ended).toMatchObject(jobs.map(({ id }) => ({ id, url })));
    const page = { state: 'failed', before: null, limit: 10 } as const;
    expect((await it.store.listJobs(it.caller.keyId, page)).jobs).toMatchObject([{ url }, { url }]);
    expect((await it.store.listAllJobs(page)).jobs).toMatchObject([{ url }, { url }]);
  });
});
