import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keepFinalUrl } from '../../src/contract/capture-data.js';
import { Writer } from '../../src/store/sqlite/writer.js';
import type { Store } from '../../src/store/store.js';
import { aCaller, aCapture, aNewJob, aStore, type Caller, claimNext, claimOf, IS_POSTGRES, NOON, RULES } from './factories.js';

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

test('artifacts older than the limit are marked as deleted, oldest first, in batches', async () => {
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

test('old jobs are deleted with their idempotency and delivery records; the ledger of the month stays', async () => {
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

test('many jobs that were not yet announced do not block the deletion of later ones', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  for (let i = 0; i < 130; i++) await anEnded(it.store, caller, { endedAt: NOON + i, webhook: true });
  for (const endedAt of [NOON - 1, NOON + 1_000]) await anEnded(it.store, caller, { endedAt });
  const slices = vi.spyOn(Writer.prototype, 'run');
  onTestFinished(() => slices.mockRestore());
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 100 })).toBe(2);
  // A slice of SQLite blocks the event loop, and examines at most 100 jobs.
  if (!IS_POSTGRES) expect(slices).toHaveBeenCalledTimes(2);
});

test('a deletion reaches its limit and no further, over several slices', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  await anEnded(it.store, caller, { endedAt: NOON, cacheIdentity: 'page' });
  await Promise.all(
    Array.from({ length: 150 }, (_, i) => it.store.accept(aNewJob(caller, { cacheIdentity: 'page', enqueuedAt: NOON + i }), RULES)),
  );
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(120);
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(31);
});

test('the row of a deleted artifact is kept while a job refers to it, and no longer', async () => {
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

test('the account that uses the most space loses its pictures first, and database rows count', async () => {
  await using it = await aStore();
  const [large, small, busy] = [await aCaller(it.store), await aCaller(it.store), await aCaller(it.store)];
  const fill = async (caller: Caller, given: { endedAt: number; bytes: number; cacheIdentity?: string }) =>
    (await anEnded(it.store, caller, given)).name;
  const ofSmall = await fill(small, { endedAt: NOON, bytes: 10_000 });
  const ofBusy = await fill(busy, { endedAt: NOON + 1, bytes: 9_000, cacheIdentity: 'page' });
  const ofLarge = [];
  for (let i = 2; i < 6; i++) ofLarge.push(await fill(large, { endedAt: NOON + i, bytes: 10_000 }));
  for (let i = 0; i < 30; i++) {
    await it.store.accept(aNewJob(busy, { cacheIdentity: 'page', enqueuedAt: NOON + 10 }), RULES);
  }
  const rules = { ...UNLIMITED, before: 0 };
  expect(await it.store.expireArtifacts({ ...rules, maxBytes: 50_000 })).toEqual([ofBusy]);
  expect(await it.store.expireArtifacts({ ...rules, maxBytes: 49_999 })).toEqual(ofLarge.slice(0, 1));
  expect(await it.store.expireArtifacts({ ...rules, maxBytes: 20_000 })).toEqual(ofLarge.slice(1, 3));
  expect(await it.store.keptArtifacts([ofSmall])).toEqual(new Set([ofSmall]));
});

test('sixty cached answers for a page with the longest address add little to the database, and contain the whole address', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES);
  const kept = keepFinalUrl(`https://example.com/#${'x'.repeat(2_000_000)}`);
  const capture = aCapture({ ...kept, inspection: { markdown: 'm'.repeat(12_000), accessibleTree: 't'.repeat(12_000) } });
  await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON);
  await it.store.shrinkDatabase();
  const before = await it.store.storageUse();
  const hits = Array.from({ length: 60 }, () => aNewJob(caller, { cacheIdentity: 'page', enqueuedAt: NOON + 1 }));
  for (const hit of hits) expect((await it.store.accept(hit, RULES)).kind).toBe('cached');
  await it.store.shrinkDatabase();
  expect((await it.store.storageUse()).database - before.database).toBeLessThan(60 * 4_000);
  expect((await it.store.findJob(hits[59]?.id ?? ''))?.result?.outcome).toEqual({ ok: true, data: { ...capture.data, cached: true } });
});

test.skipIf(IS_POSTGRES)('the space of deleted jobs is returned to the disk', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  await anEnded(it.store, caller, { endedAt: NOON, cacheIdentity: 'page' });
  await Promise.all(Array.from({ length: 500 }, () => it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES)));
  await it.store.shrinkDatabase();
  const full = await it.store.storageUse();
  await it.store.deleteJobs({ before: NOON + 1, limit: 1_000 });
  await it.store.shrinkDatabase();
  const shrunk = await it.store.storageUse();
  expect(shrunk.free).toBe(0);
  expect(shrunk.database).toBeLessThan(full.database - 300_000);
  expect(shrunk.database).toBe(statSync(join(it.dataDir, 'stillframe.db')).size);
});

test('an artifact that no job has made counts as storage of its account, and expires without a trace', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const artifact = { name: `${'b'.repeat(32)}.webp`, bytes: 5_000, sha256: '0'.repeat(64), accountId: caller.accountId, createdAt: NOON };
  await it.store.keepArtifact(artifact);
  expect(await it.store.findArtifact(artifact.name)).toMatchObject({ name: artifact.name, bytes: 5_000, goneAt: null });
  expect((await it.store.storageUse()).pictures).toBe(5_000);
  expect(await it.store.keptArtifacts([artifact.name])).toEqual(new Set([artifact.name]));
  expect(await it.store.expireArtifacts({ ...UNLIMITED, before: NOON + 1 })).toEqual([artifact.name]);
  expect(await it.store.dueRemovals({ after: '', limit: 10, now: NOON })).toEqual([artifact.name]);
  expect(await it.store.findArtifact(artifact.name)).toBeNull();
  expect((await it.store.storageUse()).pictures).toBe(0);
});
