import type { Handler } from 'hono';
import { deliveryEtag, toWireDeliveryStatus } from '../../contract/delivery.js';
import { isId } from '../../contract/ids.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';
import { noSuchJob } from './read-job.js';

/** GET /v1/jobs/{id}/webhook: the state of the delivery; a redelivery must send its ETag. */
export function readWebhook(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const id = c.req.param('id') ?? '';
    const job = isId('job', id) ? await edge.findJob(id, principalOf(c)) : null;
    if (job === null) throw noSuchJob();
    const status = await edge.findDelivery(id);
    c.var.exchange.headers.etag = deliveryEtag(status);
    return answerData(c, toWireDeliveryStatus(status));
  };
}
