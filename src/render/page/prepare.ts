/** Prepares a page before it navigates: the caller's checks, styles and login. */

import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { REGIONS } from '../../contract/regions.js';
import type { CaptureProxy } from '../../egress/egress.js';
import type { CountryObserver } from '../../egress/observe-country.js';
import type { PageSession } from '../page-session.js';
import type { Deadlines } from './deadline.js';

/** The part of the budget left when the check of the country times out, so that the capture fails with its own error. */
const SPARE_MS = 200;

/** Determines the egress country of a proxy (implemented in egress/). */
export type EgressCountries = Pick<CountryObserver, 'observe'>;

/**
 * Checks, before any request to the target, that the egress country is that of the region (decisions.md, Capture semantics).
 * @returns the observed country; null if no check was requested
 * @throws CaptureError egress_mismatch, egress_unavailable
 */
export async function verifyEgress(
  countries: EgressCountries,
  { captureProxy, options, deadlines }: { captureProxy: CaptureProxy; options: CaptureOptions; deadlines: Deadlines },
): Promise<string | null> {
  if (options.region === null || !options.verifyEgress) return null;
  const expected = REGIONS[options.region].country;
  const timeoutMs = Math.max(1, deadlines.leftMs() - SPARE_MS);
  const observed = await countries.observe({ captureProxy, proxy: options.proxy, timeoutMs, signal: deadlines.signal });
  if (observed === expected) return observed;
  throw new CaptureError({
    code: 'egress_mismatch',
    message: `\`region: ${options.region}\` expects an egress address in ${expected}, but it is in ${observed}. Use a \`proxy\` in that country, or \`verify_egress: false\`.`,
    details: { expected, observed },
  });
}

/**
 * Validates the request's selectors in the browser. Must be called while the page is still empty; takes a round trip only if
 * there are selectors.
 * @throws CaptureError invalid_request that lists each invalid one, such as `hide_selectors.0`, with the browser's message
 */
export async function checkSelectors({ world }: Pick<PageSession, 'world'>, options: CaptureOptions): Promise<void> {
  const listed = (field: string, selectors: string[]) => selectors.map((one, nth) => ({ path: `${field}.${nth}`, selector: one }));
  const fields = [
    { path: 'wait_for_selector', selector: options.waitForSelector },
    { path: 'selector', selector: options.selector },
    ...listed('hide_selectors', options.hideSelectors),
    ...listed('remove_selectors', options.removeSelectors),
    ...listed('mask', options.mask),
  ].flatMap(({ path, selector }) => (selector === null ? [] : [{ path, selector }]));
  if (fields.length === 0) return;
  const selectors = fields.map(({ selector }) => selector);
  const problems = await world.call('element.selectorProblems', selectors);
  const issues = fields.flatMap(({ path }, index) => (problems[index] ? [{ path, message: problems[index] }] : []));
  const [first] = issues;
  if (first === undefined) return;
  throw new CaptureError({ code: 'invalid_request', message: `\`${first.path}\`: ${first.message}`, details: { issues } });
}

/**
 * Matches the head of a style sheet, the only place for `@import`. Its repetitions are disjoint, so that a caller's text
 * cannot cause catastrophic backtracking.
 */
const SHEET_HEAD =
  /^(?:\s|\/\*[\s\S]*?\*\/|@charset[^;]*;|@layer[^{;]*;|@import\s*(?:url\((?:\s*"[^"]*"\s*|\s*'[^']*'\s*|[^)]*)\)|"[^"]*"|'[^']*')[^;]*;)+/i;
const FETCHES = /url\((?!\s*["']?#)|image-set\(|@import/i;

/**
 * Applies `custom_css`, `hide_selectors` and `remove_selectors` to later documents before their first paint, whatever their
 * CSP. Imports use a style element, added later. Hiding and removing cover frames and later nodes.
 */
export async function edit({ world }: Pick<PageSession, 'world'>, options: CaptureOptions): Promise<void> {
  const { customCss: css, hideSelectors: hide, removeSelectors: remove } = options;
  if (css === null && hide.length === 0 && remove.length === 0) return;
  await world.callAtStart('edits.start', [{ css, imports: importsOf(css ?? ''), hide, remove }], { inFrames: true });
}

/** The head of a style sheet if it has imports, or an empty string. */
export function importsOf(css: string): string {
  const head = SHEET_HEAD.exec(css)?.[0] ?? '';
  return /@import/i.test(head) ? head : '';
}

/** Whether a `custom_css` loads anything, which the page's CSP could block. */
export function fetches(css: string | null): boolean {
  return FETCHES.test(css ?? '');
}

/**
 * Disables the page's CSP, so that custom_js and custom_css can add scripts, styles, images and fonts. The page loses its CSP
 * too (`upgrade-insecure-requests`), so only captures that need this do it.
 */
export async function bypassCsp({ cdp }: Pick<PageSession, 'cdp'>, { customJs, customCss, steps }: CaptureOptions): Promise<void> {
  const hasScript = customJs !== null || steps.some(({ action }) => action === 'evaluate');
  if (hasScript || fetches(customCss)) await cdp.send('Page.setBypassCSP', { enabled: true });
}

/**
 * Adds `storage_state` and `cookies` to the capture's context.
 * @throws CaptureError `invalid_request` for cookies that the browser rejects, such as a `__Host-` one with a domain
 */
export async function restoreLogin({ context }: Pick<PageSession, 'context'>, options: CaptureOptions): Promise<void> {
  const { hostname } = new URL(options.url);
  const cookies = [...(options.storageState?.cookies ?? []), ...options.cookies].map(({ sameSite, domain, ...cookie }) => ({
    ...cookie,
    domain: domain ?? hostname,
    ...(sameSite === null ? {} : { sameSite }),
  }));
  if (cookies.length > 0) {
    await context.addCookies(cookies).catch((error: unknown) => {
      throw rejected(error);
    });
  }
  const stored = (options.storageState?.origins ?? []).filter(({ localStorage }) => localStorage.length > 0);
  if (stored.length > 0) await context.addInitScript(fillLocalStorage, stored);
}

/** Applies `geolocation` and `ignore_https_errors`. Each capture has its own context, so no other one is affected. */
export async function emulateOrigin(
  { context, cdp }: Pick<PageSession, 'context' | 'cdp'>,
  { geolocation, ignoreHttpsErrors }: CaptureOptions,
): Promise<void> {
  await Promise.all([
    geolocation === null ? null : context.grantPermissions(['geolocation']),
    geolocation === null ? null : context.setGeolocation(geolocation),
    ignoreHttpsErrors ? cdp.send('Security.setIgnoreCertificateErrors', { ignore: true }) : null,
  ]);
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
