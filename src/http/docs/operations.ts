import type { OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { captureDataSchema } from '../../contract/capture-data.js';
import { EXTENSION } from '../../contract/capture-extensions.js';
import { captureRequestSchema } from '../../contract/capture-request.js';
import { deliveryStatusSchema } from '../../contract/delivery.js';
import { healthSchema } from '../../contract/health.js';
import { acceptedJobSchema, errorEnvelopeSchema, JOB_STATES, jobSnapshotSchema } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN, JOBS_PAGE, REQUEST_ID_PATTERN } from '../../contract/limits.js';
import { usageSchema } from '../../contract/usage.js';

export type Operation = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0];
type Responses = Operation['responses'];

/** Each operation that clients are meant for, as OpenAPI knows it. */
export function operations(): Operation[] {
  return [
    submitScreenshot(),
    renderLink(),
    listJobs(),
    readUsage(),
    readJob(),
    readRequest(),
    readWebhook(),
    redeliverWebhook(),
    readArtifact(),
    readHealth(),
    readLiveness(),
  ];
}

const requestIdParameter = z
  .string()
  .regex(REQUEST_ID_PATTERN)
  .optional()
  .meta({ description: 'echoed in the `x-request-id` response header; one is made when it is absent or not of this form' });
const anyHeaders = z.object({ 'X-Request-ID': requestIdParameter });
const jobId = z.object({ id: z.string().meta({ description: 'job id from the submission', example: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }) });

function submitScreenshot(): Operation {
  return {
    method: 'post',
    path: '/v1/screenshot',
    operationId: 'submitScreenshot',
    tags: ['captures'],
    summary: 'Capture a page',
    description: 'Scope: `screenshot:write`. Answers 200 with a finished capture, 202 with a job handle, or with the failure itself.',
    security: [{ apiKey: [] }],
    request: {
      query: z.object({
        mode: z.enum(['async']).optional().meta({ description: 'forces asynchronous mode even when `sync` is true' }),
      }),
      headers: anyHeaders.extend({
        'Idempotency-Key': z
          .string()
          .regex(IDEMPOTENCY_KEY_PATTERN)
          .optional()
          .meta({ description: 'identifies a logical submission: a repetition gets the first job, never a second render' }),
        Accept: z
          .string()
          .optional()
          .meta({
            description: 'Name the media type of `format`, or `image/*`, to be answered with the picture itself.',
            example: 'image/png',
            ...EXTENSION,
          }),
      }),
      body: {
        required: true,
        description: 'At most 256 KiB, 32 levels deep.',
        content: {
          'application/json': { schema: captureRequestSchema, example: { url: 'https://example.com/', format: 'png', full_page: true } },
        },
      },
    },
    responses: {
      200: withPictures(
        success(
          'The capture is finished; download `data.cdn_url`, or the picture itself when `Accept` names its media type.',
          captureDataSchema,
          {
            ...rateHeaders(),
            'server-timing': header('milliseconds by stage: queue, navigate, settle, scroll, shoot, encode, store'),
            'x-job-id': header('id of the job'),
            ...pictureHeaders(),
          },
        ),
      ),
      202: success('The capture is queued or still running; poll `data.poll_url`.', acceptedJobSchema, {
        ...rateHeaders(),
        location: header('the same as `data.poll_url`'),
        'x-job-id': header('id of the job'),
      }),
      ...failures({
        400: 'The request is not valid: `details.issues` names every problem. Also a body that is too large, too deep or of another content type.',
        401: 'The key is missing, unknown or revoked.',
        403: 'The key lacks the scope.',
        406: 'The header `Accept` names pictures of other formats only.',
        409: 'The idempotency key belongs to another API key or another request.',
        410: 'The picture has been deleted since; only where `Accept` names its media type.',
        429: 'Too fast, or the quota is spent.',
        451: 'The target refuses the visitor.',
        500: 'The browser crashed twice, or something is wrong on our side.',
        502: 'The target could not be opened, answered with an error, or failed a check of the request.',
        503: 'Going down, overloaded, without a browser, or the way out is not available.',
        504: 'The capture ran out of time.',
      }),
    },
  };
}

