import { z } from 'zod';
import { JOB_STATES, type JobState } from '../contract/job.js';
import { JOBS_PAGE } from '../contract/limits.js';
import { parseFields } from '../contract/submission.js';

const CURSOR = /^\d{1,15}$/;

/** The selection of a key's jobs that a list shows: the query of GET /v1/jobs, and the arguments of the tool `list_jobs`. */
export const jobsQuery = z.object({
  state: z.enum(JOB_STATES).optional().meta({ description: 'jobs in this state only', example: 'failed' }),
  limit: z
    .int()
    .min(JOBS_PAGE.min)
    .max(JOBS_PAGE.max)
    .default(JOBS_PAGE.default)
    .meta({ description: 'jobs per page', example: 20 }),
  cursor: z
    .string()
    .refine((text) => CURSOR.test(decode(text)), 'must be a `next_cursor` of an earlier page')
    .optional()
    .meta({ description: '`next_cursor` of the previous page', example: 'MTIz' }),
});

export interface JobsPage {
  state: JobState | null;
  limit: number;
  before: number | null;
}

/** @throws CaptureError `invalid_request` with every problem */
export function readPage(query: Record<string, unknown>): JobsPage {
  const limit = typeof query.limit === 'string' && /^\d{1,4}$/.test(query.limit) ? Number(query.limit) : query.limit;
  const page = parseFields(jobsQuery, { ...query, limit });
  return {
    state: page.state ?? null,
    limit: page.limit,
    before: page.cursor === undefined ? null : Number(decode(page.cursor)),
  };
}

/** `next_cursor` of a page. */
export function nextCursor(next: number | null): string | null {
  return next === null ? null : Buffer.from(String(next)).toString('base64url');
}

function decode(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString();
}
