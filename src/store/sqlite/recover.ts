import { IS_HELD, JOB_COLUMNS, type JobRow } from '../rows.js';
import { CRASHED, HORIZON_MS, RENEWED_MS } from '../rules/claims.js';
import { IS_HELD_DELIVERY, MAX_DELIVERY_AGE_MS } from '../rules/deliveries.js';
import type { EndedJob, JobStore, OwnClaims } from '../store.js';
import { putBack } from './claim-job.js';
import type { Sql } from './connection.js';
import { endJob } from './end-job.js';
import { type ReceiverKey, refreshReceivers } from './receivers.js';

const NONE: OwnClaims = { jobs: [], deliveries: [] };
const FOR_EVER = Number.MAX_SAFE_INTEGER;

/**
 * Releases the claims of a process that has ended, or of a stuck worker: active jobs with an attempt left are queued again, the others
 * fail, and claimed deliveries are due again. If the clock was set back, delayed work is due at once. Runs inside the caller's transaction.
 */
export function recover(
  sql: Sql,
  { now, starting, own = NONE }: Parameters<JobStore['recover']>[0],
): { requeued: number; ended: EndedJob[] } {
  renew(sql, own, now);
  pullForward(sql, now);
  const leasedUntil = starting ? FOR_EVER : now;
  unclaimDeliveries(sql, { now, leasedUntil });
  const ended: EndedJob[] = [];
  let requeued = 0;
  const abandoned = sql.all<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs job INDEXED BY jobs_leased WHERE state = 'active' AND lease_expires_at <= $1 ORDER BY seq`,
    [leasedUntil],
  );
  for (const job of abandoned) {
    const held = { id: job.id, workerId: job.workerId ?? '', attempt: job.attemptsMade };
    if (job.attemptsMade < job.attemptBudget) requeued += putBack(sql, held, job.attemptsMade) === null ? 0 : 1;
    else ended.push(...endJob(sql, held, { state: 'failed', now, error: CRASHED, data: null, artifactName: null }));
  }
  return { requeued, ended };
}

/** Renews own claims first, since running work is not abandoned, whatever the clock says. */
function renew(sql: Sql, own: OwnClaims, now: number): void {
  for (const { id, workerId, attempt } of own.jobs) {
    sql.run(`UPDATE jobs SET lease_expires_at = $4 WHERE ${IS_HELD} AND lease_expires_at <= $5`, [
      ...[id, workerId, attempt, now + RENEWED_MS, now],
    ]);
  }
  for (const { deliveryId, generation, attempt } of own.deliveries) {
    sql.run(`UPDATE deliveries SET claimed_until = $4 WHERE ${IS_HELD_DELIVERY} AND claimed_until <= $5`, [
      ...[deliveryId, generation, attempt, now + RENEWED_MS, now],
    ]);
  }
}

/** Limits times to the horizon: delayed jobs beyond it are due now, and leases beyond it end there unless they are renewed. */
function pullForward(sql: Sql, now: number): void {
  const horizon = now + HORIZON_MS;
  sql.run(`UPDATE jobs SET due_at = $1 WHERE state = 'delayed' AND due_at > $2`, [now, horizon]);
  sql.run(`UPDATE jobs SET lease_expires_at = $1 WHERE state = 'active' AND lease_expires_at > $1`, [horizon]);
  sql.run('UPDATE deliveries SET claimed_until = $1 WHERE claimed_until > $1', [horizon]);
}

function unclaimDeliveries(sql: Sql, { now, leasedUntil }: { now: number; leasedUntil: number }): void {
  const horizon = now + HORIZON_MS;
  const released = sql.all<ReceiverKey>(
    'UPDATE deliveries SET claimed_until = NULL WHERE claimed_until <= $1 RETURNING account_id, origin',
    [leasedUntil],
  );
  const pulled = sql.all<ReceiverKey>(
    `UPDATE deliveries SET due_at = $1, next_attempt_at = $1, expires_at = min(expires_at, $1 + ${MAX_DELIVERY_AGE_MS})
      WHERE due_at > $2 RETURNING account_id, origin`,
    [now, horizon],
  );
  const unpaused = sql.all<ReceiverKey>(
    'UPDATE receivers SET paused_until = 0 WHERE ready_at IS NOT NULL AND ready_at > $1 RETURNING account_id, origin',
    [horizon],
  );
  refreshReceivers(sql, [...released, ...pulled, ...unpaused]);
}
