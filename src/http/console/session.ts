import type { IncomingMessage } from 'node:http';
import { findConsoleSession, formTokenOf, isFormToken } from '../../account/console-access.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { AppServices } from '../app-services.js';
import type { Form } from './form.js';

const COOKIE = 'stillframe_console';

/** The secret of the session that a request belongs to, and what its forms contain; null without a session. */
export async function sessionOf(
  { store, now }: Pick<AppServices, 'store' | 'now'>,
  incoming: Pick<IncomingMessage, 'headers'>,
): Promise<{ secret: string; formToken: string } | null> {
  for (const secret of cookiesOf(incoming)) {
    if ((await findConsoleSession(store, secret, now())) !== null) return { secret, formToken: formTokenOf(secret) };
  }
  return null;
}

/**
 * `Path` is left out: browsers take the directory of the page that sets the cookie, which is that of the console, also below the path
 * prefix of a proxy.
 *
 * @param origin of the page that signed in, which says whether the browser uses https
 */
export function sessionCookie(secret: string, { maxAgeSeconds, origin }: { maxAgeSeconds: number; origin: string }): string {
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${COOKIE}=${secret}; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure}`;
}

/** @throws CaptureError `forbidden` for a form that a page of another origin sends */
export function refuseForeignForm(services: Pick<AppServices, 'places'>, { headers }: Pick<IncomingMessage, 'headers'>): void {
  const { origin, host = '' } = headers;
  const site = headers['sec-fetch-site'];
  const own = origin !== undefined && isOwn(origin, host, services.places.baseUrl);
  if (!own || (site !== undefined && site !== 'same-origin')) throw foreign();
}

/** The public address, or the Host of the request, which the gate has judged. A proxy may have taken TLS off. */
function isOwn(origin: string, host: string, baseUrl: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host: from, origin: normalized } = new URL(origin);
  return normalized === new URL(baseUrl).origin || (/^https?:$/.test(protocol) && from === host.toLowerCase());
}

/** @throws CaptureError `forbidden` for a form that is not of this session */
export function refuseForgedForm(form: Form, sessionSecret: string): void {
  if (!isFormToken(form.value('token'), sessionSecret)) throw foreign();
}

function foreign(): CaptureError {
  return new CaptureError({ code: 'forbidden', message: 'This form was not sent by a page of this console. Open the page again.' });
}

/** Several, if a cookie of the same name was set for another path. */
function cookiesOf({ headers }: Pick<IncomingMessage, 'headers'>): string[] {
  const found = (headers.cookie ?? '').split(';').flatMap((part) => {
    const [name = '', value = ''] = part.trim().split('=', 2);
    return name === COOKIE ? [value] : [];
  });
  return found.slice(0, 3);
}
