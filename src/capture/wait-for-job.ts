import { setTimeout as pause } from 'node:timers/promises';
import { CaptureError, jobCanceled } from '../contract/capture-error.js';
import { isTerminal, type JobSnapshot } from '../contract/job.js';
import type { JobStore } from '../store/store.js';

/** Delay between two reads while the database is unavailable. */
const UNAVAILABLE_DELAY_MS = 250;

export interface WaitForJobDeps {
  store: Pick<JobStore, 'findJob'>;
  signals: Pick<FinishSignals, 'wait' | 'closed'>;
  now(): number;
}

export interface JobWait {
  /** Unix ms on the clock of `now`. */
  until: number;
  /** Ends the wait early (shutdown, or the client disconnected); the capture continues. */
  signal: AbortSignal | null;
}

/**
 * Waits for a job to end, up to a time.
 * @returns its state by then, ended or not
 * @throws CaptureError `invalid_request` (409) if it is canceled, or removed at its end
 */
export async function waitForJob(deps: WaitForJobDeps, job: JobSnapshot, wait: JobWait): Promise<JobSnapshot> {
  let latest = job;
  while (!isTerminal(latest.state) && deps.now() < wait.until && !wait.signal?.aborted && !deps.signals.closed) {
    const signaled = deps.signals.wait(latest.id, wait.until - deps.now(), wait.signal);
    // Read after subscribing and before waiting, so that a finish in between is not missed.
    const read = await readJob(deps, latest.id);
    if (read !== undefined && isTerminal(read.state)) return read;
    await signaled;
    latest = (await readJob(deps, latest.id)) ?? latest;
  }
  return latest;
}

/** Reads the job. Returns undefined while the database is unavailable, since an accepted job must not be answered with that error. */
async function readJob({ store }: Pick<WaitForJobDeps, 'store'>, id: string): Promise<JobSnapshot | undefined> {
  try {
    const job = await store.findJob(id);
    if (job === null) throw jobCanceled({ job_id: id });
    return job;
  } catch (error) {
    if (!(error instanceof CaptureError) || error.status !== 503) throw error;
    await pause(UNAVAILABLE_DELAY_MS);
    return undefined;
  }
}

/** Notifies waiters that a job has changed. Carries no data, since the row is the truth. */
export class FinishSignals {
  readonly #waiting = new Map<string, Set<() => void>>();
  #closed = false;

  announce(jobId: string): void {
    for (const wake of this.#waiting.get(jobId) ?? []) wake();
  }

  /** Ends every wait, and later ones at once, because the server is shutting down. */
  close(): void {
    this.#closed = true;
    for (const jobId of [...this.#waiting.keys()]) this.announce(jobId);
  }

  /** Ids of the jobs that somebody waits for. */
  get waitedFor(): string[] {
    return [...this.#waiting.keys()];
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Resolves when the job is announced, the timeout expires, or the signal aborts.
   * @param timeoutMs at least 0
   */
  async wait(jobId: string, timeoutMs: number, signal: AbortSignal | null): Promise<void> {
    if (timeoutMs <= 0 || signal?.aborted || this.#closed) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        this.#forget(jobId, done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      signal?.addEventListener('abort', done, { once: true });
      this.#remember(jobId, done);
    });
  }

  #remember(jobId: string, wake: () => void): void {
    const waiters = this.#waiting.get(jobId) ?? new Set();
    waiters.add(wake);
    this.#waiting.set(jobId, waiters);
  }

  #forget(jobId: string, wake: () => void): void {
    const waiters = this.#waiting.get(jobId);
    waiters?.delete(wake);
    if (waiters?.size === 0) this.#waiting.delete(jobId);
  }
}
