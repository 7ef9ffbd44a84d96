import { describe, expect } from 'vitest';
import { periodEnd } from '../../src/contract/pricing.js';
import type { NewJob } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aCaptured,
  aKey,
  aNewJob,
  aQueued,
  type Caller,
  claimNext,
  claimOf,
  completeNext,
  jobOf,
  NOON,
  RULES,
  someOptions,
} from './factories.js';
import { test } from './store-test.js';

describe('concurrent submissions', () => {
  test('with the same idempotency key make one job and one reservation', async ({ store, user }) => {
    const same = Array.from({ length: 20 }, () => aNewJob(user, { idempotencyKey: 'k', identity: 'same' }));
    const answers = await Promise.all(same.map((job) => store.accept(job, RULES)));
    expect(new Set(answers.map((answer) => jobOf(answer).id)).size).toBe(1);
    expect(answers.filter((answer) => answer.kind === 'queued')).toHaveLength(1);
    expect(await store.usage(user.accountId, NOON)).toMatchObject({ reserved: 1 });
  });

  test('never exceed the quota', async ({ store }) => {
    const user = await aCaller(store, { quota: 10 });
    const wishes = Array.from({ length: 20 }, () =>
      aNewJob(user, { price: 3, options: someOptions({ format: 'pdf' }) }),
    );
    const kinds = (await Promise.all(wishes.map((job) => store.accept(job, RULES)))).map((answer) => answer.kind);
    expect(kinds.sort()).toEqual([...Array(3).fill('queued'), ...Array(17).fill('quota_exceeded')]);
    expect(await store.usage(user.accountId, NOON)).toMatchObject({
      period: '2026-11',
      credits: 0,
      reserved: 9,
      quota: 10,
    });
  });
});

