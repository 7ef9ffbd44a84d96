/**
 * Functions that run inside the page: each is sent there as text, so it may use nothing from around it. They hold what the page's style
 * sheets say of the viewport's height, where the sheets may be read: those of another origin tell and take nothing.
 */

/** Notes the media queries that can ask for the viewport's height, and their answers. */
export function noteQueries(): void {
  const OF_HEIGHT = /height|aspect-ratio|orientation/;
  const world = globalThis as { stillframeQueries?: Map<MediaList, boolean>; stillframeSheets?: Set<CSSStyleSheet> };
  const queries = new Map<MediaList, boolean>();
  const sheets = new Set<CSSStyleSheet>();
  world.stillframeQueries = queries;
  world.stillframeSheets = sheets;
  visitScope(document);

  function visitScope(scope: Document | ShadowRoot): void {
    for (const sheet of [...scope.styleSheets, ...scope.adoptedStyleSheets]) visitSheet(sheet);
    for (const { shadowRoot } of scope.querySelectorAll('*')) if (shadowRoot !== null) visitScope(shadowRoot);
  }

  function visitSheet(sheet: CSSStyleSheet): void {
    note(sheet.media);
    if (sheets.has(sheet) || !isReadable(sheet)) return;
    sheets.add(sheet);
    visitRules(sheet.cssRules);
  }

  function visitRules(rules: CSSRuleList): void {
    for (const rule of rules) {
      if (rule instanceof CSSMediaRule) note(rule.media);
      if (rule instanceof CSSImportRule && rule.styleSheet !== null) visitSheet(rule.styleSheet);
      if (rule instanceof CSSGroupingRule || rule instanceof CSSStyleRule) visitRules(rule.cssRules);
    }
  }

  function note(media: MediaList): void {
    const { mediaText } = media;
    if (OF_HEIGHT.test(mediaText)) queries.set(media, matchMedia(mediaText).matches);
  }

  function isReadable(sheet: CSSStyleSheet): boolean {
    try {
      return sheet.cssRules !== null;
    } catch {
      // Of another origin, which does not share it.
      return false;
    }
  }
}

/** With the viewport as high as the paper: keeps only the queries that are answered otherwise. */
export function keepChangedQueries(): boolean {
  const world = globalThis as { stillframeQueries?: Map<MediaList, boolean> };
  const queries = world.stillframeQueries ?? new Map<MediaList, boolean>();
  for (const [media, matched] of queries) if (matchMedia(media.mediaText).matches === matched) queries.delete(media);
  return queries.size > 0;
}

/**
 * With the viewport as it was: answers these queries for good, and turns lengths that follow the viewport's height into px: in style
 * sheets, in elements' own styles, and where the root is as high as the viewport.
 */
export function holdRules(): void {
  const LENGTH = /url\([^)]*\)|"[^"]*"|(?<![\w#.-])([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)[sld]?v(h|b|min|max)\b/gi;
  const world = globalThis as {
    stillframeQueries?: Map<MediaList, boolean>;
    stillframeSheets?: Set<CSSStyleSheet>;
  };
  const sides: Record<string, number> = {
    h: innerHeight,
    b: innerHeight,
    min: Math.min(innerWidth, innerHeight),
    max: Math.max(innerWidth, innerHeight),
  };
  holdRoot();
  for (const [media, matched] of world.stillframeQueries ?? []) media.mediaText = matched ? 'all' : 'not all';
  for (const sheet of world.stillframeSheets ?? []) visitRules(sheet.cssRules);
  visitStyles(document);

  /** What is a part of its parent's height is so, from the root down, of the viewport's. */
  function holdRoot(): void {
    const used = document.documentElement.computedStyleMap();
    for (const property of ['height', 'min-height', 'max-height']) {
      const height = used.get(property);
      if (!(height instanceof CSSUnitValue) || height.unit !== 'percent') continue;
      document.documentElement.style.setProperty(property, `${(innerHeight * height.value) / 100}px`, 'important');
    }
  }

  function visitStyles(scope: ParentNode): void {
    for (const element of scope.querySelectorAll<HTMLElement>('*')) {
      if (element.shadowRoot !== null) visitStyles(element.shadowRoot);
      if (element.hasAttribute('style') && element.style instanceof CSSStyleDeclaration) hold(element.style);
    }
  }

  function visitRules(rules: CSSRuleList): void {
    for (const rule of rules) {
      if ('style' in rule && rule.style instanceof CSSStyleDeclaration) hold(rule.style);
      if ('cssRules' in rule && rule.cssRules instanceof CSSRuleList) visitRules(rule.cssRules);
    }
  }

  function hold(style: CSSStyleDeclaration): void {
    const { cssText } = style;
    const held = cssText.replace(LENGTH, inPx);
    if (held !== cssText) style.cssText = held;
  }

  function inPx(found: string, count: string | undefined, side = ''): string {
    if (count === undefined) return found;
    return `${(Number(count) * (sides[side.toLowerCase()] ?? 0)) / 100}px`;
  }
}
