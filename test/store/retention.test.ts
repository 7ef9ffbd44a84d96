import { expect, test } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { aCaller, aCapture, aNewJob, aStore, type Caller, claimNext, claimOf, NOON, RULES } from './factories.js';

async function anEnded(
  store: Store,
  caller: Caller,
  given: { endedAt: number; bytes?: number; webhook?: boolean; cacheIdentity?: string },
) {
  const job = aNewJob(caller, {
    webhook: given.webhook ? { url: 'https://a.example/x', secret: 's'.repeat(16) } : null,
    cacheIdentity: given.cacheIdentity ?? null,
    idempotencyKey: `k${given.endedAt}`,
  });
  await store.accept(job, RULES);
  const capture = aCapture({ bytes: given.bytes ?? 1_000 });
  await store.complete(claimOf(await claimNext(store)), capture, given.endedAt);
  return { job, name: capture.artifact.name };
}

const UNLIMITED = { maxBytes: 1e12, limit: 100, now: NOON + 1_000 };

test('artifacts older than the limit are marked gone, oldest first, in batches', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const names = [];
  for (let i = 0; i < 5; i++) names.push((await anEnded(it.store, caller, { endedAt: NOON + i })).name);
  const rules = { ...UNLIMITED, before: NOON + 4, limit: 3 };
  expect(await it.store.expireArtifacts(rules)).toEqual(names.slice(0, 3));
  expect(await it.store.expireArtifacts(rules)).toEqual(names.slice(3, 4));
  expect(await it.store.expireArtifacts(rules)).toEqual([]);
  expect(await it.store.findArtifact(names[0] ?? '')).toMatchObject({ goneAt: NOON + 1_000 });
  expect(await it.store.keptArtifacts([...names, 'unknown.webp'])).toEqual(new Set(names.slice(4)));
});

test('beyond the storage budget the oldest go, and no more than must', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const names = [];
  for (let i = 0; i < 5; i++) names.push((await anEnded(it.store, caller, { endedAt: NOON + i, bytes: 100 })).name);
  const rules = { ...UNLIMITED, before: 0, maxBytes: 250 };
  expect(await it.store.expireArtifacts(rules)).toEqual(names.slice(0, 3));
  expect(await it.store.expireArtifacts(rules)).toEqual([]);
});

test('old jobs go with their idempotency and delivery records; the ledger of the month stays', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const old = await anEnded(it.store, caller, { endedAt: NOON });
  const young = await anEnded(it.store, caller, { endedAt: NOON + 10 });
  expect(await it.store.deleteJobs({ before: NOON + 10, limit: 100 })).toBe(1);
  expect(await it.store.findJob(old.job.id)).toBeNull();
  expect(await it.store.findJobByIdempotencyKey(caller.accountId, `k${NOON}`)).toBeNull();
  expect(await it.store.findJob(young.job.id)).not.toBeNull();
  expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 2 });
  expect(await it.store.queueStatus()).toMatchObject({ completed: 1 });
  expect(await it.store.settlement(NOON)).toMatchObject({ settled: 2, pending: 0 });
});

test('jobs that are not ended, or not yet announced, are kept', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const announced = await anEnded(it.store, caller, { endedAt: NOON, webhook: true });
  const waiting = aNewJob(caller);
  await it.store.accept(waiting, RULES);
  const rules = { before: NOON + 1e12, limit: 100 };
  expect(await it.store.deleteJobs(rules)).toBe(0);
  const due = await it.store.claimNextDelivery({ now: NOON, leaseMs: 1, perReceiver: 1 });
  if (due === null) throw new Error('no delivery is due');
  await it.store.recordAttempt(due, { kind: 'delivered', status: 200 }, NOON);
  expect(await it.store.deleteJobs(rules)).toBe(1);
  expect(await it.store.findDelivery(announced.job.id)).toBeNull();
  expect(await it.store.findJob(waiting.id)).not.toBeNull();
});

test('deleting goes to its limit and no further, over several slices', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  await anEnded(it.store, caller, { endedAt: NOON, cacheIdentity: 'page' });
  await Promise.all(
    Array.from({ length: 150 }, (_, i) => it.store.accept(aNewJob(caller, { cacheIdentity: 'page', enqueuedAt: NOON + i }), RULES)),
  );
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(120);
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(31);
});

test('the row of a gone artifact is kept while a job speaks of it, and no longer', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const { name } = await anEnded(it.store, caller, { endedAt: NOON, cacheIdentity: 'page' });
  const hit = aNewJob(caller, { cacheIdentity: 'page', enqueuedAt: NOON + 500 });
  expect((await it.store.accept(hit, RULES)).kind).toBe('cached');
  await it.store.expireArtifacts({ ...UNLIMITED, before: NOON + 1 });
  await it.store.deleteJobs({ before: NOON + 1, limit: 100 });
  expect(await it.store.findArtifact(name)).toMatchObject({ goneAt: NOON + 1_000 });
  await it.store.deleteJobs({ before: NOON + 501, limit: 100 });
  expect(await it.store.findArtifact(name)).toBeNull();
});

test('an artifact whose jobs are all deleted still expires', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const { name } = await anEnded(it.store, caller, { endedAt: NOON });
  await it.store.deleteJobs({ before: NOON + 1, limit: 100 });
  expect(await it.store.keptArtifacts([name])).toEqual(new Set([name]));
  expect(await it.store.expireArtifacts({ ...UNLIMITED, before: NOON + 1 })).toEqual([name]);
  expect(await it.store.findArtifact(name)).toBeNull();
});
