/** The routes of jobs, of what is found by them, and of what they have cost. */

import type { Context } from 'hono';
import { z } from 'zod';
import { lookupJob, lookupRequest, readUsage as usageOf } from '../../capture/lookup.js';
import { CaptureError, notFound } from '../../contract/capture-error.js';
import { deliveryEtag, deliveryStatusSchema, toWireDeliveryStatus } from '../../contract/delivery.js';
import { isId } from '../../contract/ids.js';
import { type JobSnapshot, jobSnapshotSchema, toWireJobSnapshot } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { usageSchema } from '../../contract/pricing.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { findDelivery, redeliver } from '../../webhook/redeliver.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { answerData } from '../exchange.js';
import { principalOf, READS, WRITES } from '../guard.js';
import { jobsQuery, nextCursor, readPage } from '../jobs-page.js';
import type { Route } from '../route.js';

/** Parameters of a path below /v1/jobs. */
export const jobIdSchema = z.object({
  id: z.string().meta({ description: 'job id from the submission', example: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }),
});

/** The current state of a job. */
export const readJob: Route = {
  method: 'GET',
  path: '/v1/jobs/:id',
  access: READS,
  describe: () => ({
    operationId: 'readJob',
    tags: ['jobs'],
    summary: 'Read a job',
    description:
      'Only with the API key that submitted it. `ok` refers to this request; the outcome of the capture is in `data.state` and `data.result.ok`.',
    params: jobIdSchema,
    answers: { 200: { description: 'The current state of the job.', data: jobSnapshotSchema } },
    failures: { 404: 'No such job for this API key.' },
  }),
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

/** Cancels a job, or deletes what is stored of it (extensions.md). */
export const removeJob: Route = {
  method: 'DELETE',
  path: '/v1/jobs/:id',
  access: WRITES,
  describe: () => ({
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
  }),
  handle: (services) => async (c) => {
    const id = c.req.param('id') ?? '';
    const removed = isId('job', id) ? await services.removeJob(id, principalOf(c).keyId) : null;
    if (removed === null) throw noSuchJob();
    return answerData(c, { id, removed: true, ...removed });
  },
};

/** A page of jobs. */
const jobsPageSchema = z.object({
  jobs: z.array(jobSnapshotSchema).meta({ description: 'jobs, newest first', example: [] }),
  next_cursor: z.string().nullable().meta({ description: 'null on the last page', example: 'MTIz' }),
});

/** The key's jobs, newest first (extensions.md). */
export const listJobs: Route = {
  method: 'GET',
  path: '/v1/jobs',
  access: READS,
  describe: () => ({
    operationId: 'listJobs',
    tags: ['jobs'],
    summary: "List the key's jobs, newest first",
    query: jobsQuery,
    answers: { 200: { description: 'A page of jobs.', data: jobsPageSchema } },
    failures: { 400: 'The query is not valid.' },
    ...EXTENSION,
  }),
  handle: (services) => async (c) => {
    const { jobs, next } = await services.store.listJobs(principalOf(c).keyId, readPage(c.req.query()));
    return answerData(c, {
      jobs: jobs.map((job) => toWireJobSnapshot(job, services.places)),
      next_cursor: nextCursor(next),
    });
  },
};

/** The job of an idempotency key. */
export const readRequest: Route = {
  method: 'GET',
  path: '/v1/requests/:key',
  access: READS,
  describe: () => ({
    operationId: 'readRequest',
    tags: ['jobs'],
    summary: 'Read a job by its idempotency key',
    description: 'Only with the API key that submitted it.',
    params: z.object({ key: z.string().meta({ description: 'the idempotency key used at submission' }) }),
    answers: { 200: { description: 'The current state of the job.', data: jobSnapshotSchema } },
    failures: { 404: 'No such job for this API key.' },
  }),
  handle: (services) => async (c) => {
    const key = c.req.param('key') ?? '';
    const job = IDEMPOTENCY_KEY_PATTERN.test(key) ? await lookupRequest(services.store, key, principalOf(c)) : null;
    if (job === null) throw noSuchJob();
    return answerData(c, toWireJobSnapshot(job, services.places));
  },
};

/** Returns the credits and jobs that the key's account has used in this period (extensions.md). */
export const readUsage: Route = {
  method: 'GET',
  path: '/v1/usage',
  access: READS,
  describe: () => ({
    operationId: 'readUsage',
    tags: ['service'],
    summary: "Read the account's credits and jobs of this period",
    answers: { 200: { description: 'Usage.', data: usageSchema } },
    ...EXTENSION,
  }),
  handle:
    ({ store, now }) =>
    async (c) =>
      answerData(c, await usageOf(store, principalOf(c).accountId, now())),
};

/** The state of a delivery; a redelivery must send its ETag. */
export const readWebhook: Route = {
  method: 'GET',
  path: '/v1/jobs/:id/webhook',
  access: READS,
  describe: () => ({
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
  }),
  handle: (services) => async (c) => {
    const { id } = await jobOfPath(services, c);
    const status = await findDelivery(services.store, id);
    c.var.exchange.headers.etag = deliveryEtag(status);
    return answerData(c, toWireDeliveryStatus(status));
  },
};

/** Sends the stored result again, if the delivery has not changed since the client read it. */
export const redeliverWebhook: Route = {
  method: 'POST',
  path: '/v1/jobs/:id/webhook/redeliver',
  access: WRITES,
  describe: () => ({
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
  }),
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
