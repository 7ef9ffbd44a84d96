import { describe, expect } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { aCapture, aNewJob, aQueued, claimNext, claimOf, completeNext, NOON, RULES } from './factories.js';
import { test as base } from './store-test.js';

const CAPTURE = aCapture();
const { name: NAME } = CAPTURE.artifact;
const FAILURE = { code: 'internal_error', message: 'x', retriable: true, status: 503 } as const;
const due = (store: Store) => store.dueRemovals({ after: '', limit: 10, now: NOON });

/** With a claim that has announced its artifact. */
const test = base.extend('claim', async ({ store, user }) => {
  await aQueued(store, user);
  const claim = claimOf(await claimNext(store));
  expect(await store.announceArtifact(claim, NAME)).toBe(true);
  expect(await due(store)).toEqual([]);
  return claim;
});

describe('an announced artifact', () => {
  test('is kept by the claim that completes with it', async ({ store, claim }) => {
    await store.complete(claim, CAPTURE, NOON);
    expect([await due(store), await store.keptArtifacts([NAME])]).toEqual([[], new Set([NAME])]);
  });

  test.for<[string, (store: Store, claim: ReturnType<typeof claimOf>) => Promise<unknown>]>([
    ['fails', (store, claim) => store.fail(claim, FAILURE, NOON)],
    ['is delayed', (store, claim) => store.retryLater(claim, NOON, NOON)],
    ['is released', (store, claim) => store.release(claim)],
    ['is lost', (store) => store.recover({ now: NOON + 30_000, starting: false })],
  ])('is due for removal once its claim %s, until that is done', async ([, end], { store, claim }) => {
    await end(store, claim);
    expect(await due(store)).toEqual([NAME]);
    expect(await store.announceArtifact(claim, 'another')).toBe(false);
    expect(await store.dueRemovals({ after: NAME, limit: 10, now: NOON })).toEqual([]);
    await store.forgetRemovals([NAME]);
    expect(await due(store)).toEqual([]);
  });
});

test('an expired artifact is due for removal, even if no job refers to it any more', async ({ store, claim }) => {
  await store.complete(claim, CAPTURE, NOON);
  await store.deleteJobs({ before: NOON + 1, limit: 10 });
  await store.expireArtifacts({ before: NOON + 1, maxBytes: 1e9, limit: 10, now: NOON + 1 });
  expect([await store.findArtifact(NAME), await due(store)]).toEqual([null, [NAME]]);
});

test('the artifact that would answer a submission is known beforehand', async ({ store, user }) => {
  const wish = { cacheIdentity: 'page', idempotencyKey: 'mine', identity: 'same' };
  expect(await store.cachedArtifacts(await aQueued(store, user, wish))).toEqual([]);
  await completeNext(store, CAPTURE);
  const again = aNewJob(user, { ...wish, idempotencyKey: null });
  expect(await store.cachedArtifacts(again)).toEqual([NAME]);
  expect(await store.cachedArtifacts(aNewJob(user, wish))).toEqual([]);
  expect(await store.cachedArtifacts({ ...again, cacheTtl: 0 })).toEqual([]);
  expect((await store.accept(again, { ...RULES, missing: NAME })).kind).toBe('queued');
  expect((await store.accept(aNewJob(user, { ...wish, idempotencyKey: null }), RULES)).kind).not.toBe('queued');
});
