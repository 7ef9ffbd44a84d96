import type { MiddlewareHandler } from 'hono';
import { newId } from '../contract/ids.js';
import { REQUEST_ID_PATTERN } from '../contract/limits.js';
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
export function newExchange(services: Pick<AppServices, 'draining'>, givenId: string | string[] | undefined): Exchange {
  const requestId = typeof givenId === 'string' && REQUEST_ID_PATTERN.test(givenId) ? givenId : newId('request');
  const headers: Record<string, string> = {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (services.draining()) headers.connection = 'close';
  return { requestId, startedAt: performance.now(), route: '(none)', principal: null, trace: null, headers };
}

function closeExchange(services: AppServices, exchange: Exchange, answer: { method: string; status: number }): void {
  const ms = performance.now() - exchange.startedAt;
  const { route, requestId, principal } = exchange;
  exchange.trace?.end(answer.status);
  services.observe({ method: answer.method, route, status: answer.status, ms });
  const level = QUIET_ROUTES.has(route) ? 'debug' : 'info';
  if (!services.log.isLevelEnabled(level)) return;
  services.log[level](
    { method: answer.method, route, status: answer.status, ms: Math.round(ms * 10) / 10, request_id: requestId, key_id: principal?.keyId },
    'request',
  );
}
