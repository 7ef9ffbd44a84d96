import type { PinKit } from './in-page-pin-kit.js';

/** CSS px of the page; the bottom is exclusive. */
export interface Band {
  top: number;
  bottom: number;
}

/**
 * Runs inside the page: sent there as text, so it may use nothing from around it but the pin kit. Tells whether a band of the page still
 * shows what it showed when this was last asked with `null`, which notes it: where each element is, how it looks, its attributes and its
 * words. What a canvas, a frame or a video shows it cannot tell, nor what the browser leaves unpainted out of view: these hold where they
 * were in view then, what draws itself where all of it was. Nor does it see what scripts change in style sheets or in a pseudo-element alone.
 *
 * @returns with `null`, whether all could be noted
 */
export function boxesHold(band: Band | null): boolean {
  type Box = Band & { told: string };
  const [MOST_ELEMENTS, MOST_CHARS] = [30_000, 1_000];
  const LOOKS = ['opacity', 'transform', 'filter', 'clipPath', 'color', 'backgroundColor', 'fill', 'stroke'] as const;
  const world = globalThis as {
    stillframePinKit?: PinKit;
    stillframeNoted?: Map<Element, Box>;
    stillframeClosedRoots?: Map<Element, ShadowRoot>;
    stillframeShift?: number;
  };
  const scrolled = (document.scrollingElement ?? document.documentElement).scrollTop - (world.stillframeShift ?? 0);
  const boxes = new Map<Element, Box>();
  let seen = 0;
  if (band === null && (movesByScroll() || hasFixedGround())) return false;
  visit(document);
  const noted = world.stillframeNoted ?? new Map<Element, Box>();
  if (band === null) world.stillframeNoted = boxes;
  if (seen > MOST_ELEMENTS) return false;
  return band === null || (holds(noted, boxes, band) && holds(boxes, noted, band));

  function visit(scope: ParentNode): void {
    for (const element of scope.querySelectorAll('*')) {
      if (seen++ > MOST_ELEMENTS) return;
      const root = element.shadowRoot ?? world.stillframeClosedRoots?.get(element);
      if (root !== undefined) visit(root);
      const box = element.getBoundingClientRect();
      if (box.width === 0 && box.height === 0) continue;
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      boxes.set(element, { top: box.top + scrolled, bottom: box.bottom + scrolled, told: tell(element, box) });
    }
  }

  function tell(element: Element, box: DOMRect): string {
    const style = getComputedStyle(element);
    const looks = LOOKS.map((look) => style[look]);
    return [
      Math.round(box.left),
      Math.round(box.width),
      isPainted(element, style, box),
      ...looks,
      attributesOf(element),
      saidBy(element),
    ].join();
  }

  /** What draws itself may draw no more than the view shows of it: only as a whole it was painted then. */
  function isPainted({ localName }: Element, { contentVisibility }: CSSStyleDeclaration, { top, bottom }: DOMRect): boolean {
    const inView = bottom > 0 && top < innerHeight;
    if (/^(canvas|video|i?frame|embed|object)$/.test(localName)) return band === null ? top >= 0 && bottom <= innerHeight : inView;
    return contentVisibility !== 'auto' || inView;
  }

  /** What the view holds fast behind the page lies elsewhere in it each time. */
  function hasFixedGround(): boolean {
    const roots = [document.documentElement, document.body].filter((element) => element !== null);
    if (roots.some((element) => getComputedStyle(element).backgroundAttachment.includes('fixed'))) return true;
    const told = world.stillframePinKit?.pseudoHostsTold((rules) => rules.position === 'fixed') ?? [];
    const hosts = [...roots, ...Array.from(document.body?.children ?? []).slice(0, 200), ...told];
    return hosts.some((host) =>
      ['::before', '::after'].some((name) => {
        const { content, position } = getComputedStyle(host, name);
        return position === 'fixed' && !/^(none|normal)$/.test(content);
      }),
    );
  }

  function movesByScroll(): boolean {
    return document.getAnimations().some(({ timeline }) => timeline !== null && !(timeline instanceof DocumentTimeline));
  }

  function attributesOf(element: Element): string {
    let all = '';
    // A form's fields may have any name.
    for (const { name, value } of Reflect.get(Element.prototype, 'attributes', element) as NamedNodeMap) {
      all += ` ${name}=${value.length}:${value.slice(-MOST_CHARS)}`;
    }
    return all;
  }

  function saidBy(element: Element): string {
    if (element instanceof HTMLImageElement) return `${element.currentSrc} ${element.complete}`;
    let words = '';
    for (const node of element.childNodes) if (node instanceof Text) words += node.data;
    return words;
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
