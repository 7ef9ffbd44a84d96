import type { Handler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import { isId } from '../../contract/ids.js';
import { toWireJobSnapshot } from '../../contract/job.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';

/** GET /v1/jobs/{id}: the current state of the job. */
export function readJob(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const id = c.req.param('id') ?? '';
    const job = isId('job', id) ? await edge.findJob(id, principalOf(c)) : null;
    if (job === null) throw noSuchJob();
    return answerData(c, toWireJobSnapshot(job, edge.places));
  };
}

/** The same for a missing job, another key's and another account's, so that they cannot be told apart (decisions.md, Envelope). */
export function noSuchJob(): CaptureError {
  return new CaptureError({ code: 'invalid_request', status: 404, message: 'No such job for this API key' });
}
