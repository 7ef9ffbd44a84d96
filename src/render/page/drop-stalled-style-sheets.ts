import { TIMED_OUT } from './deadline.js';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';

/** A style sheet that has not come for so long will not. */
const SHEET_HANGS_AFTER_MS = 5_000;
/** A page that paints at all does so within this. */
const FRAME_MAX_MS = 1_000;
const STOP_MAX_MS = 500;

type Loading = Pick<OpenPage, 'session' | 'main' | 'network' | 'world' | 'deadlines'>;

/**
 * Chromium paints nothing of a page whose head waits for a style sheet. Waits for that sheet within the budget; a hung one is given up, and
 * with it all else that still loads, so that the page can be pictured without. A page that has loaded, or that paints, is left alone.
 *
 * @throws PageMoved
 */
export async function dropStalledStyleSheets(page: Loading, shown: DocumentState): Promise<void> {
  const { session, main, network, deadlines } = page;
  while (main.current === shown && !shown.loaded) {
    const sheets = network.pending().filter(({ kind }) => kind === 'stylesheet');
    if (sheets.length === 0 || (await paints(page))) return;
    if (deadlines.leftMs() > 0 && sheets.some(({ ageMs }) => ageMs < SHEET_HANGS_AFTER_MS)) continue;
    await deadlines.within(session.cdp.send('Page.stopLoading'), STOP_MAX_MS);
    return;
  }
}

/** A page too busy to answer is held back by its script, not by a sheet. */
async function paints({ world, deadlines }: Loading): Promise<boolean> {
  const painted = await deadlines.within(world.call('frames.framesCome', FRAME_MAX_MS), 2 * FRAME_MAX_MS);
  return painted === TIMED_OUT || painted;
}
