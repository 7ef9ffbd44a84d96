import { expect } from 'vitest';
import { aCapture, aNewJob, claimNext, claimOf, claimOne, NOON, RULES } from './factories.js';
import { test } from './store-test.js';

/** Three jobs with a webhook, one of which has failed. */
test.beforeEach(async ({ store, user }) => {
  const webhook = { url: 'https://a.example/hook', secret: 's'.repeat(16) };
  for (let i = 0; i < 3; i++) await store.accept(aNewJob(user, { webhook }), RULES);
  await store.fail(
    claimOf(await claimNext(store)),
    { code: 'target_error', message: 'no', retriable: false, status: 502 },
    NOON,
  );
});

test('work of this process is not recovered, even if the clock jumps', async ({ store }) => {
  const due = await store.claimNextDelivery({ now: NOON, leaseMs: 15_000, perReceiver: 1 });
  if (due === null) throw new Error('no delivery is due');
  const [mine, lost] = [await claimNext(store), await claimNext(store)];
  const monthLater = NOON + 31 * 86_400_000;
  const own = { jobs: [mine], deliveries: [due] };
  expect(await store.recover({ now: monthLater, starting: false, own })).toEqual({ requeued: 1, ended: [] });
  expect(await store.findJob(lost.id)).toMatchObject({ state: 'waiting' });
  expect(await store.complete(claimOf(mine), aCapture(), monthLater)).toHaveLength(1);
  expect(await store.recordAttempt(due, { kind: 'delivered', status: 200 }, monthLater)).toBe(true);
});

test('delayed jobs, lost leases and deliveries do not wait for the old time after the clock was set back', async ({
  store,
}) => {
  const delayed = await claimNext(store);
  await store.retryLater(claimOf(delayed), NOON + 1_000, NOON);
  const lost = await claimNext(store);
  const dayBefore = NOON - 86_400_000;
  expect(await claimOne(store, { workerId: 'w', now: dayBefore, leaseMs: 1 })).toBeNull();
  await store.recover({ now: dayBefore, starting: false });
  expect((await claimNext(store, { now: dayBefore })).id).toBe(delayed.id);
  expect(await store.claimNextDelivery({ now: dayBefore, leaseMs: 1_000, perReceiver: 1 })).not.toBeNull();
  await store.recover({ now: dayBefore + 2 * 3_600_000, starting: false });
  expect(await store.findJob(lost.id)).toMatchObject({ state: 'waiting' });
});
