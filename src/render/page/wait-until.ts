import { CaptureError } from '../../contract/capture-error.js';
import type { WaitUntil } from '../../contract/capture-request.js';
import { TIMED_OUT } from './deadline.js';
import type { DocumentState } from './main-document.js';
import { classify } from './navigate.js';
import type { OpenPage } from './open-page.js';
import { describePending, describeRestless, groupPending } from './pending-requests.js';

const NETWORK_IDLE_MS = 500;
/** The maximum number of documents before the page counts as a redirect loop. */
const MAX_DOCUMENTS = 25;

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
      if (shown.number > MAX_DOCUMENTS) throw keepsNavigating(shown.number);
      if (main.current === shown && !main.navigating) return shown;
    }
  } finally {
    stop.abort();
  }
}

/**
 * Follows navigations since `shown` was checked: `<meta http-equiv="refresh">`, `location = …`, a form.
 * @returns the current document, checked
 * @throws the same errors as `waitUntil`
 */
export async function followNavigations(page: OpenPage, shown: DocumentState, state: WaitUntil): Promise<DocumentState> {
  if (page.main.current === shown && !page.main.navigating && shown.failure === null) return shown;
  return await waitUntil(page, state === 'networkidle' ? 'load' : state);
}

async function reachState(page: OpenPage, state: WaitUntil, stop: AbortSignal): Promise<void> {
  const { main, network } = page;
  const isBroken = (): boolean => main.current !== null && (main.current.failure !== null || main.current.number > MAX_DOCUMENTS);
  const isParsed = (): boolean => isBroken() || (main.current?.parsed === true && !isLeaving(page));
  const isLoaded = (): boolean => isBroken() || (main.current?.loaded === true && !isLeaving(page));
  await main.until(isParsed);
  if (state === 'domcontentloaded') return;
  await Promise.race([main.until(isLoaded), fontsOnly(page, stop)]);
  if (state === 'networkidle' && !isBroken()) await network.quiet(NETWORK_IDLE_MS, stop);
}

/** Whether the current document has requested another one. */
function isLeaving({ main }: Pick<OpenPage, 'main'>): boolean {
  return main.navigating;
}

async function fontsOnly({ main, network }: Pick<OpenPage, 'main' | 'network'>, stop: AbortSignal): Promise<void> {
  await network.onlyFontsHoldLoad(stop);
  await main.until(() => !main.navigating);
}

function notReached(page: OpenPage, state: WaitUntil): CaptureError {
  const { network, main, deadlines } = page;
  const inFlight = network.pending();
  const newest = state === 'networkidle' && inFlight.length === 0 && main.current?.loaded === true ? network.newest() : null;
  const pending = newest === null ? inFlight : [newest];
  const what = newest === null ? describePending(pending) : describeRestless(newest);
  const advice = advise(main.current, state);
  return new CaptureError({
    code: 'render_timeout',
    message: `\`wait_until: ${state}\` was not reached within \`timeout\` (${deadlines.timeout} ms): ${what}. ${advice}`,
    details: { waited_for: state, pending: groupPending(pending) },
  });
}

function advise(shown: DocumentState | null, state: WaitUntil): string {
  if (state === 'networkidle' && shown?.loaded === true) return '`wait_until: load` would not have waited for that.';
  if (state !== 'domcontentloaded' && shown?.parsed === true) return '`wait_until: domcontentloaded` would not have waited for that.';
  return 'No other `wait_until` would have been reached sooner; a longer `timeout` may help.';
}

function keepsNavigating(documents: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The page keeps navigating: it loaded ${documents} documents in a row and went on.`,
    details: { documents },
  });
}
