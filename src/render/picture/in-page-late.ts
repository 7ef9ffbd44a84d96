/**
 * Functions that run inside the page: each is sent there as text, so it may use nothing from around it. They see what a page does a while
 * after it was scrolled, as those do that wait for the scrolling to pause.
 */

/**
 * Waits, and tells whether anything has changed meanwhile that had not changed before: what changes again and again, as a clock or a
 * carousel does, counts once.
 *
 * @param given.onlyLazy waits only where an image in view still waits for its source
 */
export async function awaitLateChange({ waitMs, onlyLazy }: { waitMs: number; onlyLazy: boolean }): Promise<boolean> {
  const world = globalThis as { stillframeChanged?: Set<Node> };
  const root = document.scrollingElement ?? document.documentElement;
  world.stillframeChanged ??= watch();
  if (onlyLazy && !lazyInView()) return false;
  const before = { changed: world.stillframeChanged.size, height: root.scrollHeight };
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  return world.stillframeChanged.size > before.changed || root.scrollHeight > before.height + 1;

  function watch(): Set<Node> {
    const changed = new Set<Node>();
    const observer = new MutationObserver((records) => {
      for (const { target } of records) changed.add(target);
    });
    observer.observe(document, { subtree: true, childList: true, attributeFilter: ['class', 'style', 'src', 'srcset', 'hidden'] });
    return changed;
  }

  /** An image that shows nothing yet, or next to nothing, and carries data of its own, such as where its source is. */
  function lazyInView(): boolean {
    return Array.from(document.images)
      .slice(0, 5_000)
      .some((image) => {
        if (image.naturalWidth > 1 && !image.currentSrc.startsWith('data:')) return false;
        if (Object.keys(image.dataset).length === 0) return false;
        const box = image.getBoundingClientRect();
        return box.bottom > 0 && box.top < innerHeight && box.width > 0;
      });
  }
}

/** Waits until the page is longer than it was, but no longer than given. */
export async function awaitGrowth({ pageHeight, waitMs }: { pageHeight: number; waitMs: number }): Promise<void> {
  const root = document.scrollingElement ?? document.documentElement;
  for (const end = performance.now() + waitMs; performance.now() < end && root.scrollHeight <= pageHeight + 1; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
