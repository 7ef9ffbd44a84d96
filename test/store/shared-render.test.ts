import { rmSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { recoverLeases } from '../../src/capture/sweep.js';
import type { StoredError } from '../../src/contract/capture-error.js';
import { silentLog } from '../../src/log.js';
import type { EndedJob, NewJob, Store } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aDataDir,
  aNewJob,
  aStore,
  claimNext,
  claimOf,
  claimOne,
  IS_POSTGRES,
  NOON,
  openAt,
  RULES,
  someOptions,
  type TestStore,
} from './factories.js';

const FAILURE: StoredError = { code: 'render_timeout', message: 'not in time', retriable: true, status: 504 };

async function aLeader(it: Pick<TestStore, 'store'>, given: Partial<NewJob> = {}) {
  const caller = await aCaller(it.store);
  const leader = aNewJob(caller, { cacheIdentity: 'page', ...given });
  await it.store.accept(leader, RULES);
  const follow = async (more: Partial<NewJob> = {}) => {
    const job = aNewJob(caller, { cacheIdentity: 'page', ...more });
    return { job, answer: await it.store.accept(job, RULES) };
  };
  return { caller, leader, follow };
}

test('identical captures in flight share one render: one claim, one job and one charge each', async () => {
  await using it = await aStore();
  const { caller, leader, follow } = await aLeader(it);
  const claimed = await claimNext(it.store);
  const { job: follower, answer } = await follow({
    enqueuedAt: NOON + 100,
    webhook: { url: 'https://a.example/x', secret: 's'.repeat(16) },
  });
  expect(answer).toMatchObject({ kind: 'shared', job: { id: follower.id, state: 'waiting' } });
  expect(await claimOne(it.store, { workerId: 'w', now: NOON, leaseMs: 1 })).toBeNull();
  const capture = aCapture();
  expect(await it.store.complete(claimOf(claimed), capture, NOON + 500)).toEqual([
    {
      id: leader.id,
      requestId: leader.requestId,
      accountId: caller.accountId,
      state: 'completed',
      url: 'https://example.com/',
      hasWebhook: false,
      isFollowed: true,
    },
    {
      id: follower.id,
      requestId: follower.requestId,
      accountId: caller.accountId,
      state: 'completed',
      url: 'https://example.com/',
      hasWebhook: true,
      isFollowed: false,
    },
  ]);
  expect((await it.store.findJob(leader.id))?.result?.outcome).toEqual({ ok: true, data: capture.data });
  expect((await it.store.findJob(follower.id))?.result).toEqual({
    outcome: { ok: true, data: { ...capture.data, cached: true } },
    durationMs: 400,
    completedAt: NOON + 500,
    workerId: claimed.workerId,
  });
  expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 2, reserved: 0 });
  expect(await it.store.findDelivery(follower.id)).toMatchObject({ event: 'capture.completed' });
});

test('a submission with cache_ttl 0 shares no other render, but its own may be shared', async () => {
  await using it = await aStore();
  const { follow } = await aLeader(it, { cacheTtl: 0 });
  expect((await follow({ cacheTtl: 0 })).answer.kind).toBe('queued');
  expect((await follow()).answer.kind).toBe('shared');
});

test('a synchronous follower gives its waiting leader priority', async () => {
  await using it = await aStore();
  const { leader, follow, caller } = await aLeader(it);
  const ahead = aNewJob(caller);
  await it.store.accept(ahead, RULES);
  expect((await follow({ mode: 'sync' })).answer).toMatchObject({ kind: 'shared', job: { state: 'prioritized' } });
  expect(await it.store.findJob(leader.id)).toMatchObject({ state: 'prioritized' });
  expect((await claimNext(it.store)).id).toBe(leader.id);
});

test('followers fail with their leader unless they have a longer timeout', async () => {
  await using it = await aStore();
  const { leader, follow, caller } = await aLeader(it, { options: someOptions({ timeout: 5_000 }) });
  const same = (await follow({ options: someOptions({ timeout: 5_000 }) })).job;
  const longer = (await follow({ options: someOptions({ timeout: 9_000 }) })).job;
  const longest = (await follow({ options: someOptions({ timeout: 60_000 }), mode: 'sync' })).job;
  const claimed = await claimNext(it.store);
  const ended = await it.store.fail(claimOf(claimed), FAILURE, NOON + 5_000);
  // On a busy machine a slice of them ends sooner.
  for (let more = await it.store.endFollowers(leader.id); more !== null; more = await it.store.endFollowers(leader.id)) ended.push(...more);
  expect(ended.map(({ id, state }) => [id, state])).toEqual([
    [leader.id, 'failed'],
    [same.id, 'failed'],
  ]);
  expect((await it.store.findJob(same.id))?.result?.outcome).toEqual({ ok: false, error: FAILURE });
  expect(await it.store.findJob(longer.id)).toMatchObject({ state: 'prioritized' });
  const heir = await claimNext(it.store);
  expect(heir).toMatchObject({ id: longer.id, attempt: 1, options: { timeout: 9_000 } });
  expect(await claimOne(it.store, { workerId: 'w', now: NOON, leaseMs: 1 })).toBeNull();
  await it.store.complete(claimOf(heir), aCapture(), NOON + 9_000);
  expect((await it.store.findJob(longer.id))?.result?.outcome).toMatchObject({ ok: true, data: { cached: false } });
  expect((await it.store.findJob(longest.id))?.result?.outcome).toMatchObject({ ok: true, data: { cached: true } });
  expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 2, reserved: 0 });
});

