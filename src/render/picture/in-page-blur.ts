import type { PinKit } from './in-page-pin-kit.js';

/** What of the page blurs or tints what lies behind it (`backdrop-filter`). */
export interface Blurs {
  /** CSS px from the view's edges within which they lack what is beyond: the browser mirrors there what the view shows. 0: there are none. */
  reach: number;
  /** From where to where each is that was asked for, CSS px of the page. */
  spans: { top: number; bottom: number; left: number; right: number }[];
  /** CSS px of the page, where the view began then. */
  scrollY: number;
}

/**
 * Runs inside the page: sent there as text, so it may use nothing from around it but the pin kit. What blurs only itself is blurred as a
 * whole, and no matter.
 *
 * @param of all of the page, or what the view begins or ends within, or has yet to come to
 */
export function findBlurs(of: 'page' | 'views'): Blurs {
  const [MOST_ELEMENTS, MOST_SPANS] = [30_000, 500];
  // A blur's radius is its standard deviation: beyond three of these next to nothing of it is seen.
  const DEVIATIONS = 3;
  const world = globalThis as { stillframePinKit?: PinKit };
  if (world.stillframePinKit === undefined) throw new Error('The page has no pin kit.');
  const { pseudoHostsTold } = world.stillframePinKit;
  const root = document.scrollingElement ?? document.documentElement;
  const spans: Blurs['spans'] = [];
  let seen = 0;
  let widest = 0;
  visit(document);
  // Where in its element it lies nobody tells: most are as large.
  for (const host of pseudoHostsTold((rules) => rules.backdropFilter !== '').slice(0, MOST_SPANS)) {
    for (const name of ['::before', '::after']) {
      const style = getComputedStyle(host, name);
      if (!/^(none|normal)$/.test(style.content)) note(host, style);
    }
  }
  return { reach: Math.ceil(widest * DEVIATIONS), spans: spans.slice(0, MOST_SPANS), scrollY: root.scrollTop };

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
    const { width, height, top, bottom, left, right } = element.getBoundingClientRect();
    if (width === 0 || height === 0 || (of === 'views' && bottom <= 0)) return;
    if (of === 'page' || top < 0 || bottom > innerHeight) {
      const { scrollTop, scrollLeft } = root;
      spans.push({ top: top + scrollTop, bottom: bottom + scrollTop, left: left + scrollLeft, right: right + scrollLeft });
    }
    if (of === 'views' && bottom <= innerHeight) return;
    for (const [, radius] of backdropFilter.matchAll(/blur\(([\d.]+)px\)/g)) widest = Math.max(widest, Number(radius));
  }
}
