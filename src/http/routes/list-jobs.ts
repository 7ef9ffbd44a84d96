import { z } from 'zod';
import { JOB_STATES, jobSnapshotSchema, toWireJobSnapshot } from '../../contract/job.js';
import { JOBS_PAGE } from '../../contract/limits.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { anyHeaders, failures, listFailures, rateHeaders, success } from '../docs/operation-parts.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';
import { nextCursor, readPage } from '../jobs-page.js';
import type { Description, Route } from '../route.js';

/** The key's jobs, newest first (extensions.md). */
export const listJobs: Route = {
  method: 'GET',
  path: '/v1/jobs',
  access: { scope: 'jobs:read', meter: 'reads' },
  describe,
  handle: (services) => async (c) => {
    const page = readPage({ state: c.req.query('state'), limit: c.req.query('limit'), cursor: c.req.query('cursor') });
    const { jobs, next } = await services.store.listJobs(principalOf(c).keyId, page);
    return answerData(c, { jobs: jobs.map((job) => toWireJobSnapshot(job, services.places)), next_cursor: nextCursor(next) });
  },
};

function describe(): Description {
  const page = z.object({
    jobs: z.array(jobSnapshotSchema).meta({ description: 'jobs, newest first', example: [] }),
    next_cursor: z.string().nullable().meta({ description: 'null on the last page', example: 'MTIz' }),
  });
  return {
    operationId: 'listJobs',
    tags: ['jobs'],
    summary: "List the key's jobs, newest first",
    request: {
      query: z.object({
        state: z.enum(JOB_STATES).optional().meta({ description: 'jobs in this state only', example: 'failed' }),
        limit: z.int().min(JOBS_PAGE.min).max(JOBS_PAGE.max).default(JOBS_PAGE.default).meta({ description: 'jobs per page', example: 20 }),
        cursor: z.string().optional().meta({ description: '`next_cursor` of the previous page', example: 'MTIz' }),
      }),
      headers: anyHeaders,
    },
    responses: {
      200: success('A page of jobs.', page, rateHeaders()),
      ...failures({ 400: 'The query is not valid.', ...listFailures() }),
    },
    ...EXTENSION,
  };
}
