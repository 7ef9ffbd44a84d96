import { describe, expect, test } from 'vitest';
import type { NewJob, Store } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aCaptured,
  aNewJob,
  aStore,
  type Caller,
  claimNext,
  claimOf,
  NOON,
  openAt,
  RULES,
  withCaller,
} from './factories.js';

const SECRET = 'a signing secret of some length';
const CLAIM = { now: NOON, leaseMs: 15_000, perReceiver: 4 };

/** A completed job with a webhook. */
async function anEndedJob(store: Store, caller: Caller, given: { url?: string; now?: number } & Partial<NewJob> = {}) {
  const { url = 'https://hooks.example.com/done?x=1', now = NOON, ...rest } = given;
  return await aCaptured(store, caller, { webhook: { url, secret: SECRET }, ...rest, endedAt: now });
}

async function claimDelivery(store: Store, given: Partial<Parameters<Store['claimNextDelivery']>[0]> = {}) {
  const due = await store.claimNextDelivery({ ...CLAIM, ...given });
  if (due === null) throw new Error('no delivery is due');
  return due;
}

describe('status', () => {
  test('is pending without an event until the job ends, under an id that stays the same', async () => {
    await using it = await withCaller();
    const job = aNewJob(it.caller, { webhook: { url: 'https://a.example/hook', secret: SECRET } });
    await it.store.accept(job, RULES);
    const before = await it.store.findDelivery(job.id);
    expect(before).toEqual({
      ...{ jobId: job.id, deliveryId: expect.stringMatching(/^dlv_/), event: null, url: 'https://a.example/hook', state: 'pending' },
      ...{ attempts: 0, maxAttempts: 5, generation: 1, lastStatus: null, lastError: null, lastAttemptAt: null },
      ...{ nextAttemptAt: null, deliveredAt: null },
    });
    expect(await it.store.claimNextDelivery(CLAIM)).toBeNull();
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON + 3);
    expect(await it.store.findDelivery(job.id)).toEqual({ ...before, event: 'capture.completed', nextAttemptAt: NOON + 3 });
  });
});

describe('attempts', () => {
  test('a claimed delivery carries the secret and the ended job', async () => {
    await using it = await withCaller();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const job = await anEndedJob(it.store, it.caller, { traceparent });
    expect(await claimDelivery(it.store)).toMatchObject({
      ...{ traceparent, jobId: job.id, generation: 1, attempt: 1, maxAttempts: 5, secret: SECRET },
      url: 'https://hooks.example.com/done?x=1',
      job: { id: job.id, state: 'completed', result: { outcome: { ok: true } } },
    });
  });
});

describe('receivers', () => {
  test('an account leaves as many slots free as it uses, and another one is served at once', async () => {
    await using it = await aStore();
    const [busy, calm] = [await aCaller(it.store), await aCaller(it.store)];
    for (let i = 0; i < 12; i++) await anEndedJob(it.store, busy, { url: `https://r${i}.example/` });
    const claim = { ...CLAIM, atOnce: 8 };
    for (let i = 0; i < 4; i++) await claimDelivery(it.store, claim);
    expect(await it.store.claimNextDelivery(claim)).toBeNull();
    const late = await anEndedJob(it.store, calm, { now: NOON });
    expect((await claimDelivery(it.store, claim)).jobId).toBe(late.id);
  });

  test('a receiver that does not answer is paused for its account, then tried with one delivery at a time, until it answers', async () => {
    await using it = await withCaller();
    for (let i = 0; i < 12; i++) await anEndedJob(it.store, it.caller);
    const later = { kind: 'retry', status: null, error: 'reset', nextAttemptAt: NOON + 1 } as const;
    for (let i = 0; i < 8; i++) await it.store.recordAttempt(await claimDelivery(it.store), later, NOON + 1);
    expect(await it.store.claimNextDelivery({ ...CLAIM, now: NOON + 5_000 })).toBeNull();
    expect(await it.store.nextDeliveryDueAt(4)).toBe(NOON + 5_001);
    const ofOther = await anEndedJob(it.store, await aCaller(it.store));
    expect((await claimDelivery(it.store)).jobId).toBe(ofOther.id);
    const probe = await claimDelivery(it.store, { now: NOON + 5_001 });
    expect(await it.store.claimNextDelivery({ ...CLAIM, now: NOON + 5_001 })).toBeNull();
    await it.store.recordAttempt(probe, later, NOON + 5_002);
    expect(await it.store.nextDeliveryDueAt(4)).toBe(NOON + 15_002);
    const second = await claimDelivery(it.store, { now: NOON + 15_002 });
    await it.store.recordAttempt(second, { ...later, status: 503 }, NOON + 15_003);
    for (let i = 0; i < 4; i++) await claimDelivery(it.store, { now: NOON + 15_003 });
  });

  test('a delivery is given up after a day, and its job can be deleted then', async () => {
    await using it = await aStore();
    const job = await anEndedJob(it.store, await aCaller(it.store));
    const day = 86_400_000;
    const deletion = { before: NOON + 1, limit: 10 };
    expect(await it.store.expireDeliveries({ now: NOON + day - 1, limit: 10 })).toBe(0);
    expect(await it.store.deleteJobs(deletion)).toBe(0);
    expect(await it.store.expireDeliveries({ now: NOON + day, limit: 10 })).toBe(1);
    expect(await it.store.findDelivery(job.id)).toMatchObject({ state: 'failed', lastError: expect.stringContaining('24 hours') });
    expect(await it.store.webhookTotals()).toEqual({ delivered: 0, failed: 1, errors: 0 });
    expect(await it.store.nextDeliveryDueAt(4)).toBeNull();
    expect(await it.store.deleteJobs(deletion)).toBe(1);
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

  test('only one of twenty concurrent redeliveries with the same generation succeeds', async () => {
    await using it = await aStore();
    const job = await anEndedJob(it.store, await aCaller(it.store));
    await it.store.recordAttempt(await claimDelivery(it.store), { kind: 'delivered', status: 200 }, NOON);
    const answers = await Promise.all(Array.from({ length: 20 }, () => it.store.redeliver(job.id, 1, NOON)));
    expect(answers.filter((answer) => answer.kind === 'accepted')).toHaveLength(1);
    expect(answers.filter((answer) => answer.kind === 'generation_changed')).toHaveLength(19);
  });
});
