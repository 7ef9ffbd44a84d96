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
  openAt,
  RULES,
  someOptions,
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
  test('turns alternate between the accounts with work, however much one of them has', async () => {
    await using it = await aStore();
    const [busy, calm, late] = [await aCaller(it.store), await aCaller(it.store), await aCaller(it.store)];
    await queueJobs(it.store, busy, { count: 20, mode: 'sync' });
    await queueJobs(it.store, calm, { count: 2 });
    const accounts = await claimsOf(it.store, 5);
    await queueJobs(it.store, late, { count: 1 });
    accounts.push(...(await claimsOf(it.store, 3)));
    const [b, c, l] = [busy.accountId, calm.accountId, late.accountId];
    const isLate = accounts.slice(5, 7).includes(l);
    expect([accounts.slice(0, 5), isLate]).toEqual([[b, c, b, c, b], true]);
  });

  test.each(['new', 'analyzed'])('turns count the time that jobs take, not their number, in a %s database', async (age) => {
    await using it = await aStore();
    const [slow, quick] = [await aCaller(it.store), await aCaller(it.store)];
    await queueJobs(it.store, slow, { count: 10 });
    if (age === 'analyzed') await gatherStatistics(it.dataDir);
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

  test('idle time earns no credit, and time used while nobody waited does not count', async () => {
    await using it = await aStore();
    const [worker, idler] = [await aCaller(it.store), await aCaller(it.store)];
    await queueJobs(it.store, worker, { count: 20 });
    await claimsOf(it.store, 20, { tookMs: 20_000 });
    await queueJobs(it.store, idler, { count: 10 });
    await queueJobs(it.store, worker, { count: 10 });
    const accounts = await claimsOf(it.store, 4, { tookMs: 10_000 });
    expect(accounts.filter((id) => id === worker.accountId).length).toBeGreaterThanOrEqual(1);
  });

  test('a claim that is released, or measured by a clock that jumped, costs at most the expected time', async () => {
    await using it = await aStore();
    const [one, other] = [await aCaller(it.store), await aCaller(it.store)];
    await queueJobs(it.store, one, { count: 6 });
    await queueJobs(it.store, other, { count: 6 });
    const jumped = await claimNext(it.store);
    await it.store.complete(claimOf(jumped), aCapture(), NOON + 31 * 86_400_000);
    const accounts = await claimsOf(it.store, 4);
    expect(accounts.filter((id) => id === jumped.accountId).length).toBeGreaterThanOrEqual(1);
    const released = await claimNext(it.store);
    await it.store.release(claimOf(released));
    expect((await claimNext(it.store)).id).toBe(released.id);
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

  test('no job is claimed while the queue is paused, and queued jobs report that', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const job = aNewJob(caller);
    await it.store.accept(job, RULES);
    // Another process, as `stillframe queue pause` is.
    await using command = await openAt(it.dataDir);
    await command.setQueuePaused(true);
    expect(await claimOne(it.store, { workerId: 'w', now: NOON, leaseMs: 1 })).toBeNull();
    expect(await it.store.findJob(job.id)).toMatchObject({ state: 'paused', progress: 0 });
    expect(await it.store.queueStatus()).toMatchObject({ waiting: 1, paused: true });
    await command.setQueuePaused(false);
    expect(await it.store.findJob(job.id)).toMatchObject({ state: 'waiting' });
    expect((await claimNext(it.store)).id).toBe(job.id);
  });
});

describe('a claim', () => {
  test('carries the whole order and counts the attempt', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const options = someOptions({ headers: { cookie: 'session=1' }, customJs: 'x()' });
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const job = aNewJob(caller, { mode: 'sync', options, traceparent });
    await it.store.accept(job, RULES);
    expect(await claimOne(it.store, { workerId: 'host-1-3', now: NOON + 7, leaseMs: 1_000 })).toEqual({
      id: job.id,
      accountId: caller.accountId,
      requestId: job.requestId,
      mode: 'sync',
      options,
      attempt: 1,
      attemptBudget: 2,
      enqueuedAt: NOON,
      claimedAt: NOON + 7,
      workerId: 'host-1-3',
      firstClaimedAt: NOON + 7,
      dueAt: null,
      traceparent,
    });
    expect(await it.store.findJob(job.id)).toMatchObject({ state: 'active', attemptsMade: 1, result: null });
  });

  test('keeps its lease by renewing it, and records progress that never decreases', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    await it.store.accept(aNewJob(caller), RULES);
    const claim = claimOf(await claimNext(it.store, { leaseMs: 100 }));
    expect(await it.store.renewLease(claim, { now: NOON + 90, leaseMs: 100, progress: 60 })).toBe(true);
    expect(await it.store.renewLease(claim, { now: NOON + 95, leaseMs: 100, progress: 40 })).toBe(true);
    expect((await it.store.findJob(claim.id))?.progress).toBe(60);
    expect(await it.store.recover({ now: NOON + 150, starting: false })).toEqual({ requeued: 0, ended: [] });
    expect(await it.store.recover({ now: NOON + 195, starting: false })).toMatchObject({ requeued: 1 });
    expect(await it.store.renewLease(claim, { now: NOON + 196, leaseMs: 100, progress: 70 })).toBe(false);
    expect((await it.store.findJob(claim.id))?.progress).toBe(0);
  });

  test('changes nothing once it is lost', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    await it.store.accept(aNewJob(caller), RULES);
    const lost = claimOf(await claimNext(it.store, { leaseMs: 1, workerId: 'a' }));
    await it.store.recover({ now: NOON + 1, starting: false });
    const held = claimOf(await claimNext(it.store, { workerId: 'b' }));
    expect(await it.store.complete(lost, aCapture(), NOON)).toEqual([]);
    expect(await it.store.fail(lost, FAILURE, NOON)).toEqual([]);
    expect(await it.store.retryLater(lost, NOON, NOON)).toBe(false);
    expect(await it.store.release(lost)).toBe(false);
    expect(await it.store.complete({ ...held, workerId: 'c' }, aCapture(), NOON)).toEqual([]);
    expect(await it.store.complete(held, aCapture(), NOON)).toHaveLength(1);
    expect(await it.store.complete(held, aCapture(), NOON)).toEqual([]);
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 1, reserved: 0 });
  });

  test('is delayed for a second attempt until it is due, then takes its old place; the budget counts from the first claim', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const job = aNewJob(caller);
    await it.store.accept(job, RULES);
    await it.store.accept(aNewJob(caller), RULES);
    expect(await it.store.retryLater(claimOf(await claimNext(it.store)), NOON + 500, NOON)).toBe(true);
    expect(await it.store.findJob(job.id)).toMatchObject({ state: 'delayed', progress: 0, attemptsMade: 1 });
    expect(await it.store.nextDueAt()).toBe(NOON + 500);
    expect((await it.store.queueStatus()).delayed).toBe(1);
    const second = await claimNext(it.store, { now: NOON + 600 });
    expect(second).toMatchObject({ id: job.id, attempt: 2, firstClaimedAt: NOON, dueAt: NOON + 500 });
    expect(await it.store.nextDueAt()).toBeNull();
    // No third attempt.
    expect(await it.store.retryLater(claimOf(second), NOON + 900, NOON)).toBe(false);
    expect(await it.store.fail(claimOf(second), FAILURE, NOON + 700)).toHaveLength(1);
  });
});

