import type { Handler } from 'hono';
import { toWireCaptureData } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import { isTerminal, type JobSnapshot, toWireAcceptedJob } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { parseSubmission } from '../../contract/submission.js';
import type { Edge, EdgeEnv, Exchange } from '../edge.js';
import { answerData, answerStoredError } from '../envelope.js';
import { principalOf } from '../guard.js';
import { readJson } from '../read-json.js';

/** What a client is told to wait while the server is going down: about as long as a restart takes. */
const DRAIN_RETRY_SECONDS = 5;
/** In the order in which a capture goes through them (decisions.md, Capture semantics). */
const TIMED_STAGES = ['queue', 'navigate', 'settle', 'scroll', 'shoot', 'encode', 'store'];

/** POST /v1/screenshot: 200 with a finished capture, 202 with a handle, or the failure itself (interface.md). */
export function submitScreenshot(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const { exchange } = c.var;
    const idempotencyKey = readIdempotencyKey(c.env.incoming.headers['idempotency-key']);
    const forceAsync = c.req.url.includes('?') && readMode(c.req.queries('mode'));
    if (edge.draining()) throw goingDown();
    const body = await readJson(c.env.incoming);
    const submission = parseSubmission(body, { forceAsync, webhookAllow: edge.config.webhookAllow });
    const context = { principal: principalOf(c), requestId: exchange.requestId, idempotencyKey };
    let job = await edge.submit(submission, context);
    if (submission.mode === 'sync' && !isTerminal(job.state)) job = await edge.settle(job, c.req.raw.signal);
    if (job.result === null) return acceptedAnswer(job, exchange, (data) => answerData(c, data, 202));
    const { outcome } = job.result;
    if (!outcome.ok) {
      // The client can look the job up by itself (interface.md, Errors rule 2).
      const details = { ...outcome.error.details, job_id: job.id };
      return answerStoredError(edge, exchange, { ...outcome.error, details });
    }
    const timing = serverTiming(edge.timingsOf?.(job.id) ?? null);
    if (timing !== '') exchange.headers['server-timing'] = timing;
    return answerData(c, toWireCaptureData(outcome.data, edge.places.baseUrl));
  };
}

function acceptedAnswer(job: JobSnapshot, exchange: Exchange, answer: (data: unknown) => Response): Response {
  const handle = toWireAcceptedJob(job);
  exchange.headers.location = handle.poll_url;
  return answer(handle);
}

/** Two such headers come joined with a comma, which no key has. */
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

/** Other query parameters are ignored. */
function readMode(values: string[] | undefined): boolean {
  if (values === undefined) return false;
  if (values.every((value) => value === 'async')) return true;
  const message = 'must be `async` where it is given';
  throw new CaptureError({
    code: 'invalid_request',
    message: `The query parameter \`mode\` ${message}.`,
    details: { issues: [{ path: 'mode', message }] },
  });
}

function goingDown(): CaptureError {
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: 'This server is going down and takes no new captures.',
    retryAfterSeconds: DRAIN_RETRY_SECONDS,
  });
}

function serverTiming(timings: Record<string, number> | null): string {
  if (timings === null) return '';
  return TIMED_STAGES.filter((stage) => timings[stage] !== undefined)
    .map((stage) => `${stage};dur=${Math.round((timings[stage] ?? 0) * 10) / 10}`)
    .join(', ');
}
