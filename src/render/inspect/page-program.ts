import type * as program from '../in-page/facts-program.js';
import { source } from '../in-page/facts-program.js?bundled';
import { callIn } from '../launch/frame-scripts.js';
import type { World } from '../page-session.js';

type Program = typeof program;

/** The browser ends a function of the program after this time of computing. */
export const READ_MAX_MS = 1_000;

/**
 * Calls a function of the program that reads pages, which is sent to the page's isolated world each time.
 * @throws DocumentReplaced, or Error if the function throws or takes too long
 */
export async function callInPage<Name extends keyof Program>(
  world: Pick<World, 'run'>,
  name: Name,
  args: Parameters<Program[Name]>,
): Promise<unknown> {
  return await world.run(callIn(source, name, ...args), READ_MAX_MS);
}
