import { nextFrame } from './frames.js';

/** The end of an animation can start others, repeatedly. A page that never stops is captured in motion. */
const ROUNDS = 3;

/** Running transitions and animations that end by themselves. */
export function finiteMotion(): Animation[] {
  return Document.prototype.getAnimations.call(document).filter(({ timeline, playState, effect }) => {
    const runs = timeline instanceof DocumentTimeline && playState === 'running';
    return runs && effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY;
  });
}

/** Moves animations to their last frame, including those that their end starts. */
export async function end(): Promise<void> {
  for (let round = 0; round < ROUNDS && finishMotion(); round++) {
    // End events fire in the first frame, and observers see their effects in the second.
    await nextFrame();
    await nextFrame();
  }
}

/**
 * Moves the running animations to their last frame.
 * @returns whether anything was still running
 */
export function finishMotion(): boolean {
  let ended = false;
  for (const animation of finiteMotion()) {
    try {
      animation.finish();
      ended = true;
    } catch {
      // An infinite animation cannot be finished and keeps running.
    }
  }
  return ended;
}
