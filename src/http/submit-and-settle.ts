import type { Context } from 'hono';
import { CaptureError, type StoredError, toStoredError } from '../contract/capture-error.js';
import { isTerminal, type JobSnapshot } from '../contract/job.js';
import type { Submission } from '../contract/submission.js';
import type { SubmissionTrace } from '../tracing/traces.js';
import type { AppEnv, AppServices, Exchange } from './app-services.js';
import { answerStoredError } from './envelope.js';
import { principalOf } from './guard.js';

/** `Retry-After` while the server is shutting down: about as long as a restart takes. */
const DRAIN_RETRY_SECONDS = 5;
/** In chronological order (decisions.md, Capture semantics). */
const TIMED_STAGES = ['queue', 'navigate', 'run', 'settle', 'scroll', 'stop', 'shoot', 'encode', 'store'];

/**
 * Shared by every route that captures: accepts the submission durably and, if it is synchronous, waits for its end. Sets the headers
 * `x-job-id` and `server-timing` of the response.
 *
 * @throws CaptureError as `submit` of capture/
 */
export async function submitAndSettle(
  services: AppServices,
  c: Context<AppEnv>,
  {
    submission,
    idempotencyKey,
    submit = services.submit,
  }: { submission: Submission; idempotencyKey: string | null; submit?: AppServices['submit'] },
): Promise<JobSnapshot> {
  const { exchange } = c.var;
  const { requestId } = exchange;
  const trace = beginTrace(services, c, submission);
  const traceparent = trace?.traceparent ?? null;
  const context = { principal: principalOf(c), requestId, idempotencyKey, traceparent };
  const accepted = await submit(submission, context).catch((error: unknown) => {
    trace?.failed(toStoredError(error).code);
    throw error;
  });
  exchange.headers['x-job-id'] = accepted.id;
  const waits = submission.mode === 'sync' && !isTerminal(accepted.state);
  const job = waits ? await services.settle(accepted, c.req.raw.signal) : accepted;
  tellTrace(trace, job);
  const timing = job.result?.outcome.ok === true ? serverTiming(services.timingsOf?.(job.id) ?? null) : '';
  if (timing !== '') exchange.headers['server-timing'] = timing;
  return job;
}

function beginTrace({ traces }: AppServices, c: Context<AppEnv>, { options }: Submission): SubmissionTrace | null {
  const { exchange } = c.var;
  const { route, requestId, startedAt } = exchange;
  const { traceparent, tracestate } = c.env.incoming.headers;
  const caller = { traceparent, tracestate };
  exchange.trace = traces?.submission({ method: c.req.method, route, requestId, startedAt, caller, options }) ?? null;
  return exchange.trace;
}

function tellTrace(trace: SubmissionTrace | null, { id, result }: JobSnapshot): void {
  trace?.accepted({ id, cached: result?.outcome.ok === true && result.outcome.data.cached });
  if (result?.outcome.ok === false) trace?.failed(result.outcome.error.code);
}

/** @throws CaptureError `internal_error` (503) once the server is shutting down, unless other servers take its captures over */
export function refuseWhenDraining(services: AppServices): void {
  if (!services.draining() || services.handsOver?.() === true) return;
  throw new CaptureError({
    code: 'internal_error',
    status: 503,
    message: 'The server is shutting down and accepts no new captures.',
    retryAfterSeconds: DRAIN_RETRY_SECONDS,
  });
}

/** A failed capture's own error, with the job to look up (interface.md, Errors rule 2). */
export function failedAnswer(
  services: AppServices,
  exchange: Exchange,
  { job, error }: { job: JobSnapshot; error: StoredError },
): Response {
  return answerStoredError(services, exchange, { ...error, details: { ...error.details, job_id: job.id } });
}

function serverTiming(timings: Record<string, number> | null): string {
  if (timings === null) return '';
  return TIMED_STAGES.filter((stage) => timings[stage] !== undefined)
    .map((stage) => `${stage};dur=${Math.round((timings[stage] ?? 0) * 10) / 10}`)
    .join(', ');
}
