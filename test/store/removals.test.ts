import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { aCaller, aCapture, aNewJob, aStore, claimNext, claimOf, NOON, RULES, withCaller } from './factories.js';

const NAME = aCapture().artifact.name;
const FAILURE = { code: 'internal_error', message: 'x', retriable: true, status: 503 } as const;
const due = (store: Store) => store.dueRemovals({ after: '', limit: 10, now: NOON });

async function anAnnouncement() {
  const it = await aStore();
  await it.store.accept(aNewJob(await aCaller(it.store)), RULES);
  const claim = claimOf(await claimNext(it.store));
  expect(await it.store.announceArtifact(claim, NAME)).toBe(true);
  expect(await due(it.store)).toEqual([]);
  return { ...it, claim };
}

describe('an announced artifact', () => {
  it('is kept by the claim that completes with it', async () => {
    await using it = await anAnnouncement();
    await it.store.complete(it.claim, aCapture({ artifact: NAME }), NOON);
    expect([await due(it.store), await it.store.keptArtifacts([NAME])]).toEqual([[], new Set([NAME])]);
  });

  it.each<[string, (store: Store, claim: ReturnType<typeof claimOf>) => Promise<unknown>]>([
    ['fails', (store, claim) => store.fail(claim, FAILURE, NOON)],
    ['is delayed', (store, claim) => store.retryLater(claim, NOON, NOON)],
    ['is released', (store, claim) => store.release(claim)],
    ['is lost', (store) => store.recover({ now: NOON + 30_000, starting: false })],
  ])('is due for removal once its claim %s, until that is done', async (_, end) => {
    await using it = await anAnnouncement();
    await end(it.store, it.claim);
    expect(await due(it.store)).toEqual([NAME]);
    expect(await it.store.announceArtifact(it.claim, 'another')).toBe(false);
    expect(await it.store.dueRemovals({ after: NAME, limit: 10, now: NOON })).toEqual([]);
    await it.store.forgetRemovals([NAME]);
    expect(await due(it.store)).toEqual([]);
  });
});

it('an expired artifact is due for removal, even if no job refers to it any more', async () => {
  await using it = await anAnnouncement();
  await it.store.complete(it.claim, aCapture({ artifact: NAME }), NOON);
  await it.store.deleteJobs({ before: NOON + 1, limit: 10 });
  await it.store.expireArtifacts({ before: NOON + 1, maxBytes: 1e9, limit: 10, now: NOON + 1 });
  expect([await it.store.findArtifact(NAME), await due(it.store)]).toEqual([null, [NAME]]);
});

it('the artifact that would answer a submission is known beforehand', async () => {
  await using it = await withCaller();
  const wish = { cacheIdentity: 'page', idempotencyKey: 'mine', identity: 'same' };
  const first = aNewJob(it.caller, wish);
  expect(await it.store.cachedArtifacts(first)).toEqual([]);
  await it.store.accept(first, RULES);
  await it.store.complete(claimOf(await claimNext(it.store)), aCapture({ artifact: NAME }), NOON);
  const again = aNewJob(it.caller, { ...wish, idempotencyKey: null });
  expect(await it.store.cachedArtifacts(again)).toEqual([NAME]);
  expect(await it.store.cachedArtifacts(aNewJob(it.caller, wish))).toEqual([]);
  expect(await it.store.cachedArtifacts({ ...again, cacheTtl: 0 })).toEqual([]);
  expect((await it.store.accept(again, { ...RULES, missing: NAME })).kind).toBe('queued');
  expect((await it.store.accept(aNewJob(it.caller, { ...wish, idempotencyKey: null }), RULES)).kind).not.toBe('queued');
});
