import { z } from 'zod';
import { isId } from '../../contract/ids.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { answerData } from '../exchange.js';
import { principalOf } from '../guard.js';
import type { Description, Route } from '../route.js';
import { jobIdSchema, noSuchJob } from './read-job.js';

/** Cancels a job, or deletes what is stored of it (extensions.md). */
export const removeJob: Route = {
  method: 'DELETE',
  path: '/v1/jobs/:id',
  // It neither renders nor charges, so it counts as a read.
  access: { scope: 'screenshot:write', meter: 'reads' },
  describe,
  handle: (services) => async (c) => {
    const id = c.req.param('id') ?? '';
    const removed = isId('job', id) ? await services.removeJob(id, principalOf(c).keyId) : null;
    if (removed === null) throw noSuchJob();
    return answerData(c, { id, removed: true, ...removed });
  },
};

function describe(): Description {
  return {
    operationId: 'removeJob',
    tags: ['jobs'],
    summary: 'Cancel or delete a job',
    description:
      'Only with the API key that submitted it. A job that has not ended is canceled: it costs nothing, and its webhook gets `capture.failed` with `details.reason` `canceled`. Of a job that has ended, the pictures are deleted that no other job has. Afterwards, every look-up is 404; the idempotency key cannot be used again.',
    params: jobIdSchema,
    answers: {
      200: {
        description: 'It is removed.',
        data: jobIdSchema.extend({
          removed: z.literal(true).meta({ description: 'always true', example: true }),
          canceled: z.boolean().meta({ description: 'whether the job had not ended yet', example: true }),
        }),
      },
    },
    failures: { 404: 'No such job for this API key.' },
    ...EXTENSION,
  };
}
