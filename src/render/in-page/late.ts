import { documentProperty, pageScroller } from './dom.js';
import { sleep } from './frames.js';

/** What a page does a while after it was scrolled, as those do that wait for the scrolling to pause. */

const MOST_IMAGES = 5_000;
const LOOK_EVERY_MS = 20;

/** All that has changed since the first look. */
let changed: Set<Node> | null = null;

/**
 * Waits, and tells whether anything has changed meanwhile that had not changed before: what changes again and again, as a clock or a
 * carousel does, counts once.
 *
 * @param given.onlyLazy waits only where an image in view still waits for its source
 */
export async function change({ waitMs, onlyLazy }: { waitMs: number; onlyLazy: boolean }): Promise<boolean> {
  const scroller = pageScroller();
  changed ??= watch();
  if (onlyLazy && !lazyInView()) return false;
  const before = { changed: changed.size, height: scroller.scrollHeight };
  await sleep(waitMs);
  return changed.size > before.changed || scroller.scrollHeight > before.height + 1;
}

/** Waits until the page is longer than it was, but no longer than given. */
export async function growth({ pageHeight, waitMs }: { pageHeight: number; waitMs: number }): Promise<void> {
  const scroller = pageScroller();
  for (const end = performance.now() + waitMs; performance.now() < end && scroller.scrollHeight <= pageHeight + 1; ) {
    await sleep(LOOK_EVERY_MS);
  }
}

function watch(): Set<Node> {
  const nodes = new Set<Node>();
  const observer = new MutationObserver((records) => {
    for (const { target } of records) nodes.add(target);
  });
  observer.observe(document, { subtree: true, childList: true, attributeFilter: ['class', 'style', 'src', 'srcset', 'hidden'] });
  return nodes;
}

/** An image that shows nothing yet, or next to nothing, and carries data of its own, such as where its source is. */
function lazyInView(): boolean {
  return Array.from(documentProperty('images'))
    .slice(0, MOST_IMAGES)
    .some((image) => {
      if (image.naturalWidth > 1 && !image.currentSrc.startsWith('data:')) return false;
      if (Object.keys(image.dataset).length === 0) return false;
      const box = image.getBoundingClientRect();
      return box.bottom > 0 && box.top < innerHeight && box.width > 0;
    });
}
