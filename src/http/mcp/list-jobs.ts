import { z } from 'zod';
import { JOB_STATES } from '../../contract/job.js';
import { JOBS_PAGE } from '../../contract/limits.js';
import { invalidRequest, type RequestIssue } from '../../contract/submission.js';
import { nextCursor, readPage } from '../jobs-page.js';
import { toolAnswer } from './answer.js';
import { jobFacts } from './job-facts.js';
import { listingSchema } from './listing-schema.js';
import { refuseUnknown } from './read-look.js';
import type { Tool } from './tool.js';

const ARGUMENTS = z.strictObject({
  state: z.enum(JOB_STATES).optional().meta({ description: 'jobs in this state only' }),
  limit: z.int().min(JOBS_PAGE.min).max(JOBS_PAGE.max).default(JOBS_PAGE.default).meta({ description: 'jobs per page' }),
  cursor: z.string().optional().meta({ description: 'next_cursor of the previous page' }),
});

/** Lists jobs as GET /v1/jobs does, without what pages say. */
export const listJobs: Tool = {
  listing: {
    name: 'list_jobs',
    title: 'List captures',
    description: 'List the captures of this caller, newest first, without their content.',
    inputSchema: listingSchema(ARGUMENTS),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async call(backend, { state, limit, cursor, ...rest }) {
    backend.admitRead();
    const issues: RequestIssue[] = [];
    refuseUnknown(rest, Object.keys(ARGUMENTS.shape), issues);
    if (issues.length > 0) throw invalidRequest(issues);
    const { jobs, next } = await backend.listJobs(readPage({ state, limit, cursor }));
    const urls = jobs.flatMap(({ id, result }) => (result?.outcome.ok === true ? [`${id}: ${result.outcome.data.url}`] : []));
    return toolAnswer({
      facts: { jobs: jobs.map((job) => jobFacts(backend, job)), next_cursor: nextCursor(next) },
      ...(urls.length === 0 ? {} : { untrusted: ['Addresses that were asked for:', ...urls].join('\n') }),
    });
  },
};
