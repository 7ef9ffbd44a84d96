import { describe, expect } from 'vitest';
import type { Store } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aCaptured,
  aKey,
  aNewJob,
  aQueued,
  claimNext,
  claimOf,
  claimOne,
  NOON,
  RULES,
  someOptions,
} from './factories.js';
import { test } from './store-test.js';

const WEBHOOK = { url: 'https://hooks.example.com/done', secret: 'at least sixteen characters' };
const LATER = NOON + 1_000;

const creditsOf = async (store: Store, accountId: string) => {
  const { credits, reserved } = await store.usage(accountId, NOON);
  return { credits, reserved };
};
const isGone = async (store: Store, name: string) => (await store.findArtifact(name))?.goneAt !== null;
const deliver = (store: Store) => store.claimNextDelivery({ now: LATER, leaseMs: 1_000, perReceiver: 4 });

describe('a job that is removed before its end', () => {
  test('is canceled while it waits, runs or is delayed, without a charge, and is not found again', async ({
    store,
  }) => {
    const user = await aCaller(store);
    const [running, delayed, waiting] = [
      await aQueued(store, user, { idempotencyKey: 'k' }),
      await aQueued(store, user),
      await aQueued(store, user),
    ];
    const first = claimOf(await claimNext(store));
    const second = claimOf(await claimNext(store));
    await store.retryLater(second, NOON + 500, NOON);
    for (const { id } of [running, delayed, waiting]) {
      const removed = await store.removeJob(id, user.keyId, LATER);
      expect(removed).toMatchObject({ canceled: { id, state: 'failed', url: 'https://example.com/' }, artifacts: [] });
      expect(await store.findJob(id)).toBeNull();
      expect(await store.removeJob(id, user.keyId, LATER)).toBeNull();
    }
    expect(await store.renewLease(first, { now: LATER, leaseMs: 1_000, progress: 50 })).toBe(false);
    expect(await store.complete(first, aCapture(), LATER)).toEqual([]);
    expect(
      await store.fail(first, { code: 'internal_error', message: '', retriable: true, status: 500 }, LATER),
    ).toEqual([]);
    expect(await claimOne(store, { workerId: 'w', now: LATER, leaseMs: 1_000 })).toBeNull();
    expect(await creditsOf(store, user.accountId)).toEqual({ credits: 0, reserved: 0 });
    expect(await store.jobCounts(user.accountId, NOON)).toMatchObject({
      byState: { failed: 0, active: 0 },
      byCode: {},
    });
    expect((await store.listJobs(user.keyId, { state: null, before: null, limit: 10 })).jobs).toEqual([]);
    expect((await store.listAllJobs({ state: null, before: null, limit: 10 })).jobs).toEqual([]);
    expect(await store.findJobByIdempotencyKey(user.accountId, 'k')).toBeNull();
    const again = aNewJob(user, { idempotencyKey: 'k', identity: running.identity });
    expect(await store.accept(again, RULES)).toMatchObject({ kind: 'conflict', sameKey: true, isRemoved: true });
  });

  test('is announced to its webhook', async ({ store }) => {
    const user = await aCaller(store);
    const { id } = await aQueued(store, user, { webhook: WEBHOOK });
    expect(await store.removeJob(id, user.keyId, LATER)).toMatchObject({ canceled: { hasWebhook: true } });
    const due = await deliver(store);
    const error = { code: 'invalid_request', status: 409, details: { reason: 'canceled' } };
    expect(due?.ended).toMatchObject({ kind: 'job', job: { result: { outcome: { ok: false, error } } } });
  });

  test('leaves those that share its render to go on', async ({ store }) => {
    const user = await aCaller(store);
    const same = { cacheIdentity: 'the same page' };
    const [leader, second, third] = [
      await aQueued(store, user, same),
      await aQueued(store, user, same),
      await aQueued(store, user, { ...same, mode: 'sync' }),
    ];
    await claimNext(store);
    expect(await store.removeJob(third.id, user.keyId, LATER)).toMatchObject({ canceled: { isFollowed: false } });
    const fourth = await aQueued(store, user, same);
    await store.removeJob(leader.id, user.keyId, LATER);
    for (let slice = await store.endFollowers(leader.id); slice !== null; slice = await store.endFollowers(leader.id))
      expect(slice).toEqual([]);
    const next = await claimNext(store, { now: LATER });
    expect(next.id).toBe(second.id);
    const ended = await store.complete(claimOf(next), aCapture(), LATER);
    expect(ended.map(({ id, state }) => [id, state])).toEqual([
      [second.id, 'completed'],
      [fourth.id, 'completed'],
    ]);
    expect(await creditsOf(store, user.accountId)).toEqual({ credits: 2, reserved: 0 });
  });

  test('belongs to its key alone, unless the operator removes it', async ({ store }) => {
    const user = await aCaller(store);
    const [{ id }, other, stranger] = [
      await aQueued(store, user),
      await aKey(store, user.accountId),
      await aCaller(store),
    ];
    for (const { keyId } of [other, stranger]) expect(await store.removeJob(id, keyId, LATER)).toBeNull();
    expect(await store.removeJob('job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8', null, LATER)).toBeNull();
    expect(await store.removeJob(id, null, LATER)).not.toBeNull();
  });
});

