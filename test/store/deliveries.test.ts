import { describe, expect, test } from 'vitest';
import type { NewJob, Store } from '../../src/store/store.js';
import { aCaller, aCapture, aNewJob, aStore, type Caller, claimNext, claimOf, NOON, openAt, RULES } from './factories.js';

const SECRET = 'a signing secret of some length';
const CLAIM = { now: NOON, leaseMs: 15_000, perReceiver: 4 };

/** A completed job with a webhook. */
async function anEndedJob(store: Store, caller: Caller, given: { url?: string; now?: number } & Partial<NewJob> = {}) {
  const { url = 'https://hooks.example.com/done?x=1', now = NOON, ...rest } = given;
  const job = aNewJob(caller, { webhook: { url, secret: SECRET }, ...rest });
  await store.accept(job, RULES);
  await store.complete(claimOf(await claimNext(store, { now })), aCapture(), now);
  return job;
}

async function claimDelivery(store: Store, given: Partial<typeof CLAIM> = {}) {
  const due = await store.claimNextDelivery({ ...CLAIM, ...given });
  if (due === null) throw new Error('no delivery is due');
  return due;
}

describe('status', () => {
  test('is pending with no event until the job ends, under an id that stays', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const job = aNewJob(caller, { webhook: { url: 'https://a.example/hook', secret: SECRET } });
    await it.store.accept(job, RULES);
    const before = await it.store.findDelivery(job.id);
    expect(before).toEqual({
      jobId: job.id,
      deliveryId: expect.stringMatching(/^dlv_/),
      event: null,
      url: 'https://a.example/hook',
      state: 'pending',
      attempts: 0,
      maxAttempts: 5,
      generation: 1,
      lastStatus: null,
      lastError: null,
      lastAttemptAt: null,
      nextAttemptAt: null,
      deliveredAt: null,
    });
    expect(await it.store.claimNextDelivery(CLAIM)).toBeNull();
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON + 3);
    expect(await it.store.findDelivery(job.id)).toEqual({ ...before, event: 'capture.completed', nextAttemptAt: NOON + 3 });
  });

  test('a job without a webhook has none', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const job = aNewJob(caller);
    await it.store.accept(job, RULES);
    expect(await it.store.findDelivery(job.id)).toBeNull();
    expect(await it.store.redeliver(job.id, 1, NOON)).toEqual({ kind: 'delivery_unavailable' });
  });
});

