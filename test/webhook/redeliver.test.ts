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

test('a redelivery sends the result again as the next generation, and wakes the deliveries', async () => {
  const { job, deps, wakes } = await setUp();
  const status = await redeliver(deps, job.id, '"dlv_1.1"');
  expect(status).toMatchObject({ state: 'pending', generation: 2, deliveryId: 'dlv_1' });
  expect(wakes()).toBe(1);
});

test('an ETag other than that of the generation is refused as generation_changed', async () => {
  const { job, deps, deliver } = await setUp();
  await redeliver(deps, job.id, '"dlv_1.1"');
  await deliver(2);
  for (const etag of ['"dlv_1.1"', '"dlv_1.3"', '"dlv_2.2"', 'W/"dlv_1.2"', '*', 'dlv_1.2', '"dlv_1.2", "x"', '"dlv_1.02"', '']) {
    await expect(redeliver(deps, job.id, etag), etag).rejects.toMatchObject({ details: { reason: 'generation_changed' } });
  }
});

test('a pending delivery is refused as pending, and a missing one as unavailable', async () => {
  const { job, deps } = await setUp();
  await redeliver(deps, job.id, '"dlv_1.1"');
  await expect(redeliver(deps, job.id, '"dlv_1.2"')).rejects.toMatchObject({ details: { reason: 'delivery_pending' } });
  await expect(redeliver(deps, 'job_without', '"dlv_1.1"')).rejects.toMatchObject({ details: { reason: 'delivery_unavailable' } });
});

test('the delivery status of a job without a webhook is 404', async () => {
  const { store, job } = await setUp();
  expect(await findDelivery(store, job.id)).toMatchObject({ deliveryId: 'dlv_1' });
  await expect(findDelivery(store, 'job_without')).rejects.toMatchObject({ code: 'invalid_request', status: 404 });
});
