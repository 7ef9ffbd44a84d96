import type { DeliveryStore, DueDelivery } from '../store/store.js';

/** Number of concurrent attempts; large, since they mostly wait. */
export const DELIVERIES_AT_ONCE = 128;
/** Concurrent attempts of an account to one origin, so that a slow receiver delays only itself. */
export const DELIVERIES_PER_RECEIVER = 4;
/** Added to the attempt's time limit, for recording its outcome. */
const LEASE_MARGIN_MS = 5_000;

export interface ClaimDeliveryDeps {
  store: Pick<DeliveryStore, 'claimNextDelivery'>;
  /** Time limit of one attempt. */
  timeoutMs: number;
  now(): number;
}

/**
 * Claims the delivery that is most overdue, leased for as long as an attempt can take.
 * @returns none if none is due
 */
export async function claimDeliveries(deps: ClaimDeliveryDeps): Promise<DueDelivery[]> {
  const due = await deps.store.claimNextDelivery({
    now: deps.now(),
    leaseMs: deps.timeoutMs + LEASE_MARGIN_MS,
    perReceiver: DELIVERIES_PER_RECEIVER,
    places: DELIVERIES_AT_ONCE,
  });
  return due === null ? [] : [due];
}
