import type { JobRow } from '../rows.js';
import { CANCELED, CANCELED_OUTCOME, emptiedResult, firstArtifactOf } from '../rules/jobs.js';
import type { RemovedJob } from '../store.js';
import { findJob } from './accept.js';
import type { Sql } from './connection.js';
import { type ReceiverKey, refreshReceivers } from './deliveries.js';
import { endFollowers, endWithEffects, isFollowed } from './jobs.js';
import { expireWith } from './retention.js';
import { correctTurn } from './turns.js';

/** Removes a job of a key, or of any. Runs inside the caller's transaction. */
export function removeJob(sql: Sql, id: string, keyId: string | null, now: number): RemovedJob | null {
  const job = findJob(sql, id);
  if (job === null || job.removedAt !== null || (keyId !== null && job.keyId !== keyId)) return null;
  return job.endedAt === null ? cancel(sql, job, now) : forgetEnded(sql, job, now);
}

function cancel(sql: Sql, job: JobRow, now: number): RemovedJob {
  const ended = sql.one<JobRow>(
    `UPDATE jobs SET state = 'failed', ended_at = $2, removed_at = $2, error = $3, url = '', worker_id = ifnull(worker_id, ''),
        lease_expires_at = NULL, due_at = NULL, leader_id = NULL, progress = 100
      WHERE id = $1 AND ended_at IS NULL RETURNING *`,
    [job.id, now, CANCELED],
  );
  if (ended === null) throw new Error(`job ${job.id} had not ended as it was read`);
  if (job.state === 'active') correctTurn(sql, job, now);
  const canceled = endWithEffects(
    sql,
    { ...ended, url: job.url },
    { state: 'failed', now, error: CANCELED, outcome: CANCELED_OUTCOME },
  );
  endFollowers(sql, ended);
  return { canceled: { ...canceled, isFollowed: isFollowed(sql, job.id) }, artifacts: [] };
}

function forgetEnded(sql: Sql, job: JobRow, now: number): RemovedJob {
  const { data, error } = emptiedResult(job);
  sql.run(
    `UPDATE jobs SET removed_at = $2, url = '', webhook_url = NULL, cache_digest = NULL, data = $3, error = $4 WHERE id = $1`,
    [job.id, now, data, error],
  );
  const receivers = sql.all<ReceiverKey>('DELETE FROM deliveries WHERE job_id = $1 RETURNING account_id, origin', [
    job.id,
  ]);
  refreshReceivers(sql, receivers);
  const first = firstArtifactOf(job);
  return { canceled: null, artifacts: first === null ? [] : expireWith(sql, first, now) };
}
