import type { Handler } from 'hono';
import { toWireCaptureData } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import { type JobSnapshot, toWireAcceptedJob } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { parseSubmission } from '../../contract/submission.js';
import { answerPicture } from '../answer-picture.js';
import type { Edge, EdgeEnv, Exchange } from '../edge.js';
import { answerData } from '../envelope.js';
import { formatOfAccept, negotiate } from '../negotiate.js';
import { readJson } from '../read-json.js';
import { failedAnswer, refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';

/**
 * POST /v1/screenshot: 200 with a finished capture, as JSON or as the picture itself, 202 with a job, or the error
 * (interface.md; extensions.md, Answers).
 */
export function submitScreenshot(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const { exchange } = c.var;
    const idempotencyKey = readIdempotencyKey(c.env.incoming.headers['idempotency-key']);
    const hasQuery = c.req.url.includes('?');
    const forceAsync = hasQuery && readSwitch(c.req.queries('mode'), 'mode', 'async');
    const explain = hasQuery && readSwitch(c.req.queries('explain'), 'explain', '1');
    refuseWhenDraining(edge);
    const { accept } = c.env.incoming.headers;
    const body = withFormat(await readJson(c.env.incoming), accept);
    const submission = parseSubmission(body, { ...edge.config, forceAsync, explain });
    const form = negotiate(accept, submission.options.format);
    const job = await submitAndSettle(edge, c, { submission, idempotencyKey });
    if (job.result === null) return acceptedAnswer(job, exchange, (data) => answerData(c, data, 202));
    const { outcome } = job.result;
    if (!outcome.ok) return failedAnswer(edge, exchange, { job, error: outcome.error });
    if (form === 'bytes') return await answerPicture(edge, c, { data: outcome.data, cacheControl: 'no-store', conditional: false });
    return answerData(c, toWireCaptureData(outcome.data, edge.places.baseUrl));
  };
}

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
