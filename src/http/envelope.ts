import type { Context } from 'hono';
import { CaptureError, type StoredError, toStoredError, toWireError } from '../contract/capture-error.js';
import type { AppEnv, AppServices, Exchange } from './app-services.js';

/** Answers `{ok: true, request_id, data}` (decisions.md, Envelope). */
export function answerData(c: Context<AppEnv>, data: unknown, status = 200): Response {
  const { exchange } = c.var;
  return jsonResponse(status, { ok: true, request_id: exchange.requestId, data }, exchange.headers);
}

/** Answers `{ok: false, request_id, error}`; a CaptureError's `Retry-After` becomes the header. */
export function answerError(services: AppServices, exchange: Exchange, thrown: unknown): Response {
  const error = toStoredError(thrown);
  if (thrown instanceof CaptureError && thrown.retryAfterSeconds !== undefined) {
    exchange.headers['retry-after'] = String(Math.max(1, Math.ceil(thrown.retryAfterSeconds)));
  }
  if (error.status === 401) exchange.headers['www-authenticate'] = 'Bearer';
  return answerStoredError(services, exchange, error);
}

/** The same for an error that a job has stored. */
export function answerStoredError(services: AppServices, exchange: Exchange, error: StoredError): Response {
  const { requestId, headers } = exchange;
  const body = { ok: false, request_id: requestId, error: toWireError(error, requestId, services.places.baseUrl) };
  return jsonResponse(error.status, body, headers);
}

/** JSON without the envelope: health has its own. */
export function jsonResponse(status: number, body: unknown, headers: Record<string, string>): Response {
  headers['content-type'] = 'application/json';
  // Plain strings and plain header objects: the adaptor then writes to the socket without web streams.
  return new Response(JSON.stringify(body), { status, headers });
}
