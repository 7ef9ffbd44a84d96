/** CSS px of the page; the bottom is exclusive. */
export interface Band {
  top: number;
  bottom: number;
}

/**
 * Runs inside the page: sent there as text, so it may use nothing from around it. Tells whether a band of the page still shows what it
 * showed when this was last asked with `null`, which notes it: where each element is, how it is shown, and what it says.
 */
export function boxesHold(band: Band | null): boolean {
  type Box = Band & { told: string };
  const MOST_ELEMENTS = 30_000;
  const world = globalThis as { stillframeBoxes?: Map<Element, Box>; stillframeClosedRoots?: Map<Element, ShadowRoot> };
  const scrolled = (document.scrollingElement ?? document.documentElement).scrollTop;
  const boxes = new Map<Element, Box>();
  let seen = 0;
  visit(document);
  if (band === null) {
    world.stillframeBoxes = boxes;
    return true;
  }
  const noted = world.stillframeBoxes ?? new Map<Element, Box>();
  if (seen > MOST_ELEMENTS) return false;
  return holds(noted, boxes, band) && holds(boxes, noted, band);

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll('*')) {
      if (seen++ > MOST_ELEMENTS) return;
      const root = element.shadowRoot ?? world.stillframeClosedRoots?.get(element);
      if (root !== undefined) visit(root);
      const { left, top, width, height } = element.getBoundingClientRect();
      if (width === 0 || height === 0) continue;
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const { opacity, clipPath, filter, color, backgroundColor, backgroundImage } = getComputedStyle(element);
      const says = element instanceof HTMLImageElement ? `${element.currentSrc} ${element.complete}` : wordsOf(element);
      const at = top + scrolled;
      const told = [Math.round(left), Math.round(width), opacity, clipPath, filter, color, backgroundColor, backgroundImage, says].join();
      boxes.set(element, { top: at, bottom: at + height, told });
    }
  }

  function wordsOf(element: Element): string {
    return element.childElementCount === 0 ? (element.textContent ?? '') : '';
  }

  function holds(these: Map<Element, Box>, those: Map<Element, Box>, { top, bottom }: Band): boolean {
    const within = (at: number) => Math.round(Math.min(Math.max(at, top), bottom));
    for (const [element, box] of these) {
      if (box.bottom <= top || box.top >= bottom) continue;
      const other = those.get(element);
      // What goes on beyond the band may grow there.
      if (other?.told !== box.told || within(other.top) !== within(box.top) || within(other.bottom) !== within(box.bottom)) return false;
    }
    return true;
  }
}
