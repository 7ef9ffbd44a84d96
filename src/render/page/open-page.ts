import type { PageSession } from '../page-session.js';
import type { Deadlines } from './deadline.js';
import { MainDocument } from './main-document.js';
import { NetworkTracker } from './network.js';
import type { Tolerance } from './tolerance.js';
import type { World } from './world.js';

/** A page session with all that watches it. Each step names the parts that it uses. */
export interface OpenPage {
  readonly session: PageSession;
  readonly deadlines: Deadlines;
  readonly main: MainDocument;
  readonly network: NetworkTracker;
  readonly world: World;
  readonly tolerance: Tolerance;
}

/** Starts to watch a page session; must come before anything is navigated. One round trip. */
export async function openPage(session: PageSession, deadlines: Deadlines, tolerance: Tolerance): Promise<OpenPage> {
  const network = new NetworkTracker(session.page);
  const main = await deadlines.orEnd(MainDocument.watch(session, (url) => network.forgetBefore(url)));
  return { session, deadlines, main, network, world: session.world, tolerance };
}
