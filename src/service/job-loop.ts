import { hostname } from 'node:os';
import { type PerformDeps, perform } from '../capture/perform.js';
import type { ClaimedJob, JobStore } from '../store/store.js';
import { Loop } from '../work/loop.js';
import { underTaskSignal } from '../work/task-signal.js';

const LEASE_MS = 30_000;
const RETRY_DELAY_MS = 500;

export interface JobLoopOptions {
  /** Captures at once. */
  concurrency: number;
  /** STILLFRAME_KEEP_SLOTS. */
  keepSlots: number;
  /** ms: how soon a change made by another process (queue resume) is acted on. */
  pollMs: number;
  deps: Omit<PerformDeps, 'store' | 'leaseMs' | 'retryDelayMs' | 'now'> & {
    store: PerformDeps['store'] & Pick<JobStore, 'claimNextJob' | 'nextDueAt'>;
  };
  /** Aborted when running captures can be waited for no longer. */
  cut: AbortSignal;
  now(): number;
  onError(error: unknown): void;
}

/** Claims jobs and performs them, each slot under a name of its own. */
export function jobLoop({ concurrency, keepSlots, pollMs, deps, cut, now, onError }: JobLoopOptions): Loop<ClaimedJob> {
  const { store } = deps;
  const worker = `${hostname()}-${process.pid}`;
  const performDeps = { ...deps, leaseMs: LEASE_MS, retryDelayMs: RETRY_DELAY_MS, now };
  const isKept = (): boolean => concurrency - loop.running <= keepSlots;
  const loop: Loop<ClaimedJob> = new Loop<ClaimedJob>({
    concurrency,
    claim: (slot) => store.claimNextJob({ workerId: `${worker}-${slot}`, now: now(), leaseMs: LEASE_MS, keptSlot: isKept() }),
    run: (job) => underTaskSignal(cut, (stop) => perform(performDeps, job, stop)),
    nextDueAt: () => store.nextDueAt(),
    pollMs,
    now,
    onError,
  });
  return loop;
}
