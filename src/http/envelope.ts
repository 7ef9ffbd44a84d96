import type { Context } from 'hono';
import { CaptureError, type StoredError, toStoredError, toWireError } from '../contract/capture-error.js';
import type { AppEnv, AppServices, Exchange } from './app-services.js';

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

/** Whole seconds, at least one; null if the error has none. */
export function retryAfterOf(thrown: unknown): number | null {
  if (!(thrown instanceof CaptureError) || thrown.retryAfterSeconds === undefined) return null;
  return Math.max(1, Math.ceil(thrown.retryAfterSeconds));
}

/** The same for an error that a job has stored. */
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
