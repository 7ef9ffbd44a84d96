import { isTerminal, type JobSnapshot } from '../contract/job.js';
import type { JobStore } from '../store/store.js';
import type { FinishSignals } from './finish-signals.js';

export interface SettleDeps {
  store: Pick<JobStore, 'findJob'>;
  signals: Pick<FinishSignals, 'wait' | 'closed'>;
  now(): number;
}

export interface SettleWait {
  /** By `now`. */
  until: number;
  /** Ends the wait early (drain, or a client that went away); the capture goes on. */
  signal: AbortSignal | null;
}

/** Waits for a job to end, within a budget; answers with what its row says then, ended or not. */
export async function settle(deps: SettleDeps, job: JobSnapshot, wait: SettleWait): Promise<JobSnapshot> {
  let latest = job;
  while (!isTerminal(latest.state) && deps.now() < wait.until && !wait.signal?.aborted && !deps.signals.closed) {
    const signalled = deps.signals.wait(latest.id, wait.until - deps.now(), wait.signal);
    // Read between listening and waiting, so that an end in between is not slept through.
    const read = await deps.store.findJob(latest.id);
    if (read !== null && isTerminal(read.state)) return read;
    await signalled;
    latest = (await deps.store.findJob(latest.id)) ?? latest;
  }
  return latest;
}
