import type { Locator } from 'playwright-core';
import type { ForeignPlace } from '../in-page/deep-selector.js';
import type { ElementBox } from '../in-page/parts.js';
import type { PageExtent } from '../in-page/scroll.js';
import type { PageSession } from '../page-session.js';

/** Finds elements in frames of another origin, which the in-page program cannot reach, by playwright-core in an isolated world. */

const FIND_MAX_MS = 2_000;

/** Scrolls to the element within its frame, if it exists. */
export async function scrollToForeign(session: PageSession, place: ForeignPlace): Promise<void> {
  await locatorOf(session, place)
    .scrollIntoViewIfNeeded({ timeout: FIND_MAX_MS })
    .catch(() => undefined);
}

/**
 * The visible part of the element's box, in CSS px of the page.
 * @param on.shown the part of the page in which the frame shows its document
 * @returns null if no match is visible there
 * @throws CaptureError `render_crashed`
 */
export async function boxOfForeign(
  session: PageSession,
  place: ForeignPlace,
  on: { shown: ElementBox; extent: Pick<PageExtent, 'scrollX' | 'scrollY'> },
): Promise<ElementBox | null> {
  const box = await locatorOf(session, place)
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

function locatorOf({ page }: PageSession, { frame, index, rest }: ForeignPlace): Locator {
  const inside = page.locator(`css=${frame}`).nth(index).contentFrame();
  return inside
    .locator(rest.map((part) => `css=${part}`).join(' >> '))
    .filter({ visible: true })
    .first();
}
