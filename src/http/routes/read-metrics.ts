import { createHash, timingSafeEqual } from 'node:crypto';
import { CaptureError, notFound } from '../../contract/capture-error.js';
import { isLoopback } from '../client-address.js';
import { refuseForeignPage } from '../own-site.js';
import type { Route } from '../route.js';

/** Requires its own token; without one, it is served to this machine only. API keys are not accepted. */
export const readMetrics: Route = {
  method: 'GET',
  path: '/metrics',
  access: null,
  onEveryServer: true,
  handle: (services) => async (c) => {
    const { metricsToken } = services.config;
    const { incoming } = c.env;
    if (metricsToken !== null && !isToken(incoming.headers.authorization, metricsToken)) {
      throw new CaptureError({ code: 'unauthorized', message: 'The metrics token is missing or wrong.' });
    }
    if (metricsToken === null) {
      if (!isLoopback(incoming)) throw notFound('No such path');
      refuseForeignPage(services, c);
    }
    const { headers } = c.var.exchange;
    headers['content-type'] = 'text/plain; version=0.0.4; charset=utf-8';
    return new Response(await services.metrics(), { headers });
  },
};

function isToken(authorization: string | undefined, token: string): boolean {
  const credentials = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return credentials !== undefined && timingSafeEqual(digest(credentials), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
