import { describe, expect } from 'vitest';
import { batchPayloadSchema, toBatchPayload } from '../../src/contract/batch.js';
import { newId } from '../../src/contract/ids.js';
import type { NewBatch, NewJob, Store } from '../../src/store/store.js';
import {
  aCaller,
  aCaptured,
  aNewJob,
  aQueued,
  type Caller,
  claimNext,
  claimOf,
  claimOne,
  completeNext,
  NOON,
  RULES,
} from './factories.js';
import { test } from './store-test.js';

const WEBHOOK = { url: 'https://hooks.example.com/done', secret: 'at least sixteen characters' };
const LATER = NOON + 1_000;
const ERROR = { code: 'target_error', message: 'no', retriable: false, status: 502 } as const;

function aBatch(user: Caller, given: Partial<NewBatch> & { captures?: Partial<NewJob>[] } = {}) {
  const { captures = [{}, {}, {}], ...rest } = given;
  const id = newId('batch', NOON);
  const { accountId, keyId } = user;
  const plain = {
    requestId: newId('request', NOON),
    idempotencyKey: null,
    identity: id,
    webhook: null,
    enqueuedAt: NOON,
  };
  const batch: NewBatch = { id, accountId, keyId, ...plain, ...rest };
  return { batch, jobs: captures.map((capture, index) => aNewJob(user, { ...capture, batch: { id, index } })) };
}

const deliver = (store: Store) => store.claimNextDelivery({ now: LATER, leaseMs: 1_000, perReceiver: 4 });
const reserved = async (store: Store, { accountId }: Caller) => (await store.usage(accountId, NOON)).reserved;

