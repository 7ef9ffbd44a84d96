import { describe, expect, test } from 'vitest';
import { periodEnd } from '../../src/contract/pricing.js';
import type { NewJob } from '../../src/store/store.js';
import {
  aCapture,
  aCaptured,
  aKey,
  aNewJob,
  type Caller,
  claimNext,
  claimOf,
  jobOf,
  NOON,
  RULES,
  someOptions,
  withCaller,
} from './factories.js';

describe('concurrent submissions', () => {
  test('with the same idempotency key make one job and one reservation', async () => {
    await using it = await withCaller();
    const same = Array.from({ length: 20 }, () => aNewJob(it.caller, { idempotencyKey: 'k', identity: 'same' }));
    const answers = await Promise.all(same.map((job) => it.store.accept(job, RULES)));
    expect(new Set(answers.map((answer) => jobOf(answer).id)).size).toBe(1);
    expect(answers.filter((answer) => answer.kind === 'queued')).toHaveLength(1);
    expect(await it.store.usage(it.caller.accountId, NOON)).toMatchObject({ reserved: 1 });
  });

  test('never exceed the quota', async () => {
    await using it = await withCaller({ quota: 10 });
    const wishes = Array.from({ length: 20 }, () => aNewJob(it.caller, { price: 3, options: someOptions({ format: 'pdf' }) }));
    const kinds = (await Promise.all(wishes.map((job) => it.store.accept(job, RULES)))).map((answer) => answer.kind);
    expect(kinds.filter((kind) => kind === 'queued')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'quota_exceeded')).toHaveLength(17);
    expect(await it.store.usage(it.caller.accountId, NOON)).toMatchObject({ period: '2026-11', credits: 0, reserved: 9, quota: 10 });
  });
});

