import type { ExecutionMode } from '../../contract/capture-request.js';
import type { JobSnapshot, StoredJobState } from '../../contract/job.js';
import { type ReportedJob, toSnapshot } from '../snapshot.js';
import type { Queries } from './connect.js';

/** A row of a job. Times are Unix ms. */
export interface JobRow extends Omit<ReportedJob, 'paused' | 'keptData'> {
  seq: number;
  lane: 'prioritized' | 'waiting';
  mode: ExecutionMode;
  state: StoredJobState;
  identityDigest: string;
  cacheDigest: string | null;
  timeoutMs: number;
  leaderId: string | null;
  dueAt: number | null;
  firstClaimedAt: number | null;
  claimedAt: number | null;
  bookedMs: number | null;
  artifactName: string | null;
  traceparent: string | null;
}

/** Columns of `JobRow`, for a table that is named `job`. */
export const JOB_COLUMNS = `job.seq, job.id, job.account_id AS "accountId", job.key_id AS "keyId", job.request_id AS "requestId", job.mode,
  job.state, job.lane, job.identity_digest AS "identityDigest", job.cache_digest AS "cacheDigest", job.timeout_ms AS "timeoutMs",
  job.leader_id AS "leaderId", job.attempts_made AS "attemptsMade", job.attempt_budget AS "attemptBudget",
  job.enqueued_at AS "enqueuedAt", job.due_at AS "dueAt", job.first_claimed_at AS "firstClaimedAt", job.claimed_at AS "claimedAt",
  job.booked_ms AS "bookedMs", job.worker_id AS "workerId", job.progress, job.webhook_url AS "webhookUrl", job.ended_at AS "endedAt",
  job.artifact_name AS "artifactName", job.data, job.error, job.traceparent, job.url`;

/** Lane of a queue entry, from the lane of its job. */
export const LANE = `CASE lane WHEN 'prioritized' THEN 0 ELSE 1 END`;

/** Condition that a claim is still held. Parameters 1 to 3 are the id, worker and attempt of the claim. */
export const IS_HELD = `id = $1 AND worker_id = $2 AND attempts_made = $3 AND state = 'active'`;

/** A row, whether the queue is paused (which affects the reported state), and `data` of its artifact. */
export type FoundJob = JobRow & { paused: boolean; keptData: string | null };

const FOUND = `SELECT ${JOB_COLUMNS}, queue.paused, artifacts.data AS "keptData"
  FROM jobs job CROSS JOIN queue LEFT JOIN artifacts ON artifacts.name = job.artifact_name`;

export function findJob(queries: Queries, id: string): Promise<FoundJob | null> {
  return queries.one<FoundJob>(`${FOUND} WHERE job.id = $1`, [id]);
}

export function findJobByIdempotencyKey(queries: Queries, accountId: string, key: string): Promise<FoundJob | null> {
  return queries.one<FoundJob>(`${FOUND} WHERE job.account_id = $1 AND job.idempotency_key = $2`, [accountId, key]);
}

/**
 * Lists the jobs of a key in one state, newest first.
 * @param before exclusive, in order of submission
 */
export function jobsOfKey(
  queries: Queries,
  keyId: string,
  page: { state: StoredJobState; before: number; limit: number },
): Promise<FoundJob[]> {
  return queries.all<FoundJob>(
    `${FOUND} WHERE job.key_id = $1 AND ${indexOf(page.state)} AND job.state = $2 AND job.seq < $3 ORDER BY job.seq DESC LIMIT $4`,
    [keyId, page.state, page.before, page.limit],
  );
}

/** Returns the condition of an index that covers a state without naming it, since each claim changes the state. */
function indexOf(state: StoredJobState): string {
  if (state === 'completed') return 'job.data IS NOT NULL';
  return state === 'failed' ? 'job.error IS NOT NULL' : 'job.ended_at IS NULL';
}

/**
 * Lists job states, newest first.
 * @param before exclusive, in order of submission
 */
export function newestStates(queries: Queries, before: number, limit: number): Promise<Pick<JobRow, 'seq' | 'state'>[]> {
  return queries.all('SELECT seq, state FROM jobs WHERE seq < $1 ORDER BY seq DESC LIMIT $2', [before, limit]);
}

/** Reads jobs, newest first. */
export function jobsBySeqs(queries: Queries, seqs: readonly number[]): Promise<FoundJob[]> {
  return queries.all<FoundJob>(`${FOUND} WHERE job.seq = ANY($1::bigint[]) ORDER BY job.seq DESC`, [seqs]);
}

export function snapshotOrNull(row: FoundJob | null): JobSnapshot | null {
  return row === null ? null : toSnapshot(row);
}