function renderLink(): Operation {
  const fields = z.object({
    url: z.string().meta({ description: 'Address to capture.', example: 'https://example.com/' }),
    key: z.string().meta({ description: 'Id of the API key that signed the link.', example: 'key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }),
    expires: z.string().meta({ description: 'Unix seconds.', example: '1893456000' }),
    signature: z.string().meta({
      description:
        'Hex HMAC-SHA256 of the canonical query (sorted by name, RFC 3986 encoding, without `signature`) with the signing secret.',
      example: '5f0c…',
    }),
  });
  return {
    method: 'get',
    path: '/v1/render',
    operationId: 'renderLink',
    tags: ['captures'],
    summary: 'The picture of a signed link',
    description:
      'For `<img src>` and Open Graph tags. Beside `url`, any field of a capture request in flat form (`viewport.width=800`, repeated names for lists), but for `html`, `base_url`, `custom_js`, `headers`, `cookies`, `storage_state`, `webhook`, `proxy` and `sync`. `stillframe sign` makes such links.',
    security: [],
    request: { query: fields },
    responses: {
      200: {
        description: 'The picture.',
        headers: {
          ...commonHeaders(),
          'x-job-id': header('id of the job'),
          ...pictureHeaders(),
          'cache-control': header('from `cache_ttl`'),
        },
        content: pictureContent(),
      },
      304: { description: "The client's copy is still good." },
      ...failures({
        400: 'The fields are not valid.',
        403: 'The signature is missing, wrong or expired.',
        410: 'The picture has been deleted since.',
        429: 'Too fast, or the quota is spent.',
        451: 'The target refuses the visitor.',
        500: 'The browser crashed twice, or something is wrong on our side.',
        502: 'The target could not be opened, answered with an error, or failed a check of the request.',
        503: 'Not ready yet, or not available: see `Retry-After`.',
        504: 'The capture ran out of time.',
      }),
    },
    ...EXTENSION,
  };
}

function listJobs(): Operation {
  const page = z.object({
    jobs: z.array(jobSnapshotSchema),
    next_cursor: z.string().nullable().meta({ description: 'null on the last page' }),
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
        state: z.enum(JOB_STATES).optional().meta({ description: 'Jobs in this state only.', example: 'failed' }),
        limit: z
          .int()
          .min(JOBS_PAGE.min)
          .max(JOBS_PAGE.max)
          .default(JOBS_PAGE.default)
          .meta({ description: 'Jobs on the page.', example: 20 }),
        cursor: z.string().optional().meta({ description: '`next_cursor` of the page before.', example: 'MTIz' }),
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
    summary: "The account's credits and jobs of this period",
    description: 'Scope: `jobs:read`.',
    security: [{ apiKey: [] }],
    request: { headers: anyHeaders },
    responses: { 200: success('Usage.', usageSchema, rateHeaders()), ...failures(withoutMissing(lookupFailures())) },
    ...EXTENSION,
  };
}

/** A list has no entry that could be missing. */
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
      'Scope: `jobs:read`, with the API key that submitted it. `ok` speaks of the look-up; the capture is `data.state` and `data.result.ok`.',
    security: [{ apiKey: [] }],
    request: { params: jobId, headers: anyHeaders },
    responses: { 200: success('The job as it stands.', jobSnapshotSchema, rateHeaders()), ...failures(lookupFailures()) },
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
    responses: { 200: success('The job as it stands.', jobSnapshotSchema, rateHeaders()), ...failures(lookupFailures()) },
  };
}

function readWebhook(): Operation {
  return {
    method: 'get',
    path: '/v1/jobs/{id}/webhook',
    operationId: 'readWebhook',
    tags: ['webhooks'],
    summary: 'Read the delivery of a webhook',
    description: 'Scope: `jobs:read`.',
    security: [{ apiKey: [] }],
    request: { params: jobId, headers: anyHeaders },
    responses: {
      200: success('The delivery as it stands.', deliveryStatusSchema, {
        ...rateHeaders(),
        etag: header('to be quoted in `If-Match` of a redelivery'),
      }),
      ...failures({ ...lookupFailures(), 404: 'No such job for this API key, or it has no webhook.' }),
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
      202: success('It will be sent again, as the next generation.', deliveryStatusSchema, {
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

function readArtifact(): Operation {
  const content = pictureContent();
  return {
    method: 'get',
    path: '/artifacts/{name}',
    operationId: 'readArtifact',
    tags: ['captures'],
    summary: 'Download a picture or PDF',
    description: 'What `data.cdn_url` points at. No key: the name cannot be guessed. Single ranges and conditional requests are served.',
    security: [],
    request: {
      params: z.object({ name: z.string() }),
      headers: z.object({
        Range: z.string().optional(),
        'If-Range': z.string().optional(),
        'If-None-Match': z.string().optional(),
        'If-Modified-Since': z.string().optional(),
      }),
    },
    responses: {
      200: { description: 'The bytes.', headers: { etag: header('strong'), 'cache-control': header('public, immutable') }, content },
      206: { description: 'The range.', headers: { 'content-range': header('which bytes of how many') }, content },
      304: { description: "The client's copy is still good." },
      ...failures({ 404: 'No such artifact.', 410: 'It was kept for its time and is gone.', 416: 'The range is outside of the bytes.' }),
    },
  };
}

function readHealth(): Operation {
  const schema = (ok: boolean) => z.object({ ok: z.literal(ok), request_id: z.string(), data: healthSchema });
  return {
    method: 'get',
    path: '/v1/health',
    operationId: 'readHealth',
    tags: ['service'],
    summary: 'Readiness',
    security: [],
    responses: {
      200: {
        description: 'Captures can be taken on.',
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
    responses: { 200: success('The process runs.', z.object({ alive: z.literal(true) }), commonHeaders()) },
  };
}

function lookupFailures() {
  return {
    401: 'The key is missing, unknown or revoked.',
    403: 'The key lacks the scope.',
    404: 'No such job for this API key.',
    429: 'Too fast.',
    500: 'Something is wrong on our side.',
  };
}

function success(description: string, data: z.ZodType, headers: Record<string, object>) {
  const schema = z.object({ ok: z.literal(true), request_id: z.string(), data });
  return { description, headers: { ...commonHeaders(), ...headers }, content: { 'application/json': { schema } } };
}

function failures(descriptions: Record<number, string>): Responses {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => {
      const headers = { ...commonHeaders(), ...failureHeaders(Number(status)) };
      return [status, { description, headers, content: { 'application/json': { schema: errorEnvelopeSchema } } }];
    }),
  );
}

function failureHeaders(status: number): Record<string, object> {
  if (status === 401) return { 'www-authenticate': header('Bearer') };
  if (status === 429 || status === 503) return { 'retry-after': header('whole seconds, when provided', 'integer') };
  return {};
}

/** Beside the envelope, the bytes of every format. */
function withPictures(response: ReturnType<typeof success>): Responses[string] {
  return { ...response, content: { ...response.content, ...pictureContent() } };
}

function pictureContent() {
  const schema = z.string().meta({ format: 'binary' });
  return Object.fromEntries(['image/png', 'image/jpeg', 'image/webp', 'application/pdf'].map((type) => [type, { schema }]));
}

function pictureHeaders() {
  return {
    etag: header('of a picture'),
    'x-width': header('of a picture: output px', 'integer'),
    'x-height': header('of a picture: output px', 'integer'),
    'x-cached': header('of a picture: whether it comes from the cache'),
  };
}

function commonHeaders() {
  return { 'x-request-id': header('id of this request') };
}

function rateHeaders() {
  return {
    ratelimit: header('what is left of the bucket: `"submit";r=29;t=1`'),
    'ratelimit-policy': header('the bucket: `"submit";q=120;w=60`'),
  };
}

function header(description: string, type: 'string' | 'integer' = 'string') {
  return { description, schema: { type } };
}
