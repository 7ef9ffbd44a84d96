import type { PageSession } from '../page-session.js';
import type { Deadlines } from './deadline.js';
import { MainDocument } from './main-document.js';
import { NetworkTracker } from './network.js';
import type { Tolerance } from './tolerance.js';
import type { World } from './world.js';

/** More than any page means; whoever opens more is after the browser, or after us. */
const DISMISSED_AT_ONCE = 50;
const THEN_AFTER_MS = 100;

/** A page session with all that watches it. Each step names the parts that it uses. */
export interface OpenPage {
  readonly session: PageSession;
  readonly deadlines: Deadlines;
  readonly main: MainDocument;
  readonly network: NetworkTracker;
  readonly world: World;
  readonly tolerance: Tolerance;
}

/** Starts to watch a page session, and to dismiss its dialogs; must come before anything is navigated. One round trip. */
export async function openPage(session: PageSession, deadlines: Deadlines, tolerance: Tolerance): Promise<OpenPage> {
  dismissDialogs(session);
  const network = new NetworkTracker(session.page);
  const main = await deadlines.orEnd(MainDocument.watch(session, (url) => network.forgetBefore(url)));
  return { session, deadlines, main, network, world: session.world, tolerance };
}

/**
 * Dismisses dialogs as they open (decisions.md, Capture semantics). What else a page may try beyond being a page comes to nothing by itself:
 * popups, downloads and permissions are refused by the context, printing and file choosers need a window, and `debugger` statements a
 * debugger, which nothing here enables. A page that opens dialogs without end waits for each: answered at once, it took two fifths of the
 * server's one thread from all other captures.
 */
export function dismissDialogs(session: Pick<PageSession, 'page'>): void {
  let opened = 0;
  session.page.on('dialog', (dialog) => {
    // The page may be gone before the answer arrives: there is nothing left to dismiss then.
    const dismiss = () => void dialog.dismiss().catch(() => undefined);
    opened += 1;
    if (opened <= DISMISSED_AT_ONCE) dismiss();
    else setTimeout(dismiss, THEN_AFTER_MS).unref();
  });
}
