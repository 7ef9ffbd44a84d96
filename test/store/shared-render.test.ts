import { expect, onTestFinished, test, vi } from 'vitest';
import { recoverLeases } from '../../src/capture/sweep.js';
import type { StoredError } from '../../src/contract/capture-error.js';
import { silentLog } from '../../src/log.js';
import type { EndedJob, NewJob, Store } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aNewJob,
  aStore,
  claimNext,
  claimOf,
  claimOne,
  IS_POSTGRES,
  NOON,
  RULES,
  someOptions,
  type TestStore,
} from './factories.js';

const FAILURE: StoredError = { code: 'render_timeout', message: 'not in time', retriable: true, status: 504 };

async function aLeader(it: TestStore, given: Partial<NewJob> = {}) {
  const caller = await aCaller(it.store);
  const leader = aNewJob(caller, { cacheIdentity: 'page', ...given });
  await it.store.accept(leader, RULES);
  const follow = async (more: Partial<NewJob> = {}) => {
    const job = aNewJob(caller, { cacheIdentity: 'page', ...more });
    return { job, answer: await it.store.accept(job, RULES) };
  };
  return { caller, leader, follow };
}

/** All slices but the first. */
async function endOthers(store: Store, leaderId: string): Promise<EndedJob[]> {
  const ended: EndedJob[] = [];
  for (let slice: EndedJob[] | null = []; slice !== null; slice = await store.endFollowers(leaderId)) ended.push(...slice);
  return ended;
}

const LATER = { enqueuedAt: NOON + 1 };

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
  await using it = await aStore();
  const { caller, leader, follow } = await aLeader(it);
  await Promise.all(Array.from({ length: 130 }, () => follow(LATER)));
  await it.store.complete(claimOf(await claimNext(it.store)), aCapture(), NOON + 500);
  await it.restart();
  const { store } = it;
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
