import { z } from 'zod';
import { envelopeOf, errorEnvelopeSchema } from '../../contract/job.js';
import { REQUEST_ID_PATTERN } from '../../contract/limits.js';
import type { Description } from '../route.js';

/** Building blocks of the descriptions of routes. */

const requestId = z
  .string()
  .regex(REQUEST_ID_PATTERN)
  .optional()
  .meta({ description: 'echoed in the `x-request-id` response header; generated when it is absent or malformed' });
/** Headers that any request may have. */
export const anyHeaders = z.object({ 'X-Request-ID': requestId });

/** Parameters of a path below /v1/jobs. */
export const jobId = z.object({
  id: z.string().meta({ description: 'job id from the submission', example: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }),
});

type Responses = Description['responses'];

export function lookupFailures() {
  return {
    401: 'The key is missing, unknown or revoked.',
    403: 'The key lacks the required scope.',
    404: 'No such job for this API key.',
    429: 'Rate limit exceeded.',
    500: 'Internal error.',
  };
}

/** The same without 404, which lists never return. */
export function listFailures(): Record<number, string> {
  const { 404: _missing, ...others } = lookupFailures();
  return others;
}

/** Failures of every route that captures. */
export function captureFailures() {
  return {
    410: 'The picture has been deleted; only when the response is the picture itself.',
    429: 'Rate limit or quota exceeded.',
    451: 'The target blocks the visitor.',
    500: 'The browser crashed twice, or an internal error occurred.',
    502: 'The target could not be opened, responded with an error, or failed a check of the request.',
    504: 'The capture ran out of time.',
  };
}

export function success(description: string, data: z.ZodType, headers: Record<string, object>) {
  const schema = envelopeOf(true, { data });
  return { description, headers: { ...commonHeaders(), ...headers }, content: { 'application/json': { schema } } };
}

export function failures(descriptions: Record<number, string>): Responses {
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

/** Adds the picture formats to a JSON response. */
export function withPictures(response: ReturnType<typeof success>): Responses[string] {
  return { ...response, content: { ...response.content, ...pictureContent() } };
}

export function pictureContent() {
  const schema = z.string().meta({ format: 'binary' });
  return Object.fromEntries(['image/png', 'image/jpeg', 'image/webp', 'application/pdf'].map((type) => [type, { schema }]));
}

export function pictureHeaders() {
  return {
    etag: header('of a picture'),
    'x-width': header('of a picture: output px', 'integer'),
    'x-height': header('of a picture: output px', 'integer'),
    'x-cached': header('of a picture: whether it comes from the cache'),
  };
}

export function commonHeaders() {
  return { 'x-request-id': header('id of this request') };
}

export function rateHeaders() {
  return {
    ratelimit: header('remaining requests of the bucket: `"submit";r=29;t=1`'),
    'ratelimit-policy': header('the bucket: `"submit";q=120;w=60`'),
  };
}

export function header(description: string, type: 'string' | 'integer' = 'string') {
  return { description, schema: { type } };
}
