import { expect, test } from 'vitest';
import { findDelivery, redeliver } from '../../src/webhook/redeliver.js';
import { aCompletedJob } from '../http/fake-services.js';
import { MemoryDeliveries } from './memory-deliveries.js';

/** A store with one delivered delivery, `dlv_1` of generation 1. */
async function setUp() {
  const store = new MemoryDeliveries();
  const job = aCompletedJob();
  store.add({ deliveryId: 'dlv_1', url: 'https://example.com/hook', secret: 'x'.repeat(16), job });
  let wakes = 0;
  const deps = { store, now: () => 1_000, onDeliveryDue: () => wakes++ };
  const deliver = (generation: number) =>
    store.recordAttempt({ deliveryId: 'dlv_1', generation, attempt: 1 }, { kind: 'delivered', status: 204 }, 900);
  await deliver(1);
  return { store, job, deps, deliver, wakes: () => wakes };
}

function reasonOf(result: PromiseSettledResult<unknown>): unknown {
  return result.status === 'rejected' ? (result.reason as { details?: { reason?: unknown } }).details?.reason : 'accepted';
}

test('a redelivery sends the result again as the next generation, and wakes the deliveries', async () => {
  const { job, deps, wakes } = await setUp();
  const status = await redeliver(deps, job.id, '"dlv_1.1"');
  expect(status).toMatchObject({ state: 'pending', generation: 2, deliveryId: 'dlv_1' });
  expect(wakes()).toBe(1);
});

test.each([
  ['an older generation', '"dlv_1.1"'],
  ['a generation to come', '"dlv_1.3"'],
  ['another delivery', '"dlv_2.2"'],
  ['a weak ETag', 'W/"dlv_1.2"'],
  ['any', '*'],
  ['an ETag without quotes', 'dlv_1.2'],
  ['a list', '"dlv_1.2", "x"'],
  ['another spelling of the generation', '"dlv_1.02"'],
  ['nothing', ''],
])('%s is refused as generation_changed', async (_name, etag) => {
  const { job, deps, deliver } = await setUp();
  await redeliver(deps, job.id, '"dlv_1.1"');
  await deliver(2);
  const [result] = await Promise.allSettled([redeliver(deps, job.id, etag)]);
  expect(reasonOf(result as PromiseSettledResult<unknown>)).toBe('generation_changed');
});

test('a pending delivery is refused as pending, and a missing one as unavailable', async () => {
  const { job, deps } = await setUp();
  await redeliver(deps, job.id, '"dlv_1.1"');
  const results = await Promise.allSettled([redeliver(deps, job.id, '"dlv_1.2"'), redeliver(deps, 'job_without', '"dlv_1.1"')]);
  expect(results.map(reasonOf)).toEqual(['delivery_pending', 'delivery_unavailable']);
});

test('the delivery status of a job without a webhook is 404', async () => {
  const { store, job } = await setUp();
  expect(await findDelivery(store, job.id)).toMatchObject({ deliveryId: 'dlv_1' });
  await expect(findDelivery(store, 'job_without')).rejects.toMatchObject({ code: 'invalid_request', status: 404 });
});
