import { CRASHED, HORIZON_MS, RENEWED_MS } from '../rules.js';
import type { EndedJob, JobStore, OwnClaims } from '../store.js';
import { endJob } from './end-job.js';
import type { Tables } from './tables.js';

const NONE: OwnClaims = { jobs: [], deliveries: [] };
const FOR_EVER = Number.MAX_SAFE_INTEGER;

type Recovery = Parameters<JobStore['recover']>[0];
type RecoverTables = Pick<Tables, 'jobs' | 'orders' | 'outcomes' | 'reservations' | 'deliveries' | 'receivers' | 'turns'>;

/**
 * Releases the claims of a process that has ended, or of a stuck worker: active jobs with an attempt left are queued again, the others
 * fail, and claimed deliveries are due again. If the clock was set back, delayed work is due at once. Runs inside the caller's transaction.
 */
export function recover(tables: RecoverTables, recovery: Recovery): { requeued: number; ended: EndedJob[] } {
  const { now, starting, own = NONE } = recovery;
  renew(tables, own, now);
  tables.jobs.pullForward(now, now + HORIZON_MS);
  recoverDeliveries(tables, recovery);
  const ended: EndedJob[] = [];
  let requeued = 0;
  for (const job of tables.jobs.abandoned(starting ? FOR_EVER : now)) {
    const held = { id: job.id, workerId: job.workerId ?? '', attempt: job.attemptsMade };
    if (job.attemptsMade < job.attemptBudget) requeued += tables.jobs.putBack(held, job.attemptsMade) === null ? 0 : 1;
    else ended.push(...endJob(tables, held, { state: 'failed', now, error: CRASHED, data: null, artifactName: null }));
  }
  return { requeued, ended };
}

/** Renews own claims first, since running work is not abandoned, whatever the clock says. */
function renew({ jobs, deliveries }: RecoverTables, own: OwnClaims, now: number): void {
  for (const { id, workerId, attempt } of own.jobs) jobs.renewLapsed({ id, workerId, attempt }, { now, until: now + RENEWED_MS });
  for (const held of own.deliveries) deliveries.renewLapsed(held, { now, until: now + RENEWED_MS });
}

function recoverDeliveries({ deliveries, receivers }: RecoverTables, { now, starting }: Recovery): void {
  const horizon = now + HORIZON_MS;
  const changed = [...deliveries.unclaim(starting ? FOR_EVER : now), ...deliveries.pullForward(now, horizon)];
  receivers.refresh([...changed, ...receivers.unpauseBeyond(horizon)]);
}
