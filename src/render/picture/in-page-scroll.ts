import type { PageExtent } from './in-page-extent.js';

export interface ScrollStep {
  /** CSS px; null stays where it is. */
  to: number | null;
  /** CSS px that are in view for a moment on the way there. */
  by?: number;
  waitMs: number;
}

/** Runs inside the page. Scrolls, lets two frames and the wait pass, and measures; moves everything that listens to scrolling, at once. */
export async function scrollStep({ to, by, waitMs }: ScrollStep): Promise<PageExtent> {
  const root = document.scrollingElement ?? document.documentElement;
  if (by !== undefined) {
    root.scrollTo({ top: by, behavior: 'instant' });
    await seen();
  }
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

  /** The frame has told its observers when its task is over. */
  function seen(): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, 250);
      requestAnimationFrame(() => setTimeout(resolve, 0));
    });
  }
}

/** Runs inside the page. From now on notes what changes its look, which is because of the way back to the top, for the first section. */
export function watchRestyling(): void {
  const world = globalThis as { stillframeRestyled?: Set<Node>; stillframeRestyling?: MutationObserver };
  const restyled = new Set<Node>();
  world.stillframeRestyling = new MutationObserver((records) => {
    for (const { target } of records) restyled.add(target);
  });
  world.stillframeRestyling.observe(document, { subtree: true, attributeFilter: ['class', 'style'] });
  world.stillframeRestyled = restyled;
}
