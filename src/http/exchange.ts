import type { Context, MiddlewareHandler } from 'hono';
import { CaptureError, type StoredError, toStoredError, toWireError } from '../contract/capture-error.js';
import { newId } from '../contract/ids.js';
import { IDEMPOTENCY_KEY_PATTERN, IDEMPOTENCY_KEY_RULE, REQUEST_ID_PATTERN } from '../contract/limits.js';
import { invalidField } from '../contract/submission.js';
import type { AppEnv, AppServices, Exchange } from './app-services.js';

/** Polled by machines: logging each request would drown out the others. */
const QUIET_ROUTES = new Set(['/livez', '/v1/health', '/metrics', '/health']);

/** Gives each request its id and headers, and logs one line about it, without query, headers and body (they may contain secrets). */
export function openExchange(services: AppServices): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const exchange = newExchange(services, c.env.incoming.headers['x-request-id']);
    c.set('exchange', exchange);
    await next();
    closeExchange(services, exchange, {
      method: c.req.method,
      status: c.env.outgoing.headersSent ? c.env.outgoing.statusCode : c.res.status,
    });
  };
}

/** An exchange for a request; a malformed id is replaced by a new one. */
export function newExchange(
  services: Pick<AppServices, 'draining'>,
  callersId: string | string[] | undefined,
): Exchange {
  const requestId = typeof callersId === 'string' && REQUEST_ID_PATTERN.test(callersId) ? callersId : newId('request');
  const headers: Record<string, string> = {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (services.draining()) headers.connection = 'close';
  return { requestId, startedAt: performance.now(), route: '(none)', principal: null, trace: null, headers };
}

/** Aborts when the client of a request has gone, so that work for it can end. */
export function clientOf(c: Context<AppEnv>): AbortSignal {
  const { signal } = c.req.raw;
  const gone = new AbortController();
  const leave = () =>
    gone.abort(new CaptureError({ code: 'invalid_request', message: 'The client has closed the connection.' }));
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return gone.signal;
}

function closeExchange(services: AppServices, exchange: Exchange, answer: { method: string; status: number }): void {
  const ms = performance.now() - exchange.startedAt;
  const { route, requestId, principal } = exchange;
  exchange.trace?.end(answer.status);
  services.observe({ method: answer.method, route, status: answer.status, ms });
  const level = QUIET_ROUTES.has(route) ? 'debug' : 'info';
  if (!services.log.isLevelEnabled(level)) return;
  services.log[level](
    {
      method: answer.method,
      route,
      status: answer.status,
      ms: Math.round(ms * 10) / 10,
      request_id: requestId,
      key_id: principal?.keyId,
    },
    'request',
  );
}

/** Answers `{ok: true, request_id, data}` (decisions.md, Envelope). */
export function answerData(c: Context<AppEnv>, data: unknown, status = 200): Response {
  const { exchange } = c.var;
  return jsonResponse(status, { ok: true, request_id: exchange.requestId, data }, exchange.headers);
}

/** Answers `{ok: false, request_id, error}` to whatever a route has thrown. */
export function answerError(services: AppServices, exchange: Exchange, thrown: unknown): Response {
  const error = noteError(services, exchange, thrown);
  if (error.status === 401) exchange.headers['www-authenticate'] = 'Bearer';
  return answerStoredError(services, exchange, error);
}

/**
 * Sets the header `Retry-After` of a failure, and logs its cause: anything but a CaptureError is a bug.
 * @returns what the client may see
 */
export function noteError({ log }: AppServices, { requestId, route, headers }: Exchange, thrown: unknown): StoredError {
  const cause = thrown instanceof CaptureError ? thrown.cause : thrown;
  if (cause !== undefined) log.error({ request_id: requestId, route, err: cause }, 'request failed');
  const seconds = retryAfterOf(thrown);
  if (seconds !== null) headers['retry-after'] = String(seconds);
  return toStoredError(thrown);
}

/** The seconds of an error's `Retry-After`, whole and at least one; null if the error has none. */
export function retryAfterOf(thrown: unknown): number | null {
  if (!(thrown instanceof CaptureError) || thrown.retryAfterSeconds === undefined) return null;
  return Math.max(1, Math.ceil(thrown.retryAfterSeconds));
}

/** Answers in the same form with an error that a job has stored. */
export function answerStoredError(services: AppServices, exchange: Exchange, error: StoredError): Response {
  return jsonResponse(error.status, errorEnvelope(services, exchange, error), exchange.headers);
}

export function errorEnvelope({ places }: AppServices, { requestId }: Exchange, error: StoredError) {
  return { ok: false, request_id: requestId, error: toWireError(error, requestId, places.baseUrl) };
}

/** JSON without the envelope: health has its own. */
export function jsonResponse(status: number, body: unknown, headers: Record<string, string>): Response {
  headers['content-type'] = 'application/json';
  // Plain strings and plain header objects: the adaptor then writes to the socket without web streams.
  return new Response(JSON.stringify(body), { status, headers });
}

/** The idempotency key of a request; null if there is none. Node joins repeated headers with a comma, which no key contains. */
export function readIdempotencyKey(c: Context<AppEnv>): string | null {
  const header = c.env.incoming.headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header === 'string' && IDEMPOTENCY_KEY_PATTERN.test(header)) return header;
  throw invalidField('Idempotency-Key', `${IDEMPOTENCY_KEY_RULE}, and must be sent once`);
}
