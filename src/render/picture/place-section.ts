import type { Pinning } from '../in-page/pin.js';
import type { Stand, Step } from '../in-page/seams.js';
import type { BoundedPage } from './bounded-page.js';

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
export async function placeSection(page: BoundedPage, placing: Placing): Promise<Placed> {
  const { y, first, to, patient, keep, finishMotion } = placing;
  let stand = await page.call('seams.scrollTo', { y, first, to, patient });
  let bottomReach = await pin(page, { first, last: stand.last, keep });
  const moved = await page.call('seams.steady', { finishMotion, patient });
  // What has come to its place may have made the page shorter, which scrolls it.
  if (moved || patient) {
    stand = { ...(await page.call('seams.scrollTo', { y, first: false, to, patient: false })), reveals: stand.reveals };
    bottomReach = await pin(page, { first, last: stand.last, keep });
    await page.call('seams.steady', { finishMotion, patient });
  }
  if (stand.last && !first) await page.call('pin.lateAtRest');
  return { ...stand, bottomReach };
}

/**
 * With the pin kit in the page, and a section in view.
 *
 * @returns CSS px from the view's bottom edge up to the top of what is fixed to the bottom; 0 when nothing is
 */
export async function pin(page: BoundedPage, pinning: Pinning): Promise<number> {
  const reach = await page.call('pin.place', pinning);
  // In the only section of a whole page nothing is repeated.
  if (pinning.first && pinning.last && pinning.keep === 'page') return reach;
  return Math.max(reach, await page.call('pseudos.place', pinning));
}

/** Puts the page back as it was, at its top. */
export async function leaveSections(page: BoundedPage): Promise<void> {
  await page.call('pin.release');
  await page.call('scroll.step', { to: 0, waitMs: 0 });
}
