import type { Context } from 'hono';
import { z } from 'zod';
import { lookupJob } from '../../capture/lookup.js';
import { type CaptureError, notFound } from '../../contract/capture-error.js';
import { isId } from '../../contract/ids.js';
import { type JobSnapshot, jobSnapshotSchema, toWireJobSnapshot } from '../../contract/job.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { answerData } from '../exchange.js';
import { principalOf, READS } from '../guard.js';
import type { Description, Route } from '../route.js';

/** Parameters of a path below /v1/jobs. */
export const jobIdSchema = z.object({
  id: z.string().meta({ description: 'job id from the submission', example: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }),
});

/** The current state of a job. */
export const readJob: Route = {
  method: 'GET',
  path: '/v1/jobs/:id',
  access: READS,
  describe,
  handle: (services) => async (c) => answerData(c, toWireJobSnapshot(await jobOfPath(services, c), services.places)),
};

/** The job that the path names. @throws CaptureError `invalid_request` (404) */
export async function jobOfPath({ store }: AppServices, c: Context<AppEnv>): Promise<JobSnapshot> {
  const id = c.req.param('id') ?? '';
  const job = isId('job', id) ? await lookupJob(store, id, principalOf(c)) : null;
  if (job === null) throw noSuchJob();
  return job;
}

/** The same for a missing job, another key's and another account's, so that they cannot be distinguished (decisions.md, Envelope). */
export function noSuchJob(): CaptureError {
  return notFound('No such job for this API key');
}

function describe(): Description {
  return {
    operationId: 'readJob',
    tags: ['jobs'],
    summary: 'Read a job',
    description:
      'Only with the API key that submitted it. `ok` refers to this request; the outcome of the capture is in `data.state` and `data.result.ok`.',
    params: jobIdSchema,
    answers: { 200: { description: 'The current state of the job.', data: jobSnapshotSchema } },
    failures: { 404: 'No such job for this API key.' },
  };
}
