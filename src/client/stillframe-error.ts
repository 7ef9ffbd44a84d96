import type { CaptureError } from './wire.js';

/**
 * Codes of errors that the client itself detects:
 * - `connection_failed`: no answer, or one that was cut off
 * - `timeout`: the call took longer than its `timeout`; a capture continues on the server
 * - `unexpected_response`: an answer that is not stillframe's, such as an error page of a proxy
 * - `invalid_signature`: a webhook request that is not genuine, or too old
 */
export type ClientErrorCode = 'connection_failed' | 'timeout' | 'unexpected_response' | 'invalid_signature';

export type StillframeErrorCode = CaptureError['code'] | ClientErrorCode;

export interface StillframeErrorInit {
  code: StillframeErrorCode;
  message: string;
  retriable: boolean;
  status?: number | undefined;
  details?: Record<string, unknown> | undefined;
  requestId?: string | undefined;
  docsUrl?: string | undefined;
  retryAfter?: number | undefined;
  jobId?: string | undefined;
  cause?: unknown;
}

/** The failure of a call. Only an aborted call rejects with the reason of its signal instead. */
export class StillframeError extends Error {
  override readonly name = 'StillframeError';
  readonly code: StillframeErrorCode;
  /** HTTP status; null without an answer, and for a failure that a job reports. */
  readonly status: number | null;
  /** Whether the same request may succeed later. A capture that failed needs a new idempotency key. */
  readonly retriable: boolean;
  /** Details from the server beyond the message, such as the `issues` of an invalid request. */
  readonly details: Record<string, unknown>;
  /** Id of the request that failed. Quote it when you ask the operator. */
  readonly requestId: string | null;
  /** The code's section of the server's reference. */
  readonly docsUrl: string | null;
  /** Seconds to wait before the next attempt, if the server sent them. */
  readonly retryAfter: number | null;
  /** Id of the job, if there is one. It can still be looked up, and waited for after a `timeout`. */
  jobId: string | null;
  /** Key of the submission. A repetition with the same key is neither rendered nor charged twice. */
  idempotencyKey: string | null = null;

  constructor(init: StillframeErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.status = init.status ?? null;
    this.retriable = init.retriable;
    this.details = init.details ?? {};
    this.requestId = init.requestId ?? null;
    this.docsUrl = init.docsUrl ?? null;
    this.retryAfter = init.retryAfter ?? null;
    this.jobId = init.jobId ?? (typeof this.details.job_id === 'string' ? this.details.job_id : null);
  }
}

/** Creates the error that the server reports, in an answer or in a job. */
export function reportedError(
  error: CaptureError,
  context: { status?: number; retryAfter?: number | undefined; jobId?: string },
): StillframeError {
  const { code, retriable, details, request_id: requestId, docs_url: docsUrl } = error;
  const message = typeof details?.hint === 'string' ? `${error.message} ${details.hint}` : error.message;
  return new StillframeError({ code, message, retriable, details, requestId, docsUrl, ...context });
}

/** Creates the error for an argument that allows no call. JavaScript callers may pass anything, such as an unset environment variable. */
export function invalidArgument(message: string): StillframeError {
  return new StillframeError({ code: 'invalid_request', message, retriable: false });
}

/** Creates the error for a connection that could not be made, or ended too early. */
export function connectionError(cause: unknown): StillframeError {
  const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
  return new StillframeError({
    code: 'connection_failed',
    message: `The connection failed: ${reason}`,
    retriable: true,
    cause,
  });
}

/** Finds the reason, which Node's `fetch` hides in the cause. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
