import { CaptureError } from '../contract/capture-error.js';
import type { DeliveryStatus } from '../contract/delivery.js';
import type { DeliveryStore, Redelivery } from '../store/store.js';

export interface RedeliverDeps {
  store: Pick<DeliveryStore, 'findDelivery' | 'redeliver'>;
  now(): number;
  /** Called when there is a delivery to claim. */
  onDeliveryDue(): void;
}

/** The delivery that the caller's `If-Match` names. */
export interface ExpectedDelivery {
  deliveryId: string;
  generation: number;
}

type Refusal = Exclude<Redelivery['kind'], 'accepted'>;

const REFUSALS: Record<Refusal, string> = {
  delivery_unavailable: 'This job has no delivery to send again.',
  delivery_pending: 'The delivery is still pending; it can be sent again once it is delivered or failed.',
  generation_changed: 'If-Match is not the current ETag of the delivery. Read the delivery status and send its exact ETag.',
};

/** A generation that no delivery has, since they count from 1. */
const NO_GENERATION = 0;

/**
 * Sends an existing result again; renders and charges nothing. The caller must own the job.
 * @param expected null if `If-Match` is not a delivery's strong ETag (weak, `*`, anything else)
 * @returns the new status: pending, the next generation
 * @throws CaptureError invalid_request (409) with details.reason delivery_unavailable, delivery_pending or generation_changed
 */
export async function redeliver(deps: RedeliverDeps, jobId: string, expected: ExpectedDelivery | null): Promise<DeliveryStatus> {
  const current = await deps.store.findDelivery(jobId);
  if (current === null) throw refused('delivery_unavailable');
  // A delivery's id never changes, so it can be compared before the atomic step that compares the generation.
  const generation = expected?.deliveryId === current.deliveryId ? expected.generation : NO_GENERATION;
  const outcome = await deps.store.redeliver(jobId, generation, deps.now());
  if (outcome.kind !== 'accepted') throw refused(outcome.kind);
  deps.onDeliveryDue();
  return outcome.status;
}

function refused(reason: Refusal): CaptureError {
  return new CaptureError({ code: 'invalid_request', status: 409, message: REFUSALS[reason], details: { reason } });
}
