import { CaptureError } from '../contract/capture-error.js';
import { isShortOfDescriptors, type WireHealth } from '../contract/health.js';
import type { DeliveryStore, JobStore, NodeFacts, Store } from '../store/store.js';

export interface HealthDeps {
  store: Pick<Store, 'ping' | 'settlement' | 'nodes'> &
    Pick<JobStore, 'queueStatus'> &
    Pick<DeliveryStore, 'webhookTotals'>;
  /** Number of this server's browsers that have responded within the last 30 s. */
  readyBrowsers(): number;
  /** Whether this server takes captures, and so needs a ready browser. */
  rendersHere: boolean;
  /** The name by which the other servers know this one. */
  ownNode: string;
  /** Whether renderers run in Chromium's sandbox. */
  sandboxed(): boolean;
  /** The reason why the database's disk does not take another picture's records; null if it does. */
  diskProblem(): Promise<string | null>;
  /** Whether another picture can be stored. */
  canStore(): Promise<boolean>;
  /** The storage's refusal, as in Artifacts. */
  storageRefusal(): string | null;
  /** File descriptors of this process; undefined where they are unknown. Rejects if none is left to look with. */
  descriptors(): Promise<WireHealth['descriptors']>;
  webhooksActive(): boolean;
  draining(): boolean;
  now(): number;
  /** The number of ms that have passed since a time of `now`, whatever jumps it has made. */
  since(time: number): number;
}

export interface Health {
  ready: boolean;
  data: WireHealth;
}

/** Reads the data of the health endpoint (decisions.md, Health). Never throws: a failing store is reported as `unavailable`. */
export async function checkHealth(deps: HealthDeps): Promise<Health> {
  const ownBrowsers = deps.readyBrowsers();
  // On a full disk a ping may still fit into the last page of the write-ahead log, while jobs and pictures do not.
  const diskProblem = await deps.diskProblem();
  try {
    await deps.store.ping();
    const others = await otherCapturers(deps.store, deps.ownNode);
    const readyBrowsers = others.reduce((sum, other) => sum + other.readyBrowsers, ownBrowsers);
    const [canStore, descriptors] = await Promise.all([deps.canStore(), deps.descriptors()]);
    const database = diskProblem === null ? 'ready' : 'unavailable';
    const storage = canStore ? 'ready' : 'unavailable';
    const now = deps.now();
    const [queue, settlement, webhooks] = await Promise.all([
      deps.store.queueStatus(),
      deps.store.settlement(now),
      deps.store.webhookTotals(),
    ]);
    const problem = diskProblem ?? (canStore ? null : deps.storageRefusal());
    const hasMeans = diskProblem === null && canStore && !isShortOfDescriptors({ descriptors });
    const ready = (ownBrowsers > 0 || !deps.rendersHere) && hasMeans && !queue.paused && !deps.draining();
    return {
      ready,
      data: {
        redis: 'ready',
        database,
        storage,
        ...(problem === null ? {} : { problem }),
        ...workers(readyBrowsers, isSandboxed(deps, others)),
        ...(descriptors === undefined ? {} : { descriptors }),
        queue: { ...queue, total_pending: queue.waiting + queue.prioritized + queue.delayed + queue.active },
        settlement: {
          pending: settlement.pending,
          settled: settlement.settled,
          released: settlement.released,
          oldest_pending_ms: settlement.pending === 0 ? 0 : deps.since(now - settlement.oldestPendingMs),
        },
        webhooks: { ...webhooks, active: deps.webhooksActive() },
      },
    };
  } catch (error) {
    const problem = diskProblem ?? (error instanceof CaptureError ? error.message : null);
    const reason = problem === null ? {} : { problem };
    return { ready: false, data: { ...UNAVAILABLE, ...workers(ownBrowsers, deps.sandboxed()), ...reason } };
  }
}

function workers(ready: number, sandboxed: boolean) {
  return { worker_ready: ready > 0, ready_workers: ready, sandboxed };
}

/** Finds the other servers that share the store and have a ready browser. */
export async function otherCapturers(store: Pick<Store, 'nodes'>, ownNode: string): Promise<NodeFacts[]> {
  const nodes = await store.nodes();
  return nodes.map(({ facts }) => facts).filter(({ name, readyBrowsers }) => name !== ownNode && readyBrowsers > 0);
}

/** Returns whether all browsers run in the sandbox, here and on the other servers. */
function isSandboxed({ rendersHere, readyBrowsers, sandboxed }: HealthDeps, others: readonly NodeFacts[]): boolean {
  const countsHere = rendersHere && (readyBrowsers() > 0 || others.length === 0);
  const states = [...(countsHere ? [sandboxed()] : []), ...others.map((other) => other.sandboxed)];
  return states.length > 0 && states.every(Boolean);
}

const UNAVAILABLE: WireHealth = {
  redis: 'unavailable',
  database: 'unavailable',
  storage: 'unavailable',
  worker_ready: false,
  ready_workers: 0,
  sandboxed: false,
  queue: {
    waiting: 0,
    active: 0,
    prioritized: 0,
    delayed: 0,
    completed: 0,
    failed: 0,
    paused: false,
    total_pending: 0,
  },
  settlement: { pending: 0, settled: 0, released: 0, oldest_pending_ms: 0 },
  webhooks: { delivered: 0, failed: 0, errors: 0, active: false },
};
