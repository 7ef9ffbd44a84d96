import { CaptureError } from '../../contract/capture-error.js';
import { monotonicNow } from '../monotonic-now.js';
import { recogniseWall } from './bot-wall.js';
import { TIMED_OUT } from './deadline.js';
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
import { PageMoved } from './page-moved.js';

/** How long a refusing page may take to show whose wall it is. */
const VENDOR_LOOK_MS = 2_500;

/**
 * Brings the page to the URL; settles when the first document of the target is committed, and it may be captured.
 *
 * @throws CaptureError navigation_failed, blocked_by_target, target_error, egress_unavailable, render_timeout
 */
export async function navigate(page: Omit<OpenPage, 'network'>, url: string): Promise<void> {
  const { session, main, deadlines } = page;
  // Chromium of its own accord gives up only after minutes: the budget is what bounds a silent target.
  const going = session.cdp.send('Page.navigate', { url });
  const outcome = await deadlines.within(going, deadlines.leftMs());
  if (outcome === TIMED_OUT) throw noAnswer(page, url);
  if (outcome.errorText !== undefined && main.current === null) throw failureOf(page, url, outcome.errorText);
  if (
    (await deadlines.within(
      main.until(() => main.current !== null),
      deadlines.leftMs(),
    )) === TIMED_OUT
  )
    throw noAnswer(page, url);
  await classify(page);
}

/**
 * Judges what the main frame shows now, and whose wall it is when it refuses the visitor.
 *
 * @returns the document judged; later steps compare its number
 * @throws CaptureError as `navigate`
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

/** The vendor, when the page tells it in time. */
async function vendorOf(page: Pick<OpenPage, 'main' | 'world' | 'deadlines'>, shown: DocumentState): Promise<string | null> {
  const { main, world, deadlines } = page;
  const until = monotonicNow() + Math.min(VENDOR_LOOK_MS, deadlines.leftMs());
  await deadlines.within(
    main.until(() => shown.parsed || main.current !== shown),
    until - monotonicNow(),
  );
  try {
    const vendor = await deadlines.within(recogniseWall(world, shown), Math.max(200, until - monotonicNow()));
    return vendor === TIMED_OUT ? null : vendor;
  } catch (error) {
    if (error instanceof PageMoved) return null;
    throw error;
  }
}

/** Why nothing was committed. */
function failureOf({ session, main }: Pick<OpenPage, 'session' | 'main'>, url: string, error: string): CaptureError {
  const answer = main.lastResponse;
  if (error === 'net::ERR_ABORTED' && answer !== null) {
    if (answer.status >= 400) return refusedBy(answer.status, null);
    // Handed over to another program: a mail client, an FTP client.
    if (answer.status >= 300) return failedNavigation(url, 'net::ERR_UNKNOWN_URL_SCHEME', session.captureProxy);
    if (answer.status === 204 || answer.status === 205) return nothingShown(answer.status);
    return notAPage(typeOf(answer.headers) || 'application/octet-stream');
  }
  // A redirect may have led elsewhere: what failed is the last request.
  return failedNavigation(main.lastFailure?.url ?? url, error, session.captureProxy);
}

/** The caller's proxy is asked first: behind one that says nothing, no target can answer. */
function noAnswer({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, url: string): CaptureError {
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
