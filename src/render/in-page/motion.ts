import { nextFrame, orLate } from './frames.js';

/** What ends can set off more, and that again: a page that goes on for ever is pictured on its way. */
const ROUNDS = 3;

/** Running transitions and animations that have an end in time. */
export function finiteMotion(): Animation[] {
  return Document.prototype.getAnimations.call(document).filter(({ timeline, playState, effect }) => {
    const runs = timeline instanceof DocumentTimeline && playState === 'running';
    return runs && effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY;
  });
}

/** Brings it to its last frame, and what its end sets off. */
export async function end(): Promise<void> {
  for (let round = 0; round < ROUNDS && finishMotion(); round++) {
    // The page hears of the end in the first frame, and its observers see what that has changed in the second.
    await nextFrame();
    await nextFrame();
  }
}

/** @returns whether anything was still running */
export function finishMotion(): boolean {
  let ended = false;
  for (const animation of finiteMotion()) {
    try {
      animation.finish();
      ended = true;
    } catch {
      // An animation without an end cannot be finished: it is left as it runs.
    }
  }
  return ended;
}

/** Waits for its end, but no longer than `ms`. */
export async function motionEnded(ms: number): Promise<void> {
  const ends = finiteMotion().map((animation) => animation.finished.catch(() => {}));
  if (ends.length > 0) await orLate(Promise.all(ends), ms);
}
