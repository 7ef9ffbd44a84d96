import { expect } from 'vitest';
import { findDelivery, redeliver } from '../../src/webhook/redeliver.js';
import { aCaptured, NOON } from '../store/factories.js';
import { test as base } from '../store/store-test.js';

/** With a delivered delivery. */
const test = base.extend('delivery', async ({ store, user }) => {
  const { id } = await aCaptured(store, user, { webhook: { url: 'https://example.com/hook', secret: 'x'.repeat(16) } });
  const deliver = async () => {
    const due = await store.claimNextDelivery({ now: NOON, leaseMs: 1_000, perReceiver: 1 });
    if (due !== null) await store.recordAttempt(due, { kind: 'delivered', status: 204 }, NOON);
  };
  await deliver();
  const { deliveryId } = await findDelivery(store, id);
  let wakes = 0;
  const deps = { store, now: () => NOON, onDeliveryDue: () => wakes++ };
  return {
    id,
    deliver,
    deliveryId,
    wakes: () => wakes,
    redeliver: (etag: string, jobId = id) => redeliver(deps, jobId, etag),
  };
});

const refusal = (reason: string) => ({ details: { reason } });

test('a redelivery sends the result again as the next generation, and wakes the deliveries', async ({ delivery }) => {
  const { deliveryId } = delivery;
  expect(await delivery.redeliver(`"${deliveryId}.1"`)).toMatchObject({ state: 'pending', generation: 2, deliveryId });
  expect(delivery.wakes()).toBe(1);
});

test('an ETag other than that of the generation is refused as generation_changed', async ({ delivery }) => {
  const { deliveryId: id } = delivery;
  await delivery.redeliver(`"${id}.1"`);
  await delivery.deliver();
  for (const etag of [
    `"${id}.1"`,
    `"${id}.3"`,
    '"dlv_2.2"',
    `W/"${id}.2"`,
    '*',
    `${id}.2`,
    `"${id}.2", "x"`,
    `"${id}.02"`,
    '',
  ]) {
    await expect(delivery.redeliver(etag), etag).rejects.toMatchObject(refusal('generation_changed'));
  }
  expect(await delivery.redeliver(`"${id}.2"`)).toMatchObject({ generation: 3 });
});

test('a pending delivery is refused as pending, and a missing one as unavailable', async ({ delivery, store }) => {
  await delivery.redeliver(`"${delivery.deliveryId}.1"`);
  await expect(delivery.redeliver(`"${delivery.deliveryId}.2"`)).rejects.toMatchObject(refusal('delivery_pending'));
  await expect(delivery.redeliver('"dlv_1.1"', 'job_without')).rejects.toMatchObject(refusal('delivery_unavailable'));
  await expect(findDelivery(store, 'job_without')).rejects.toMatchObject({ code: 'invalid_request', status: 404 });
});
