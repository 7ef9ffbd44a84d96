import type { Handler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import { deliveryEtag, toWireDeliveryStatus } from '../../contract/delivery.js';
import { isId } from '../../contract/ids.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';
import { parseDeliveryEtag } from '../parse-delivery-etag.js';
import { noSuchJob } from './read-job.js';

/** POST /v1/jobs/{id}/webhook/redeliver: sends the stored result again, if the delivery has not changed since the client read it. */
export function redeliverWebhook(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const id = c.req.param('id') ?? '';
    const job = isId('job', id) ? await edge.findJob(id, principalOf(c)) : null;
    if (job === null) throw noSuchJob();
    const quoted = c.env.incoming.headers['if-match'];
    if (quoted === undefined) throw preconditionMissing();
    const status = await edge.redeliver(id, parseDeliveryEtag(quoted));
    c.var.exchange.headers.etag = deliveryEtag(status);
    return answerData(c, toWireDeliveryStatus(status), 202);
  };
}

function preconditionMissing(): CaptureError {
  return new CaptureError({
    code: 'invalid_request',
    status: 428,
    message: 'The `If-Match` header is required: send the exact ETag of GET /v1/jobs/{id}/webhook.',
  });
}
