import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import type { DueDelivery, Store } from '../../src/store/store.js';
import { claimDeliveries, deliver } from '../../src/webhook/deliver.js';
import { Loop } from '../../src/work/loop.js';

/** A server's deliveries without the server. @param of.origins of the receivers, on loopback */
export async function startDeliveries(store: Store, of: { origins: string[]; timeoutMs: number; backoffMs: number; concurrency: number }) {
  const { origins: allowedOrigins, timeoutMs, concurrency } = of;
  const log = silentLog();
  const egress = await openEgress({ allowDestinations: [], dnsServers: [], maxBytesPerCapture: 1, log });
  const cut = new AbortController();
  const places = { baseUrl: 'http://127.0.0.1' };
  const times = { backoffMs: [of.backoffMs], timeoutMs, now: Date.now, random: Math.random };
  const deps = { store, egress, log, places, allowedOrigins, version: '0.0.0', ...times };
  const loop = new Loop<DueDelivery>({
    concurrency,
    claim: () => claimDeliveries(deps),
    run: (due) => deliver(deps, due, cut.signal),
    nextDueAt: () => store.nextDeliveryDueAt(4),
    pollMs: 100,
    onError: (error) => void process.stderr.write(`${String(error)}\n`),
  });
  loop.start();
  return {
    wake: () => loop.wake(),
    async [Symbol.asyncDispose]() {
      cut.abort();
      await loop[Symbol.asyncDispose]();
      await egress[Symbol.asyncDispose]();
    },
  };
}
