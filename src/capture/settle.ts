import { isTerminal, type JobSnapshot } from '../contract/job.js';
import type { JobStore } from '../store/store.js';
import type { FinishSignals } from './finish-signals.js';

export interface SettleDeps {
  store: Pick<JobStore, 'findJob'>;
  signals: Pick<FinishSignals, 'wait' | 'closed'>;
  now(): number;
}

export interface SettleWait {
  /** On the clock of `now`. */
  until: number;
  /** Ends the wait early (shutdown, or the client disconnected); the capture continues. */
  signal: AbortSignal | null;
}

/** Waits for a job to end, up to a time; returns its state by then, ended or not. */
export async function settle(deps: SettleDeps, job: JobSnapshot, wait: SettleWait): Promise<JobSnapshot> {
  let latest = job;
  while (!isTerminal(latest.state) && deps.now() < wait.until && !wait.signal?.aborted && !deps.signals.closed) {
    const signalled = deps.signals.wait(latest.id, wait.until - deps.now(), wait.signal);
    // Read after subscribing and before waiting, so that a finish in between is not missed.
    const read = await deps.store.findJob(latest.id);
    if (read !== null && isTerminal(read.state)) return read;
    await signalled;
    latest = (await deps.store.findJob(latest.id)) ?? latest;
  }
  return latest;
}
