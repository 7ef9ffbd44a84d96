import { expect, onTestFinished, vi } from 'vitest';
import { recoverLeases } from '../../src/capture/sweep.js';
import type { StoredError } from '../../src/contract/capture-error.js';
import { silentLog } from '../../src/log.js';
import type { EndedJob, Store } from '../../src/store/store.js';
import {
  aCapture,
  aQueued,
  type Caller,
  claimNext,
  claimOf,
  claimOne,
  completeNext,
  IS_POSTGRES,
  NOON,
  someOptions,
} from './factories.js';
import { test } from './store-test.js';

const FAILURE: StoredError = { code: 'render_timeout', message: 'not in time', retriable: true, status: 504 };

const PAGE = { cacheIdentity: 'page', enqueuedAt: NOON + 1 };

/** Jobs that share the render of the first one. */
async function aLeader(store: Store, user: Caller, followers: number, timeoutOf = (_follower: number) => 30_000) {
  const wish = (timeout: number) => ({ ...PAGE, options: someOptions({ timeout }) });
  const leader = await aQueued(store, user, wish(timeoutOf(0)));
  await Promise.all(Array.from({ length: followers }, (_, i) => aQueued(store, user, wish(timeoutOf(i)))));
  return leader;
}

/** All slices but the first. */
async function endOthers(store: Store, leaderId: string): Promise<EndedJob[]> {
  const ended: EndedJob[] = [];
  for (let slice: EndedJob[] | null = []; slice !== null; slice = await store.endFollowers(leaderId))
    ended.push(...slice);
  return ended;
}

test.skipIf(IS_POSTGRES)('a slice ends early where each follower takes long', async ({ store, user }) => {
  const { id } = await aLeader(store, user, 30);
  const claimed = await claimNext(store);
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 3));
  onTestFinished(() => clock.mockRestore());
  expect((await store.complete(claimOf(claimed), aCapture(), NOON + 500)).length).toBeLessThan(5);
  await endOthers(store, id);
  expect(await store.queueStatus()).toMatchObject({ completed: 31, waiting: 0 });
});

test('a restart between two slices loses no follower', async ({ it, user }) => {
  const leader = await aLeader(it.store, user, 130);
  await completeNext(it.store);
  await it.restart();
  const { store } = it;
  const ended: string[] = [];
  const onEnded = (job: EndedJob) => void ended.push(job.id);
  const own = () => ({ jobs: [], deliveries: [] });
  await recoverLeases(
    { store, onEnded, onRequeued: () => undefined, log: silentLog(), own, now: () => NOON + 600 },
    { starting: true },
  );
  expect(new Set(ended).size).toBeGreaterThan(50);
  expect(await store.queueStatus()).toMatchObject({ completed: 131, waiting: 0 });
  expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 131, reserved: 0 });
  expect(await store.findJob(leader.id)).toMatchObject({ state: 'completed' });
});

test('followers with a longer timeout continue behind one of them after a failure, in any slice', async ({
  store,
  user,
}) => {
  const leader = await aLeader(store, user, 130, (i) => (i % 2 === 0 ? 5_000 : 9_000));
  await store.fail(claimOf(await claimNext(store)), FAILURE, NOON + 5_000);
  await endOthers(store, leader.id);
  expect(await store.queueStatus()).toMatchObject({ failed: 66, waiting: 65 });
  const heir = await claimNext(store);
  expect(await claimOne(store, { workerId: 'w', now: NOON, leaseMs: 1 })).toBeNull();
  await store.complete(claimOf(heir), aCapture(), NOON + 9_000);
  await endOthers(store, heir.id);
  expect(await store.queueStatus()).toMatchObject({ failed: 66, completed: 65, waiting: 0 });
  expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 65, reserved: 0 });
});

test('a job took what was measured, and a follower no longer than its leader, although the clock has jumped', async ({
  store,
  user,
}) => {
  const jumped = NOON + 2 * 3_600_000;
  for (const fails of [true, false]) {
    const leader = await aLeader(store, user, 1);
    const claim = claimOf(await claimNext(store));
    if (fails) await store.fail(claim, { ...FAILURE, tookMs: 900 }, jumped);
    else await store.complete(claim, { ...aCapture(), tookMs: 900 }, jumped);
    const { jobs } = await store.listJobs(user.keyId, {
      state: fails ? 'failed' : 'completed',
      before: null,
      limit: 10,
    });
    expect(jobs.map(({ result }) => [result?.durationMs, result?.completedAt])).toEqual([
      [900, jumped],
      [900, jumped],
    ]);
    const { outcome } = (await store.findJob(leader.id))?.result ?? expect.fail();
    expect(outcome).toEqual(
      fails ? { ok: false, error: FAILURE } : { ok: true, data: expect.not.objectContaining({ tookMs: 900 }) },
    );
  }
});
