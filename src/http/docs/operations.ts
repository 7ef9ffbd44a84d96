import { z } from 'zod';
import { deliveryStatusSchema } from '../../contract/delivery.js';
import { healthSchema } from '../../contract/health.js';
import { envelopeOf, JOB_STATES, jobSnapshotSchema } from '../../contract/job.js';
import { JOBS_PAGE } from '../../contract/limits.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { usageSchema } from '../../contract/usage.js';
import { captureOperations } from './capture-operations.js';
import type { Operation } from './operation.js';
import { anyHeaders } from './request-headers.js';
import { commonHeaders, failures, header, lookupFailures, rateHeaders, success } from './responses.js';

/** The operations of the public API. */
export function operations(): Operation[] {
  return [
    ...captureOperations(),
    listJobs(),
    readUsage(),
    readJob(),
    readRequest(),
    readWebhook(),
    redeliverWebhook(),
    readHealth(),
    readLiveness(),
  ];
}

const jobId = z.object({ id: z.string().meta({ description: 'job id from the submission', example: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }) });

function listJobs(): Operation {
  const page = z.object({
    jobs: z.array(jobSnapshotSchema).meta({ description: 'jobs, newest first', example: [] }),
    next_cursor: z.string().nullable().meta({ description: 'null on the last page', example: 'MTIz' }),
  });
  return {
    method: 'get',
    path: '/v1/jobs',
    operationId: 'listJobs',
    tags: ['jobs'],
    summary: "List the key's jobs, newest first",
    description: 'Scope: `jobs:read`.',
    security: [{ apiKey: [] }],
    request: {
      query: z.object({
        state: z.enum(JOB_STATES).optional().meta({ description: 'jobs in this state only', example: 'failed' }),
        limit: z.int().min(JOBS_PAGE.min).max(JOBS_PAGE.max).default(JOBS_PAGE.default).meta({ description: 'jobs per page', example: 20 }),
        cursor: z.string().optional().meta({ description: '`next_cursor` of the previous page', example: 'MTIz' }),
      }),
      headers: anyHeaders,
    },
    responses: {
      200: success('A page of jobs.', page, rateHeaders()),
      ...failures({ 400: 'The query is not valid.', ...withoutMissing(lookupFailures()) }),
    },
    ...EXTENSION,
  };
}

function readUsage(): Operation {
  return {
    method: 'get',
    path: '/v1/usage',
    operationId: 'readUsage',
    tags: ['service'],
    summary: "Read the account's credits and jobs of this period",
    description: 'Scope: `jobs:read`.',
    security: [{ apiKey: [] }],
    request: { headers: anyHeaders },
    responses: { 200: success('Usage.', usageSchema, rateHeaders()), ...failures(withoutMissing(lookupFailures())) },
    ...EXTENSION,
  };
}

/** Without 404, which lists never return. */
function withoutMissing({ 404: _missing, ...others }: ReturnType<typeof lookupFailures>): Record<number, string> {
  return others;
}

function readJob(): Operation {
  return {
    method: 'get',
    path: '/v1/jobs/{id}',
    operationId: 'readJob',
    tags: ['jobs'],
    summary: 'Read a job',
    description:
      'Scope: `jobs:read`, with the API key that submitted it. `ok` refers to this request; the outcome of the capture is in `data.state` and `data.result.ok`.',
    security: [{ apiKey: [] }],
    request: { params: jobId, headers: anyHeaders },
    responses: { 200: success('The current state of the job.', jobSnapshotSchema, rateHeaders()), ...failures(lookupFailures()) },
  };
}

function readRequest(): Operation {
  return {
    method: 'get',
    path: '/v1/requests/{key}',
    operationId: 'readRequest',
    tags: ['jobs'],
    summary: 'Read a job by its idempotency key',
    description: 'Scope: `jobs:read`, with the API key that submitted it.',
    security: [{ apiKey: [] }],
    request: { params: z.object({ key: z.string().meta({ description: 'the idempotency key used at submission' }) }), headers: anyHeaders },
    responses: { 200: success('The current state of the job.', jobSnapshotSchema, rateHeaders()), ...failures(lookupFailures()) },
  };
}

function readWebhook(): Operation {
  return {
    method: 'get',
    path: '/v1/jobs/{id}/webhook',
    operationId: 'readWebhook',
    tags: ['webhooks'],
    summary: "Read the status of a webhook's delivery",
    description: 'Scope: `jobs:read`.',
    security: [{ apiKey: [] }],
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

function redeliverWebhook(): Operation {
  return {
    method: 'post',
    path: '/v1/jobs/{id}/webhook/redeliver',
    operationId: 'redeliverWebhook',
    tags: ['webhooks'],
    summary: 'Send the result again',
    description: 'Scope: `screenshot:write`. Neither renders nor charges.',
    security: [{ apiKey: [] }],
    request: {
      params: jobId,
      headers: anyHeaders.extend({ 'If-Match': z.string().meta({ description: 'the exact quoted ETag of the delivery status' }) }),
    },
    responses: {
      202: success('The result will be sent again, as the next generation.', deliveryStatusSchema, {
        ...rateHeaders(),
        etag: header('of the new generation'),
      }),
      ...failures({
        ...lookupFailures(),
        409: '`details.reason`: delivery_unavailable, delivery_pending or generation_changed.',
        428: '`If-Match` is missing.',
      }),
    },
  };
}

function readHealth(): Operation {
  const schema = (ok: boolean) => envelopeOf(ok, { data: healthSchema });
  return {
    method: 'get',
    path: '/v1/health',
    operationId: 'readHealth',
    tags: ['service'],
    summary: 'Readiness',
    security: [],
    responses: {
      200: {
        description: 'Ready to capture.',
        headers: commonHeaders(),
        content: { 'application/json': { schema: schema(true) } },
      },
      503: {
        description: 'Not ready: the data says why.',
        headers: commonHeaders(),
        content: { 'application/json': { schema: schema(false) } },
      },
    },
  };
}

function readLiveness(): Operation {
  return {
    method: 'get',
    path: '/livez',
    operationId: 'readLiveness',
    tags: ['service'],
    summary: 'Liveness',
    security: [],
    responses: {
      200: success(
        'The process is running.',
        z.object({ alive: z.literal(true).meta({ description: 'the process responds' }) }),
        commonHeaders(),
      ),
    },
  };
}
