import type { Handler } from 'hono';
import { JOB_STATES, type JobState, toWireJobSnapshot } from '../../contract/job.js';
import { JOBS_PAGE } from '../../contract/limits.js';
import { invalidRequest, type RequestIssue } from '../../contract/submission.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';

/** GET /v1/jobs: the key's jobs, newest first (extensions.md). */
export function listJobs(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const asked = { state: c.req.query('state'), limit: c.req.query('limit'), cursor: c.req.query('cursor') };
    const [state, limit, before] = [readState(asked.state), readLimit(asked.limit), readCursor(asked.cursor)];
    const issues = [state, limit, before].filter(isIssue);
    if (isIssue(state) || isIssue(limit) || isIssue(before)) throw invalidRequest(issues);
    const { jobs, next } = await edge.listJobs(principalOf(c), { state, limit, before });
    return answerData(c, {
      jobs: jobs.map((job) => toWireJobSnapshot(job, edge.places)),
      next_cursor: next === null ? null : Buffer.from(String(next)).toString('base64url'),
    });
  };
}

function readState(text: string | undefined): JobState | null | RequestIssue {
  if (text === undefined) return null;
  const state = JOB_STATES.find((known) => known === text);
  return state ?? { path: 'state', message: `must be one of ${JOB_STATES.join(', ')}` };
}

function readLimit(text: string | undefined): number | RequestIssue {
  if (text === undefined) return JOBS_PAGE.default;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  const fits = limit >= JOBS_PAGE.min && limit <= JOBS_PAGE.max;
  return fits ? limit : { path: 'limit', message: `must be a whole number from ${JOBS_PAGE.min} to ${JOBS_PAGE.max}` };
}

function readCursor(text: string | undefined): number | null | RequestIssue {
  if (text === undefined) return null;
  const decoded = Buffer.from(text, 'base64url').toString();
  return /^\d{1,15}$/.test(decoded) ? Number(decoded) : { path: 'cursor', message: 'must be a `next_cursor` of an earlier page' };
}

function isIssue(value: unknown): value is RequestIssue {
  return typeof value === 'object' && value !== null;
}
