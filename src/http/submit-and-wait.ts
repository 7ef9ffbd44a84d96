import type { Context } from 'hono';
import { CaptureError, type StoredError, toStoredError } from '../contract/capture-error.js';
import { isTerminal, type JobSnapshot } from '../contract/job.js';
import type { Submission } from '../contract/submission.js';
import type { AppEnv, AppServices, Exchange } from './app-services.js';
import { answerStoredError } from './exchange.js';
import { principalOf } from './guard.js';

/** `Retry-After` while the server is shutting down: about as long as a restart takes. */
const DRAIN_RETRY_SECONDS = 5;
/** In chronological order (decisions.md, Capture semantics). */
const TIMED_STAGES = ['queue', 'navigate', 'steps', 'run', 'settle', 'scroll', 'stop', 'shoot', 'encode', 'store'];

/** Failures of every route that captures, for the OpenAPI document. */
export const CAPTURE_FAILURES = {
  410: 'The picture has been deleted; only when the response is the picture itself.',
  429: 'Rate limit or quota exceeded.',
  451: 'The target blocks the visitor.',
  500: 'The browser crashed twice, or an internal error occurred.',
  502: 'The target could not be opened, responded with an error, or failed a check of the request.',
  504: 'The capture ran out of time.',
};

/**
 * Shared by every route that captures: accepts the submission durably and, if it is synchronous, waits for its end. Sets the headers
 * `x-job-id` and `server-timing` of the response.
 *
 * @throws CaptureError as `submit` of capture/
 */
export async function submitAndWait(
  services: AppServices,
  c: Context<AppEnv>,
  {
    submission,
    idempotencyKey,
    submit = services.submit,
  }: { submission: Submission; idempotencyKey: string | null; submit?: AppServices['submit'] },
): Promise<JobSnapshot> {
  const { exchange } = c.var;
  const { route, requestId, startedAt } = exchange;
  const { traceparent, tracestate } = c.env.incoming.headers;
  const caller = { traceparent, tracestate };
  const trace =
    services.traces?.submission({
      method: c.req.method,
      route,
      requestId,
      startedAt,
      caller,
      options: submission.options,
    }) ?? null;
  exchange.trace = trace;
  const context = { principal: principalOf(c), requestId, idempotencyKey, traceparent: trace?.traceparent ?? null };
  const accepted = await submit(submission, context).catch((error: unknown) => {
    trace?.failed(toStoredError(error).code);
    throw error;
  });
  exchange.headers['x-job-id'] = accepted.id;
  const waits = submission.mode === 'sync' && !isTerminal(accepted.state);
  const job = waits ? await services.waitForJob(accepted, c.req.raw.signal) : accepted;
  const outcome = job.result?.outcome;
  trace?.accepted({ id: job.id, cached: outcome?.ok === true && outcome.data.cached });
  if (outcome?.ok === false) trace?.failed(outcome.error.code);
  const timing = outcome?.ok === true ? serverTiming(services.timingsOf(job.id) ?? {}) : '';
  if (timing !== '') exchange.headers['server-timing'] = timing;
  return job;
}

/** @throws CaptureError `internal_error` (503) once the server is shutting down, unless other servers take over its captures */
export function refuseWhenDraining(services: AppServices): void {
  if (!services.draining() || services.handsOver()) return;
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

function serverTiming(timings: Record<string, number>): string {
  return TIMED_STAGES.filter((stage) => timings[stage] !== undefined)
    .map((stage) => `${stage};dur=${Math.round((timings[stage] ?? 0) * 10) / 10}`)
    .join(', ');
}
