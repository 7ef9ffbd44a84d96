import { z } from 'zod';
import { captureDataSchema, toWireCaptureData } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import { captureRequestSchema } from '../../contract/capture-request.js';
import { acceptedJobSchema, type JobSnapshot, toWireAcceptedJob } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { parseSubmission } from '../../contract/submission.js';
import { answerPicture } from '../answer-picture.js';
import type { Exchange } from '../app-services.js';
import {
  anyHeaders,
  captureFailures,
  failures,
  header,
  pictureHeaders,
  rateHeaders,
  success,
  withPictures,
} from '../docs/operation-parts.js';
import { answerData } from '../envelope.js';
import { formatOfAccept, negotiate } from '../negotiate.js';
import { readJson } from '../read-json.js';
import type { Description, Route } from '../route.js';
import { failedAnswer, refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';

/** A finished capture, as JSON or as the picture itself (200), a job (202), or the error (interface.md; extensions.md, Answers). */
export const submitScreenshot: Route = {
  method: 'POST',
  path: '/v1/screenshot',
  access: { scope: 'screenshot:write', meter: 'submissions' },
  describe,
  handle: (services) => async (c) => {
    const { exchange } = c.var;
    const idempotencyKey = readIdempotencyKey(c.env.incoming.headers['idempotency-key']);
    const hasQuery = c.req.url.includes('?');
    const forceAsync = hasQuery && readSwitch(c.req.queries('mode'), 'mode', 'async');
    const explain = hasQuery && readSwitch(c.req.queries('explain'), 'explain', '1');
    refuseWhenDraining(services);
    const { accept } = c.env.incoming.headers;
    const body = withFormat(await readJson(c.env.incoming), accept);
    const submission = parseSubmission(body, { ...services.config, forceAsync, explain });
    const form = negotiate(accept, submission.options.format);
    const job = await submitAndSettle(services, c, { submission, idempotencyKey });
    if (job.result === null) return acceptedAnswer(job, exchange, (data) => answerData(c, data, 202));
    const { outcome } = job.result;
    if (!outcome.ok) return failedAnswer(services, exchange, { job, error: outcome.error });
    if (form === 'bytes') return await answerPicture(services, c, { data: outcome.data, cacheControl: 'no-store', conditional: false });
    return answerData(c, toWireCaptureData(outcome.data, services.places.baseUrl));
  },
};

/** The body with the format that `Accept` chooses, if it has none itself. */
function withFormat(body: unknown, accept: string | undefined): unknown {
  const format = formatOfAccept(accept);
  if (format === null || body === null || typeof body !== 'object' || Array.isArray(body) || 'format' in body) return body;
  return { ...body, format };
}

function acceptedAnswer(job: JobSnapshot, exchange: Exchange, answer: (data: unknown) => Response): Response {
  const handle = toWireAcceptedJob(job);
  exchange.headers.location = handle.poll_url;
  return answer(handle);
}

/** Node joins repeated headers with a comma, which no key contains. */
function readIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && IDEMPOTENCY_KEY_PATTERN.test(header)) return header;
  const message = 'must be 1 to 128 letters, digits, dots, underscores or hyphens, given once';
  throw new CaptureError({
    code: 'invalid_request',
    message: `The header \`Idempotency-Key\` ${message}.`,
    details: { issues: [{ path: 'Idempotency-Key', message }] },
  });
}

/** A query parameter with one possible value. Unknown parameters are ignored. */
function readSwitch(values: string[] | undefined, name: string, on: string): boolean {
  if (values === undefined) return false;
  if (values.every((value) => value === on)) return true;
  const message = `must be \`${on}\` when it is given`;
  throw new CaptureError({
    code: 'invalid_request',
    message: `The query parameter \`${name}\` ${message}.`,
    details: { issues: [{ path: name, message }] },
  });
}

function describe(): Description {
  return {
    operationId: 'submitScreenshot',
    tags: ['captures'],
    summary: 'Capture a page',
    description: 'Returns 200 with the finished capture, 202 with a job to poll, or the error.',
    request: submissionRequest(),
    responses: {
      200: withPictures(
        success(
          'The capture is finished; download `data.cdn_url`, or the picture itself when `Accept` names its media type.',
          captureDataSchema,
          {
            ...rateHeaders(),
            'server-timing': header('milliseconds by stage: queue, navigate, run, settle, scroll, stop, shoot, encode, store'),
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
        403: 'The key lacks the required scope.',
        406: 'The `Accept` header allows only media types other than that of `format`.',
        409: 'The idempotency key belongs to another API key or another request.',
        503: 'Shutting down, overloaded, without a browser, or egress is unavailable.',
        ...captureFailures(),
      }),
    },
  };
}

function submissionRequest(): Description['request'] {
  return {
    query: z.object({
      mode: z.enum(['async']).optional().meta({ description: 'forces asynchronous mode even when `sync` is true' }),
      explain: z
        .enum(['1'])
        .optional()
        .meta({ description: 'reports in `diagnostics.changed` what was done to the page', ...EXTENSION }),
    }),
    headers: anyHeaders.extend({
      'Idempotency-Key': z
        .string()
        .regex(IDEMPOTENCY_KEY_PATTERN)
        .optional()
        .meta({ description: 'identifies a logical submission: a repeated request returns the original job and does not render again' }),
      Accept: z
        .string()
        .optional()
        .meta({
          description:
            'Set this to a media type of `format`, or to `image/*`, to receive the picture itself. In a request without `format`, it chooses the format.',
          example: 'image/png',
          ...EXTENSION,
        }),
    }),
    body: {
      required: true,
      description: 'At most 256 KiB and 32 levels of nesting.',
      content: {
        'application/json': { schema: captureRequestSchema, example: { url: 'https://example.com/', format: 'png', full_page: true } },
      },
    },
  };
}
