import type { PageExtent } from './in-page-extent.js';

/**
 * Runs inside the page. Scrolls, lets two frames and the wait pass, and measures; moves everything that listens to scrolling, at once.
 *
 * @param given.to CSS px; null stays where it is
 */
export async function scrollStep({ to, waitMs }: { to: number | null; waitMs: number }): Promise<PageExtent> {
  const root = document.scrollingElement ?? document.documentElement;
  if (to !== null) root.scrollTo({ top: to, behavior: 'instant' });
  await new Promise<void>((resolve) => {
    setTimeout(resolve, 250 + waitMs);
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, waitMs)));
  });
  return {
    pageHeight: root.scrollHeight,
    viewHeight: visualViewport?.height ?? innerHeight,
    zoom: visualViewport?.scale ?? 1,
    scrollY: root.scrollTop,
    scrollX: root.scrollLeft,
  };
}
