import type { Handler } from 'hono';
import { toWireJobSnapshot } from '../../contract/job.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';
import { nextCursor, readPage } from '../jobs-page.js';

/** GET /v1/jobs: the key's jobs, newest first (extensions.md). */
export function listJobs(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const page = readPage({ state: c.req.query('state'), limit: c.req.query('limit'), cursor: c.req.query('cursor') });
    const { jobs, next } = await edge.listJobs(principalOf(c), page);
    return answerData(c, { jobs: jobs.map((job) => toWireJobSnapshot(job, edge.places)), next_cursor: nextCursor(next) });
  };
}
