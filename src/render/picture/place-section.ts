import { type Pinning, pinElements, unpinElements } from './in-page-pin.js';
import { addPinKit } from './in-page-pin-kit.js';
import { type Stand, type Step, scrollToSection, steadySection } from './in-page-place.js';
import { pinPseudos } from './in-page-pseudo.js';
import { scrollStep } from './in-page-scroll.js';
import type { PageHand } from './page-hand.js';

export interface Placing extends Step {
  keep: Pinning['keep'];
  /** Ends running transitions and finite animations at their last frame. */
  finishMotion: boolean;
}

export interface Placed extends Stand {
  /** CSS px from the view's bottom edge up to the top of what is fixed to the bottom; 0 when nothing is. */
  bottomReach: number;
}

/** Brings one section of the page into view, still, with every pinned element where it belongs. */
export async function placeSection(hand: PageHand, placing: Placing): Promise<Placed> {
  const { y, first, to, patient, keep, finishMotion } = placing;
  if (first) await hand.run(addPinKit, null);
  let stand = await hand.run(scrollToSection, { y, first, to, patient });
  let bottomReach = await pin(hand, { first, last: stand.last, keep });
  const moved = await hand.run(steadySection, { finishMotion, patient });
  // What has come to its place may have made the page shorter, which scrolls it.
  if (moved || patient) {
    stand = { ...(await hand.run(scrollToSection, { y, first: false, to, patient: false })), reveals: stand.reveals };
    bottomReach = await pin(hand, { first, last: stand.last, keep });
    await hand.run(steadySection, { finishMotion, patient });
  }
  return { ...stand, bottomReach };
}

/**
 * With the pin kit in the page, and a section in view.
 *
 * @returns CSS px from the view's bottom edge up to the top of what is fixed to the bottom; 0 when nothing is
 */
export async function pin(hand: PageHand, pinning: Pinning): Promise<number> {
  const reach = await hand.run(pinElements, pinning);
  // In the only section of a whole page nothing is repeated.
  if (pinning.first && pinning.last && pinning.keep === 'page') return reach;
  return Math.max(reach, await hand.run(pinPseudos, pinning));
}

/** Puts the page back as it was, at its top. */
export async function leaveSections(hand: PageHand): Promise<void> {
  await hand.run(unpinElements, null);
  await hand.run(scrollStep, { to: 0, waitMs: 0 });
}
