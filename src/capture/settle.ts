import { setTimeout as pause } from 'node:timers/promises';
import { CaptureError } from '../contract/capture-error.js';
import { isTerminal, type JobSnapshot } from '../contract/job.js';
import type { JobStore } from '../store/store.js';
import type { FinishSignals } from './finish-signals.js';

/** Between two looks while the database is away. */
const AWAY_MS = 250;

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
    const read = await look(deps, latest.id);
    if (read !== null && isTerminal(read.state)) return read;
    await signalled;
    latest = (await look(deps, latest.id)) ?? latest;
  }
  return latest;
}

/** A job that was accepted must not be answered with an error because the database is away for a moment: null. */
async function look({ store }: Pick<SettleDeps, 'store'>, id: string): Promise<JobSnapshot | null> {
  try {
    return await store.findJob(id);
  } catch (error) {
    if (!(error instanceof CaptureError) || error.status !== 503) throw error;
    await pause(AWAY_MS);
    return null;
  }
}
