import { expect, test } from 'vitest';
import { aCapture, aNewJob, claimNext, claimOf, claimOne, NOON, RULES, withCaller } from './factories.js';

test('work of this process is not recovered, whatever the clock says', async () => {
  await using it = await withCaller();
  const webhook = { url: 'https://a.example/hook', secret: 's'.repeat(16) };
  for (let i = 0; i < 3; i++) await it.store.accept(aNewJob(it.caller, { webhook }), RULES);
  await it.store.fail(claimOf(await claimNext(it.store)), { code: 'target_error', message: 'no', retriable: false, status: 502 }, NOON);
  const due = await it.store.claimNextDelivery({ now: NOON, leaseMs: 15_000, perReceiver: 1 });
  if (due === null) throw new Error('no delivery is due');
  const [mine, lost] = [await claimNext(it.store), await claimNext(it.store)];
  const monthLater = NOON + 31 * 86_400_000;
  const own = { jobs: [mine], deliveries: [due] };
  expect(await it.store.recover({ now: monthLater, starting: false, own })).toEqual({ requeued: 1, ended: [] });
  expect(await it.store.findJob(lost.id)).toMatchObject({ state: 'waiting' });
  expect(await it.store.complete(claimOf(mine), aCapture(), monthLater)).toHaveLength(1);
  expect(await it.store.recordAttempt(due, { kind: 'delivered', status: 200 }, monthLater)).toBe(true);
});

test('delayed jobs, lost leases and deliveries do not wait for the old time after the clock was set back', async () => {
  await using it = await withCaller();
  const webhook = { url: 'https://a.example/hook', secret: 's'.repeat(16) };
  for (let i = 0; i < 3; i++) await it.store.accept(aNewJob(it.caller, { webhook }), RULES);
  await it.store.fail(claimOf(await claimNext(it.store)), { code: 'target_error', message: 'no', retriable: false, status: 502 }, NOON);
  const delayed = await claimNext(it.store);
  await it.store.retryLater(claimOf(delayed), NOON + 1_000, NOON);
  const lost = await claimNext(it.store);
  const dayBefore = NOON - 86_400_000;
  expect(await claimOne(it.store, { workerId: 'w', now: dayBefore, leaseMs: 1 })).toBeNull();
  await it.store.recover({ now: dayBefore, starting: false });
  expect((await claimNext(it.store, { now: dayBefore })).id).toBe(delayed.id);
  expect(await it.store.claimNextDelivery({ now: dayBefore, leaseMs: 1_000, perReceiver: 1 })).not.toBeNull();
  await it.store.recover({ now: dayBefore + 2 * 3_600_000, starting: false });
  expect(await it.store.findJob(lost.id)).toMatchObject({ state: 'waiting' });
});
