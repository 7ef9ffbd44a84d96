import { deliveryEtag, deliveryStatusSchema, toWireDeliveryStatus } from '../../contract/delivery.js';
import { findDelivery } from '../../webhook/find-delivery.js';
import { anyHeaders, failures, header, jobId, lookupFailures, rateHeaders, success } from '../docs/operation-parts.js';
import { answerData } from '../envelope.js';
import type { Description, Route } from '../route.js';
import { jobOfPath } from './read-job.js';

/** The state of a delivery; a redelivery must send its ETag. */
export const readWebhook: Route = {
  method: 'GET',
  path: '/v1/jobs/:id/webhook',
  access: { scope: 'jobs:read', meter: 'reads' },
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
    request: { params: jobId, headers: anyHeaders },
    responses: {
      200: success('The current state of the delivery.', deliveryStatusSchema, {
        ...rateHeaders(),
        etag: header('to be sent in `If-Match` of a redelivery'),
      }),
      ...failures({ ...lookupFailures(), 404: 'No such job for this API key, or the job has no webhook.' }),
    },
  };
}
