/**
 * Functions that run inside the page: each is sent there as text, so it may use nothing from around it. A page that is printed takes the
 * paper for its viewport: what depends on the viewport's height must be held at what it is on the screen.
 */

/** The paper is ours: a page's own `@page` would turn it, or put margins on it. */
export function ownPaper(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('@page { size: auto !important; margin: 0 !important; page-orientation: upright !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** Takes back all that was held or put elsewhere. */
export function letGo(): void {
  const world = globalThis as { stillframeOwn?: Map<CSSStyleDeclaration, string> };
  for (const [style, own] of world.stillframeOwn ?? []) style.cssText = own;
  delete world.stillframeOwn;
}

/** Notes how the page is laid out, whatever is moving on it. Of a custom element also what its own tree, which may be closed, takes up. */
export function noteLayout(): void {
  const world = globalThis as { stillframeLayout?: Map<HTMLElement, number[]> };
  const layout = new Map<HTMLElement, number[]>();
  world.stillframeLayout = layout;
  visit(document);

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll<HTMLElement>('*')) {
      if (element.shadowRoot !== null) visit(element.shadowRoot);
      if (!(element instanceof HTMLElement)) continue;
      const within = element.localName.includes('-') ? element.scrollHeight : 0;
      layout.set(element, [element.offsetTop, element.offsetHeight, within]);
    }
  }
}

/** With the viewport as high as the paper: whether the page is laid out as it was. */
export function isLaidOutAlike(pageHeight: number): boolean {
  const world = globalThis as { stillframeLayout?: Map<HTMLElement, number[]> };
  const differs = (a = 0, b = 0) => Math.abs(a - b) > 1;
  const root = document.scrollingElement ?? document.documentElement;
  if (differs(root.scrollHeight, Math.max(pageHeight, innerHeight))) return false;
  for (const [element, [top, height, within]] of world.stillframeLayout ?? []) {
    if (differs(element.offsetTop, top) || differs(element.offsetHeight, height)) return false;
    if (within !== 0 && differs(element.scrollHeight, within)) return false;
  }
  return true;
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
  const world = globalThis as { stillframeOwn?: Map<CSSStyleDeclaration, string> };
  const moved: [HTMLElement, Record<string, string>][] = [];
  visit(document);
  for (const [element, properties] of moved) {
    for (const [property, value] of Object.entries(properties)) force(element, property, value);
  }

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll<HTMLElement>('*')) {
      if (element.shadowRoot !== null) visit(element.shadowRoot);
      if (element.style !== undefined) pin(element);
    }
  }

  function pin(element: HTMLElement): void {
    const { position } = getComputedStyle(element);
    if (position === 'sticky') moved.push([element, { position: 'relative', inset: 'auto' }]);
    // With an offset parent it is fixed within a transformed box, and moves along with that.
    if (position !== 'fixed' || element.offsetParent !== null) return;
    const { top, bottom, height } = element.getBoundingClientRect();
    const low = top > innerHeight / 2 && innerHeight - bottom < innerHeight / 4 && height < innerHeight / 2;
    const at = low ? pageHeight - (innerHeight - top) : top;
    const size = { height: `${height}px`, 'min-height': '0', 'max-height': 'none', 'box-sizing': 'border-box' };
    moved.push([element, { position: 'absolute', ...size, top: `${at}px`, bottom: 'auto', margin: '0' }]);
  }

  function force({ style }: HTMLElement, property: string, value: string): void {
    world.stillframeOwn ??= new Map();
    if (!world.stillframeOwn.has(style)) world.stillframeOwn.set(style, style.cssText);
    style.setProperty(property, value, 'important');
  }
}
