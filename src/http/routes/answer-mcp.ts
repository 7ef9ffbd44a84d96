import type { MiddlewareHandler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { LOOPBACK_HOST } from '../client-address.js';
import { readJson } from '../read-body.js';
import type { Route } from '../route.js';

/** One message of the Model Context Protocol (Streamable HTTP). Tools check their own scopes; captures are counted as submissions besides. */
export const answerMcp: Route = {
  method: 'POST',
  path: '/mcp',
  access: { scope: null, meter: 'reads' },
  before: ownOriginOnly,
  handle: (services) => async (c) => {
    const message = await readJson(c.env.incoming);
    // Else one request could do the work of thousands, and be counted as one.
    if (Array.isArray(message)) throw new CaptureError({ code: 'invalid_request', message: 'The body must be a single JSON-RPC message.' });
    const { answerMessage } = await import('../mcp/answer-message.js');
    return await answerMessage(services, c, message);
  },
};

/**
 * Refuses requests that the page of another site sends, also one whose name was rebound to this server's address. Requests of programs have
 * no `Origin`. Throws `forbidden`.
 */
function ownOriginOnly(services: AppServices): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { origin, host = '' } = c.env.incoming.headers;
    if (origin !== undefined && !isOwn(origin, host, services.places.baseUrl)) {
      services.log.warn({ request_id: c.var.exchange.requestId, origin: origin.slice(0, 200) }, 'request of a foreign origin refused');
      throw new CaptureError({ code: 'forbidden', message: 'Requests from pages of other origins are refused.' });
    }
    await next();
  };
}

/** The public address, or the Host of the request where it is a loopback name, which cannot be rebound. */
function isOwn(origin: string, host: string, baseUrl: string): boolean {
  return origin === new URL(baseUrl).origin || (origin === `http://${host}` && LOOPBACK_HOST.test(host));
}
