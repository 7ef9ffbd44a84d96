import { CaptureError } from '../contract/capture-error.js';
import type { DeliveryStatus } from '../contract/delivery.js';
import type { DeliveryStore } from '../store/store.js';

/**
 * Finds the delivery of a job, which the caller must own.
 * @throws CaptureError invalid_request (404) if the job has no webhook
 */
export async function findDelivery(store: Pick<DeliveryStore, 'findDelivery'>, jobId: string): Promise<DeliveryStatus> {
  const status = await store.findDelivery(jobId);
  if (status !== null) return status;
  throw new CaptureError({ code: 'invalid_request', status: 404, message: 'This job was submitted without a webhook.' });
}
