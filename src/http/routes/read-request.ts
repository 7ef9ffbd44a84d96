import { z } from 'zod';
import { lookupRequest } from '../../capture/lookup.js';
import { jobSnapshotSchema, toWireJobSnapshot } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { answerData } from '../exchange.js';
import { principalOf, READS } from '../guard.js';
import type { Description, Route } from '../route.js';
import { noSuchJob } from './read-job.js';

/** The job of an idempotency key. */
export const readRequest: Route = {
  method: 'GET',
  path: '/v1/requests/:key',
  access: READS,
  describe,
  handle: (services) => async (c) => {
    const key = c.req.param('key') ?? '';
    const job = IDEMPOTENCY_KEY_PATTERN.test(key) ? await lookupRequest(services.store, key, principalOf(c)) : null;
    if (job === null) throw noSuchJob();
    return answerData(c, toWireJobSnapshot(job, services.places));
  },
};

function describe(): Description {
  return {
    operationId: 'readRequest',
    tags: ['jobs'],
    summary: 'Read a job by its idempotency key',
    description: 'Only with the API key that submitted it.',
    params: z.object({ key: z.string().meta({ description: 'the idempotency key used at submission' }) }),
    answers: { 200: { description: 'The current state of the job.', data: jobSnapshotSchema } },
    failures: { 404: 'No such job for this API key.' },
  };
}
