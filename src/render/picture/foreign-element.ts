import type { Locator } from 'playwright-core';
import type { ForeignPlace } from '../in-page/deep-selector.js';
import type { ElementBox } from '../in-page/parts.js';
import type { PageExtent } from '../in-page/scroll.js';
import type { PageSession } from '../page-session.js';

/** An element in a frame of another origin, which the in-page program cannot reach: playwright-core finds it, in a world of its own. */

const FIND_MAX_MS = 2_000;

/** Scrolls to it in its frame, if it is there. */
export async function scrollToForeign(session: PageSession, place: ForeignPlace): Promise<void> {
  await locate(session, place)
    .scrollIntoViewIfNeeded({ timeout: FIND_MAX_MS })
    .catch(() => undefined);
}

/**
 * The part of it that its frame shows, CSS px of the page.
 *
 * @param on.shown where the frame shows its document
 * @returns null if nothing visible matches there
 * @throws CaptureError `render_crashed`
 */
export async function boxOfForeign(
  session: PageSession,
  place: ForeignPlace,
  on: { shown: ElementBox; extent: Pick<PageExtent, 'scrollX' | 'scrollY'> },
): Promise<ElementBox | null> {
  const box = await locate(session, place)
    .boundingBox({ timeout: FIND_MAX_MS })
    .catch(() => {
      session.lost.throwIfAborted();
      return null;
    });
  if (box === null) return null;
  const { shown, extent } = on;
  const left = Math.max(shown.left, box.x + extent.scrollX);
  const top = Math.max(shown.top, box.y + extent.scrollY);
  const right = Math.min(shown.right, box.x + extent.scrollX + box.width);
  const bottom = Math.min(shown.bottom, box.y + extent.scrollY + box.height);
  return right > left && bottom > top ? { left, top, right, bottom } : null;
}

function locate({ page }: PageSession, { frame, index, rest }: ForeignPlace): Locator {
  const inside = page.locator(`css=${frame}`).nth(index).contentFrame();
  return inside
    .locator(rest.map((part) => `css=${part}`).join(' >> '))
    .filter({ visible: true })
    .first();
}