describe('a batch', () => {
  test('is accepted as a whole, and announces its end once, after its last capture', async ({ store }) => {
    const user = await aCaller(store);
    const { batch, jobs } = aBatch(user, { webhook: WEBHOOK, idempotencyKey: 'k' });
    const accepted = await store.acceptBatch(batch, jobs, RULES);
    const counts = { waiting: 3, active: 0, completed: 0, failed: 0, canceled: 0 };
    expect(accepted).toMatchObject({ kind: 'accepted', batch: { id: batch.id, total: 3, counts, completedAt: null } });
    expect(await store.acceptBatch({ ...batch, id: newId('batch') }, jobs, RULES)).toMatchObject({ kind: 'replayed' });
    const other = { ...batch, id: newId('batch'), identity: 'another' };
    expect(await store.acceptBatch(other, jobs, RULES)).toMatchObject({ kind: 'conflict', sameKey: true });
    expect(await reserved(store, user)).toBe(3);
    await completeNext(store);
    await store.fail(claimOf(await claimNext(store)), ERROR, NOON);
    await store.completeBatches(NOON);
    expect(await deliver(store)).toBeNull();
    await completeNext(store);
    await store.completeBatches(LATER);
    const told = { ...counts, waiting: 0, completed: 2, failed: 1 };
    expect(await store.findBatch(batch.id)).toMatchObject({ counts: told, completedAt: NOON });
    expect(await deliver(store)).toMatchObject({
      ended: { kind: 'batch', event: 'batch.completed', batch: { counts: told } },
    });
    expect(await deliver(store)).toBeNull();
    const found = await store.batchCaptures(batch.id, { after: null, limit: 2 });
    expect(found.map(({ index, job }) => [index, job.state])).toEqual([
      [1, 'failed'],
      [0, 'completed'],
    ]);
    const rest = await store.batchCaptures(batch.id, { after: found.at(-1) ?? null, limit: 2 });
    expect(rest.map(({ index }) => index)).toEqual([2]);
    expect((await store.listBatches({ before: null, limit: 5 })).map(({ id }) => id)).toEqual([batch.id]);
  });

  test('takes pictures from the cache, and is complete if all are there', async ({ store }) => {
    const user = await aCaller(store);
    const kept = await aCaptured(store, user, { cacheIdentity: 'page' });
    const { batch, jobs } = aBatch(user, {
      webhook: WEBHOOK,
      captures: [{ cacheIdentity: 'page' }, { cacheIdentity: 'page' }],
    });
    expect(await store.acceptBatch(batch, jobs, RULES)).toMatchObject({
      batch: { completedAt: NOON, counts: { completed: 2, waiting: 0 } },
    });
    const [first] = await store.batchCaptures(batch.id, { after: null, limit: 1 });
    expect(first?.job.result?.outcome).toMatchObject({ ok: true, data: { artifact: kept.name, cached: true } });
    expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 3, reserved: 0 });
    expect(await deliver(store)).toMatchObject({ jobId: batch.id });
  });

  test('is refused as a whole where the quota does not cover it', async ({ store }) => {
    const user = await aCaller(store, { quota: 2 });
    const { batch, jobs } = aBatch(user);
    expect(await store.acceptBatch(batch, jobs, RULES)).toMatchObject({ kind: 'quota_exceeded', quota: 2 });
    expect(await store.findBatch(batch.id)).toBeNull();
    expect(await reserved(store, user)).toBe(0);
    expect(await store.queueStatus()).toMatchObject({ waiting: 0 });
  });

  test('comes after other captures, and leaves slots and the queue to them', async ({ store }) => {
    const user = await aCaller(store);
    const { batch, jobs } = aBatch(user);
    await store.acceptBatch(batch, jobs, { ...RULES, maxQueue: 1 });
    const single = aNewJob(user);
    expect((await store.accept(single, { ...RULES, maxQueue: 1 })).kind).toBe('queued');
    expect((await store.accept(aNewJob(user), { ...RULES, maxQueue: 1 })).kind).toBe('queue_full');
    expect(await claimNext(store)).toMatchObject({ id: single.id, isOfBatch: false });
    const slot = { workerId: 'w', now: NOON, leaseMs: 1_000 };
    expect(await claimOne(store, { ...slot, takesBatches: false })).toBeNull();
    const claimed = await claimNext(store);
    expect(claimed).toMatchObject({ id: jobs[0]?.id, isOfBatch: true });
    await store.retryLater(claimOf(claimed), LATER, NOON);
    await aQueued(store, user);
    expect((await claimNext(store, { now: LATER })).isOfBatch).toBe(false);
    expect((await claimNext(store, { now: LATER })).id).toBe(jobs[0]?.id);
  });

  test('is removed as one, and announces it if it had not ended', async ({ store }) => {
    const user = await aCaller(store);
    const { batch, jobs } = aBatch(user, { webhook: WEBHOOK, idempotencyKey: 'k' });
    await store.acceptBatch(batch, jobs, RULES);
    await completeNext(store);
    await claimNext(store);
    expect(await store.removeBatch(batch.id, (await aCaller(store)).keyId, LATER)).toBe(false);
    expect(await store.removeBatch(batch.id, user.keyId, LATER)).toBe(true);
    expect(await store.removeBatch(batch.id, user.keyId, LATER)).toBe(false);
    expect(await store.findBatch(batch.id)).toBeNull();
    const { ended } = (await deliver(store)) ?? expect.fail();
    if (ended.kind !== 'batch') throw new Error(ended.kind);
    const payload = toBatchPayload(ended.batch, { event: ended.event, deliveryId: 'd', generation: 1 });
    expect(payload).toMatchObject({
      event: 'batch.canceled',
      batch: { state: 'canceled', counts: { total: 3, waiting: 0, active: 0, completed: 1, failed: 0, canceled: 2 } },
    });
    expect(batchPayloadSchema.parse(payload).batch).not.toHaveProperty('poll_url');
    const due = await store.jobsToClear(10, LATER);
    expect(due).toHaveLength(3);
    for (const id of due) expect(await store.removeJob(id, null, LATER)).not.toBeNull();
    expect(await store.jobsToClear(10, LATER)).toEqual([]);
    expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 1, reserved: 0 });
    const again = await store.acceptBatch({ ...batch, id: newId('batch') }, jobs, RULES);
    expect(again).toMatchObject({ kind: 'conflict', isRemoved: true });
    expect(await store.deleteJobs({ before: LATER + 1, limit: 10 })).toBe(3);
  });
});
