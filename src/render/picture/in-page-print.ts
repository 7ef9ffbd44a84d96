/**
 * Functions that run inside the page: each is sent there as text, so it may use nothing from around it. A page that is printed takes the
 * paper for its viewport: what depends on the viewport's height must be found, and held at what it is on the screen.
 */

/** The paper is ours: a page's own `@page` would turn it, or put margins on it. */
export function ownPaper(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('@page { size: auto !important; margin: 0 !important; page-orientation: upright !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** Notes the heights of all elements, to find those that another viewport height changes. */
export function noteHeights(): void {
  const world = globalThis as { stillframeHeights?: Map<HTMLElement, [number, string]> };
  const heights = new Map<HTMLElement, [number, string]>();
  for (const element of Array.from(document.querySelectorAll<HTMLElement>('*')).slice(0, 60_000)) {
    if (element.style === undefined) continue;
    const style = getComputedStyle(element);
    if (style.display === 'none' || style.display === 'inline') continue;
    heights.set(element, [element.getBoundingClientRect().height, style.position === 'absolute' ? style.top : '']);
  }
  world.stillframeHeights = heights;
}

/** With the viewport at another height: keeps only the elements that changed. */
export function keepChanged(): void {
  const world = globalThis as { stillframeHeights?: Map<HTMLElement, [number, string]> };
  const heights = world.stillframeHeights ?? new Map<HTMLElement, [number, string]>();
  for (const [element, [height, top]] of heights) {
    const sameTop = top === '' || getComputedStyle(element).top === top;
    if (Math.abs(element.getBoundingClientRect().height - height) < 0.5 && sameTop) heights.delete(element);
  }
}

/** With the viewport as it was: holds them where they are. */
export function holdChanged(): void {
  const world = globalThis as { stillframeHeights?: Map<HTMLElement, [number, string]> };
  const held: [HTMLElement, string, string][] = [];
  for (const [element, [, top]] of world.stillframeHeights ?? []) held.push([element, getComputedStyle(element).height, top]);
  for (const [element, height, top] of held) {
    for (const property of ['height', 'min-height', 'max-height']) element.style.setProperty(property, height, 'important');
    if (top === '') continue;
    element.style.setProperty('top', top, 'important');
    element.style.setProperty('bottom', 'auto', 'important');
  }
}

/** Makes the page one box of a height, which no page break cuts and outside of which nothing shows. */
export function boxPage(height: number): void {
  const body = document.body;
  if (body === null || document.documentElement.scrollHeight < height) return;
  const top = body.getBoundingClientRect().top + scrollY;
  const bottomMargin = Number.parseFloat(getComputedStyle(body).marginBottom) || 0;
  const size = `${Math.max(0, height - top - bottomMargin)}px`;
  const box = { contain: 'size', overflow: 'clip', 'box-sizing': 'border-box', height: size, 'min-height': size, 'max-height': size };
  for (const [property, value] of Object.entries(box)) body.style.setProperty(property, value, 'important');
}

/** On paper what is pinned follows the paper's edges, on every page: it is put where it stands at the page's top, or at its end. */
export function pinOnce(pageHeight: number): void {
  const moved: [HTMLElement, Record<string, string>][] = [];
  for (const element of document.querySelectorAll<HTMLElement>('*')) {
    if (element.style === undefined) continue;
    const { position } = getComputedStyle(element);
    if (position === 'sticky') moved.push([element, { position: 'relative', inset: 'auto' }]);
    // With an offset parent it is fixed within a transformed box, and moves along with that.
    if (position !== 'fixed' || element.offsetParent !== null) continue;
    const { top, bottom, height } = element.getBoundingClientRect();
    const low = top > innerHeight / 2 && innerHeight - bottom < innerHeight / 4 && height < innerHeight / 2;
    const at = low ? pageHeight - (innerHeight - top) : top;
    moved.push([
      element,
      { position: 'absolute', height: `${height}px`, 'box-sizing': 'border-box', top: `${at}px`, bottom: 'auto', margin: '0' },
    ]);
  }
  for (const [element, properties] of moved) {
    for (const [property, value] of Object.entries(properties)) element.style.setProperty(property, value, 'important');
  }
}