describe('links', () => {
  const LINK = { cacheIdentity: 'page', link: true, price: 2 };
  const aLink = (user: Caller, given: Partial<NewJob> = {}) => aNewJob(user, { ...LINK, ...given });
  const FAILURE = { code: 'target_error', message: 'no', retriable: false, status: 502 } as const;

  test('a stored picture answers a link with the job that rendered it, without a new job or a charge', async ({
    store,
  }) => {
    const user = await aCaller(store, { quota: 2 });
    const { id } = await aCaptured(store, user, LINK);
    for (let i = 0; i < 3; i++) {
      expect(await store.accept(aLink(user), RULES)).toMatchObject({
        kind: 'replayed',
        job: { id, state: 'completed' },
      });
    }
    expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 2, reserved: 0 });
    expect((await store.queueStatus()).completed).toBe(1);
  });

  test('a link shares a render in flight with a shorter timeout, but does not fail with it', async ({
    store,
    user,
  }) => {
    const withTimeout = (timeout: number) => aLink(user, { options: someOptions({ timeout }) });
    const isInFlight = async (timeout: number) =>
      (await store.findLinkAnswer({ accountId: user.accountId, cacheIdentity: 'page', timeout })).inFlight;
    const short = await aQueued(store, user, { ...LINK, options: someOptions({ timeout: 5_000 }) });
    expect([await isInFlight(5_000), await isInFlight(9_000)]).toEqual([true, false]);
    const long = withTimeout(9_000);
    expect(await store.accept(long, RULES)).toMatchObject({ kind: 'shared', job: { id: long.id } });
    expect(await store.accept(withTimeout(9_000), RULES)).toMatchObject({ kind: 'replayed', job: { id: long.id } });
    expect(await store.accept(withTimeout(4_000), RULES)).toMatchObject({ kind: 'replayed', job: { id: short.id } });
    expect(await isInFlight(9_000)).toBe(true);
    const ended = await store.fail(claimOf(await claimNext(store)), FAILURE, NOON);
    expect(ended.map(({ id }) => id)).toEqual([short.id]);
    expect(await claimNext(store)).toMatchObject({ id: long.id, options: { timeout: 9_000 } });
  });

  test('only one of several concurrent links renders, with priority if one of them is synchronous', async ({
    store,
    user,
  }) => {
    const modes = Array.from({ length: 20 }, (_, i) => (i === 9 ? 'sync' : 'async'));
    const answers = await Promise.all(modes.map((mode) => store.accept(aLink(user, { mode }), RULES)));
    expect(answers.filter(({ kind }) => kind === 'queued')).toHaveLength(1);
    const ids = new Set(answers.map((answer) => jobOf(answer).id));
    expect(ids.size).toBe(1);
    expect(await store.findJob([...ids].join())).toMatchObject({ state: 'prioritized' });
    expect(await store.usage(user.accountId, NOON)).toMatchObject({ reserved: 2 });
  });

  test('the newest picture is found at any age, with whether a render is in flight; a deleted one is not', async ({
    store,
    user,
  }) => {
    const wish = { accountId: user.accountId, cacheIdentity: 'page', timeout: someOptions().timeout };
    expect(await store.findLinkAnswer(wish)).toEqual({ picture: null, inFlight: false });
    const first = await aQueued(store, user, LINK);
    expect(await store.findLinkAnswer(wish)).toEqual({ picture: null, inFlight: true });
    const capture = aCapture();
    await completeNext(store, capture);
    expect(await store.findLinkAnswer(wish)).toEqual({
      picture: { jobId: first.id, renderedAt: NOON, data: capture.data },
      inFlight: false,
    });
    const later = NOON + 7_200_000;
    expect((await store.accept(aLink(user, { enqueuedAt: later }), RULES)).kind).toBe('queued');
    expect(await store.findLinkAnswer(wish)).toMatchObject({ picture: { renderedAt: NOON }, inFlight: true });
    await store.fail(claimOf(await claimNext(store, { now: later })), FAILURE, later);
    expect(await store.findLinkAnswer(wish)).toMatchObject({ picture: { renderedAt: NOON }, inFlight: false });
    await store.markGone(capture.artifact.name, later);
    expect((await store.findLinkAnswer(wish)).picture).toBeNull();
    expect(await store.findLinkAnswer({ ...wish, cacheIdentity: null })).toEqual({ picture: null, inFlight: false });
    expect(await store.findLinkAnswer({ ...wish, accountId: 'acc_stranger' })).toEqual({
      picture: null,
      inFlight: false,
    });
  });

  test('the limit of a key counts the cost of its links in the month, and nothing else', async ({ store, user }) => {
    const other = { ...user, ...(await aKey(store, user.accountId)) };
    expect(await store.setLinksLimit(user.keyId, 5)).toBe(true);
    expect(await store.setLinksLimit('key_unknown', 5)).toBe(false);
    expect(await store.findKey(user.keyId)).toMatchObject({ linksLimit: 5 });
    const accept = async (by: Caller, given: Partial<NewJob> = { link: true }) =>
      (await store.accept(aNewJob(by, { price: 2, ...given }), RULES)).kind;
    expect([await accept(user), await accept(user)]).toEqual(['queued', 'queued']);
    const refusal = { kind: 'links_limit_exceeded', limit: 5, used: 4, resetsAt: periodEnd(NOON) };
    expect(await store.accept(aNewJob(user, { price: 2, link: true }), RULES)).toEqual(refusal);
    expect([await accept(user, {}), await accept(other)]).toEqual(['queued', 'queued']);
    await completeNext(store);
    await store.fail(claimOf(await claimNext(store)), FAILURE, NOON);
    // Failed captures cost nothing.
    expect(Object.fromEntries(await store.linkCredits(NOON))).toEqual({ [user.keyId]: 2, [other.keyId]: 2 });
    expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 2, reserved: 4 });
    const counts = { byState: { completed: 1, failed: 1 }, byCode: { target_error: 1 } };
    expect(await store.jobCounts(user.accountId, NOON)).toMatchObject(counts);
    expect([await accept(user), await accept(user)]).toEqual(['queued', 'links_limit_exceeded']);
    expect(await accept(user, { link: true, enqueuedAt: periodEnd(NOON) })).toBe('queued');
    await store.setLinksLimit(user.keyId, null);
    expect(await accept(user)).toBe('queued');
  });

  test('the limit admits as many concurrent links as it covers', async ({ store, user }) => {
    await store.setLinksLimit(user.keyId, 3);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => store.accept(aNewJob(user, { link: true }), RULES)),
    );
    expect(answers.map(({ kind }) => kind).sort()).toEqual([
      ...Array(17).fill('links_limit_exceeded'),
      ...Array(3).fill('queued'),
    ]);
    expect(await store.linkCredits(NOON)).toEqual(new Map([[user.keyId, 3]]));
  });
});