describe('links', () => {
  const aLink = (caller: Caller, given: Partial<NewJob> = {}) => aNewJob(caller, { cacheIdentity: 'page', link: true, price: 2, ...given });
  const FAILURE = { code: 'target_error', message: 'no', retriable: false, status: 502 } as const;

  test('a stored picture answers a link with the job that rendered it, without a new job or a charge', async () => {
    await using it = await withCaller({ quota: 2 });
    const { id } = await aCaptured(it.store, it.caller, { cacheIdentity: 'page', link: true, price: 2 });
    for (let i = 0; i < 3; i++) {
      expect(await it.store.accept(aLink(it.caller), RULES)).toMatchObject({ kind: 'replayed', job: { id, state: 'completed' } });
    }
    expect(await it.store.usage(it.caller.accountId, NOON)).toMatchObject({ credits: 2, reserved: 0 });
    expect((await it.store.queueStatus()).completed).toBe(1);
  });

  test('a link shares a render in flight with a shorter timeout, but does not fail with it', async () => {
    await using it = await withCaller();
    const withTimeout = (timeout: number) => aLink(it.caller, { options: someOptions({ timeout }) });
    const isInFlight = async (timeout: number) =>
      (await it.store.findLinkAnswer({ accountId: it.caller.accountId, cacheIdentity: 'page', timeout })).inFlight;
    const short = withTimeout(5_000);
    await it.store.accept(short, RULES);
    expect([await isInFlight(5_000), await isInFlight(9_000)]).toEqual([true, false]);
    const long = withTimeout(9_000);
    expect(await it.store.accept(long, RULES)).toMatchObject({ kind: 'shared', job: { id: long.id } });
    expect(await it.store.accept(withTimeout(9_000), RULES)).toMatchObject({ kind: 'replayed', job: { id: long.id } });
    expect(await it.store.accept(withTimeout(4_000), RULES)).toMatchObject({ kind: 'replayed', job: { id: short.id } });
    expect(await isInFlight(9_000)).toBe(true);
    const ended = await it.store.fail(claimOf(await claimNext(it.store)), FAILURE, NOON);
    expect(ended.map(({ id }) => id)).toEqual([short.id]);
    expect(await claimNext(it.store)).toMatchObject({ id: long.id, options: { timeout: 9_000 } });
  });

  test('only one of several concurrent links renders, with priority if one of them is synchronous', async () => {
    await using it = await withCaller();
    const modes = Array.from({ length: 20 }, (_, i) => (i === 9 ? 'sync' : 'async'));
    const answers = await Promise.all(modes.map((mode) => it.store.accept(aLink(it.caller, { mode }), RULES)));
    expect(answers.filter(({ kind }) => kind === 'queued')).toHaveLength(1);
    const ids = new Set(answers.map((answer) => jobOf(answer).id));
    expect(ids.size).toBe(1);
    expect(await it.store.findJob([...ids].join())).toMatchObject({ state: 'prioritized' });
    expect(await it.store.usage(it.caller.accountId, NOON)).toMatchObject({ reserved: 2 });
  });

  test('the newest picture is found at any age, with whether a render is in flight; a deleted one is not', async () => {
    await using it = await withCaller();
    const wish = { accountId: it.caller.accountId, cacheIdentity: 'page', timeout: someOptions().timeout };
    expect(await it.store.findLinkAnswer(wish)).toEqual({ picture: null, inFlight: false });
    const first = aLink(it.caller);
    await it.store.accept(first, RULES);
    expect(await it.store.findLinkAnswer(wish)).toEqual({ picture: null, inFlight: true });
    const capture = aCapture();
    await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON);
    expect(await it.store.findLinkAnswer(wish)).toEqual({
      picture: { job: await it.store.findJob(first.id), renderedAt: NOON, artifactName: capture.artifact.name },
      inFlight: false,
    });
    const later = NOON + 7_200_000;
    expect((await it.store.accept(aLink(it.caller, { enqueuedAt: later }), RULES)).kind).toBe('queued');
    expect(await it.store.findLinkAnswer(wish)).toMatchObject({ picture: { renderedAt: NOON }, inFlight: true });
    await it.store.fail(claimOf(await claimNext(it.store, { now: later })), FAILURE, later);
    expect(await it.store.findLinkAnswer(wish)).toMatchObject({ picture: { renderedAt: NOON }, inFlight: false });
    await it.store.markGone(capture.artifact.name, later);
    expect((await it.store.findLinkAnswer(wish)).picture).toBeNull();
    expect(await it.store.findLinkAnswer({ ...wish, cacheIdentity: null })).toEqual({ picture: null, inFlight: false });
    expect(await it.store.findLinkAnswer({ ...wish, accountId: 'acc_stranger' })).toEqual({ picture: null, inFlight: false });
  });

  test('the limit of a key counts the cost of its links in the month, and nothing else', async () => {
    await using it = await withCaller();
    const other = { ...it.caller, ...(await aKey(it.store, it.caller.accountId)) };
    expect(await it.store.setLinksLimit(it.caller.keyId, 5)).toBe(true);
    expect(await it.store.setLinksLimit('key_unknown', 5)).toBe(false);
    expect(await it.store.findKey(it.caller.keyId)).toMatchObject({ linksLimit: 5 });
    const accept = async (by: Caller, given: Partial<NewJob>) => await it.store.accept(aNewJob(by, { price: 2, ...given }), RULES);
    for (let i = 0; i < 2; i++) expect((await accept(it.caller, { link: true })).kind).toBe('queued');
    expect(await accept(it.caller, { link: true })).toEqual({ kind: 'links_limit_exceeded', limit: 5, used: 4, resetsAt: periodEnd(NOON) });
    expect((await accept(it.caller, {})).kind).toBe('queued');
    expect((await accept(other, { link: true })).kind).toBe('queued');
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    await it.store.fail(claimOf(await claimNext(it.store)), FAILURE, NOON);
    // Failed captures cost nothing.
    expect(Object.fromEntries(await it.store.linkCredits(NOON))).toEqual({ [it.caller.keyId]: 2, [other.keyId]: 2 });
    expect(await it.store.usage(it.caller.accountId, NOON)).toMatchObject({ credits: 2, reserved: 4 });
    const counts = { byState: { completed: 1, failed: 1 }, byCode: { target_error: 1 } };
    expect(await it.store.jobCounts(it.caller.accountId, NOON)).toMatchObject(counts);
    expect((await accept(it.caller, { link: true })).kind).toBe('queued');
    expect((await accept(it.caller, { link: true })).kind).toBe('links_limit_exceeded');
    expect((await accept(it.caller, { link: true, enqueuedAt: periodEnd(NOON) })).kind).toBe('queued');
    await it.store.setLinksLimit(it.caller.keyId, null);
    expect((await accept(it.caller, { link: true })).kind).toBe('queued');
  });

  test('the limit admits as many concurrent links as it covers', async () => {
    await using it = await withCaller();
    await it.store.setLinksLimit(it.caller.keyId, 3);
    const answers = await Promise.all(Array.from({ length: 20 }, () => it.store.accept(aNewJob(it.caller, { link: true }), RULES)));
    expect(answers.filter(({ kind }) => kind === 'queued')).toHaveLength(3);
    expect(answers.filter(({ kind }) => kind === 'links_limit_exceeded')).toHaveLength(17);
    expect(await it.store.linkCredits(NOON)).toEqual(new Map([[it.caller.keyId, 3]]));
  });
});
