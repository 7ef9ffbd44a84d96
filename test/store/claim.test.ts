import { describe, expect } from 'vitest';
import type { StoredError } from '../../src/contract/capture-error.js';
import type { NewJob, Store } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aNewJob,
  aQueued,
  type Caller,
  claimNext,
  claimOf,
  claimOne,
  completeNext,
  gatherStatistics,
  NOON,
  RULES,
  someOptions,
} from './factories.js';
import { test } from './store-test.js';

const FAILURE: StoredError = {
  code: 'target_error',
  message: 'no',
  retriable: false,
  status: 502,
  details: { status: 404 },
};

async function queueJobs(store: Store, user: Caller, count: number, given: Partial<NewJob> = {}): Promise<void> {
  for (let i = 0; i < count; i++) await aQueued(store, user, given);
}

/** The accounts of the next claims, each job ended before the next claim when it is said how long it took. */
async function claimsOf(
  store: Store,
  count: number,
  { tookMs, now = NOON }: { tookMs?: number; now?: number } = {},
): Promise<string[]> {
  const accounts: string[] = [];
  for (let i = 0; i < count; i++) {
    const job = await claimNext(store, { now });
    accounts.push(job.accountId);
    if (tookMs !== undefined) await store.complete(claimOf(job), aCapture(), now + tookMs);
  }
  return accounts;
}

describe('turns', () => {
  test('count the time that jobs take, not their number', async ({ it, store }) => {
    const [slow, quick] = [await aCaller(store), await aCaller(store)];
    await queueJobs(store, slow, 10);
    await gatherStatistics(it.dataDir);
    const first = await claimNext(store);
    await queueJobs(store, quick, 12);
    await store.complete(claimOf(first), aCapture(), NOON + 30_000);
    const accounts = await claimsOf(store, 12, { tookMs: 400, now: NOON + 30_000 });
    expect(accounts.filter((id) => id === slow.accountId)).toHaveLength(0);
    // Its jobs are expected to take as long as the first.
    await queueJobs(store, quick, 40);
    const later = await claimsOf(store, 40, { tookMs: 400, now: NOON + 40_000 });
    expect(later.filter((id) => id === slow.accountId).length).toBeLessThanOrEqual(3);
  });

  test('a requested delay counts from the claim on', async ({ store }) => {
    const [slow, quick] = [await aCaller(store), await aCaller(store)];
    await queueJobs(store, slow, 4, { options: someOptions({ delay: 30_000 }) });
    await queueJobs(store, quick, 10);
    const [first, ...others] = await claimsOf(store, 11);
    expect(first).toBe(slow.accountId);
    expect(new Set(others)).toEqual(new Set([quick.accountId]));
  });

  test('a kept slot goes to accounts with nothing running, once more than one is active', async ({ store }) => {
    const [busy, calm] = [await aCaller(store), await aCaller(store)];
    await queueJobs(store, busy, 5);
    await claimNext(store);
    expect((await claimNext(store, { keptSlot: true })).accountId).toBe(busy.accountId);
    await queueJobs(store, calm, 2);
    expect((await claimNext(store, { keptSlot: true })).accountId).toBe(calm.accountId);
    const kept = { workerId: 'w', leaseMs: 1_000, keptSlot: true };
    expect(await claimOne(store, { ...kept, now: NOON })).toBeNull();
    expect(await claimOne(store, { ...kept, now: NOON + 3_600_001 })).not.toBeNull();
  });
});

