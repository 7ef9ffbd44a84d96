import { describe, expect } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { aCapture, aNewJob, aQueued, claimNext, claimOf, NOON, RULES, someOptions } from './factories.js';
import { test as base } from './store-test.js';

const [FIRST, SECOND, THIRD] = ['a', 'b', 'c'].map((letter) => `${letter.repeat(32)}.webp`) as [string, string, string];
const NAMES = [FIRST, SECOND, THIRD];
const WISH = { cacheIdentity: 'page', options: someOptions({ colorSchemes: ['light', 'dark', 'no-preference'] }) };
const due = (store: Store) => store.dueRemovals({ after: '', limit: 10, now: NOON });
const RULE = { maxBytes: 1e9, limit: 10, now: NOON + 100 };

/** A capture of three pictures of 1,000, 200 and 30 bytes. */
function severalPictures() {
  const { artifact, data } = aCapture({ artifact: FIRST });
  const facts = { name: 'x', format: 'webp', width: 10, height: 10, bytes: 1, diagnostics: data.diagnostics };
  const further = [SECOND, THIRD].map((name, index) => ({
    name,
    bytes: index === 0 ? 200 : 30,
    sha256: 'cd'.repeat(32),
  }));
  return { artifact, data: { ...data, captures: NAMES.map((name) => ({ ...facts, artifact: name })) }, further };
}

const test = base.extend('claim', async ({ store, user }) => {
  await aQueued(store, user, WISH);
  const claim = claimOf(await claimNext(store));
  for (const name of NAMES) await store.announceArtifact(claim, name);
  return claim;
});

test('the pictures of a lost claim are not kept', async ({ store, claim }) => {
  await store.release(claim);
  expect(await store.complete(claim, severalPictures(), NOON)).toEqual([]);
  expect([await store.keptArtifacts(NAMES), await due(store)]).toEqual([new Set(), NAMES]);
});

describe('the pictures after the first of a job', () => {
  test.beforeEach(async ({ store, claim }) => {
    expect(await store.complete(claim, severalPictures(), NOON)).toHaveLength(1);
  });

  test('are kept, counted once and reported with it', async ({ store, claim }) => {
    await store.complete(claim, severalPictures(), NOON);
    expect([await due(store), await store.keptArtifacts(NAMES)]).toEqual([[], new Set(NAMES)]);
    expect((await store.storageUse()).pictures).toBe(1_230);
    const outcome = (await store.findJob(claim.id))?.result?.outcome;
    expect(outcome?.ok === true && outcome.data.captures?.map(({ artifact }) => artifact)).toEqual(NAMES);
    expect(await store.artifactNames({ after: '', limit: 10 })).toEqual(NAMES);
  });

  test('expire with it, and are forgotten with its job', async ({ store }) => {
    expect((await store.expireArtifacts({ ...RULE, before: NOON + 1 })).toSorted()).toEqual(NAMES);
    expect([await due(store), (await store.storageUse()).pictures]).toEqual([NAMES, 0]);
    expect(await store.findArtifact(THIRD)).toMatchObject({ goneAt: NOON + 100 });
    await store.deleteJobs({ before: NOON + 1, limit: 10 });
    for (const name of NAMES) expect(await store.findArtifact(name)).toBeNull();
  });

  test('expire with it once no job refers to them', async ({ store }) => {
    await store.deleteJobs({ before: NOON + 1, limit: 10 });
    await store.expireArtifacts({ ...RULE, before: NOON + 1 });
    expect(await due(store)).toEqual(NAMES);
    for (const name of NAMES) expect(await store.findArtifact(name)).toBeNull();
  });

  test('expire with it where the storage is full', async ({ store }) => {
    expect((await store.expireArtifacts({ ...RULE, before: 0, maxBytes: 1_200 })).toSorted()).toEqual(NAMES);
    expect((await store.storageUse()).pictures).toBe(0);
  });

  test.for(NAMES)('are deleted with the one whose file is missing: %s', async (name, { store }) => {
    expect([await store.markGone(name, NOON), await store.markGone(name, NOON)]).toEqual([true, false]);
    expect(await store.keptArtifacts(NAMES)).toEqual(new Set());
    expect(await due(store)).toEqual(NAMES.filter((other) => other !== name));
  });

  test('answer an equal submission together', async ({ store, user }) => {
    const again = aNewJob(user, WISH);
    expect(await store.cachedArtifacts(again)).toEqual(NAMES);
    expect(await store.accept(again, RULES)).toMatchObject({ kind: 'cached' });
    await store.markGone(SECOND, NOON);
    expect(await store.cachedArtifacts(again)).toEqual([]);
    expect(await store.accept(aNewJob(user, WISH), RULES)).toMatchObject({ kind: 'queued' });
  });
});
