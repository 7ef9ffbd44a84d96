/** The loops of the service: one claims jobs and renders them, the other claims deliveries and sends them. */
import { hostname } from 'node:os';
import { requireStorage } from '../artifacts/artifacts.js';
import { RETRY_DELAY_MS } from '../capture/attempt.js';
import { type RunJobDeps, runJob } from '../capture/run-job.js';
import type { Log } from '../log.js';
import type { ClaimedJob, DeliveryStore, DueDelivery, EngineStore, JobStore } from '../store/store.js';
import {
  claimDeliveries,
  DELIVERIES_AT_ONCE,
  DELIVERIES_PER_RECEIVER,
  type DeliverDeps,
  deliver,
} from '../webhook/deliver.js';
import { Loop, withTaskSignal } from '../work/loop.js';

/** Options that both loops of the service share. */
export interface LoopRules {
  /** Delay in ms before a change made by another process (queue resume, a delivery made due) takes effect. */
  pollMs: number;
  /** Aborted when the shutdown can no longer wait for running tasks. */
  shutdown: AbortSignal;
  now(): number;
  /** As in RunJobDeps. */
  since(time: number): number;
  onError(error: unknown): void;
}

const LEASE_MS = 30_000;
/** The time after the last synchronous capture from which a server counts as quiet. */
const QUIET_AFTER_MS = 10_000;

export interface JobLoopOptions extends LoopRules {
  /** Concurrent captures. */
  concurrency: number;
  /** STILLFRAME_KEEP_SLOTS. */
  keepSlots: number;
  deps: Omit<RunJobDeps, 'store' | 'leaseMs' | 'retryDelayMs' | 'now' | 'since'> & {
    store: RunJobDeps['store'] & Pick<JobStore, 'claimNextJobs' | 'nextDueAt'> & Pick<EngineStore, 'shared'>;
  };
}

/** Creates the loop that claims jobs and runs them; each slot is a worker with its own name. */
export function jobLoop({
  concurrency,
  keepSlots,
  pollMs,
  deps,
  shutdown,
  now,
  since,
  onError,
}: JobLoopOptions): Loop<ClaimedJob> {
  const { store, artifacts } = deps;
  const worker = `${hostname()}-${process.pid}`;
  const runJobDeps = {
    ...deps,
    leaseMs: LEASE_MS,
    retryDelayMs: RETRY_DELAY_MS,
    releases: new Map<string, number>(),
    now,
    since,
  };
  let waitedForAt = Number.NEGATIVE_INFINITY;
  /** The number of captures of batches that may run here: few while somebody waits for captures, and never all, so that the next one starts at once. */
  const batchesAtOnce = () => {
    const isQuiet = performance.now() - waitedForAt > QUIET_AFTER_MS;
    return Math.max(1, isQuiet ? concurrency - 1 : Math.floor(concurrency / 4));
  };
  /** The number of slots of the last claim that could take any job. */
  let free = 0;
  const loop: Loop<ClaimedJob> = new Loop<ClaimedJob>({
    concurrency,
    leavesNone: (_, jobs) => store.shared && jobs < free,
    claim: async (slots) => {
      // Nothing is rendered that cannot be stored.
      await requireStorage(artifacts);
      const common = { now: now(), leaseMs: LEASE_MS };
      // The last free slots are kept for accounts that have nothing running.
      const isKept = (i: number) => slots.length - i <= keepSlots;
      const room = batchesAtOnce() - loop.tasks.filter(({ isOfBatch }) => isOfBatch).length;
      free = Math.min(slots.length - keepSlots, room);
      const claimed = await store.claimNextJobs(
        slots.map((slot, i) => ({
          ...common,
          workerId: `${worker}-${slot}`,
          keptSlot: isKept(i),
          takesBatches: i < room,
        })),
      );
      if (claimed.some(({ mode }) => mode === 'sync')) waitedForAt = performance.now();
      return claimed;
    },
    run: (job) => withTaskSignal(shutdown, (stop) => runJob(runJobDeps, job, stop)),
    nextDueAt: () => store.nextDueAt(),
    pollMs,
    now,
    onError,
  });
  return loop;
}

type DeliveryLoopOptions = LoopRules & {
  deps: Omit<DeliverDeps, 'store' | 'now'> & {
    store: Pick<DeliveryStore, 'claimNextDelivery' | 'recordAttempt' | 'nextDeliveryDueAt'>;
  };
};

/** Creates the loop that claims due deliveries and makes one attempt for each. */
export function deliveryLoop({ deps, shutdown, ...rules }: DeliveryLoopOptions): Loop<DueDelivery> {
  const deliverDeps = { ...deps, now: rules.now };
  return new Loop<DueDelivery>({
    ...rules,
    concurrency: DELIVERIES_AT_ONCE,
    claim: () => claimDeliveries(deliverDeps),
    run: (due) => withTaskSignal(shutdown, (stop) => deliver(deliverDeps, due, stop)),
    nextDueAt: () => deps.store.nextDeliveryDueAt(DELIVERIES_PER_RECEIVER),
  });
}

const REPEAT_MS = 30_000;
/** Maximum number of remembered errors; when there are more, all are forgotten. */
const KNOWN_MAX = 100;
const CAUSES_MAX = 5;

/**
 * Logs the errors of background steps, each kind once every 30 s: while the database or the storage cannot be used, steps fail several
 * times a second.
 */
export function loopErrors(log: Log, now: () => number = () => performance.now()): (error: unknown) => void {
  const loggedAt = new Map<string, number>();
  return (error) => {
    const key = kindOf(error);
    const at = now();
    if (at - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    if (loggedAt.size >= KNOWN_MAX) loggedAt.clear();
    loggedAt.set(key, at);
    log.error({ err: error }, 'a background step failed; it will be retried');
  };
}

/** Identifies the kind of an error by the codes of the error and its causes, or by their messages, which may name a job or a picture. */
function kindOf(error: unknown): string {
  const kinds: string[] = [];
  for (let inner = error; inner instanceof Error && kinds.length < CAUSES_MAX; inner = inner.cause) {
    const code = 'code' in inner && typeof inner.code === 'string' ? inner.code : '';
    kinds.push(`${inner.name} ${code || inner.message}`);
  }
  return kinds.join('; ');
}
