import { z } from 'zod';
import { jobSnapshotSchema, toWireJobSnapshot } from '../../contract/job.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { answerData } from '../exchange.js';
import { principalOf, READS } from '../guard.js';
import { jobsQuery, nextCursor, readPage } from '../jobs-page.js';
import type { Description, Route } from '../route.js';

/** The key's jobs, newest first (extensions.md). */
export const listJobs: Route = {
  method: 'GET',
  path: '/v1/jobs',
  access: READS,
  describe,
  handle: (services) => async (c) => {
    const { jobs, next } = await services.store.listJobs(principalOf(c).keyId, readPage(c.req.query()));
    return answerData(c, {
      jobs: jobs.map((job) => toWireJobSnapshot(job, services.places)),
      next_cursor: nextCursor(next),
    });
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
    query: jobsQuery,
    answers: { 200: { description: 'A page of jobs.', data: page } },
    failures: { 400: 'The query is not valid.' },
    ...EXTENSION,
  };
}
