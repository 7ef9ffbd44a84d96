import { describe, expect, test } from 'vitest';
import { periodEnd } from '../../src/contract/pricing.js';
import type { NewJob } from '../../src/store/store.js';
import { aCaller, aCapture, aKey, aNewJob, aStore, type Caller, claimNext, claimOf, jobOf, NOON, RULES, someOptions } from './factories.js';

const HOUR_MS = 3_600_000;

describe('idempotency', () => {
  test('the same key and identity return the same job, whatever its state', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const first = aNewJob(caller, { idempotencyKey: 'order-1', identity: 'same' });
    expect((await it.store.accept(first, RULES)).kind).toBe('queued');
    const again = () => it.store.accept(aNewJob(caller, { idempotencyKey: 'order-1', identity: 'same' }), RULES);
    expect(await again()).toMatchObject({ kind: 'replayed', job: { id: first.id, state: 'waiting' } });
    const claimed = await claimNext(it.store);
    expect(await again()).toMatchObject({ kind: 'replayed', job: { state: 'active' } });
    await it.store.fail(claimOf(claimed), { code: 'target_error', message: 'no', retriable: false, status: 502 }, NOON + 10);
    expect(await again()).toMatchObject({ kind: 'replayed', job: { id: first.id, state: 'failed', requestId: first.requestId } });
    expect((await it.store.queueStatus()).failed).toBe(1);
  });

  test('another key of the account conflicts, another account does not', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const stranger = await aCaller(it.store);
    const second = { ...caller, ...(await aKey(it.store, caller.accountId)) };
    const first = aNewJob(caller, { idempotencyKey: 'order-1', identity: 'same' });
    await it.store.accept(first, RULES);
    expect(await it.store.accept(aNewJob(second, { idempotencyKey: 'order-1', identity: 'same' }), RULES)).toEqual({
      kind: 'conflict',
      jobId: first.id,
      sameKey: false,
    });
    expect((await it.store.accept(aNewJob(stranger, { idempotencyKey: 'order-1', identity: 'same' }), RULES)).kind).toBe('queued');
    expect(await it.store.findJobByIdempotencyKey(caller.accountId, 'order-1')).toMatchObject({ id: first.id });
    expect(await it.store.findJobByIdempotencyKey(caller.accountId, 'order-2')).toBeNull();
  });

  test('a hundred concurrent duplicates make one job and one reservation', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const same = Array.from({ length: 100 }, () => aNewJob(caller, { idempotencyKey: 'k', identity: 'same' }));
    const answers = await Promise.all(same.map((job) => it.store.accept(job, RULES)));
    expect(new Set(answers.map((answer) => jobOf(answer).id)).size).toBe(1);
    expect(answers.filter((answer) => answer.kind === 'queued')).toHaveLength(1);
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ reserved: 1 });
  });

  test('a refused submission never binds its key', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store, { quota: 0 });
    const refused = await it.store.accept(aNewJob(caller, { idempotencyKey: 'k', identity: 'one' }), RULES);
    expect(refused.kind).toBe('quota_exceeded');
    await it.store.setQuota(caller.accountName, null);
    const full = await it.store.accept(aNewJob(caller, { idempotencyKey: 'k', identity: 'two' }), { ...RULES, maxQueue: 0 });
    expect(full).toEqual({ kind: 'queue_full', waiting: 0 });
    expect((await it.store.accept(aNewJob(caller, { idempotencyKey: 'k', identity: 'three' }), RULES)).kind).toBe('queued');
  });
});

