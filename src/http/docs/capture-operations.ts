import { z } from 'zod';
import { captureDataSchema } from '../../contract/capture-data.js';
import { captureRequestSchema } from '../../contract/capture-request.js';
import { acceptedJobSchema } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { NO_LINK_FIELDS } from '../../contract/render-link.js';
import { EXTENSION } from '../../contract/request-fields.js';
import type { Operation } from './operation.js';
import { anyHeaders } from './request-headers.js';
import {
  captureFailures,
  commonHeaders,
  failures,
  header,
  pictureContent,
  pictureHeaders,
  rateHeaders,
  success,
  withPictures,
} from './responses.js';

/** Operations that submit captures and fetch pictures. */
export function captureOperations(): Operation[] {
  return [submitScreenshot(), renderLink(), readArtifact()];
}

function submitScreenshot(): Operation {
  return {
    method: 'post',
    path: '/v1/screenshot',
    operationId: 'submitScreenshot',
    tags: ['captures'],
    summary: 'Capture a page',
    description: 'Scope: `screenshot:write`. Returns 200 with the finished capture, 202 with a job to poll, or the error.',
    security: [{ apiKey: [] }],
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

function submissionRequest(): Operation['request'] {
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

function renderLink(): Operation {
  const fields = z.object({
    url: z.string().meta({ description: 'address to capture', example: 'https://example.com/' }),
    key: z.string().meta({ description: 'id of the API key that signed the link', example: 'key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }),
    expires: z.string().meta({ description: 'Unix seconds', example: '1893456000' }),
    signature: z.string().meta({
      description:
        'hex HMAC-SHA256 of the canonical query (sorted by name, RFC 3986 encoding, without `signature`), keyed with the signing secret',
      example: '5f0c…',
    }),
  });
  return {
    method: 'get',
    path: '/v1/render',
    operationId: 'renderLink',
    tags: ['captures'],
    summary: 'The picture of a signed link',
    description: `For \`<img src>\` and Open Graph tags. Beside \`url\`, any field of a capture request in flat form (\`viewport.width=800\`, repeated names for lists), except ${NO_LINK_FIELDS.map((name) => `\`${name}\``).join(', ')}. \`stillframe sign\` makes such links. Only a render is charged: a stored picture answers for free, after \`cache_ttl\` (at least 60 s) as well, while one render renews it.`,
    security: [],
    request: { query: fields },
    responses: {
      200: {
        description: 'The picture.',
        headers: {
          ...commonHeaders(),
          ...rateHeaders(),
          'x-job-id': header('id of the job that rendered the picture'),
          ...pictureHeaders(),
          'cache-control': header('what is left of `cache_ttl`; 10 s for a picture that is being renewed'),
        },
        content: pictureContent(),
      },
      304: { description: "The client's copy is up to date." },
      ...failures({
        400: 'The fields are not valid.',
        403: 'The signature is missing, wrong or expired, or the key may not sign links.',
        503: 'Not ready yet, or not available: see `Retry-After`.',
        ...captureFailures(),
      }),
    },
    ...EXTENSION,
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
    description:
      'The file that `data.cdn_url` points to. Needs no API key: the name cannot be guessed. Supports single ranges and conditional requests.',
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
      200: { description: 'The file.', headers: { etag: header('strong'), 'cache-control': header('public, immutable') }, content },
      206: { description: 'The requested range.', headers: { 'content-range': header('byte range and total size') }, content },
      302: {
        description: 'A link to the bucket that keeps the file, where the operator wants that.',
        headers: { location: header('valid for some minutes') },
      },
      304: { description: "The client's copy is up to date." },
      ...failures({
        404: 'No such artifact.',
        410: 'The artifact has expired and has been deleted.',
        416: 'The range cannot be satisfied.',
        503: 'The storage cannot be reached at the moment: see `Retry-After`.',
      }),
    },
  };
}
