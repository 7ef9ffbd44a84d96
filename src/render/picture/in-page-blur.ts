/** What of the page goes on below the view and blurs what lies behind it. */
export interface Blurs {
  /** CSS px from the view's edges within which they lack what is beyond: the browser mirrors there what the view shows. 0: there are none. */
  reach: number;
  /** Where those are that one view can show whole, CSS px of the page, from the top down, apart from one another. */
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
  return { reach: Math.ceil(widest * DEVIATIONS), spans: widest > 0 ? joined().slice(0, MOST_SPANS) : [] };

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll('*')) {
      if (seen++ > MOST_ELEMENTS) return;
      if (element.shadowRoot !== null) visit(element.shadowRoot);
      const style = getComputedStyle(element);
      const { backdropFilter } = style;
      if (backdropFilter === 'none' || style.position === 'fixed') continue;
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const { width, height, top, bottom } = element.getBoundingClientRect();
      if (width === 0 || height === 0 || bottom <= innerHeight) continue;
      if (height <= innerHeight) spans.push({ top: top + root.scrollTop, bottom: bottom + root.scrollTop });
      for (const [, radius] of backdropFilter.matchAll(/blur\(([\d.]+)px\)/g)) widest = Math.max(widest, Number(radius));
    }
  }

  function joined(): Blurs['spans'] {
    const apart: Blurs['spans'] = [];
    for (const span of spans.sort((a, b) => a.top - b.top)) {
      const before = apart.at(-1);
      if (before !== undefined && span.top < before.bottom) before.bottom = Math.max(before.bottom, span.bottom);
      else apart.push(span);
    }
    return apart;
  }
}
