import { deliveryEtag, deliveryStatusSchema, toWireDeliveryStatus } from '../../contract/delivery.js';
import { findDelivery } from '../../webhook/redeliver.js';
import { answerData } from '../exchange.js';
import { READS } from '../guard.js';
import type { Description, Route } from '../route.js';
import { jobIdSchema, jobOfPath } from './read-job.js';

/** The state of a delivery; a redelivery must send its ETag. */
export const readWebhook: Route = {
  method: 'GET',
  path: '/v1/jobs/:id/webhook',
  access: READS,
  describe,
  handle: (services) => async (c) => {
    const { id } = await jobOfPath(services, c);
    const status = await findDelivery(services.store, id);
    c.var.exchange.headers.etag = deliveryEtag(status);
    return answerData(c, toWireDeliveryStatus(status));
  },
};

function describe(): Description {
  return {
    operationId: 'readWebhook',
    tags: ['webhooks'],
    summary: "Read the status of a webhook's delivery",
    params: jobIdSchema,
    answers: {
      200: {
        description: 'The current state of the delivery.',
        data: deliveryStatusSchema,
        headers: { etag: 'to be sent in `If-Match` of a redelivery' },
      },
    },
    failures: { 404: 'No such job for this API key, or the job has no webhook.' },
  };
}
