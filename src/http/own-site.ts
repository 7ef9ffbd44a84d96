/**
 * Refuses what pages of other sites send. Whatever acts without a key of the request's own, or with one that a browser adds by itself, would
 * otherwise act for each page that somebody visits who can reach this server.
 */
import { isIPv4, isIPv6 } from 'node:net';
import type { Context } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import type { AppEnv, AppServices } from './app-services.js';

const LOGGED_CHARS = 200;

/**
 * Refuses a Host that is neither `localhost`, an IP address, the host of the public base URL, nor named by the operator: others could have
 * had such a name rebound to this server's address.
 * @throws CaptureError `forbidden`
 */
export function refuseForeignHost(services: AppServices, c: Context<AppEnv>): void {
  const { host = '' } = c.env.incoming.headers;
  if (isOwnHost(services, host)) return;
  services.log.warn(
    { request_id: c.var.exchange.requestId, host: host.slice(0, LOGGED_CHARS) },
    'refused: the Host is not a name of this server. If clients use it, add it to STILLFRAME_ALLOWED_HOSTS',
  );
  throw new CaptureError({ code: 'forbidden', message: 'The Host of the request is not a name of this server.' });
}

/**
 * Refuses what a browser sends for a page of another origin, including one of the same site. Other programs send neither of the headers.
 * @throws CaptureError `forbidden`
 */
export function refuseForeignPage(services: AppServices, c: Context<AppEnv>): void {
  const { origin, host = '', 'sec-fetch-site': site = 'none' } = c.env.incoming.headers;
  // `none`: the user has typed the address, for example.
  if ((site === 'same-origin' || site === 'none') && (origin === undefined || isOwnOrigin(services, origin, host)))
    return;
  services.log.warn(
    {
      request_id: c.var.exchange.requestId,
      origin: origin?.slice(0, LOGGED_CHARS),
      site: String(site).slice(0, LOGGED_CHARS),
    },
    'refused: a page of another origin has sent the request',
  );
  throw new CaptureError({ code: 'forbidden', message: 'Requests from pages of other origins are refused.' });
}

function isOwnHost({ places, config }: AppServices, text: string): boolean {
  const host = text.toLowerCase();
  const [, name = ''] = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(host) ?? [];
  if (name === 'localhost' || isIPv4(name) || isIPv6(name.replace(/^\[(.*)\]$/, '$1'))) return true;
  return host === new URL(places.baseUrl).host || config.allowedHosts.includes(name);
}

/** The public base URL's, or that of the Host if it is a name of this server. A proxy may have removed TLS. */
function isOwnOrigin(services: AppServices, origin: string, host: string): boolean {
  if (origin === new URL(services.places.baseUrl).origin) return true;
  return isOwnHost(services, host) && [`http://${host}`, `https://${host}`].includes(origin.toLowerCase());
}
