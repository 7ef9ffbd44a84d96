import { CaptureError } from '../../contract/capture-error.js';
import { monotonicNow } from '../monotonic-now.js';
import { recogniseWall } from './wall-signs.js';
import { TIMED_OUT } from './deadline.js';
import { DocumentReplaced } from './document-replaced.js';
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
import type { OpenPage } from './open-page.js';

/** The time limit for identifying the vendor of a bot wall. */
const VENDOR_MAX_MS = 2_500;

/**
 * Navigates to the URL. Resolves when the target's first document has been committed and accepted.
 * @throws CaptureError navigation_failed, blocked_by_target, target_error, egress_unavailable, render_timeout
 */
export async function navigate(page: Omit<OpenPage, 'network'>, url: string): Promise<void> {
  const { session, main, deadlines } = page;
  // Chromium gives up only after minutes, so the budget limits a silent target.
  const going = session.cdp.send('Page.navigate', { url });
  const outcome = await deadlines.withTimeout(going, deadlines.leftMs());
  if (outcome === TIMED_OUT) throw noResponse(page, url);
  if (outcome.errorText !== undefined && main.current === null) throw failureOf(page, url, outcome.errorText);
  if (
    (await deadlines.withTimeout(
      main.until(() => main.current !== null),
      deadlines.leftMs(),
    )) === TIMED_OUT
  )
    throw noResponse(page, url);
  await classify(page);
}

/**
 * Checks the main frame's current document, and identifies the vendor of a bot wall.
 * @returns the document, whose number later steps compare
 * @throws the same errors as `navigate`
 */
export async function classify(page: Omit<OpenPage, 'network'>): Promise<DocumentState> {
  const shown = page.main.current;
  if (shown === null) throw nothingShown();
  judgeDocument(shown, page.session.captureProxy);
  const status = shown.response?.status ?? 0;
  if (status >= 400) page.tolerance.orThrow(refusedBy(status, await vendorOf(page, shown)));
  judgeContent(shown);
  return shown;
}

/** The vendor, if the page reveals it within the time limit; else null. */
async function vendorOf(page: Pick<OpenPage, 'main' | 'world' | 'deadlines'>, shown: DocumentState): Promise<string | null> {
  const { main, world, deadlines } = page;
  const until = monotonicNow() + Math.min(VENDOR_MAX_MS, deadlines.leftMs());
  await deadlines.withTimeout(
    main.until(() => shown.parsed || main.current !== shown),
    until - monotonicNow(),
  );
  try {
    const vendor = await deadlines.withTimeout(recogniseWall(world, shown), Math.max(200, until - monotonicNow()));
    return vendor === TIMED_OUT ? null : vendor;
  } catch (error) {
    if (error instanceof DocumentReplaced) return null;
    throw error;
  }
}

/** The reason why no document was committed. */
function failureOf({ session, main }: Pick<OpenPage, 'session' | 'main'>, url: string, error: string): CaptureError {
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
function noResponse({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, url: string): CaptureError {
  const { proxyFailure } = session.captureProxy;
  return proxyFailure === null ? silentTarget(url, deadlines.timeout) : proxyUnavailable(proxyFailure);
}

function silentTarget(url: string, timeout: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `${new URL(url).host} did not answer within \`timeout\` (${timeout} ms).`,
    details: { waited_for: 'response', pending: [{ kind: 'document', host: new URL(url).host, count: 1 }] },
  });
}
