import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keepFinalUrl } from '../../src/contract/capture-data.js';
import { Writer } from '../../src/store/sqlite/writer.js';
import { aCapture, aCaptured, aNewJob, claimNext, claimOf, IS_POSTGRES, NOON, RULES, withCaller } from './factories.js';

const UNLIMITED = { maxBytes: 1e12, limit: 100, now: NOON + 1_000 };

test('many jobs that were not yet announced do not block the deletion of later ones', async () => {
  await using it = await withCaller();
  const webhook = { url: 'https://a.example/x', secret: 's'.repeat(16) };
  for (let i = 0; i < 110; i++) await aCaptured(it.store, it.caller, { endedAt: NOON + i, webhook });
  for (const endedAt of [NOON - 1, NOON + 1_000]) await aCaptured(it.store, it.caller, { endedAt });
  const slices = vi.spyOn(Writer.prototype, 'run');
  onTestFinished(() => slices.mockRestore());
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 100 })).toBe(2);
  // A slice of SQLite blocks the event loop, and examines at most 100 jobs.
  if (!IS_POSTGRES) expect(slices).toHaveBeenCalledTimes(2);
});

test('a deletion reaches its limit and no further, over several slices', async () => {
  await using it = await withCaller();
  await aCaptured(it.store, it.caller, { endedAt: NOON, cacheIdentity: 'page' });
  await Promise.all(
    Array.from({ length: 150 }, (_, i) => it.store.accept(aNewJob(it.caller, { cacheIdentity: 'page', enqueuedAt: NOON + i }), RULES)),
  );
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(120);
  expect(await it.store.deleteJobs({ before: NOON + 1e9, limit: 120 })).toBe(31);
});

test('the row of a deleted artifact is kept while a job refers to it, and no longer', async () => {
  await using it = await withCaller();
  const { name } = await aCaptured(it.store, it.caller, { endedAt: NOON, cacheIdentity: 'page' });
  const hit = aNewJob(it.caller, { cacheIdentity: 'page', enqueuedAt: NOON + 500 });
  expect((await it.store.accept(hit, RULES)).kind).toBe('cached');
  await it.store.expireArtifacts({ ...UNLIMITED, before: NOON + 1 });
  await it.store.deleteJobs({ before: NOON + 1, limit: 100 });
  expect(await it.store.findArtifact(name)).toMatchObject({ goneAt: NOON + 1_000 });
  await it.store.deleteJobs({ before: NOON + 501, limit: 100 });
  expect(await it.store.findArtifact(name)).toBeNull();
});

test('sixty cached answers for a page with the longest address add little to the database, and contain the whole address', async () => {
  await using it = await withCaller();
  await it.store.accept(aNewJob(it.caller, { cacheIdentity: 'page' }), RULES);
  const kept = keepFinalUrl(`https://example.com/#${'x'.repeat(2_000_000)}`);
  const capture = aCapture({ ...kept, inspection: { markdown: 'm'.repeat(12_000), accessibleTree: 't'.repeat(12_000) } });
  await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON);
  await it.store.shrinkDatabase();
  const before = await it.store.storageUse();
  const hits = Array.from({ length: 60 }, () => aNewJob(it.caller, { cacheIdentity: 'page', enqueuedAt: NOON + 1 }));
  for (const hit of hits) expect((await it.store.accept(hit, RULES)).kind).toBe('cached');
  await it.store.shrinkDatabase();
  expect((await it.store.storageUse()).database - before.database).toBeLessThan(60 * 4_000);
  expect((await it.store.findJob(hits[59]?.id ?? ''))?.result?.outcome).toEqual({ ok: true, data: { ...capture.data, cached: true } });
});

test.skipIf(IS_POSTGRES)('the space of deleted jobs is returned to the disk', async () => {
  await using it = await withCaller();
  await aCaptured(it.store, it.caller, { endedAt: NOON, cacheIdentity: 'page' });
  await Promise.all(Array.from({ length: 500 }, () => it.store.accept(aNewJob(it.caller, { cacheIdentity: 'page' }), RULES)));
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
  await using it = await withCaller();
  const artifact = {
    name: `${'b'.repeat(32)}.webp`,
    bytes: 5_000,
    sha256: '0'.repeat(64),
    accountId: it.caller.accountId,
    createdAt: NOON,
  };
  await it.store.keepArtifact(artifact);
  expect(await it.store.findArtifact(artifact.name)).toMatchObject({ name: artifact.name, bytes: 5_000, goneAt: null });
  expect((await it.store.storageUse()).pictures).toBe(5_000);
  expect(await it.store.keptArtifacts([artifact.name])).toEqual(new Set([artifact.name]));
  expect(await it.store.expireArtifacts({ ...UNLIMITED, before: NOON + 1 })).toEqual([artifact.name]);
  expect(await it.store.dueRemovals({ after: '', limit: 10, now: NOON })).toEqual([artifact.name]);
  expect(await it.store.findArtifact(artifact.name)).toBeNull();
  expect((await it.store.storageUse()).pictures).toBe(0);
});
