import { CaptureError, notFound } from '../contract/capture-error.js';
import { type DeliveryStatus, deliveryEtag } from '../contract/delivery.js';
import type { DeliveryStore, Redelivery } from '../store/store.js';

export interface RedeliverDeps {
  store: Pick<DeliveryStore, 'findDelivery' | 'redeliver'>;
  now(): number;
  /** Called when there is a delivery to claim. */
  onDeliveryDue(): void;
}

type Refusal = Exclude<Redelivery['kind'], 'accepted'>;

const REFUSALS: Record<Refusal, string> = {
  delivery_unavailable: 'This job has no delivery to send again.',
  delivery_pending: 'The delivery is still pending; it can be sent again once it is delivered or failed.',
  generation_changed:
    'If-Match is not the current ETag of the delivery. Read the delivery status and send its exact ETag.',
};

/** A generation that no delivery has, since they count from 1. */
const NO_GENERATION = 0;

/**
 * Finds the delivery of a job, which the caller must own.
 * @throws CaptureError invalid_request (404) if the job has no webhook
 */
export async function findDelivery(store: Pick<DeliveryStore, 'findDelivery'>, jobId: string): Promise<DeliveryStatus> {
  const status = await store.findDelivery(jobId);
  if (status === null) throw notFound('This job was submitted without a webhook.');
  return status;
}

/**
 * Sends an existing result again; renders and charges nothing. The caller must own the job.
 * @param etag that the caller has read; weak ones, `*` and lists match no delivery (decisions.md, Webhooks)
 * @returns the new status: pending, the next generation
 * @throws CaptureError invalid_request (409) with details.reason delivery_unavailable, delivery_pending or generation_changed
 */
export async function redeliver(deps: RedeliverDeps, jobId: string, etag: string): Promise<DeliveryStatus> {
  const current = await deps.store.findDelivery(jobId);
  if (current === null) throw refused('delivery_unavailable');
  // The store compares the generation again, in one step with the change.
  const generation = etag === deliveryEtag(current) ? current.generation : NO_GENERATION;
  const outcome = await deps.store.redeliver(jobId, generation, deps.now());
  if (outcome.kind !== 'accepted') throw refused(outcome.kind);
  deps.onDeliveryDue();
  return outcome.status;
}

function refused(reason: Refusal): CaptureError {
  return new CaptureError({ code: 'invalid_request', status: 409, message: REFUSALS[reason], details: { reason } });
}
