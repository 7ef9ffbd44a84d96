/** What of the page blurs or tints what lies behind it (`backdrop-filter`). */
export interface Blurs {
  /** CSS px from the view's edges within which they lack what is beyond: the browser mirrors there what the view shows. 0: there are none. */
  reach: number;
  /** From where to where each is that the view begins or ends within, or has yet to come to, CSS px of the page. */
  spans: { top: number; bottom: number }[];
}

/**
 * Runs inside the page: sent there as text, so it may use nothing from around it. What blurs only itself is blurred as a whole, and no
 * matter.
 */
export function findBlurs(): Blurs {
  const [MOST_ELEMENTS, MOST_SPANS] = [30_000, 500];
  // A blur's radius is its standard deviation: beyond three of these next to nothing of it is seen.
  const DEVIATIONS = 3;
  const root = document.scrollingElement ?? document.documentElement;
  const spans: Blurs['spans'] = [];
  let seen = 0;
  let widest = 0;
  visit(document);
  return { reach: Math.ceil(widest * DEVIATIONS), spans: spans.slice(0, MOST_SPANS) };

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll('*')) {
      if (seen++ > MOST_ELEMENTS) return;
      if (element.shadowRoot !== null) visit(element.shadowRoot);
      note(element, getComputedStyle(element));
    }
  }

  function note(element: Element, { backdropFilter, position }: CSSStyleDeclaration): void {
    if (backdropFilter === 'none' || position === 'fixed') return;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return;
    const { width, height, top, bottom } = element.getBoundingClientRect();
    if (width === 0 || height === 0 || bottom <= 0) return;
    if (top < 0 || bottom > innerHeight) spans.push({ top: top + root.scrollTop, bottom: bottom + root.scrollTop });
    if (bottom <= innerHeight) return;
    for (const [, radius] of backdropFilter.matchAll(/blur\(([\d.]+)px\)/g)) widest = Math.max(widest, Number(radius));
  }
}
