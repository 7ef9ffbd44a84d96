import { describe, expect } from 'vitest';
import type { NewJob, Store } from '../../src/store/store.js';
import { aCaller, aCapture, aCaptured, aQueued, type Caller, completeNext, NOON, openAt } from './factories.js';
import { test } from './store-test.js';

const SECRET = 'a signing secret of some length';
const CLAIM = { now: NOON, leaseMs: 15_000, perReceiver: 4 };

/** A completed job with a webhook. */
async function anEndedJob(store: Store, user: Caller, given: { url?: string; now?: number } & Partial<NewJob> = {}) {
  const { url = 'https://hooks.example.com/done?x=1', now = NOON, ...rest } = given;
  return await aCaptured(store, user, { webhook: { url, secret: SECRET }, ...rest, endedAt: now });
}

async function claimDelivery(store: Store, given: Partial<Parameters<Store['claimNextDelivery']>[0]> = {}) {
  const due = await store.claimNextDelivery({ ...CLAIM, ...given });
  if (due === null) throw new Error('no delivery is due');
  return due;
}

test('a delivery is pending without an event until the job ends, under an id that stays the same', async ({
  store,
  user,
}) => {
  const job = await aQueued(store, user, { webhook: { url: 'https://a.example/hook', secret: SECRET } });
  const before = await store.findDelivery(job.id);
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
  expect(await store.claimNextDelivery(CLAIM)).toBeNull();
  await completeNext(store, aCapture(), NOON + 3);
  expect(await store.findDelivery(job.id)).toEqual({ ...before, event: 'capture.completed', nextAttemptAt: NOON + 3 });
});
test('a claimed delivery carries the secret and the ended job', async ({ store, user }) => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const job = await anEndedJob(store, user, { traceparent });
  expect(await claimDelivery(store)).toMatchObject({
    traceparent,
    jobId: job.id,
    generation: 1,
    attempt: 1,
    maxAttempts: 5,
    secret: SECRET,
    url: 'https://hooks.example.com/done?x=1',
    ended: { kind: 'job', job: { id: job.id, state: 'completed', result: { outcome: { ok: true } } } },
  });
});
describe('receivers', () => {
  test('an account leaves as many slots free as it uses, and another one is served at once', async ({ store }) => {
    const [busy, calm] = [await aCaller(store), await aCaller(store)];
    for (let i = 0; i < 12; i++) await anEndedJob(store, busy, { url: `https://r${i}.example/` });
    const claim = { ...CLAIM, atOnce: 8 };
    for (let i = 0; i < 4; i++) await claimDelivery(store, claim);
    expect(await store.claimNextDelivery(claim)).toBeNull();
    const late = await anEndedJob(store, calm, { now: NOON });
    expect((await claimDelivery(store, claim)).jobId).toBe(late.id);
  });

  test('a receiver that does not answer is paused for its account, then tried with one delivery at a time, until it answers', async ({
    store,
    user,
  }) => {
    for (let i = 0; i < 12; i++) await anEndedJob(store, user);
    const later = { kind: 'retry', status: null, error: 'reset', nextAttemptAt: NOON + 1 } as const;
    for (let i = 0; i < 8; i++) await store.recordAttempt(await claimDelivery(store), later, NOON + 1);
    expect(await store.claimNextDelivery({ ...CLAIM, now: NOON + 5_000 })).toBeNull();
    expect(await store.nextDeliveryDueAt(4)).toBe(NOON + 5_001);
    const ofOther = await anEndedJob(store, await aCaller(store));
    expect((await claimDelivery(store)).jobId).toBe(ofOther.id);
    const probe = await claimDelivery(store, { now: NOON + 5_001 });
    expect(await store.claimNextDelivery({ ...CLAIM, now: NOON + 5_001 })).toBeNull();
    await store.recordAttempt(probe, later, NOON + 5_002);
    expect(await store.nextDeliveryDueAt(4)).toBe(NOON + 15_002);
    const second = await claimDelivery(store, { now: NOON + 15_002 });
    await store.recordAttempt(second, { ...later, status: 503 }, NOON + 15_003);
    for (let i = 0; i < 4; i++) await claimDelivery(store, { now: NOON + 15_003 });
  });

  test('a delivery is abandoned after a day, and its job can be deleted then', async ({ store }) => {
    const job = await anEndedJob(store, await aCaller(store));
    const day = 86_400_000;
    const deletion = { before: NOON + 1, limit: 10 };
    expect(await store.expireDeliveries({ now: NOON + day - 1, limit: 10 })).toBe(0);
    expect(await store.deleteJobs(deletion)).toBe(0);
    expect(await store.expireDeliveries({ now: NOON + day, limit: 10 })).toBe(1);
    expect(await store.findDelivery(job.id)).toMatchObject({
      state: 'failed',
      lastError: expect.stringContaining('24 hours'),
    });
    expect(await store.webhookTotals()).toEqual({ delivered: 0, failed: 1, errors: 0 });
    expect(await store.nextDeliveryDueAt(4)).toBeNull();
    expect(await store.deleteJobs(deletion)).toBe(1);
  });
});

describe('redelivery', () => {
  test('sends an ended delivery again as the next generation, also after a restart', async ({ it, store }) => {
    const job = await anEndedJob(store, await aCaller(store));
    const first = await claimDelivery(store);
    await store.recordAttempt(first, { kind: 'failed', status: 400, error: 'x' }, NOON);
    const accepted = await store.redeliver(job.id, 1, NOON + 100);
    expect(accepted).toMatchObject({
      kind: 'accepted',
      status: {
        state: 'pending',
        generation: 2,
        attempts: 0,
        deliveryId: first.deliveryId,
        nextAttemptAt: NOON + 100,
        lastStatus: null,
      },
    });
    await using restarted = await openAt(it.dataDir);
    expect(await claimDelivery(restarted, { now: NOON + 100 })).toMatchObject({
      generation: 2,
      attempt: 1,
      secret: SECRET,
    });
    expect(await store.recordAttempt(first, { kind: 'delivered', status: 200 }, NOON)).toBe(false);
  });

  test('only one of twenty concurrent redeliveries with the same generation succeeds', async ({ store }) => {
    const job = await anEndedJob(store, await aCaller(store));
    await store.recordAttempt(await claimDelivery(store), { kind: 'delivered', status: 200 }, NOON);
    const answers = await Promise.all(Array.from({ length: 20 }, () => store.redeliver(job.id, 1, NOON)));
    expect(answers.filter((answer) => answer.kind === 'accepted')).toHaveLength(1);
    expect(answers.filter((answer) => answer.kind === 'generation_changed')).toHaveLength(19);
  });
});