describe('a job that is removed after its end', () => {
  test('takes its pictures along, but not those that another job has', async ({ store }) => {
    const user = await aCaller(store);
    const kept = await aCaptured(store, user, { cacheIdentity: 'page', webhook: WEBHOOK });
    const reuse = aNewJob(user, { cacheIdentity: 'page' });
    expect((await store.accept(reuse, RULES)).kind).toBe('cached');
    expect(await store.removeJob(kept.id, user.keyId, LATER)).toEqual({ canceled: null, artifacts: [] });
    expect(await isGone(store, kept.name)).toBe(false);
    expect(await deliver(store)).toBeNull();
    expect(await store.nextDeliveryDueAt(4)).toBeNull();
    expect((await store.findJob(reuse.id))?.result?.outcome).toMatchObject({ ok: true, data: { artifact: kept.name } });
    // The cache no longer finds the picture by the job that is gone.
    expect((await store.accept(aNewJob(user, { cacheIdentity: 'page' }), RULES)).kind).toBe('queued');
    expect(await store.removeJob(reuse.id, user.keyId, LATER)).toEqual({ canceled: null, artifacts: [kept.name] });
    expect(await isGone(store, kept.name)).toBe(true);
    expect(await store.dueRemovals({ after: '', limit: 10, now: LATER })).toContain(kept.name);
    expect((await store.storageUse()).pictures).toBe(0);
    expect(await creditsOf(store, user.accountId)).toEqual({ credits: 2, reserved: 1 });
    expect(await store.findJob(reuse.id)).toBeNull();
  });

  test('takes all pictures of several along, and that of a page that failed', async ({ store }) => {
    const user = await aCaller(store);
    const capture = { ...aCapture(), further: [{ name: 'further.webp', bytes: 10, sha256: 'cd'.repeat(32) }] };
    const { id } = await aQueued(store, user);
    await store.complete(claimOf(await claimNext(store)), capture, NOON);
    const removed = await store.removeJob(id, user.keyId, LATER);
    expect(removed?.artifacts.toSorted()).toEqual([capture.artifact.name, 'further.webp'].toSorted());

    const failed = await aQueued(store, user, { options: someOptions({ timeout: 5_000 }) });
    const picture = { name: 'failed.webp', bytes: 10, sha256: 'cd'.repeat(32) };
    await store.keepArtifact({ ...picture, accountId: user.accountId, createdAt: NOON });
    const error = { code: 'render_timeout', message: '', retriable: true, status: 504 } as const;
    await store.fail(claimOf(await claimNext(store)), { ...error, details: { artifact: picture.name } }, NOON);
    expect(await store.removeJob(failed.id, user.keyId, LATER)).toEqual({ canceled: null, artifacts: [picture.name] });
  });

  test('is deleted with the other old jobs', async ({ store }) => {
    const user = await aCaller(store);
    const [{ id }, job] = [await aCaptured(store, user), await aQueued(store, user)];
    for (const one of [id, job.id]) await store.removeJob(one, user.keyId, LATER);
    expect(await store.deleteJobs({ before: LATER + 1, limit: 10 })).toBe(2);
    expect(await store.queueStatus()).toMatchObject({ completed: 0, failed: 0, waiting: 0 });
  });
});
