import { JOB_STATES, type JobState } from '../contract/job.js';
import { JOBS_PAGE } from '../contract/limits.js';
import { invalidRequest, type RequestIssue } from '../contract/submission.js';

/** Which of a key's jobs a list shows. */
export interface JobsPage {
  state: JobState | null;
  limit: number;
  before: number | null;
}

/** @throws CaptureError `invalid_request` with every problem */
export function readPage(asked: Record<'state' | 'limit' | 'cursor', unknown>): JobsPage {
  const [state, limit, before] = [readState(asked.state), readLimit(asked.limit), readCursor(asked.cursor)];
  const issues = [state, limit, before].filter(isIssue);
  if (isIssue(state) || isIssue(limit) || isIssue(before)) throw invalidRequest(issues);
  return { state, limit, before };
}

/** `next_cursor` of a page. */
export function nextCursor(next: number | null): string | null {
  return next === null ? null : Buffer.from(String(next)).toString('base64url');
}

function readState(asked: unknown): JobState | null | RequestIssue {
  if (asked === undefined) return null;
  const state = JOB_STATES.find((known) => known === asked);
  return state ?? { path: 'state', message: `must be one of ${JOB_STATES.join(', ')}` };
}

function readLimit(asked: unknown): number | RequestIssue {
  if (asked === undefined) return JOBS_PAGE.default;
  const limit = /^\d{1,4}$/.test(String(asked)) ? Number(asked) : 0;
  const fits = limit >= JOBS_PAGE.min && limit <= JOBS_PAGE.max;
  return fits ? limit : { path: 'limit', message: `must be a whole number from ${JOBS_PAGE.min} to ${JOBS_PAGE.max}` };
}

function readCursor(asked: unknown): number | null | RequestIssue {
  if (asked === undefined) return null;
  const decoded = typeof asked === 'string' ? Buffer.from(asked, 'base64url').toString() : '';
  return /^\d{1,15}$/.test(decoded) ? Number(decoded) : { path: 'cursor', message: 'must be a `next_cursor` of an earlier page' };
}

function isIssue(value: unknown): value is RequestIssue {
  return typeof value === 'object' && value !== null;
}
