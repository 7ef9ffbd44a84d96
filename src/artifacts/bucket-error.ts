import { CaptureError } from '../contract/capture-error.js';

/** Statuses after which another try may succeed. */
const TRANSIENT = new Set([408, 429, 500, 502, 503, 504]);
const RETRY_SECONDS = 5;

/** A failed call to a bucket. Its message is for the log and the operator, and contains no credentials. */
export class BucketError extends Error {
  override readonly name = 'BucketError';
  /** HTTP status; null without a response. */
  readonly status: number | null;
  /** Code of S3, such as `AccessDenied`, or of the network, such as `ECONNREFUSED`; empty if there is none. */
  readonly code: string;

  constructor(call: string, { status, code, cause }: { status: number | null; code: string; cause?: unknown }) {
    const outcome =
      status === null ? `failed: ${cause instanceof Error ? cause.message : 'no response'}` : `returned ${status}`;
    super(
      [`${call} ${outcome}`, code].filter((part) => part !== '').join(' '),
      cause === undefined ? undefined : { cause },
    );
    this.status = status;
    this.code = code;
  }

  /** Whether another try may succeed. */
  get isTransient(): boolean {
    return this.status === null || TRANSIENT.has(this.status);
  }

  /** Whether no try succeeds until the operator corrects something: credentials, a policy, the name of the bucket. */
  get isRefusal(): boolean {
    return this.status === 401 || this.status === 403 || this.code === 'NoSuchBucket';
  }

  get isTooLarge(): boolean {
    return this.status === 413 || this.code === 'EntityTooLarge';
  }

  /** Whether there is no such object. A HEAD does not distinguish it from a missing bucket. */
  get isMissing(): boolean {
    return this.status === 404 && this.code !== 'NoSuchBucket';
  }
}

/**
 * Converts a failure for the client: 503 for every failure of the bucket except an object that it never accepts; the reason is only logged.
 */
export function asUnreachable(error: unknown, task: 'store' | 'read' | 'remove'): unknown {
  if (!(error instanceof BucketError)) return error;
  if (error.isTooLarge) {
    return new CaptureError({
      code: 'internal_error',
      message: 'The picture is larger than the storage of this server accepts.',
      retriable: false,
      cause: error,
    });
  }
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: `The server could not ${task} the picture: its storage cannot be reached at the moment. Try again later.`,
    retryAfterSeconds: RETRY_SECONDS,
    cause: error,
  });
}