describe('a claim', () => {
  test('carries the whole order and counts the attempt', async ({ store, user }) => {
    const options = someOptions({ headers: { cookie: 'session=1' }, customJs: 'x()' });
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const job = await aQueued(store, user, { mode: 'sync', options, traceparent });
    const { id, accountId, requestId, mode, attemptBudget, enqueuedAt } = job;
    expect(await claimOne(store, { workerId: 'host-1-3', now: NOON + 7, leaseMs: 1_000 })).toEqual({
      id,
      accountId,
      requestId,
      mode,
      options,
      attempt: 1,
      attemptBudget,
      enqueuedAt,
      traceparent,
      claimedAt: NOON + 7,
      workerId: 'host-1-3',
      firstClaimedAt: NOON + 7,
      dueAt: null,
      isOfBatch: false,
    });
    expect(await store.findJob(job.id)).toMatchObject({ state: 'active', attemptsMade: 1, result: null });
  });

  test('keeps its lease by renewing it, and records progress that never decreases', async ({ store, user }) => {
    await aQueued(store, user);
    const claim = claimOf(await claimNext(store, { leaseMs: 100 }));
    expect(await store.renewLease(claim, { now: NOON + 90, leaseMs: 100, progress: 60 })).toBe(true);
    expect(await store.renewLease(claim, { now: NOON + 95, leaseMs: 100, progress: 40 })).toBe(true);
    expect((await store.findJob(claim.id))?.progress).toBe(60);
    expect(await store.recover({ now: NOON + 150, starting: false })).toEqual({ requeued: 0, ended: [] });
    expect(await store.recover({ now: NOON + 195, starting: false })).toMatchObject({ requeued: 1 });
    expect(await store.renewLease(claim, { now: NOON + 196, leaseMs: 100, progress: 70 })).toBe(false);
    expect((await store.findJob(claim.id))?.progress).toBe(0);
  });

  test('is due again at the time of its second attempt', async ({ store, user }) => {
    await aQueued(store, user);
    await store.retryLater(claimOf(await claimNext(store)), NOON + 500, NOON);
    expect(await store.nextDueAt()).toBe(NOON + 500);
    expect(await claimNext(store, { now: NOON + 600 })).toMatchObject({
      attempt: 2,
      firstClaimedAt: NOON,
      dueAt: NOON + 500,
    });
    expect(await store.nextDueAt()).toBeNull();
  });
});

describe('an end', () => {
  test('success settles the credits, keeps the artifact and stores the result', async ({ store, user }) => {
    const job = await aQueued(store, user, { price: 3 });
    expect(await store.settlement(NOON + 50)).toEqual({ pending: 1, settled: 0, released: 0, oldestPendingMs: 50 });
    const capture = aCapture();
    await completeNext(store, capture, NOON + 900);
    const { id, accountId, keyId, requestId, attemptBudget, enqueuedAt, mode } = job;
    expect(await store.findJob(id)).toEqual({
      id,
      accountId,
      keyId,
      requestId,
      attemptBudget,
      enqueuedAt,
      mode,
      webhookUrl: null,
      state: 'completed',
      url: 'https://example.com/',
      progress: 100,
      attemptsMade: 1,
      result: {
        outcome: { ok: true, data: capture.data },
        durationMs: 900,
        completedAt: NOON + 900,
        workerId: 'host-1-0',
      },
    });
    expect(await store.settlement(NOON + 950)).toEqual({ pending: 0, settled: 1, released: 0, oldestPendingMs: 0 });
    expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 3, reserved: 0 });
    expect(await store.findArtifact(capture.artifact.name)).toEqual({
      ...capture.artifact,
      createdAt: NOON + 900,
      goneAt: null,
    });
  });

  test('a failed job and those that shared its render keep their URLs, without secret parts', async ({
    store,
    user,
  }) => {
    const options = someOptions({ url: 'https://example.com/reports/q3?token=SECRET#/SECRET' });
    const url = 'https://example.com/reports/q3';
    const jobs = [1, 2].map(() => aNewJob(user, { options, cacheIdentity: 'shared' }));
    for (const job of jobs) expect(await store.accept(job, RULES)).toMatchObject({ job: { url } });
    const ended = await store.fail(claimOf(await claimNext(store)), FAILURE, NOON + 5);
    expect(ended).toMatchObject(jobs.map(({ id }) => ({ id, url })));
    const page = { state: 'failed', before: null, limit: 10 } as const;
    expect((await store.listJobs(user.keyId, page)).jobs).toMatchObject([{ url }, { url }]);
    expect((await store.listAllJobs(page)).jobs).toMatchObject([{ url }, { url }]);
  });
});
