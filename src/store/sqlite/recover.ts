import { CaptureError, toStoredError } from '../../contract/capture-error.js';
import type { EndedJob } from '../store.js';
import { endJob } from './end-job.js';
import type { Tables } from './tables.js';

type RecoverTables = Pick<Tables, 'jobs' | 'orders' | 'reservations' | 'deliveries'>;

/**
 * Puts back what a process that is gone (or a stuck worker) held: active jobs with an attempt left are queued again, the others
 * fail; at boot deliveries in hand are due again. Runs inside the caller's transaction.
 */
export function recover(tables: RecoverTables, recovery: { now: number; all: boolean }): { requeued: number; ended: EndedJob[] } {
  const { now, all } = recovery;
  if (all) tables.deliveries.unclaimAll();
  const ended: EndedJob[] = [];
  let requeued = 0;
  for (const job of tables.jobs.abandoned(all ? Number.MAX_SAFE_INTEGER : now)) {
    const held = { id: job.id, workerId: job.workerId ?? '', attempt: job.attemptsMade };
    if (job.attemptsMade < job.attemptBudget) requeued += tables.jobs.putBack(held, job.attemptsMade) ? 1 : 0;
    else ended.push(...endJob(tables, held, { state: 'failed', now, error: CRASHED, data: null, artifactName: null }));
  }
  return { requeued, ended };
}

const CRASHED = JSON.stringify(
  toStoredError(
    new CaptureError({ code: 'render_crashed', message: 'The browser stopped while it rendered this page, on every attempt.' }),
  ),
);
