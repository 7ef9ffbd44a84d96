import { CaptureError } from '../contract/capture-error.js';
import { isShortOfDescriptors, type WireHealth } from '../contract/health.js';
import type { DeliveryStore, JobStore, NodeFacts, Store } from '../store/store.js';

export interface HealthDeps {
  store: Pick<Store, 'ping' | 'settlement' | 'nodes'> & Pick<JobStore, 'queueStatus'> & Pick<DeliveryStore, 'webhookTotals'>;
  /** Browsers of this server that have responded within the last 30 s. */
  readyBrowsers(): number;
  /** Whether this server takes captures, and so needs a browser to be ready. */
  rendersHere: boolean;
  /** The name by which the other servers know this one. */
  ownNode: string;
  /** Whether renderers run in Chromium's sandbox. */
  sandboxed(): boolean;
  /** Whether the database's disk has room for another picture's records. */
  hasRoom(): Promise<boolean>;
  /** Whether another picture can be stored. */
  canStore(): Promise<boolean>;
  /** As in Artifacts. */
  storageRefusal(): string | null;
  /** File descriptors of this process; undefined where they are not known. Rejects if there is none left to look with. */
  descriptors(): Promise<WireHealth['descriptors']>;
  webhooksActive(): boolean;
  draining(): boolean;
  now(): number;
}

export interface Health {
  ready: boolean;
  data: WireHealth;
}

/** The data of the health endpoint (decisions.md, Health). Never throws: a store that fails is `unavailable`. */
export async function checkHealth(deps: HealthDeps): Promise<Health> {
  const ownBrowsers = deps.readyBrowsers();
  try {
    await deps.store.ping();
    const others = await otherCapturers(deps.store, deps.ownNode);
    const readyBrowsers = others.reduce((sum, other) => sum + other.readyBrowsers, ownBrowsers);
    // On a full disk a ping may still fit into the last page of the write-ahead log, while jobs and pictures do not.
    const [hasRoom, canStore, descriptors] = await Promise.all([deps.hasRoom(), deps.canStore(), deps.descriptors()]);
    const database = hasRoom ? 'ready' : 'unavailable';
    const storage = canStore ? 'ready' : 'unavailable';
    const [queue, settlement, webhooks] = await Promise.all([
      deps.store.queueStatus(),
      deps.store.settlement(deps.now()),
      deps.store.webhookTotals(),
    ]);
    const refusal = canStore ? null : deps.storageRefusal();
    const hasMeans = hasRoom && canStore && !isShortOfDescriptors({ descriptors });
    const ready = (ownBrowsers > 0 || !deps.rendersHere) && hasMeans && !queue.paused && !deps.draining();
    return {
      ready,
      data: {
        redis: 'ready',
        database,
        storage,
        ...(refusal === null ? {} : { problem: refusal }),
        ...workers(readyBrowsers, isSandboxed(deps, others)),
        ...(descriptors === undefined ? {} : { descriptors }),
        queue: { ...queue, total_pending: queue.waiting + queue.prioritized + queue.delayed + queue.active },
        settlement: {
          pending: settlement.pending,
          settled: settlement.settled,
          released: settlement.released,
          oldest_pending_ms: settlement.oldestPendingMs,
        },
        webhooks: { ...webhooks, active: deps.webhooksActive() },
      },
    };
  } catch (error) {
    const told = error instanceof CaptureError ? { problem: error.message } : {};
    return { ready: false, data: { ...UNAVAILABLE, ...workers(ownBrowsers, deps.sandboxed()), ...told } };
  }
}

function workers(ready: number, sandboxed: boolean) {
  return { worker_ready: ready > 0, ready_workers: ready, sandboxed };
}

/** Other servers that share the store and have a browser ready. */
export async function otherCapturers(store: Pick<Store, 'nodes'>, ownNode: string): Promise<NodeFacts[]> {
  const nodes = await store.nodes();
  return nodes.map(({ facts }) => facts).filter(({ name, readyBrowsers }) => name !== ownNode && readyBrowsers > 0);
}

/** Whether all browsers run in the sandbox, here and on the other servers; false if that is not known of one. */
function isSandboxed({ rendersHere, readyBrowsers, sandboxed }: HealthDeps, others: readonly NodeFacts[]): boolean {
  const countsHere = rendersHere && (readyBrowsers() > 0 || others.length === 0);
  const said = [...(countsHere ? [sandboxed()] : []), ...others.map((other) => other.sandboxed ?? false)];
  return said.length > 0 && said.every(Boolean);
}

const UNAVAILABLE: WireHealth = {
  redis: 'unavailable',
  database: 'unavailable',
  storage: 'unavailable',
  worker_ready: false,
  ready_workers: 0,
  sandboxed: false,
  queue: { waiting: 0, active: 0, prioritized: 0, delayed: 0, completed: 0, failed: 0, paused: false, total_pending: 0 },
  settlement: { pending: 0, settled: 0, released: 0, oldest_pending_ms: 0 },
  webhooks: { delivered: 0, failed: 0, errors: 0, active: false },
};