describe('attempts', () => {
  test('a claimed delivery carries the secret and the ended job', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const job = await anEndedJob(it.store, caller);
    expect(await claimDelivery(it.store)).toMatchObject({
      jobId: job.id,
      generation: 1,
      attempt: 1,
      maxAttempts: 5,
      url: 'https://hooks.example.com/done?x=1',
      secret: SECRET,
      job: { id: job.id, state: 'completed', result: { outcome: { ok: true } } },
    });
  });

  test('a delivered one is done', async () => {
    await using it = await aStore();
    const job = await anEndedJob(it.store, await aCaller(it.store));
    const due = await claimDelivery(it.store);
    expect(await it.store.recordAttempt(due, { kind: 'delivered', status: 204 }, NOON + 30)).toBe(true);
    expect(await it.store.findDelivery(job.id)).toMatchObject({
      state: 'delivered',
      attempts: 1,
      lastStatus: 204,
      lastAttemptAt: NOON + 30,
      nextAttemptAt: null,
      deliveredAt: NOON + 30,
    });
    expect(await it.store.claimNextDelivery({ ...CLAIM, now: NOON + 1e9 })).toBeNull();
    expect(await it.store.webhookTotals()).toEqual({ delivered: 1, failed: 0, errors: 0 });
  });

  test('one to be tried again is due at its time, and counts on', async () => {
    await using it = await aStore();
    const job = await anEndedJob(it.store, await aCaller(it.store));
    const retry = { kind: 'retry', status: 503, error: 'answered 503', nextAttemptAt: NOON + 5_000 } as const;
    await it.store.recordAttempt(await claimDelivery(it.store), retry, NOON + 1);
    expect(await it.store.findDelivery(job.id)).toMatchObject({
      state: 'pending',
      attempts: 1,
      lastStatus: 503,
      lastError: 'answered 503',
      nextAttemptAt: NOON + 5_000,
    });
    expect(await it.store.nextDeliveryDueAt()).toBe(NOON + 5_000);
    expect(await it.store.claimNextDelivery({ ...CLAIM, now: NOON + 4_999 })).toBeNull();
    const second = await claimDelivery(it.store, { now: NOON + 5_000 });
    expect(second.attempt).toBe(2);
    await it.store.recordAttempt(second, { kind: 'failed', status: 410, error: 'answered 410' }, NOON + 5_001);
    expect(await it.store.findDelivery(job.id)).toMatchObject({ state: 'failed', attempts: 2, nextAttemptAt: null, deliveredAt: null });
    expect(await it.store.webhookTotals()).toEqual({ delivered: 0, failed: 1, errors: 2 });
    expect(await it.store.findJob(job.id)).toMatchObject({ state: 'completed' });
  });

  test('one that was never recorded is due again when its lease ends, as the same attempt; only one record counts', async () => {
    await using it = await aStore();
    await anEndedJob(it.store, await aCaller(it.store));
    const lost = await claimDelivery(it.store);
    expect(await it.store.claimNextDelivery({ ...CLAIM, now: NOON + 14_999 })).toBeNull();
    expect(await it.store.nextDeliveryDueAt()).toBe(NOON + 15_000);
    const again = await claimDelivery(it.store, { now: NOON + 15_000 });
    expect(again).toMatchObject({ deliveryId: lost.deliveryId, attempt: 1 });
    expect(await it.store.recordAttempt(again, { kind: 'delivered', status: 200 }, NOON + 15_001)).toBe(true);
    expect(await it.store.recordAttempt(lost, { kind: 'failed', status: 400, error: 'x' }, NOON + 15_002)).toBe(false);
    expect(await it.store.webhookTotals()).toEqual({ delivered: 1, failed: 0, errors: 0 });
  });

  test('one receiver never takes more than its places, and the others go on', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    for (let i = 0; i < 5; i++) await anEndedJob(it.store, caller, { url: `https://slow.example/${i}`, now: NOON + i });
    await anEndedJob(it.store, caller, { url: 'https://quick.example/x', now: NOON + 10 });
    const claim = { now: NOON + 20, leaseMs: 15_000, perReceiver: 2 };
    const urls = [];
    for (let i = 0; i < 3; i++) urls.push((await claimDelivery(it.store, claim)).url);
    expect(urls).toEqual(['https://slow.example/0', 'https://slow.example/1', 'https://quick.example/x']);
    expect(await it.store.claimNextDelivery(claim)).toBeNull();
    // What waits for a place is not due by time.
    expect(await it.store.nextDeliveryDueAt()).toBe(NOON + 20 + 15_000);
  });
});

describe('redelivery', () => {
  test('sends an ended delivery again as the next generation, also after a restart', async () => {
    await using it = await aStore();
    const job = await anEndedJob(it.store, await aCaller(it.store));
    const first = await claimDelivery(it.store);
    await it.store.recordAttempt(first, { kind: 'failed', status: 400, error: 'x' }, NOON);
    const accepted = await it.store.redeliver(job.id, 1, NOON + 100);
    expect(accepted).toMatchObject({
      kind: 'accepted',
      status: { state: 'pending', generation: 2, attempts: 0, deliveryId: first.deliveryId, nextAttemptAt: NOON + 100, lastStatus: null },
    });
    await using restarted = await openAt(it.dataDir);
    expect(await claimDelivery(restarted, { now: NOON + 100 })).toMatchObject({ generation: 2, attempt: 1, secret: SECRET });
    expect(await it.store.recordAttempt(first, { kind: 'delivered', status: 200 }, NOON)).toBe(false);
  });

  test('of fifty simultaneous ones with the same generation one wins', async () => {
    await using it = await aStore();
    const job = await anEndedJob(it.store, await aCaller(it.store));
    await it.store.recordAttempt(await claimDelivery(it.store), { kind: 'delivered', status: 200 }, NOON);
    const answers = await Promise.all(Array.from({ length: 50 }, () => it.store.redeliver(job.id, 1, NOON)));
    expect(answers.filter((answer) => answer.kind === 'accepted')).toHaveLength(1);
    expect(answers.filter((answer) => answer.kind === 'generation_changed')).toHaveLength(49);
  });

  test('a pending one is refused', async () => {
    await using it = await aStore();
    const job = await anEndedJob(it.store, await aCaller(it.store));
    expect(await it.store.redeliver(job.id, 1, NOON)).toEqual({ kind: 'delivery_pending' });
    expect(await it.store.redeliver(job.id, 7, NOON)).toEqual({ kind: 'generation_changed' });
  });
});
