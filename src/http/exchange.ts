import type { Context, MiddlewareHandler } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import { newId } from '../contract/ids.js';
import { REQUEST_ID_PATTERN } from '../contract/limits.js';
import type { Edge, EdgeEnv, Exchange } from './edge.js';
import { answerError } from './envelope.js';

/** Answered often by machines: a line each would drown the others. */
const QUIET_ROUTES = new Set(['/livez', '/v1/health', '/metrics']);

/** Gives each request its id and its headers, and the log one line about it: no query, no header, no body (they may hold secrets). */
export function openExchange(edge: Edge): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const exchange = newExchange(edge, c.env.incoming.headers['x-request-id']);
    c.set('exchange', exchange);
    await next();
    closeExchange(edge, exchange, { method: c.req.method, status: c.env.outgoing.headersSent ? c.env.outgoing.statusCode : c.res.status });
  };
}

/** An exchange for a request; an id that is not of the right form is ignored and a fresh one made. */
export function newExchange(edge: Pick<Edge, 'draining'>, givenId: string | string[] | undefined): Exchange {
  const requestId = typeof givenId === 'string' && REQUEST_ID_PATTERN.test(givenId) ? givenId : newId('request');
  const headers: Record<string, string> = {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (edge.draining()) headers.connection = 'close';
  return { requestId, startedAt: performance.now(), route: '(none)', principal: null, headers };
}

/** Answers whatever a route throws; what is no CaptureError is a bug, and only the log learns of it. */
export function answerThrown(edge: Edge): (thrown: Error, c: Context<EdgeEnv>) => Response {
  return (thrown, c) => {
    const { exchange } = c.var;
    const cause = thrown instanceof CaptureError ? thrown.cause : thrown;
    if (cause !== undefined) edge.log.error({ request_id: exchange.requestId, route: exchange.route, err: cause }, 'request failed');
    return answerError(edge, exchange, thrown);
  };
}

function closeExchange(edge: Edge, exchange: Exchange, answer: { method: string; status: number }): void {
  const ms = performance.now() - exchange.startedAt;
  const { route, requestId, principal } = exchange;
  edge.observe?.({ method: answer.method, route, status: answer.status, ms });
  const level = QUIET_ROUTES.has(route) ? 'debug' : 'info';
  if (!edge.log.isLevelEnabled(level)) return;
  edge.log[level](
    { method: answer.method, route, status: answer.status, ms: Math.round(ms * 10) / 10, request_id: requestId, key_id: principal?.keyId },
    'request',
  );
}
