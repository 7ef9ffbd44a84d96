import { isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import type { AppEnv, AppServices, ConsoleServices } from '../app-services.js';
import { isLoopback, LOOPBACK_HOST } from '../client-address.js';

/**
 * Hides the console from everybody but this machine, unless it is configured for others; and refuses a `Host` that a page of another site
 * could have had rebound to this server's address. Throws `invalid_request` (404), `forbidden`.
 */
export function consoleGate(services: AppServices, { loopbackOnly }: Pick<ConsoleServices, 'loopbackOnly'>): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { incoming } = c.env;
    if (loopbackOnly && !isLoopback(incoming)) throw new CaptureError({ code: 'invalid_request', status: 404, message: 'No such path' });
    if (!isOwnHost(incoming.headers.host ?? '', services.places.baseUrl)) {
      services.log.warn({ request_id: c.var.exchange.requestId }, 'console: a Host that is not of this server; see STILLFRAME_BASE_URL');
      throw new CaptureError({ code: 'forbidden', message: 'The Host of the request is not a name of this server.' });
    }
    await next();
  };
}

/** A loopback name, an IP address or the host of the public base URL: none of these can be rebound by others. */
function isOwnHost(host: string, baseUrl: string): boolean {
  if (LOOPBACK_HOST.test(host)) return true;
  const [, address = ''] = /^\[?([^\]]*?)\]?(?::\d{1,5})?$/.exec(host) ?? [];
  return isIP(address) !== 0 || host.toLowerCase() === new URL(baseUrl).host;
}
