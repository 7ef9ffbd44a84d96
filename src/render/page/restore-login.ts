import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions, CookieOption } from '../../contract/capture-request.js';
import type { OpenPage } from './open-page.js';

type LoginOptions = Pick<CaptureOptions, 'url' | 'cookies' | 'storageState'>;

/**
 * Adds `storage_state` and `cookies` to the capture's context, before the navigation.
 * @throws CaptureError `invalid_request` for cookies that the browser rejects, such as a `__Host-` one with a domain
 */
export async function restoreLogin({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, options: LoginOptions): Promise<void> {
  const { cookies, storageState, url } = options;
  const all = [...(storageState?.cookies ?? []), ...cookies];
  if (all.length > 0) {
    await deadlines.orEnd(
      session.context.addCookies(all.map((cookie) => forBrowser(cookie, url))).catch((error: unknown) => {
        throw rejected(error);
      }),
    );
  }
  const stored = (storageState?.origins ?? []).filter(({ localStorage }) => localStorage.length > 0);
  if (stored.length > 0) await deadlines.orEnd(session.context.addInitScript(fillLocalStorage, stored));
}

function forBrowser({ name, value, domain, path, secure, httpOnly, sameSite, expires }: CookieOption, url: string) {
  const { hostname } = new URL(url);
  return {
    ...{ name, value, path, secure, httpOnly, expires, domain: domain ?? hostname },
    ...(sameSite === null ? {} : { sameSite }),
  };
}

/** Omits the browser's message, which contains the cookie. */
function rejected(cause: unknown): CaptureError {
  const message = 'hold a cookie that the browser rejects: check `__Host-` and `__Secure-` names, `secure` and `same_site`';
  return new CaptureError({
    code: 'invalid_request',
    message: `\`cookies\` or \`storage_state\` ${message}.`,
    details: { issues: [{ path: 'cookies', message }] },
    cause: new Error(cause instanceof Error ? cause.name : 'rejected'),
  });
}

/**
 * Runs in each document before its own scripts. Sets the items only in the first document of an origin, so that later
 * changes by the page persist.
 */
function fillLocalStorage(stored: { origin: string; localStorage: { name: string; value: string }[] }[]): void {
  const own = stored.find(({ origin }) => origin === location.origin);
  if (own === undefined) return;
  const mark = 'stillframe-storage-state';
  try {
    if (sessionStorage.getItem(mark) !== null) return;
    sessionStorage.setItem(mark, '');
    for (const { name, value } of own.localStorage) localStorage.setItem(name, value);
  } catch {
    // A sandboxed frame has no storage.
  }
}
