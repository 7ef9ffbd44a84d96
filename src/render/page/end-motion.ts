import type { OpenPage } from './open-page.js';
import type { PageKit } from './page-kit.js';

/**
 * Brings running transitions and finite animations to their last frame, and those that their end sets off. Costs a page without motion a round trip.
 *
 * @param ms a page that is too busy to answer for so long is left as it moves
 * @throws PageMoved
 */
export async function endMotion({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<void> {
  await deadlines.within(world.run(endMotionInPage, null), ms);
}

/** Runs in the page. */
async function endMotionInPage(kit: PageKit): Promise<void> {
  // What ends can set off more, and that again: a page that goes on for ever is pictured on its way.
  const ROUNDS = 3;
  for (let round = 0; round < ROUNDS && endRunning(); round++) {
    // The page hears of the end in the first frame, and its observers see what that has changed in the second.
    await kit.frame();
    await kit.frame();
  }

  function endRunning(): boolean {
    let ended = false;
    for (const animation of kit.finiteMotion()) {
      try {
        animation.finish();
        ended = true;
      } catch {
        // An animation without an end cannot be finished: it is left as it runs.
      }
    }
    return ended;
  }
}
