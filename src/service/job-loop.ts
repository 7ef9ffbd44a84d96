import { hostname } from 'node:os';
import { type PerformDeps, perform } from '../capture/perform.js';
import { RETRY_DELAY_MS } from '../capture/second-attempt.js';
import type { ClaimedJob, JobStore } from '../store/store.js';
import { Loop } from '../work/loop.js';
import { underTaskSignal } from '../work/task-signal.js';
import type { LoopRules } from './loop-rules.js';

const LEASE_MS = 30_000;

export interface JobLoopOptions extends LoopRules {
  /** Concurrent captures. */
  concurrency: number;
  /** STILLFRAME_KEEP_SLOTS. */
  keepSlots: number;
  deps: Omit<PerformDeps, 'store' | 'leaseMs' | 'retryDelayMs' | 'now'> & {
    store: PerformDeps['store'] & Pick<JobStore, 'claimNextJob' | 'nextDueAt'>;
  };
}

/** Claims jobs and performs them; each slot is a worker with its own name. */
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