/** All slices but the first. */
async function endOthers(store: Store, leaderId: string): Promise<EndedJob[]> {
  const ended: EndedJob[] = [];
  for (let slice: EndedJob[] | null = []; slice !== null; slice = await store.endFollowers(leaderId)) ended.push(...slice);
  return ended;
}

const LATER = { enqueuedAt: NOON + 1 };

test('many followers end in slices, each reported once and charged once', async () => {
  await using it = await aStore();
  const { caller, leader, follow } = await aLeader(it);
  const followers = await Promise.all(Array.from({ length: 130 }, () => follow(LATER)));
  const claimed = await claimNext(it.store);
  const first = await it.store.complete(claimOf(claimed), aCapture(), NOON + 500);
  expect(first.length).toBeLessThan(100);
  expect(await it.store.endedLeaders()).toEqual([leader.id]);
  const others = await endOthers(it.store, leader.id);
  expect(first[0]?.id).toBe(leader.id);
  expect([...first, ...others].map((job) => job.id).sort()).toEqual([leader.id, ...followers.map(({ job }) => job.id)].sort());
  expect(await it.store.endedLeaders()).toEqual([]);
  expect((await it.store.findJob(followers[129]?.job.id ?? ''))?.result).toMatchObject({
    outcome: { ok: true, data: { cached: true } },
    completedAt: NOON + 500,
  });
  expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 131, reserved: 0 });
});

test.skipIf(IS_POSTGRES)('a slice ends early where each follower takes long', async () => {
  await using it = await aStore();
  const { follow } = await aLeader(it);
  await Promise.all(Array.from({ length: 30 }, () => follow(LATER)));
  const claimed = await claimNext(it.store);
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3;
    return now;
  });
  onTestFinished(() => clock.mockRestore());
  const first = await it.store.complete(claimOf(claimed), aCapture(), NOON + 500);
  expect(first.length).toBeLessThan(5);
  await endOthers(it.store, claimed.id);
  expect(await it.store.queueStatus()).toMatchObject({ completed: 31, waiting: 0 });
});

test('a restart between two slices loses no follower', async () => {
  const dataDir = aDataDir();
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const before = await openAt(dataDir);
  const { caller, leader, follow } = await aLeader({ store: before });
  await Promise.all(Array.from({ length: 130 }, () => follow(LATER)));
  await before.complete(claimOf(await claimNext(before)), aCapture(), NOON + 500);
  await before[Symbol.asyncDispose]();
  await using store = await openAt(dataDir);
  const ended: string[] = [];
  const onEnded = (job: EndedJob) => void ended.push(job.id);
  const own = () => ({ jobs: [], deliveries: [] });
  await recoverLeases({ store, onEnded, onRequeued: () => undefined, log: silentLog(), own, now: () => NOON + 600 }, { starting: true });
  expect(new Set(ended).size).toBeGreaterThan(50);
  expect(await store.queueStatus()).toMatchObject({ completed: 131, waiting: 0 });
  expect(await store.usage(caller.accountId, NOON)).toMatchObject({ credits: 131, reserved: 0 });
  expect(await store.findJob(leader.id)).toMatchObject({ state: 'completed' });
});

test('followers with a longer timeout continue behind one of them after a failure, in whatever slice they are', async () => {
  await using it = await aStore();
  const { leader, follow, caller } = await aLeader(it, { options: someOptions({ timeout: 5_000 }) });
  const given = (i: number) => ({ ...LATER, options: someOptions({ timeout: i % 2 === 0 ? 5_000 : 9_000 }) });
  await Promise.all(Array.from({ length: 130 }, (_, i) => follow(given(i))));
  await it.store.fail(claimOf(await claimNext(it.store)), FAILURE, NOON + 5_000);
  await endOthers(it.store, leader.id);
  expect(await it.store.queueStatus()).toMatchObject({ failed: 66, waiting: 65 });
  const heir = await claimNext(it.store);
  expect(await claimOne(it.store, { workerId: 'w', now: NOON, leaseMs: 1 })).toBeNull();
  await it.store.complete(claimOf(heir), aCapture(), NOON + 9_000);
  await endOthers(it.store, heir.id);
  expect(await it.store.queueStatus()).toMatchObject({ failed: 66, completed: 65, waiting: 0 });
  expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 65, reserved: 0 });
});
