import { z } from 'zod';
import { captureDataSchema, toWireCaptureData } from '../../contract/capture-data.js';
import { captureRequestSchema } from '../../contract/capture-request.js';
import { acceptedJobSchema, toWireAcceptedJob } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN, PAGE_FILES_MAX, PAGE_FILES_MAX_BYTES } from '../../contract/limits.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { sendAsFiles } from '../../contract/request-json.js';
import { invalidRequest, parseSubmission } from '../../contract/submission.js';
import { answerData, readIdempotencyKey } from '../exchange.js';
import { principalOf, SUBMISSIONS } from '../guard.js';
import { formatOfAccept, negotiate } from '../negotiate.js';
import { readJson } from '../read-body.js';
import { isForm, RequestParts } from '../read-form.js';
import { receiveForm } from '../receive-form.js';
import type { Description, Route } from '../route.js';
import { answerPicture, PICTURE_HEADERS } from '../send-artifact.js';
import { CAPTURE_FAILURES, failedAnswer, refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';

/** A finished capture, as JSON or as the picture itself (200), a job (202), or the error (interface.md; extensions.md, Answers). */
export const submitScreenshot: Route = {
  method: 'POST',
  path: '/v1/screenshot',
  access: SUBMISSIONS,
  describe,
  handle: (services) => async (c) => {
    const { exchange } = c.var;
    const idempotencyKey = readIdempotencyKey(c);
    const hasQuery = c.req.url.includes('?');
    const forceAsync = hasQuery && readSwitch(c.req.queries('mode'), 'mode', 'async');
    const explain = hasQuery && readSwitch(c.req.queries('explain'), 'explain', '1');
    refuseWhenDraining(services);
    const { accept } = c.env.incoming.headers;
    await using received = isForm(c.env.incoming)
      ? await receiveForm(services, c, (files) => new RequestParts(files))
      : null;
    const body = withFormat(received === null ? await readJson(c.env.incoming, sendAsFiles) : received.body, accept);
    const submission = parseSubmission(body, {
      ...services.config,
      template: await services.templates.find(body, principalOf(c)),
      forceAsync,
      explain,
      files: received?.files ?? null,
    });
    const form = negotiate(accept, submission.options.format);
    const job = await submitAndWait(services, c, {
      submission,
      idempotencyKey,
      submit: received?.submit ?? services.submit,
    });
    if (job.result === null) {
      const handle = toWireAcceptedJob(job);
      exchange.headers.location = handle.poll_url;
      return answerData(c, handle, 202);
    }
    const { outcome } = job.result;
    if (!outcome.ok) return failedAnswer(services, exchange, { job, error: outcome.error });
    if (form === 'bytes')
      return await answerPicture(services, c, { data: outcome.data, cacheControl: 'no-store', conditional: false });
    return answerData(c, toWireCaptureData(outcome.data, services.places.baseUrl));
  },
};

/** Adds the format that `Accept` chooses to a body without a format; a body with `animate` has its format there. */
function withFormat(body: unknown, accept: string | undefined): unknown {
  const format = formatOfAccept(accept);
  if (
    format === null ||
    body === null ||
    typeof body !== 'object' ||
    Array.isArray(body) ||
    'format' in body ||
    'animate' in body
  )
    return body;
  return { ...body, format };
}

/** A query parameter with one possible value. Unknown parameters are ignored. */
function readSwitch(values: string[] | undefined, name: string, on: string): boolean {
  if (values === undefined) return false;
  if (values.every((value) => value === on)) return true;
  throw invalidRequest([{ path: name, message: `must be \`${on}\`, or absent` }]);
}

/** Parts of a request with files. */
const formSchema = z
  .object({
    request: z.string().optional().meta({
      description: 'CaptureRequest as JSON, without `url`, `html` and `base_url`. Default: `{}`',
      example: '{"format":"pdf"}',
    }),
    files: z
      .array(z.string().meta({ format: 'binary' }))
      .min(1)
      .max(PAGE_FILES_MAX)
      .meta({
        description: `the page's files, each a part \`files\` whose file name is its relative path; one is \`index.html\`. At most ${PAGE_FILES_MAX_BYTES} bytes together`,
        example: ['<!doctype html><img src="img/logo.png">'],
      }),
  })
  .meta(EXTENSION);

function describe(): Description {
  return {
    operationId: 'submitScreenshot',
    tags: ['captures'],
    summary: 'Capture a page',
    description: 'Returns 200 with the finished capture, 202 with a job to poll, or the error.',
    answers: {
      200: {
        description:
          'The capture is finished; download `data.cdn_url`, or the picture itself when `Accept` names its media type.',
        data: captureDataSchema,
        picture: true,
        headers: {
          'server-timing': 'milliseconds by stage: queue, navigate, run, settle, scroll, stop, shoot, encode, store',
          'x-job-id': 'id of the job',
          ...PICTURE_HEADERS,
        },
      },
      202: {
        description: 'The capture is queued or still running; poll `data.poll_url`.',
        data: acceptedJobSchema,
        headers: { location: 'the same as `data.poll_url`', 'x-job-id': 'id of the job' },
      },
    },
    failures: {
      400: 'The request is not valid: `details.issues` names every problem. Also a body that is too large, too deep or of another content type.',
      406: 'The `Accept` header allows only media types other than that of `format`.',
      409: 'The idempotency key belongs to another API key or another request.',
      503: 'Shutting down, overloaded, without a browser, or egress is unavailable.',
      ...CAPTURE_FAILURES,
    },
    query: z.object({
      mode: z.enum(['async']).optional().meta({ description: 'forces asynchronous mode even when `sync` is true' }),
      explain: z
        .enum(['1'])
        .optional()
        .meta({ description: 'reports in `diagnostics.changed` what was done to the page', ...EXTENSION }),
    }),
    headers: z.object({
      'Idempotency-Key': z.string().regex(IDEMPOTENCY_KEY_PATTERN).optional().meta({
        description:
          'identifies a logical submission: a repeated request returns the original job and does not render again',
      }),
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
      description: 'At most 256 KiB and 32 levels of nesting. A page is sent with its files as multipart/form-data.',
      schema: captureRequestSchema,
      form: formSchema,
      example: { url: 'https://example.com/', format: 'png', full_page: true },
    },
  };
}
