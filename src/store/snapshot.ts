import type { CaptureData } from '../contract/capture-data.js';
import type { JobResult, JobSnapshot, JobState, StoredJobState } from '../contract/job.js';

/**
 * CaptureData is stored once, with the picture (`artifacts.data`), even if several jobs share it. A job's own `data` has only the fields
 * that differ; in rows of older versions it has all fields.
 */

/** Value of `data` for the job that rendered the picture. */
export const RENDERED_DATA = JSON.stringify({ cached: false });
/** Value of `data` for a job that was answered with another job's picture. */
export const SHARED_DATA = JSON.stringify({ cached: true });

/** The columns of a job that clients see, whether the queue is paused, and `data` of its artifact (`keptData`). */
export interface ReportedJob extends Omit<JobSnapshot, 'state' | 'result'> {
  state: StoredJobState;
  endedAt: number | null;
  workerId: string | null;
  /** JSON, as described at RENDERED_DATA. */
  data: string | null;
  keptData: string | null;
  /** StoredError as JSON. */
  error: string | null;
  paused: boolean;
}

/** Converts a row to its public state. Queued jobs are reported as `paused` while the queue is paused (decisions.md, Jobs). */
export function toSnapshot(row: ReportedJob): JobSnapshot {
  const { id, accountId, keyId, mode, url, requestId, progress, attemptsMade, attemptBudget, enqueuedAt, webhookUrl } = row;
  return {
    ...{ id, accountId, keyId, state: stateOf(row), mode, url, requestId, progress, attemptsMade, attemptBudget, enqueuedAt, webhookUrl },
    result: toResult(row),
  };
}

function stateOf(row: ReportedJob): JobState {
  const queued = row.state === 'waiting' || row.state === 'prioritized';
  return queued && row.paused ? 'paused' : row.state;
}

/** Builds the result. Its `durationMs` spans the job, from submission to end; the duration of the render is in `data`. */
function toResult(row: ReportedJob): JobResult | null {
  if (row.endedAt === null) return null;
  return {
    outcome:
      row.data === null ? { ok: false, error: JSON.parse(row.error ?? '{}') } : { ok: true, data: readResultData(row.data, row.keptData) },
    durationMs: Math.max(0, row.endedAt - row.enqueuedAt),
    completedAt: row.endedAt,
    workerId: row.workerId ?? '',
  };
}

/**
 * @param own value of the job's `data`
 * @param kept value of its artifact's `data`
 */
export function readResultData(own: string, kept: string | null): CaptureData {
  return { ...JSON.parse(kept ?? '{}'), ...JSON.parse(own) };
}
