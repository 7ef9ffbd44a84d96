import { TIMED_OUT } from './deadline.js';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';

/** A style sheet that has not loaded after this time counts as stalled. */
const SHEET_HANGS_AFTER_MS = 5_000;
/** The time limit for the page to paint. */
const FRAME_MAX_MS = 1_000;
const STOP_MAX_MS = 500;

type Loading = Pick<OpenPage, 'session' | 'main' | 'network' | 'world' | 'deadlines'>;

/**
 * Chromium does not paint a page whose head waits for a style sheet. Waits for it within the budget; if it stalls, stops
 * loading, so that the page can be captured without it. Does nothing if the page has loaded, or paints.
 * @throws DocumentReplaced
 */
export async function dropStalledStyleSheets(page: Loading, shown: DocumentState): Promise<void> {
  const { session, main, network, deadlines } = page;
  while (main.current === shown && !shown.loaded) {
    const sheets = network.pending().filter(({ kind }) => kind === 'stylesheet');
    if (sheets.length === 0 || (await paints(page))) return;
    if (deadlines.leftMs() > 0 && sheets.some(({ ageMs }) => ageMs < SHEET_HANGS_AFTER_MS)) continue;
    await deadlines.withTimeout(session.cdp.send('Page.stopLoading'), STOP_MAX_MS);
    return;
  }
}

/** A page that is too busy to respond is delayed by its scripts, not by a style sheet. */
async function paints({ world, deadlines }: Loading): Promise<boolean> {
  const painted = await deadlines.withTimeout(world.call('frames.producesFrame', FRAME_MAX_MS), 2 * FRAME_MAX_MS);
  return painted === TIMED_OUT || painted;
}
