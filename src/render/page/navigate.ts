/** Prepares a page with the caller's checks, styles and login, navigates it, and follows it until it has loaded. */

import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions, WaitUntil } from '../../contract/capture-request.js';
import { REGIONS } from '../../contract/regions.js';
import type { CaptureProxy } from '../../egress/egress.js';
import type { CountryObserver } from '../../egress/observe-country.js';
import { type Deadlines, monotonicNow, TIMED_OUT } from '../deadlines.js';
import { DocumentReplaced, type PageSession } from '../page-session.js';
import {
  failedNavigation,
  judgeContent,
  judgeDocument,
  notAPage,
  nothingShown,
  proxyUnavailable,
  recognizeWall,
  refusedBy,
  typeOf,
} from './check-page.js';
import { type DocumentState, groupPending, type OpenPage, type PendingRequest, placeOf } from './open-page.js';

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
export async function checkSelectors({ world }: PageSession, options: CaptureOptions): Promise<void> {
  const ofCode = options.selectorFunction !== null;
  const listed = (field: string, selectors: string[]) =>
    selectors.map((one, nth) => ({ path: `${field}.${nth}`, selector: one }));
  const fields = [
    { path: 'wait_for_selector', selector: options.waitForSelector },
    // The code of a function is no selector.
    {
      path: options.selectorUnion === null ? 'selector' : 'selector_union',
      selector: ofCode ? null : options.selector,
    },
    ...listed('hide_selectors', options.hideSelectors),
    ...listed('remove_selectors', options.removeSelectors),
    ...listed('mask', options.mask),
    ...Object.entries(options.extract ?? {}).map(([name, { selector }]) => ({
      path: `extract.${name}.selector`,
      selector,
    })),
  ].flatMap(({ path, selector }) => (selector === null ? [] : [{ path, selector }]));
  if (fields.length === 0) return;
  const selectors = fields.map(({ selector }) => selector);
  const problems = await world.call('element.selectorProblems', selectors);
  const issues = fields.flatMap(({ path }, index) => (problems[index] ? [{ path, message: problems[index] }] : []));
  const [first] = issues;
  if (first === undefined) return;
  throw new CaptureError({
    code: 'invalid_request',
    message: `\`${first.path}\`: ${first.message}`,
    details: { issues },
  });
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
export async function edit({ world }: PageSession, options: CaptureOptions): Promise<void> {
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
export async function bypassCsp({ cdp }: PageSession, { customJs, customCss, steps }: CaptureOptions): Promise<void> {
  const hasScript = customJs !== null || steps.some(({ action }) => action === 'evaluate');
  if (hasScript || fetches(customCss)) await cdp.send('Page.setBypassCSP', { enabled: true });
}

/**
 * Adds `storage_state` and `cookies` to the capture's context.
 * @throws CaptureError `invalid_request` for cookies that the browser rejects, such as a `__Host-` one with a domain
 */
export async function restoreLogin({ context }: PageSession, options: CaptureOptions): Promise<void> {
  const { hostname } = new URL(options.url);
  const cookies = [...(options.storageState?.cookies ?? []), ...options.cookies].map(
    ({ sameSite, domain, ...cookie }) => ({
      ...cookie,
      domain: domain ?? hostname,
      ...(sameSite === null ? {} : { sameSite }),
    }),
  );
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
  { context, cdp }: PageSession,
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
  const message =
    'hold a cookie that the browser rejects: check `__Host-` and `__Secure-` names, `secure` and `same_site`';
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

/** The time limit for identifying the vendor of a bot wall. */
const VENDOR_MAX_MS = 2_500;
const NETWORK_IDLE_MS = 500;
/** The maximum number of documents before the page counts as a redirect loop. */
const MAX_DOCUMENTS = 25;
const GROUPS_NAMED = 4;

/**
 * Navigates to the URL. Resolves when the first document of the navigation has been committed and accepted.
 * @param referrer the address of the page that the navigation comes from
 * @throws CaptureError navigation_failed, blocked_by_target, target_error, egress_unavailable, render_timeout
 */
export async function navigate(page: OpenPage, url: string, referrer: string | null = null): Promise<void> {
  const { session, main, deadlines } = page;
  const before = main.current;
  main.requestedUrl = url;
  const from = referrer === null ? {} : { referrer, referrerPolicy: 'unsafeUrl' as const };
  // Chromium gives up only after minutes, so the budget limits a silent target.
  const outcome = await deadlines.withinBudget(session.cdp.send('Page.navigate', { url, ...from }));
  if (outcome === TIMED_OUT) throw noResponse(page, url);
  if (outcome.errorText !== undefined && main.current === before) throw failureOf(page, url, outcome.errorText);
  // A change of the fragment alone loads nothing.
  if (outcome.loaderId === undefined && before !== null) return;
  const committed = main.until(() => main.current !== before);
  if ((await deadlines.withinBudget(committed)) === TIMED_OUT) throw noResponse(page, url);
  await classify(page);
}

/** Navigates to the page of the request. @throws CaptureError as `navigate` */
export async function navigateToTarget(page: OpenPage, { url, referer, schemeAdded }: CaptureOptions): Promise<void> {
  try {
    await navigate(page, url, referer);
  } catch (error) {
    if (schemeAdded === true && page.main.lastResponse === null && isWithoutAnswer(error))
      error.message += ` https was tried, since you gave no scheme; try ${placeOf(url).replace('https:', 'http:')}`;
    throw error;
  }
}

/** Whether a host that may speak http did not speak https. */
function isWithoutAnswer(error: unknown): error is CaptureError {
  if (!(error instanceof CaptureError)) return false;
  const netError = error.details?.net_error;
  return error.code === 'render_timeout' || (typeof netError === 'string' && !/^ERR_(NAME|CERT)_/.test(netError));
}

/**
 * Waits until the page has reached `wait_until`, even across navigations, and checks the final document.
 * @throws CaptureError render_timeout that names pending requests, and all errors of `navigate`
 */
export async function waitUntil(page: OpenPage, state: WaitUntil): Promise<DocumentState> {
  const { main, deadlines } = page;
  const stop = new AbortController();
  try {
    for (;;) {
      const reached = await deadlines.withinBudget(reachState(page, state, stop.signal));
      if (reached === TIMED_OUT) throw notReached(page, state);
      const document = await classify(page);
      if (document.number > MAX_DOCUMENTS) throw keepsNavigating();
      if (main.current === document && !main.navigating) return document;
    }
  } finally {
    stop.abort();
  }
}

/** Follows navigations of a page that has reached `wait_until` once; as `waitUntil`. */
export function waitUntilLoaded(page: OpenPage, { waitUntil: state }: CaptureOptions): Promise<DocumentState> {
  return waitUntil(page, state === 'networkidle' ? 'load' : state in IN_FLIGHT_MAX ? 'domcontentloaded' : state);
}

/** The number of requests that may be in flight for Puppeteer's states, which do not wait for the load. */
const IN_FLIGHT_MAX: Partial<Record<WaitUntil, number>> = { networkidle0: 0, networkidle2: 2 };

async function reachState({ main, network }: OpenPage, state: WaitUntil, stop: AbortSignal): Promise<void> {
  const isBroken = (): boolean =>
    main.current !== null && (main.current.failure !== null || main.current.number > MAX_DOCUMENTS);
  await main.until(() => isBroken() || (main.current?.parsed === true && !main.navigating));
  if (state === 'domcontentloaded') return;
  const inFlightMax = IN_FLIGHT_MAX[state];
  if (inFlightMax !== undefined && !isBroken()) return await network.quiet(NETWORK_IDLE_MS, stop, inFlightMax);
  const loaded = main.until(() => isBroken() || (main.current?.loaded === true && !main.navigating));
  await Promise.race([loaded, network.onlyFutileHoldLoad(stop).then(() => main.until(() => !main.navigating))]);
  if (state === 'networkidle' && !isBroken()) await network.quiet(NETWORK_IDLE_MS, stop);
}

/** Checks the main frame's current document, and identifies the vendor of a bot wall. */
async function classify(page: OpenPage): Promise<DocumentState> {
  const document = page.main.current;
  if (document === null) throw nothingShown();
  judgeDocument(document, page.session.captureProxy);
  const status = document.response?.status ?? 0;
  if (status >= 400) page.tolerance.orThrow(refusedBy(status, await vendorOf(page, document)));
  judgeContent(document);
  return document;
}

/** The vendor, if the page reveals it within the time limit; else null. */
async function vendorOf({ main, world, deadlines }: OpenPage, document: DocumentState): Promise<string | null> {
  const until = monotonicNow() + Math.min(VENDOR_MAX_MS, deadlines.leftMs());
  const parsed = main.until(() => document.parsed || main.current !== document);
  await deadlines.within(parsed, until - monotonicNow());
  try {
    const vendor = await deadlines.within(recognizeWall(world, document), Math.max(200, until - monotonicNow()));
    return vendor === TIMED_OUT ? null : vendor;
  } catch (error) {
    if (error instanceof DocumentReplaced) return null;
    throw error;
  }
}

/** The reason why no document was committed. */
function failureOf({ session, main }: OpenPage, url: string, error: string): CaptureError {
  const answer = main.lastResponse;
  if (error === 'net::ERR_ABORTED' && answer !== null) {
    if (answer.status >= 400) return refusedBy(answer.status, null);
    // The redirect leads to another program, such as a mail client.
    if (answer.status >= 300)
      return failedNavigation({ url, lead: null, error: 'net::ERR_UNKNOWN_URL_SCHEME' }, session.captureProxy);
    if (answer.status === 204 || answer.status === 205) return nothingShown(answer.status);
    return notAPage(typeOf(answer.headers) || 'application/octet-stream');
  }
  // After redirects, the last request is the one that failed.
  return failedNavigation({ url, lead: null, ...main.lastFailure, error }, session.captureProxy);
}

/** Checks the caller's proxy first: if it does not respond, no target can. */
function noResponse({ session, deadlines }: OpenPage, url: string): CaptureError {
  const { proxyFailure } = session.captureProxy;
  if (proxyFailure !== null) return proxyUnavailable(proxyFailure);
  const { host } = new URL(url);
  return new CaptureError({
    code: 'render_timeout',
    message: `${host} did not answer within \`timeout\` (${deadlines.timeout} ms).`,
    details: { waited_for: 'response', pending: [{ kind: 'document', host, count: 1 }] },
  });
}

function notReached({ network, main, deadlines }: OpenPage, state: WaitUntil): CaptureError {
  const inFlight = network.pending();
  const loaded = main.current?.loaded === true;
  const newest = state === 'networkidle' && inFlight.length === 0 && loaded ? network.newest : null;
  const pending = newest === null ? inFlight : [newest];
  const cause = newest === null ? describePending(pending) : describeRestless(newest);
  return new CaptureError({
    code: 'render_timeout',
    message: `\`wait_until: ${state}\` was not reached within \`timeout\` (${deadlines.timeout} ms): ${cause}. ${advise(main.current, state)}`,
    details: { waited_for: state, pending: groupPending(pending) },
  });
}

function advise(document: DocumentState | null, state: WaitUntil): string {
  if (state === 'networkidle' && document?.loaded === true) return '`wait_until: load` would not have waited for that.';
  if (state !== 'domcontentloaded' && document?.parsed === true)
    return '`wait_until: domcontentloaded` would not have waited for that.';
  return 'No other `wait_until` would have been reached sooner; a longer `timeout` may help.';
}

const NAMES: Record<string, string> = { xhr: 'request by script', fetch: 'request by script' };

/** A clause about requests so frequent that the network is never idle, even if none is in flight right now. */
function describeRestless(newest: PendingRequest): string {
  const [{ kind, host } = { kind: '', host: '' }] = groupPending([newest]);
  return `the page kept making requests, the last one a ${NAMES[kind] ?? kind} from ${host}`;
}

/** A clause such as "2 images from cdn.example.com and 1 script from example.com were still pending". */
function describePending(pending: readonly PendingRequest[]): string {
  if (pending.length === 0) return "no request was pending, but the page's scripts kept it from getting there";
  if (pending.every(({ kind, answered }) => kind === 'document' && answered))
    return "the page's document had not finished loading: it is still being sent, or its script keeps the browser busy";
  const groups = groupPending(pending);
  const named = groups.slice(0, GROUPS_NAMED).map(({ kind, host, count }) => {
    const [first = '', ...rest] = (NAMES[kind] ?? kind).split(' ');
    return `${count} ${[count === 1 ? first : `${first}s`, ...rest].join(' ')} from ${host}`;
  });
  const rest = groups.slice(GROUPS_NAMED).reduce((sum, { count }) => sum + count, 0);
  if (rest > 0) named.push(`${rest} more`);
  const list = new Intl.ListFormat('en-GB').format(named);
  return `${list} ${pending.length === 1 ? 'was' : 'were'} still pending`;
}

export function keepsNavigating(): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: 'The page keeps navigating: it loaded one document after the other.',
  });
}
