import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { deliveryEtag, deliveryStatusSchema, toWireDeliveryStatus } from '../../contract/delivery.js';
import { redeliver } from '../../webhook/redeliver.js';
import { answerData } from '../exchange.js';
import type { Description, Route } from '../route.js';
import { jobIdSchema, jobOfPath } from './read-job.js';

/** Sends the stored result again, if the delivery has not changed since the client read it. */
export const redeliverWebhook: Route = {
  method: 'POST',
  path: '/v1/jobs/:id/webhook/redeliver',
  // It neither renders nor charges, so it counts as a read.
  access: { scope: 'screenshot:write', meter: 'reads' },
  describe,
  handle: (services) => async (c) => {
    const { id } = await jobOfPath(services, c);
    const quoted = c.env.incoming.headers['if-match'];
    if (quoted === undefined) {
      const message = 'The `If-Match` header is required: send the exact ETag of GET /v1/jobs/{id}/webhook.';
      throw new CaptureError({ code: 'invalid_request', status: 428, message });
    }
    const status = await redeliver(services, id, quoted);
    c.var.exchange.headers.etag = deliveryEtag(status);
    return answerData(c, toWireDeliveryStatus(status), 202);
  },
};

function describe(): Description {
  return {
    operationId: 'redeliverWebhook',
    tags: ['webhooks'],
    summary: 'Send the result again',
    description: 'Neither renders nor charges.',
    params: jobIdSchema,
    headers: z.object({ 'If-Match': z.string().meta({ description: 'the exact quoted ETag of the delivery status' }) }),
    answers: {
      202: {
        description: 'The result will be sent again, as the next generation.',
        data: deliveryStatusSchema,
        headers: { etag: 'of the new generation' },
      },
    },
    failures: {
      404: 'No such job for this API key.',
      409: '`details.reason`: delivery_unavailable, delivery_pending or generation_changed.',
      428: '`If-Match` is missing.',
    },
  };
}
