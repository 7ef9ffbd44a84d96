import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import type { BoundedPage } from '../picture/bounded-page.js';
import { within } from '../picture/bounded-page.js';

/** Reading the tree costs most of a millisecond an element, and nothing of it can be had before all of it is done. These give more than is kept. */
const MOST_ELEMENTS = 2_000;

/**
 * The accessibility tree as an indented outline of roles and names; empty when it cannot be had by the deadline (ms by `monotonicNow`).
 * Takes the end of a long page away: it is the last thing done with a page.
 *
 * @throws CaptureError `render_crashed`
 */
export async function outline(session: PageSession, page: BoundedPage, deadline: number): Promise<string> {
  try {
    if (!(await page.call('source.shorten', MOST_ELEMENTS))) return '';
    const timeout = Math.max(1, deadline - monotonicNow());
    return await within(session, deadline, () => session.page.locator('body').first().ariaSnapshot({ timeout }));
  } catch {
    // Too slow: the picture is not lost for it.
    session.lost.throwIfAborted();
    return '';
  }
}
