import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { keepFinalUrl } from '../../src/contract/capture-data.js';
import { Writer } from '../../src/store/sqlite/writer.js';
import { aCapture, aCaptured, aNewJob, aQueued, completeNext, IS_POSTGRES, NOON, RULES } from './factories.js';
import { test } from './store-test.js';

const UNLIMITED = { maxBytes: 1e12, limit: 100, now: NOON + 1_000 };

test('many jobs that were not yet announced do not block the deletion of later ones', async ({ store, user }) => {
  const webhook = { url: 'https://a.example/x', secret: 's'.repeat(16) };
  for (let i = 0; i < 110; i++) await aCaptured(store, user, { endedAt: NOON + i, webhook });
  for (const endedAt of [NOON - 1, NOON + 1_000]) await aCaptured(store, user, { endedAt });
  const slices = vi.spyOn(Writer.prototype, 'run');
  onTestFinished(() => slices.mockRestore());
  expect(await store.deleteJobs({ before: NOON + 1e9, limit: 100 })).toBe(2);
  // A slice of SQLite blocks the event loop, and examines at most 100 jobs.
  if (!IS_POSTGRES) expect(slices).toHaveBeenCalledTimes(2);
});

test('a deletion reaches its limit and no further, over several slices', async ({ store, user }) => {
  await aCaptured(store, user, { cacheIdentity: 'page' });
  await Promise.all(Array.from({ length: 150 }, () => aQueued(store, user, { cacheIdentity: 'page' })));
  expect(await store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(120);
  expect(await store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(31);
});

test('the row of a deleted artifact is kept while a job refers to it, and no longer', async ({ store, user }) => {
  const { name } = await aCaptured(store, user, { cacheIdentity: 'page' });
  const hit = aNewJob(user, { cacheIdentity: 'page', enqueuedAt: NOON + 500 });
  expect((await store.accept(hit, RULES)).kind).toBe('cached');
  await store.expireArtifacts({ ...UNLIMITED, before: NOON + 1 });
  await store.deleteJobs({ before: NOON + 1, limit: 100 });
  expect(await store.findArtifact(name)).toMatchObject({ goneAt: NOON + 1_000 });
  await store.deleteJobs({ before: NOON + 501, limit: 100 });
  expect(await store.findArtifact(name)).toBeNull();
});

test('cached answers for a page with the longest address contain it, but hardly enlarge the database', async ({
  store,
  user,
}) => {
  await aQueued(store, user, { cacheIdentity: 'page' });
  const kept = keepFinalUrl(`https://example.com/#${'x'.repeat(2_000_000)}`);
  const capture = aCapture({
    ...kept,
    inspection: { markdown: 'm'.repeat(12_000), accessibleTree: 't'.repeat(12_000) },
  });
  await completeNext(store, capture);
  await store.shrinkDatabase();
  const before = await store.storageUse();
  const hits = Array.from({ length: 60 }, () => aNewJob(user, { cacheIdentity: 'page', enqueuedAt: NOON + 1 }));
  for (const hit of hits) expect((await store.accept(hit, RULES)).kind).toBe('cached');
  await store.shrinkDatabase();
  expect((await store.storageUse()).database - before.database).toBeLessThan(60 * 4_000);
  expect((await store.findJob(hits[59]?.id ?? ''))?.result?.outcome).toEqual({
    ok: true,
    data: { ...capture.data, cached: true },
  });
});

test.skipIf(IS_POSTGRES)('the space of deleted jobs is returned to the disk', async ({ it, store, user }) => {
  await aCaptured(store, user, { cacheIdentity: 'page' });
  await Promise.all(Array.from({ length: 500 }, () => aQueued(store, user, { cacheIdentity: 'page' })));
  await store.shrinkDatabase();
  const full = await store.storageUse();
  await store.deleteJobs({ before: NOON + 1, limit: 1_000 });
  await store.shrinkDatabase();
  const shrunk = await store.storageUse();
  expect(shrunk.free).toBe(0);
  expect(shrunk.database).toBeLessThan(full.database - 300_000);
  expect(shrunk.database).toBe(statSync(join(it.dataDir, 'stillframe.db')).size);
});

test('an artifact that no job has made counts as storage of its account, and expires without a trace', async ({
  store,
  user,
}) => {
  const name = `${'b'.repeat(32)}.webp`;
  const artifact = { name, bytes: 5_000, sha256: '0'.repeat(64), accountId: user.accountId, createdAt: NOON };
  await store.keepArtifact(artifact);
  expect(await store.findArtifact(name)).toMatchObject({ name: name, bytes: 5_000, goneAt: null });
  expect((await store.storageUse()).pictures).toBe(5_000);
  expect(await store.keptArtifacts([name])).toEqual(new Set([name]));
  expect(await store.expireArtifacts({ ...UNLIMITED, before: NOON + 1 })).toEqual([name]);
  expect(await store.dueRemovals({ after: '', limit: 10, now: NOON })).toEqual([name]);
  expect(await store.findArtifact(name)).toBeNull();
  expect((await store.storageUse()).pictures).toBe(0);
});
