import type { DeliveryStore, DueDelivery, Store } from '../store/store.js';
import { claimDeliveries, DELIVERIES_AT_ONCE, DELIVERIES_PER_RECEIVER } from '../webhook/claim-delivery.js';
import { type DeliverDeps, deliver } from '../webhook/deliver.js';
import { Loop } from '../work/loop.js';
import { underTaskSignal } from '../work/task-signal.js';
import type { LoopRules } from './loop-rules.js';

export interface DeliveryLoopOptions extends LoopRules {
  deps: Omit<DeliverDeps, 'store' | 'now' | 'wallNow' | 'random'> & {
    store: DeliverDeps['store'] & Pick<DeliveryStore, 'claimNextDelivery' | 'nextDeliveryDueAt'> & Pick<Store, 'now'>;
  };
}

/** Claims due deliveries and makes one attempt each. */
export function deliveryLoop({ pollMs, deps, cut, now, onError }: DeliveryLoopOptions): Loop<DueDelivery> {
  const deliverDeps = { ...deps, now, wallNow: deps.store.now, random: Math.random };
  return new Loop<DueDelivery>({
    concurrency: DELIVERIES_AT_ONCE,
    claim: () => claimDeliveries(deliverDeps),
    run: (due) => underTaskSignal(cut, (stop) => deliver(deliverDeps, due, stop)),
    nextDueAt: () => deps.store.nextDeliveryDueAt(DELIVERIES_PER_RECEIVER),
    pollMs,
    now,
    onError,
  });
}
