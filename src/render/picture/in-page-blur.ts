/**
 * Runs inside the page: sent there as text, so it may use nothing from around it. Tells how far from the view's edges, CSS px, a blur of what lies
 * behind an element lacks what is beyond them: the browser mirrors there what the view shows. 0 when nothing that goes on below the view
 * has such a blur; what only blurs itself is blurred as a whole.
 */
export function reachOfBlurs(): number {
  const MOST_ELEMENTS = 30_000;
  // A blur's radius is its standard deviation: beyond three of these next to nothing of it is seen.
  const DEVIATIONS = 3;
  let seen = 0;
  let widest = 0;
  visit(document);
  return Math.ceil(widest * DEVIATIONS);

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll('*')) {
      if (seen++ > MOST_ELEMENTS) return;
      if (element.shadowRoot !== null) visit(element.shadowRoot);
      const style = getComputedStyle(element);
      const { backdropFilter } = style;
      if (backdropFilter === 'none' || style.position === 'fixed') continue;
      const { width, height, bottom } = element.getBoundingClientRect();
      if (width === 0 || height === 0 || bottom <= innerHeight) continue;
      for (const [, radius] of backdropFilter.matchAll(/blur\(([\d.]+)px\)/g)) widest = Math.max(widest, Number(radius));
    }
  }
}
