import type { Stage } from '../stage.js';
import type { Deadlines } from './deadline.js';
import { MainDocument } from './main-document.js';
import { NetworkTracker } from './network.js';
import type { Tolerance } from './tolerance.js';
import type { World } from './world.js';

/** A stage with all that watches it. Each step names the parts that it uses. */
export interface OpenPage {
  readonly stage: Stage;
  readonly deadlines: Deadlines;
  readonly main: MainDocument;
  readonly network: NetworkTracker;
  readonly world: World;
  readonly tolerance: Tolerance;
}

/** Starts to watch a stage; must come before anything is navigated. One round trip. */
export async function openPage(stage: Stage, deadlines: Deadlines, tolerance: Tolerance): Promise<OpenPage> {
  const network = new NetworkTracker(stage.page);
  const main = await deadlines.orEnd(MainDocument.watch(stage, (url) => network.forgetBefore(url)));
  return { stage, deadlines, main, network, world: stage.world, tolerance };
}
