import type { Handler } from 'hono';
import { toWireJobSnapshot } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';
import { noSuchJob } from './read-job.js';

/** GET /v1/requests/{key}: the job of an idempotency key. */
export function readRequest(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const key = c.req.param('key') ?? '';
    const job = IDEMPOTENCY_KEY_PATTERN.test(key) ? await edge.findRequest(key, principalOf(c)) : null;
    if (job === null) throw noSuchJob();
    return answerData(c, toWireJobSnapshot(job, edge.places));
  };
}
