import type { MiddlewareHandler } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import type { AppEnv, AppServices } from './app-services.js';
import { LOOPBACK_HOST } from './client-address.js';

/**
 * Refuses requests that the page of another site sends, also one whose name was rebound to this server's address. Requests of programs have
 * no `Origin`. Throws `forbidden`.
 */
export function ownOriginOnly(services: AppServices): MiddlewareHandler<AppEnv> {
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
  if (!URL.canParse(origin)) return false;
  if (new URL(origin).origin === new URL(baseUrl).origin) return true;
  return origin === `http://${host}` && LOOPBACK_HOST.test(host);
}