describe('cached results', () => {
  test('a recent result of the same account completes a new job at once, and is charged', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES);
    const capture = aCapture();
    await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON + 1_000);
    const later = aNewJob(caller, {
      cacheIdentity: 'page',
      price: 2,
      enqueuedAt: NOON + 2_000,
      webhook: { url: 'https://hooks.example.com/x', secret: 'x'.repeat(16) },
    });
    const cached = await it.store.accept(later, RULES);
    expect(cached).toMatchObject({
      kind: 'cached',
      job: { id: later.id, requestId: later.requestId, state: 'completed', progress: 100, attemptsMade: 0 },
    });
    expect(jobOf(cached).result).toEqual({
      outcome: { ok: true, data: { ...capture.data, cached: true } },
      durationMs: 0,
      completedAt: NOON + 2_000,
      workerId: 'host-1-0',
    });
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 3, reserved: 0 });
    expect(await it.store.findDelivery(later.id)).toMatchObject({
      event: 'capture.completed',
      state: 'pending',
      nextAttemptAt: NOON + 2_000,
    });
  });

  test('the age counts from the render, even through later hits', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES);
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    const at = (ms: number) => it.store.accept(aNewJob(caller, { cacheIdentity: 'page', cacheTtl: 3_600, enqueuedAt: NOON + ms }), RULES);
    expect((await at(HOUR_MS / 2)).kind).toBe('cached');
    expect((await at(HOUR_MS)).kind).toBe('cached');
    expect((await at(HOUR_MS + 1)).kind).toBe('queued');
  });

  test('another account never gets a cached result', async () => {
    await using it = await aStore();
    const [caller, stranger] = [await aCaller(it.store), await aCaller(it.store)];
    await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES);
    expect((await it.store.accept(aNewJob(stranger, { cacheIdentity: 'page' }), RULES)).kind).toBe('queued');
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    expect((await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES)).kind).toBe('cached');
    expect((await it.store.accept(aNewJob(stranger, { cacheIdentity: 'page' }), RULES)).kind).toBe('shared');
  });

  test('a result with a deleted artifact, and a failure, are not cached', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    await it.store.accept(aNewJob(caller, { cacheIdentity: 'gone' }), RULES);
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    await it.store.expireArtifacts({ before: NOON + 1, maxBytes: 1e9, limit: 10, now: NOON + 1 });
    expect((await it.store.accept(aNewJob(caller, { cacheIdentity: 'gone' }), RULES)).kind).toBe('queued');
    await it.store.fail(claimOf(await claimNext(it.store)), { code: 'target_error', message: 'no', retriable: false, status: 502 }, NOON);
    expect((await it.store.accept(aNewJob(caller, { cacheIdentity: 'gone' }), RULES)).kind).toBe('queued');
  });

  test('the quota applies to a cached result, too', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store, { quota: 1 });
    await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES);
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    expect(await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES)).toEqual({
      kind: 'quota_exceeded',
      quota: 1,
      used: 1,
      reserved: 0,
      resetsAt: periodEnd(NOON),
    });
  });
});

describe('limits', () => {
  test('the queue limit rejects new jobs, except replays and cached results', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const rules = { ...RULES, maxQueue: 2 };
    await it.store.accept(aNewJob(caller, { cacheIdentity: 'kept' }), rules);
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    await it.store.accept(aNewJob(caller, { cacheIdentity: 'page', idempotencyKey: 'k', identity: 'same' }), rules);
    await it.store.accept(aNewJob(caller), rules);
    expect(await it.store.accept(aNewJob(caller), rules)).toEqual({ kind: 'queue_full', waiting: 2 });
    expect((await it.store.accept(aNewJob(caller, { idempotencyKey: 'k', identity: 'same' }), rules)).kind).toBe('replayed');
    expect((await it.store.accept(aNewJob(caller, { cacheIdentity: 'kept' }), rules)).kind).toBe('cached');
    expect((await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), rules)).kind).toBe('queue_full');
    await claimNext(it.store);
    expect((await it.store.accept(aNewJob(caller), rules)).kind).toBe('queued');
  });

  test('concurrent submissions never exceed the quota', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store, { quota: 10 });
    const wishes = Array.from({ length: 20 }, () => aNewJob(caller, { price: 3, options: someOptions({ format: 'pdf' }) }));
    const kinds = (await Promise.all(wishes.map((job) => it.store.accept(job, RULES)))).map((answer) => answer.kind);
    expect(kinds.filter((kind) => kind === 'queued')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'quota_exceeded')).toHaveLength(17);
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ period: '2026-11', credits: 0, reserved: 9, quota: 10 });
  });
});

