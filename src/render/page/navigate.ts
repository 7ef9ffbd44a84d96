import { CaptureError } from '../../contract/capture-error.js';
import type { WaitUntil } from '../../contract/capture-request.js';
import { monotonicNow, TIMED_OUT } from './deadline.js';
import {
  failedNavigation,
  judgeContent,
  judgeDocument,
  notAPage,
  nothingShown,
  proxyUnavailable,
  refusedBy,
  typeOf,
} from './judge-document.js';
import type { DocumentState } from './main-document.js';
import { groupPending, type PendingRequest } from './network.js';
import type { OpenPage } from './open-page.js';
import { recogniseWall } from './wall-signs.js';
import { DocumentReplaced } from './world.js';

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
  const from = referrer === null ? {} : { referrer, referrerPolicy: 'unsafeUrl' as const };
  // Chromium gives up only after minutes, so the budget limits a silent target.
  const outcome = await deadlines.withTimeout(session.cdp.send('Page.navigate', { url, ...from }), deadlines.leftMs());
  if (outcome === TIMED_OUT) throw noResponse(page, url);
  if (outcome.errorText !== undefined && main.current === before) throw failureOf(page, url, outcome.errorText);
  // A change of the fragment alone loads nothing.
  if (outcome.loaderId === undefined && before !== null) return;
  const committed = main.until(() => main.current !== before);
  if ((await deadlines.withTimeout(committed, deadlines.leftMs())) === TIMED_OUT) throw noResponse(page, url);
  await classify(page);
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
      const reached = await deadlines.withTimeout(reachState(page, state, stop.signal), deadlines.leftMs());
      if (reached === TIMED_OUT) throw notReached(page, state);
      const shown = await classify(page);
      if (shown.number > MAX_DOCUMENTS) throw keepsNavigating();
      if (main.current === shown && !main.navigating) return shown;
    }
  } finally {
    stop.abort();
  }
}

async function reachState({ main, network }: OpenPage, state: WaitUntil, stop: AbortSignal): Promise<void> {
  const isBroken = (): boolean => main.current !== null && (main.current.failure !== null || main.current.number > MAX_DOCUMENTS);
  await main.until(() => isBroken() || (main.current?.parsed === true && !main.navigating));
  if (state === 'domcontentloaded') return;
  const loaded = main.until(() => isBroken() || (main.current?.loaded === true && !main.navigating));
  await Promise.race([loaded, network.onlyFontsHoldLoad(stop).then(() => main.until(() => !main.navigating))]);
  if (state === 'networkidle' && !isBroken()) await network.quiet(NETWORK_IDLE_MS, stop);
}

/** Checks the main frame's current document, and identifies the vendor of a bot wall. */
async function classify(page: OpenPage): Promise<DocumentState> {
  const shown = page.main.current;
  if (shown === null) throw nothingShown();
  judgeDocument(shown, page.session.captureProxy);
  const status = shown.response?.status ?? 0;
  if (status >= 400) page.tolerance.orThrow(refusedBy(status, await vendorOf(page, shown)));
  judgeContent(shown);
  return shown;
}

/** The vendor, if the page reveals it within the time limit; else null. */
async function vendorOf({ main, world, deadlines }: OpenPage, shown: DocumentState): Promise<string | null> {
  const until = monotonicNow() + Math.min(VENDOR_MAX_MS, deadlines.leftMs());
  const parsed = main.until(() => shown.parsed || main.current !== shown);
  await deadlines.withTimeout(parsed, until - monotonicNow());
  try {
    const vendor = await deadlines.withTimeout(recogniseWall(world, shown), Math.max(200, until - monotonicNow()));
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
    if (answer.status >= 300) return failedNavigation(url, 'net::ERR_UNKNOWN_URL_SCHEME', session.captureProxy);
    if (answer.status === 204 || answer.status === 205) return nothingShown(answer.status);
    return notAPage(typeOf(answer.headers) || 'application/octet-stream');
  }
  // After redirects, the last request is the one that failed.
  return failedNavigation(main.lastFailure?.url ?? url, error, session.captureProxy);
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
  const what = newest === null ? describePending(pending) : describeRestless(newest);
  return new CaptureError({
    code: 'render_timeout',
    message: `\`wait_until: ${state}\` was not reached within \`timeout\` (${deadlines.timeout} ms): ${what}. ${advise(main.current, state)}`,
    details: { waited_for: state, pending: groupPending(pending) },
  });
}

function advise(shown: DocumentState | null, state: WaitUntil): string {
  if (state === 'networkidle' && shown?.loaded === true) return '`wait_until: load` would not have waited for that.';
  if (state !== 'domcontentloaded' && shown?.parsed === true) return '`wait_until: domcontentloaded` would not have waited for that.';
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
  return new CaptureError({ code: 'render_timeout', message: 'The page keeps navigating: it loaded one document after the other.' });
}
