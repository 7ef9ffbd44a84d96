import type { DeliveryStore, DueDelivery } from '../store/store.js';

/** Attempts under way at once: sockets that mostly wait, so many. */
export const DELIVERIES_AT_ONCE = 128;
/** Of an account to one origin: a slow receiver holds up only itself. */
export const DELIVERIES_PER_RECEIVER = 4;
/** Beyond the attempt's own time limit, to record it. */
const LEASE_MARGIN_MS = 5_000;

export interface ClaimDeliveryDeps {
  store: Pick<DeliveryStore, 'claimNextDelivery'>;
  /** One attempt, all of it. */
  timeoutMs: number;
  now(): number;
}

/** The delivery longest due, leased for as long as an attempt can take; null when none is due. */
export function claimDelivery(deps: ClaimDeliveryDeps): Promise<DueDelivery | null> {
  return deps.store.claimNextDelivery({
    now: deps.now(),
    leaseMs: deps.timeoutMs + LEASE_MARGIN_MS,
    perReceiver: DELIVERIES_PER_RECEIVER,
    places: DELIVERIES_AT_ONCE,
  });
}
