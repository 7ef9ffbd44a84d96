/**
 * Every way a request or a capture can fail, as one table (decisions.md, "Error codes → HTTP status, retriable").
 * Knows nothing of HTTP libraries or browsers: foreign errors are translated to a CaptureError where they enter.
 */

/** The way out for a caller whose target is in the operator's own network: the same for a private address and a name that does not exist. */
export const ALLOW_OWN_NETWORK =
  'To capture a page of your own network, list its `host:port`, or the CIDR of its network, in STILLFRAME_ALLOW_DESTINATIONS (--allow-destinations) of the server, or run `stillframe capture` on a machine that reaches it.';

/** The one message for names that do not exist and names with private addresses (decisions.md, Destinations). */
export function notPublic(host: string): string {
  return `The host name "${host}" could not be resolved to a public address.`;
}

/** HTTP status when the error answers a request directly, and whether a retry may help; individual errors may differ (CaptureErrorInit). */
export const ERROR_TABLE = {
  invalid_request: { status: 400, retriable: false },
  idempotency_conflict: { status: 409, retriable: false },
  unauthorized: { status: 401, retriable: false },
  forbidden: { status: 403, retriable: false },
  quota_exceeded: { status: 429, retriable: false },
  rate_limited: { status: 429, retriable: true },
  render_timeout: { status: 504, retriable: true },
  render_incomplete: { status: 502, retriable: true },
  navigation_failed: { status: 502, retriable: true },
  blocked_by_target: { status: 451, retriable: false },
  target_error: { status: 502, retriable: true },
  render_crashed: { status: 500, retriable: true },
  internal_error: { status: 500, retriable: true },
  unsupported_option: { status: 400, retriable: false },
  egress_unavailable: { status: 503, retriable: true },
  egress_mismatch: { status: 502, retriable: false },
};

export type ErrorCode = keyof typeof ERROR_TABLE;
export const ERROR_CODES = Object.keys(ERROR_TABLE) as ErrorCode[];

export type ErrorDetails = Record<string, unknown>;

export interface CaptureErrorInit {
  code: ErrorCode;
  /** Shown to the client: name the field and its valid values, never internals. */
  message: string;
  /** Overrides the table's default for this one error. */
  retriable?: boolean;
  /** Overrides the table's status (404, 405, 410, 428, 503 as decisions.md says). */
  status?: number;
  /** Free-form, shown to the client. */
  details?: ErrorDetails;
  /** Becomes the `Retry-After` header, in whole seconds. */
  retryAfterSeconds?: number;
  /** For the log only. */
  cause?: unknown;
  /** A small webp of the page when it failed, which a server keeps as an artifact. */
  picture?: Uint8Array;
}

/** The one error class of the product. Anything else that is thrown is a bug and answers `internal_error`. */
export class CaptureError extends Error {
  override readonly name = 'CaptureError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly retriable: boolean;
  readonly details: ErrorDetails | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly picture: Uint8Array | undefined;

  constructor(init: CaptureErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    const rule = ERROR_TABLE[init.code];
    this.code = init.code;
    this.status = init.status ?? rule.status;
    this.retriable = init.retriable ?? rule.retriable;
    this.details = init.details;
    this.retryAfterSeconds = init.retryAfterSeconds;
    this.picture = init.picture;
  }

  /** The same error with another message, or with further details. */
  with({ message = this.message, details }: { message?: string; details?: ErrorDetails }): CaptureError {
    const all = details === undefined ? this.details : { ...this.details, ...details };
    return new CaptureError({ ...this, cause: this.cause, message, details: all });
  }
}

/**
 * The error for a field, or a file, of a request.
 * @param message continues its name, and has no full stop
 */
export function refusedField(
  path: string,
  message: string,
  more: Pick<CaptureErrorInit, 'status' | 'cause'> = {},
): CaptureError {
  const details = { issues: [{ path, message }] };
  return new CaptureError({ code: 'invalid_request', message: `\`${path}\` ${message}.`, details, ...more });
}

/** The error for what does not exist, or may not be seen. */
export function notFound(message: string): CaptureError {
  return new CaptureError({ code: 'invalid_request', status: 404, message });
}

/** The error of a job that its caller has canceled. */
export function jobCanceled(details: ErrorDetails = {}): CaptureError {
  return new CaptureError({
    code: 'invalid_request',
    status: 409,
    message: 'The job was canceled.',
    details: { reason: 'canceled', ...details },
  });
}

/** The part of an error that a job row stores: all that the client may see. */
export interface StoredError {
  code: ErrorCode;
  message: string;
  retriable: boolean;
  status: number;
  details?: ErrorDetails;
}

export const INTERNAL_ERROR_MESSAGE = 'An internal error occurred. The capture can be retried.';

/** The public form of anything thrown: a CaptureError unchanged, everything else as `internal_error` with a fixed text. */
export function toStoredError(thrown: unknown): StoredError {
  if (!(thrown instanceof CaptureError))
    return { code: 'internal_error', message: INTERNAL_ERROR_MESSAGE, ...ERROR_TABLE.internal_error };
  const { code, message, retriable, status, details } = thrown;
  return { code, message, retriable, status, ...(details === undefined ? {} : { details }) };
}

/**
 * The capture error object of interface.md.
 * @param docsBase origin (and path prefix) of this server, without a trailing slash; the docs page has a section per code
 */
export function toWireError({ code, message, retriable, details }: StoredError, requestId: string, docsBase: string) {
  return {
    code,
    message,
    retriable,
    request_id: requestId,
    docs_url: `${docsBase}/docs/errors#${code}`,
    ...(details === undefined ? {} : { details: toWireDetails(details, docsBase) }),
  };
}

/** The details of a stored error, with the address of its picture in place of the artifact's name. */
export function toWireDetails({ artifact, ...details }: ErrorDetails, publicBase: string): ErrorDetails {
  return { ...details, ...(artifact === undefined ? {} : { picture_url: `${publicBase}/artifacts/${artifact}` }) };
}
