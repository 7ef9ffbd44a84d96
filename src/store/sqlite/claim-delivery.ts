import type { DeliveryStore, DueDelivery, Redelivery } from '../store.js';
import { toDeliveryStatus } from './deliveries.js';
import type { DeliveryRow } from './schema.js';
import { toSnapshot } from './snapshot.js';
import type { Tables } from './tables.js';

type DeliveryTables = Pick<Tables, 'jobs' | 'deliveries' | 'counters'>;

/** The delivery longest due whose receiver has a place free. Runs inside the caller's transaction. */
export function claimNextDelivery(
  { jobs, deliveries, counters }: DeliveryTables,
  claim: Parameters<DeliveryStore['claimNextDelivery']>[0],
): DueDelivery | null {
  for (;;) {
    const row = deliveries.nextClaimable(claim.now, claim.perReceiver);
    if (row === null) return null;
    if (!deliveries.claim(row, claim.now + claim.leaseMs)) throw new Error(`delivery ${row.deliveryId} was not as it was read`);
    const secret = deliveries.openSecret(row);
    const job = jobs.find(row.jobId);
    if (secret !== null && job !== null) return { ...toDue(row), secret, job: toSnapshot(job) };
    // It can never be signed: it must not come up again and again.
    recordAttempt({ deliveries, counters }, toDue(row), { kind: 'failed', status: null, error: 'the secret cannot be read' }, claim.now);
  }
}

/** Books one attempt. Runs inside the caller's transaction. */
export function recordAttempt(
  { deliveries, counters }: Pick<DeliveryTables, 'deliveries' | 'counters'>,
  ...[delivery, outcome, now]: Parameters<DeliveryStore['recordAttempt']>
): boolean {
  if (!deliveries.record(delivery, outcome, now)) return false;
  if (outcome.kind !== 'delivered') counters.add('webhooks/errors', 1);
  if (outcome.kind !== 'retry') counters.add(`webhooks/${outcome.kind}`, 1);
  return true;
}

/** Makes an ended delivery due again, once per generation. Runs inside the caller's transaction. */
export function redeliver(
  { deliveries }: Pick<DeliveryTables, 'deliveries'>,
  request: { jobId: string; generation: number; now: number },
): Redelivery {
  const row = deliveries.find(request.jobId);
  if (row === null) return { kind: 'delivery_unavailable' };
  if (row.generation !== request.generation) return { kind: 'generation_changed' };
  if (!deliveries.redeliver(request.jobId, request.generation, request.now)) return { kind: 'delivery_pending' };
  return { kind: 'accepted', status: toDeliveryStatus(deliveries.find(request.jobId) ?? row) };
}

function toDue(row: DeliveryRow) {
  const { deliveryId, jobId, generation, maxAttempts, url } = row;
  return { deliveryId, jobId, generation, attempt: row.attempts + 1, maxAttempts, url };
}
