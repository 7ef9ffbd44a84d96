import { toSnapshot } from '../snapshot.js';
import type { DeliveryStore, DueDelivery, Redelivery } from '../store.js';
import { toDeliveryStatus } from './deliveries.js';
import type { ReceiverKey } from './receivers.js';
import type { DeliveryRow } from './schema.js';
import type { Tables } from './tables.js';

type DeliveryTables = Pick<Tables, 'jobs' | 'deliveries' | 'receivers' | 'counters'>;
type DeliveryClaim = Parameters<DeliveryStore['claimNextDelivery']>[0];

/** Finds the next receiver, or null, without writing. */
export function nextReceiver({ receivers }: Pick<DeliveryTables, 'receivers'>, claim: DeliveryClaim): ReceiverKey | null {
  const { now, perReceiver, places = Number.MAX_SAFE_INTEGER } = claim;
  return receivers.next({ now, perReceiver, places });
}

/** Claims the most overdue delivery of the next receiver. Runs inside the caller's transaction. */
export function claimNextDelivery(tables: DeliveryTables, claim: DeliveryClaim): DueDelivery | null {
  const { jobs, deliveries, receivers } = tables;
  for (;;) {
    const receiver = nextReceiver(tables, claim);
    if (receiver === null) return null;
    const row = deliveries.nextAt(receiver, claim.now);
    if (row === null) throw new Error(`no delivery to ${receiver.origin} was due as it was read`);
    if (!deliveries.claim(row, claim.now + claim.leaseMs)) throw new Error(`delivery ${row.deliveryId} was not as it was read`);
    receivers.refresh([receiver]);
    const secret = deliveries.openSecret(row);
    const job = jobs.find(row.jobId);
    if (secret !== null && job !== null) return { ...toDue(row), secret, job: toSnapshot(job), traceparent: job.traceparent };
    // Such a delivery can never be signed, so it must not be claimed again.
    recordAttempt(tables, toDue(row), { kind: 'failed', status: null, error: 'the secret cannot be read' }, claim.now);
  }
}

/** Records one attempt. Runs inside the caller's transaction. */
export function recordAttempt(
  { deliveries, receivers, counters }: Omit<DeliveryTables, 'jobs'>,
  ...[delivery, outcome, now]: Parameters<DeliveryStore['recordAttempt']>
): boolean {
  const receiver = deliveries.record(delivery, outcome, now);
  if (receiver === null) return false;
  if (outcome.status === null) receivers.recordSilence(receiver, now);
  else receivers.recordResponse(receiver);
  receivers.refresh([receiver]);
  if (outcome.kind !== 'delivered') counters.add('webhooks/errors', 1);
  if (outcome.kind !== 'retry') counters.add(`webhooks/${outcome.kind}`, 1);
  return true;
}

/**
 * Fails deliveries that are too old. Runs inside the caller's transaction.
 * @returns their number
 */
export function expireDeliveries(
  { deliveries, receivers, counters }: Omit<DeliveryTables, 'jobs'>,
  { now, limit }: { now: number; limit: number },
): number {
  const expired = deliveries.expire(now, limit);
  receivers.refresh(expired);
  if (expired.length > 0) counters.add('webhooks/failed', expired.length);
  return expired.length;
}

/** Makes an ended delivery due again, once per generation. Runs inside the caller's transaction. */
export function redeliver(
  { deliveries, receivers }: Pick<DeliveryTables, 'deliveries' | 'receivers'>,
  request: { jobId: string; generation: number; now: number },
): Redelivery {
  const row = deliveries.find(request.jobId);
  if (row === null) return { kind: 'delivery_unavailable' };
  if (row.generation !== request.generation) return { kind: 'generation_changed' };
  const receiver = deliveries.redeliver(request.jobId, request.generation, request.now);
  if (receiver === null) return { kind: 'delivery_pending' };
  receivers.refresh([receiver]);
  return { kind: 'accepted', status: toDeliveryStatus(deliveries.find(request.jobId) ?? row) };
}

function toDue(row: DeliveryRow) {
  const { deliveryId, jobId, generation, maxAttempts, url } = row;
  return { deliveryId, jobId, generation, attempt: row.attempts + 1, maxAttempts, url };
}
