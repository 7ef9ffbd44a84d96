import { expect, test } from 'vitest';
import { aCaller, aCapture, aNewJob, aStore, claimNext, claimOf, claimOne, NOON, RULES } from './factories.js';

test('a job that ends the process on every attempt fails with render_crashed, costs nothing and is announced', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const job = aNewJob(caller, { webhook: { url: 'https://a.example/hook', secret: 's'.repeat(16) } });
  await it.store.accept(job, RULES);
  for (let i = 0; i < 2; i++) {
    await claimNext(it.store);
    await it.restart();
    await it.store.recover({ now: NOON + i, starting: true });
  }
  const found = await it.store.findJob(job.id);
  expect(found).toMatchObject({ state: 'failed', attemptsMade: 2, progress: 100 });
  expect(found?.result?.outcome).toMatchObject({ ok: false, error: { code: 'render_crashed', retriable: true, status: 500 } });
  expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 0, reserved: 0 });
  expect(await it.store.findDelivery(job.id)).toMatchObject({ event: 'capture.failed', state: 'pending', nextAttemptAt: NOON + 1 });
});

test('work of this process is not recovered, whatever the clock says', async () => {
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const webhook = { url: 'https://a.example/hook', secret: 's'.repeat(16) };
  for (let i = 0; i < 3; i++) await it.store.accept(aNewJob(caller, { webhook }), RULES);
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
  await using it = await aStore();
  const caller = await aCaller(it.store);
  const webhook = { url: 'https://a.example/hook', secret: 's'.repeat(16) };
  for (let i = 0; i < 3; i++) await it.store.accept(aNewJob(caller, { webhook }), RULES);
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