describe('links', () => {
  const aLink = (caller: Caller, given: Partial<NewJob> = {}) => aNewJob(caller, { cacheIdentity: 'page', link: true, price: 2, ...given });
  const FAILURE = { code: 'target_error', message: 'no', retriable: false, status: 502 } as const;

  test('a stored picture answers a link with the job that rendered it, without a new job or a charge', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store, { quota: 2 });
    const first = aLink(caller);
    expect(await it.store.accept(first, RULES)).toMatchObject({ kind: 'queued', job: { id: first.id } });
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    for (let i = 0; i < 40; i++) {
      expect(await it.store.accept(aLink(caller), RULES)).toMatchObject({ kind: 'replayed', job: { id: first.id, state: 'completed' } });
    }
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 2, reserved: 0 });
    expect((await it.store.queueStatus()).completed).toBe(1);
  });

  test('a render in flight answers a link as well, and a synchronous link gives it priority', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const renewal = aLink(caller);
    await it.store.accept(renewal, RULES);
    const links = Array.from({ length: 40 }, () => aLink(caller, { mode: 'sync' }));
    const answers = await Promise.all(links.map((link) => it.store.accept(link, RULES)));
    expect(new Set(answers.map((answer) => `${answer.kind} ${jobOf(answer).id}`))).toEqual(new Set([`replayed ${renewal.id}`]));
    expect(await it.store.findJob(renewal.id)).toMatchObject({ state: 'prioritized' });
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ reserved: 2 });
  });

  test('a link shares a render in flight with a shorter timeout, but does not fail with it', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const withTimeout = (timeout: number) => aLink(caller, { options: someOptions({ timeout }) });
    const isInFlight = async (timeout: number) =>
      (await it.store.findLinkAnswer({ accountId: caller.accountId, cacheIdentity: 'page', timeout })).inFlight;
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

  test('only one of several concurrent links renders', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const answers = await Promise.all(Array.from({ length: 40 }, () => it.store.accept(aLink(caller), RULES)));
    expect(answers.filter(({ kind }) => kind === 'queued')).toHaveLength(1);
    expect(new Set(answers.map((answer) => jobOf(answer).id)).size).toBe(1);
  });

  test('the newest picture is found at any age, with whether a render is in flight; a deleted one is not', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const wish = { accountId: caller.accountId, cacheIdentity: 'page', timeout: someOptions().timeout };
    expect(await it.store.findLinkAnswer(wish)).toEqual({ picture: null, inFlight: false });
    const first = aLink(caller);
    await it.store.accept(first, RULES);
    expect(await it.store.findLinkAnswer(wish)).toEqual({ picture: null, inFlight: true });
    const capture = aCapture();
    await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON);
    expect(await it.store.findLinkAnswer(wish)).toEqual({
      picture: { job: await it.store.findJob(first.id), renderedAt: NOON, artifactName: capture.artifact.name },
      inFlight: false,
    });
    const later = NOON + 2 * HOUR_MS;
    expect((await it.store.accept(aLink(caller, { enqueuedAt: later }), RULES)).kind).toBe('queued');
    expect(await it.store.findLinkAnswer(wish)).toMatchObject({ picture: { renderedAt: NOON }, inFlight: true });
    await it.store.fail(claimOf(await claimNext(it.store, { now: later })), FAILURE, later);
    expect(await it.store.findLinkAnswer(wish)).toMatchObject({ picture: { renderedAt: NOON }, inFlight: false });
    await it.store.markGone(capture.artifact.name, later);
    expect((await it.store.findLinkAnswer(wish)).picture).toBeNull();
    expect(await it.store.findLinkAnswer({ ...wish, cacheIdentity: null })).toEqual({ picture: null, inFlight: false });
    const stranger = await aCaller(it.store);
    expect(await it.store.findLinkAnswer({ ...wish, accountId: stranger.accountId })).toEqual({ picture: null, inFlight: false });
  });

  test('the limit of a key counts the cost of its links in the month, and nothing else', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    const other = { ...caller, ...(await aKey(it.store, caller.accountId)) };
    expect(await it.store.setLinksLimit(caller.keyId, 5)).toBe(true);
    expect(await it.store.setLinksLimit('key_unknown', 5)).toBe(false);
    expect(await it.store.findKey(caller.keyId)).toMatchObject({ linksLimit: 5 });
    const accept = async (by: Caller, given: Partial<NewJob>) => await it.store.accept(aNewJob(by, { price: 2, ...given }), RULES);
    const kinds = [];
    for (let i = 0; i < 3; i++) kinds.push((await accept(caller, { link: true })).kind);
    expect(kinds).toEqual(['queued', 'queued', 'links_limit_exceeded']);
    expect(await accept(caller, { link: true })).toEqual({ kind: 'links_limit_exceeded', limit: 5, used: 4, resetsAt: periodEnd(NOON) });
    expect((await accept(caller, {})).kind).toBe('queued');
    expect((await accept(other, { link: true })).kind).toBe('queued');
    await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON);
    await it.store.fail(claimOf(await claimNext(it.store)), FAILURE, NOON);
    // Failed captures cost nothing.
    expect(await it.store.linkCredits(NOON)).toEqual(
      new Map([
        [caller.keyId, 2],
        [other.keyId, 2],
      ]),
    );
    expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 2, reserved: 4 });
    expect(await it.store.jobCounts(caller.accountId, NOON)).toMatchObject({
      byState: { completed: 1, failed: 1 },
      byCode: { target_error: 1 },
    });
    expect((await accept(caller, { link: true })).kind).toBe('queued');
    expect((await accept(caller, { link: true })).kind).toBe('links_limit_exceeded');
    expect((await accept(caller, { link: true, enqueuedAt: periodEnd(NOON) })).kind).toBe('queued');
    await it.store.setLinksLimit(caller.keyId, null);
    expect((await accept(caller, { link: true })).kind).toBe('queued');
  });

  test('the limit admits as many concurrent links as it covers', async () => {
    await using it = await aStore();
    const caller = await aCaller(it.store);
    await it.store.setLinksLimit(caller.keyId, 3);
    const answers = await Promise.all(Array.from({ length: 20 }, () => it.store.accept(aNewJob(caller, { link: true }), RULES)));
    expect(answers.filter(({ kind }) => kind === 'queued')).toHaveLength(3);
    expect(answers.filter(({ kind }) => kind === 'links_limit_exceeded')).toHaveLength(17);
    expect(await it.store.linkCredits(NOON)).toEqual(new Map([[caller.keyId, 3]]));
  });
});
