import { isIP } from 'node:net';
import type { Context, Hono } from 'hono';
import { CaptureError, notFound } from '../contract/capture-error.js';
import type { AppEnv, AppServices, ConsoleServices } from './app-services.js';
import { isLoopback, LOOPBACK_HOST } from './client-address.js';

/** Serves the console at its paths. Its code is loaded at the first request of somebody who may see it. */
export function serveConsole(app: Hono<AppEnv>, services: AppServices, own: ConsoleServices): void {
  app.all('/console/*', async (c) => {
    refuseStrangers(services, own, c);
    const { answerConsole } = await import('./console/console.js');
    return await answerConsole({ services, console: own, c });
  });
}

/**
 * Hides the console from everybody but this machine, unless it is configured for others; and refuses a `Host` that a page of another site
 * could have had rebound to this server's address. Throws `invalid_request` (404), `forbidden`.
 */
function refuseStrangers(services: AppServices, { loopbackOnly }: ConsoleServices, c: Context<AppEnv>): void {
  const { incoming } = c.env;
  if (loopbackOnly && !isLoopback(incoming)) throw notFound('No such path');
  if (isOwnHost(incoming.headers.host ?? '', services.places.baseUrl)) return;
  services.log.warn({ request_id: c.var.exchange.requestId }, 'console: a Host that is not of this server; see STILLFRAME_BASE_URL');
  throw new CaptureError({ code: 'forbidden', message: 'The Host of the request is not a name of this server.' });
}

/** A loopback name, an IP address or the host of the public base URL: none of these can be rebound by others. */
function isOwnHost(host: string, baseUrl: string): boolean {
  if (LOOPBACK_HOST.test(host)) return true;
  const [, address = ''] = /^\[?([^\]]*?)\]?(?::\d{1,5})?$/.exec(host) ?? [];
  return isIP(address) !== 0 || host.toLowerCase() === new URL(baseUrl).host;
}
