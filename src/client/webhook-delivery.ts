import type { Deadline } from './deadline.js';
import { type Answer, readAnswer } from './read-answer.js';
import type { Transport } from './transport.js';
import type { WebhookDelivery } from './wire.js';

/** The delivery status of a job's webhook, with the ETag of its generation. */
export interface Delivery extends WebhookDelivery {
  etag: string;
}

/** @throws StillframeError `invalid_request` with status 404 if the job has no webhook */
export async function readDelivery(transport: Transport, jobId: string, deadline: Deadline): Promise<Delivery> {
  const read = readAnswer<WebhookDelivery>;
  return withEtag(await transport.send({ method: 'GET', to: pathOf(jobId), repeatable: true, read }, deadline));
}

/**
 * Sends the result again, at most once per ETag.
 * @throws StillframeError `invalid_request` with status 409 and `details.reason`
 */
export async function redeliver(
  transport: Transport,
  { jobId, etag }: { jobId: string; etag: string },
  deadline: Deadline,
): Promise<Delivery> {
  const call = {
    method: 'POST',
    to: `${pathOf(jobId)}/redeliver`,
    headers: { 'if-match': etag },
    // A second request with the same ETag would be refused, although the first one has arrived.
    repeatable: false,
    read: readAnswer<WebhookDelivery>,
  } as const;
  return withEtag(await transport.send(call, deadline));
}

function withEtag({ data, headers }: Answer<WebhookDelivery>): Delivery {
  return { ...data, etag: headers.get('etag') ?? '' };
}

function pathOf(jobId: string): string {
  return `/v1/jobs/${encodeURIComponent(jobId)}/webhook`;
}
