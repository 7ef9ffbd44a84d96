import type { DebugSink } from '../debug-sink.js';
import type { PageSession } from '../page-session.js';
import { ClockTotal } from './clock-total.js';
import type { Deadlines } from './deadline.js';
import { MainDocument } from './main-document.js';
import { NetworkTracker } from './network.js';
import type { Tolerance } from './tolerance.js';
import type { World } from './world.js';

/** More dialogs than any ordinary page opens. */
const DISMISSED_AT_ONCE = 50;
const THEN_AFTER_MS = 100;

/** A page session with its trackers. Each step names the parts that it uses. */
export interface OpenPage {
  readonly session: PageSession;
  readonly deadlines: Deadlines;
  readonly main: MainDocument;
  readonly network: NetworkTracker;
  readonly world: World;
  readonly tolerance: Tolerance;
  /** Whether the page's clock keeps to real time. */
  realTime: boolean;
  readonly debug?: DebugSink | undefined;
  /** How its clock has run so far. */
  readonly clock: ClockTotal;
}

/** Starts tracking a page session and dismissing its dialogs. Must be called before the navigation; takes one round trip. */
export async function openPage(
  session: PageSession,
  deadlines: Deadlines,
  { tolerance, realTime, debug }: Pick<OpenPage, 'tolerance' | 'realTime' | 'debug'>,
): Promise<OpenPage> {
  dismissDialogs(session);
  const network = new NetworkTracker(session);
  const main = await deadlines.orEnd(MainDocument.watch(session, (url) => network.forgetBefore(url)));
  return { session, deadlines, main, network, world: session.world, tolerance, realTime, debug, clock: new ClockTotal() };
}

/**
 * Dismisses dialogs (decisions.md, Capture semantics). The context blocks popups, downloads, permissions and the like.
 * Dialogs beyond the first are delayed, since dismissing endless ones took two fifths of the server's thread.
 */
export function dismissDialogs(session: Pick<PageSession, 'page'>): void {
  let opened = 0;
  session.page.on('dialog', (dialog) => {
    // If the page closes meanwhile, there is nothing left to dismiss.
    const dismiss = () => void dialog.dismiss().catch(() => undefined);
    opened += 1;
    if (opened <= DISMISSED_AT_ONCE) dismiss();
    else setTimeout(dismiss, THEN_AFTER_MS).unref();
  });
}