describe('an end', () => {
  test('success settles the credits, keeps the artifact and stores the result', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const job = aNewJob(caller, { price: 3 });
    await it.store.accept(job, RULES);
    expect(await it.store.settlement(NOON + 50)).toEqual({ pending: 1, settled: 0, released: 0, oldestPendingMs: 50 });
    const capture = aCapture();
    await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON + 900);
    expect(await it.store.findJob(job.id)).toEqual({
      id: job.id,
      accountId: caller.accountId,
      keyId: caller.keyId,
      state: 'completed',
      mode: 'async',
      url: 'https://example.com/',
      requestId: job.requestId,
      progress: 100,
      attemptsMade: 1,
      attemptBudget: 2,
      enqueuedAt: NOON,
      webhookUrl: null,
      result: { outcome: { ok: true, data: capture.data }, durationMs: 900, completedAt: NOON + 900, workerId: 'host-1-0' },
    });
    expect(await it.store.settlement(NOON + 950)).toEqual({ pending: 0, settled: 1, released: 0, oldestPendingMs: 0 });
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 3, reserved: 0 });
    expect(await it.store.findArtifact(capture.artifact.name)).toEqual({ ...capture.artifact, createdAt: NOON + 900, goneAt: null });
  });

  test('a failed job and those that shared its render keep their URLs, without secret parts', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const options = someOptions({ url: 'https://example.com/reports/q3?token=SECRET#/SECRET' });
    const jobs = [aNewJob(caller, { options, cacheIdentity: 'shared' }), aNewJob(caller, { options, cacheIdentity: 'shared' })];
    const told = [];
    for (const job of jobs) told.push(await it.store.accept(job, RULES));
    const url = 'https://example.com/reports/q3';
    expect(told).toMatchObject([
      { kind: 'queued', job: { url } },
      { kind: 'shared', job: { url } },
    ]);
    const ended = await it.store.fail(claimOf(await claimNext(it.store)), FAILURE, NOON + 5);
    expect(ended).toMatchObject(jobs.map(({ id }) => ({ id, url })));
    const page = { state: 'failed', before: null, limit: 10 } as const;
    expect((await it.store.listJobs(caller.keyId, page)).jobs).toMatchObject([{ url }, { url }]);
    expect((await it.store.listAllJobs(page)).jobs).toMatchObject([{ url }, { url }]);
  });

  test('an artifact name that exists already ends nothing', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    await it.store.accept(aNewJob(caller), RULES);
    await it.store.accept(aNewJob(caller), RULES);
    const capture = aCapture();
    await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON);
    const second = await claimNext(it.store);
    await expect(it.store.complete(claimOf(second), capture, NOON)).rejects.toThrow();
    expect(await it.store.findJob(second.id)).toMatchObject({ state: 'active' });
    expect(await it.store.settlement(NOON)).toMatchObject({ pending: 1, settled: 1 });
  });
});
