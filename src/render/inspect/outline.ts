import type { PageHand } from '../picture/page-hand.js';
import { within } from '../picture/page-hand.js';
import type { Stage } from '../stage.js';
import { shortenPage } from './in-page-text.js';

/** Reading the tree costs most of a millisecond an element, and nothing of it can be had before all of it is done. These give more than is kept. */
const MOST_ELEMENTS = 2_000;

/**
 * The accessibility tree as an indented outline of roles and names; empty when it cannot be had by the deadline (Unix ms).
 * Takes the end of a long page away: it is the last thing done with a page.
 *
 * @throws CaptureError `render_crashed`
 */
export async function outline(stage: Stage, hand: PageHand, deadline: number): Promise<string> {
  try {
    if (!(await hand.run(shortenPage, MOST_ELEMENTS))) return '';
    const timeout = Math.max(1, deadline - Date.now());
    return await within(stage, deadline, () => stage.page.locator('body').first().ariaSnapshot({ timeout }));
  } catch {
    // Too slow: the picture is not lost for it.
    stage.lost.throwIfAborted();
    return '';
  }
}
