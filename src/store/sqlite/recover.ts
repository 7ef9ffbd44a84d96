import { CaptureError, toStoredError } from '../../contract/capture-error.js';
import type { EndedJob } from '../store.js';
import { endJob } from './end-job.js';
import type { Tables } from './tables.js';

/** Longer than anything is ever put off (a receiver's Retry-After counts up to 1 h): what lies beyond, a clock set back has left there. */
const HORIZON_MS = 90 * 60_000;

type RecoverTables = Pick<Tables, 'jobs' | 'orders' | 'reservations' | 'deliveries' | 'turns'>;

/**
 * Puts back what a process that is gone (or a stuck worker) held: active jobs with an attempt left are queued again, the others
 * fail; at boot deliveries in hand are due again. After the clock was set back, what was put off is due at once. Runs inside the caller's transaction.
 */
export function recover(tables: RecoverTables, recovery: { now: number; all: boolean }): { requeued: number; ended: EndedJob[] } {
  const { now, all } = recovery;
  if (all) tables.deliveries.unclaimAll();
  tables.jobs.pullForward(now, now + HORIZON_MS);
  tables.deliveries.pullForward(now, now + HORIZON_MS);
  const ended: EndedJob[] = [];
  let requeued = 0;
  for (const job of tables.jobs.abandoned(all ? Number.MAX_SAFE_INTEGER : now)) {
    const held = { id: job.id, workerId: job.workerId ?? '', attempt: job.attemptsMade };
    if (job.attemptsMade < job.attemptBudget) requeued += tables.jobs.putBack(held, job.attemptsMade) === null ? 0 : 1;
    else ended.push(...endJob(tables, held, { state: 'failed', now, error: CRASHED, data: null, artifactName: null }));
  }
  return { requeued, ended };
}

const CRASHED = JSON.stringify(
  toStoredError(
    new CaptureError({ code: 'render_crashed', message: 'The browser stopped while it rendered this page, on every attempt.' }),
  ),
);
