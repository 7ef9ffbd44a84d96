/**
 * What the functions that run inside a page share. They run in a world of their own, where the page's overridden prototypes do not
 * reach; a form control or image named like a property of `document` still would, so properties are taken from the prototypes.
 * Every function here is self-contained: its source is what travels.
 */

export interface PageKit {
  /** Elements of the document that match, in document order. Throws the browser's SyntaxError for a bad selector. */
  all(selector: string): Element[];
  /** As `all`, in one tree. */
  allIn(root: Document | ShadowRoot, selector: string): Element[];
  /** A document, ours unless given, and the open shadow trees in it, each before those within it. */
  trees(root?: Document | ShadowRoot): (Document | ShadowRoot)[];
  /** As it is rendered: out of a shadow tree to its host, from what is slotted to its slot. */
  parentOf(element: Element): Element | null;
  /** A property of the document that nothing in the page can shadow. */
  documentProperty<K extends keyof Document>(name: K): Document[K];
  body(): Element | null;
  /** Has a box, and neither it nor an ancestor is hidden. */
  isVisible(element: Element): boolean;
  /** The part of a box that lies in the view, in CSS px²; 0 when outside. */
  areaInView(box: DOMRectReadOnly): number;
  /** Running transitions and animations that have an end in time. */
  finiteMotion(): Animation[];
  /** Whether the page runs scripts, or a frame in it that is not there yet or cannot be read: what does not cannot change by itself. */
  runsScript(root?: Document): boolean;
  /**
   * Images, in open shadow trees too, whose box, though perhaps still empty, touches the view, but for counting pixels that have not come;
   * at most 500.
   */
  imagesInView(): HTMLImageElement[];
  /** The one opaque layer, without a background image, that lies on top all over the view; null when the page itself does. */
  coverOnTop(): Element | null;
  /** 0 transparent … 1 opaque, of a computed colour. */
  alphaOf(colour: string): number;
  /** The next frame, or 100 ms when frames do not come. */
  frame(): Promise<void>;
  /** The work, or `late` after `ms`; rejections count as done. */
  orLate(work: Promise<unknown>, ms: number): Promise<boolean>;
  /** Seconds of a `<meta http-equiv="refresh">` that the page still has before it, or null. */
  refreshAfterS(): number | null;
  /** Text as a visitor sees it, shadow trees, same-origin frames and form fields too, at most `maxChars`. */
  visibleText(maxChars: number): string;
  /** Applies hide_selectors, remove_selectors and custom_css anew, where the edit script has been put. */
  edit(): void;
}

function all(this: PageKit, selector: string): Element[] {
  return this.allIn(document, selector);
}

function allIn(root: Document | ShadowRoot, selector: string): Element[] {
  // What lies in a frame is of that frame's realm, where `instanceof` is of no use.
  const prototype = root.nodeType === Node.DOCUMENT_NODE ? Document.prototype : DocumentFragment.prototype;
  return Array.from(prototype.querySelectorAll.call(root, selector));
}

function trees(this: PageKit, root: Document | ShadowRoot = document): (Document | ShadowRoot)[] {
  const shadowRoot = Object.getOwnPropertyDescriptor(Element.prototype, 'shadowRoot')?.get;
  const found = [root];
  for (const tree of found) {
    for (const element of this.allIn(tree, '*')) {
      const shadow: ShadowRoot | null = shadowRoot?.call(element);
      if (shadow !== null) found.push(shadow);
    }
  }
  return found;
}

function parentOf(element: Element): Element | null {
  const above = element.assignedSlot ?? element.parentElement;
  if (above !== null) return above;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

function documentProperty(name: string): unknown {
  return Object.getOwnPropertyDescriptor(Document.prototype, name)?.get?.call(document);
}

function body(): Element | null {
  return Object.getOwnPropertyDescriptor(Document.prototype, 'body')?.get?.call(document) ?? null;
}

function isVisible(element: Element): boolean {
  const box = Element.prototype.getBoundingClientRect.call(element);
  if (box.width <= 0 || box.height <= 0) return false;
  return Element.prototype.checkVisibility.call(element, { visibilityProperty: true });
}

function areaInView(box: DOMRectReadOnly): number {
  const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0);
  const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  return width > 0 && height > 0 ? width * height : 0;
}

function finiteMotion(): Animation[] {
  return Document.prototype.getAnimations.call(document).filter(({ timeline, playState, effect }) => {
    const runs = timeline instanceof DocumentTimeline && playState === 'running';
    return runs && effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY;
  });
}

function runsScript(this: PageKit, root: Document = document): boolean {
  const programs = 'script:not([type]),script[type=""],script[type*=javascript i],script[type=module i]';
  if (this.allIn(root, `${programs},object,embed,[onload],[onerror],[onpageshow]`).length > 0) return true;
  return this.allIn(root, 'iframe,frame').some((frame) => {
    const inner = (frame as HTMLIFrameElement).contentDocument ?? null;
    return inner === null || inner.readyState !== 'complete' || this.runsScript(inner);
  });
}

function imagesInView(this: PageKit): HTMLImageElement[] {
  const found: HTMLImageElement[] = [];
  for (const image of this.trees().flatMap((tree) => this.allIn(tree, 'img'))) {
    const box = Element.prototype.getBoundingClientRect.call(image);
    const touches = box.bottom >= 0 && box.top <= innerHeight && box.right >= 0 && box.left <= innerWidth;
    const asked = (image as HTMLImageElement).currentSrc !== '' || image.hasAttribute('src') || image.hasAttribute('srcset');
    if (!touches || !asked || !Element.prototype.checkVisibility.call(image) || found.length >= 500) continue;
    if ((image as HTMLImageElement).complete || !isPixel(image)) found.push(image as HTMLImageElement);
  }
  return found;

  // By the size it is given: one whose size is yet to come with its picture has an empty box too.
  function isPixel(image: Element): boolean {
    return ['width', 'height'].some((side) => {
      const size = image.computedStyleMap().get(side);
      return size instanceof CSSUnitValue && size.unit === 'px' && size.value <= 2;
    });
  }
}

function coverOnTop(this: PageKit): Element | null {
  const at = (x: number, y: number) => coverOf(Document.prototype.elementFromPoint.call(document, innerWidth * x, innerHeight * y));
  // A field of a form may be named like any property of it.
  const parent = Object.getOwnPropertyDescriptor(Node.prototype, 'parentElement')?.get;
  const coverOf = (element: Element | null): Element | null => {
    for (let layer = element; layer !== null && layer !== this.body(); layer = parent?.call(layer) ?? null) {
      const { position, backgroundColor, backgroundImage, opacity } = getComputedStyle(layer);
      const box = Element.prototype.getBoundingClientRect.call(layer);
      if (!/^(fixed|absolute)$/.test(position) || this.areaInView(box) < 0.95 * innerWidth * innerHeight) continue;
      const opaque = this.alphaOf(backgroundColor) >= 0.9 && Number(opacity) >= 0.9;
      return opaque && !backgroundImage.includes('url(') ? layer : null;
    }
    return null;
  };
  const middle = at(0.5, 0.5);
  const places = [0.1, 0.5, 0.9];
  return middle !== null && places.every((x) => places.every((y) => at(x, y) === middle)) ? middle : null;
}

function alphaOf(colour: string): number {
  if (colour === 'transparent' || colour === '') return 0;
  const slash = /\/\s*([\d.]+)(%?)\s*\)$/.exec(colour);
  if (slash !== null) return Number(slash[1]) / (slash[2] === '%' ? 100 : 1);
  const legacy = /^rgba\([^,]+,[^,]+,[^,]+,\s*([\d.]+)\)$/.exec(colour);
  return legacy === null ? 1 : Number(legacy[1]);
}

function frame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 100);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function orLate(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const done = () => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(done, done);
  });
}

function refreshAfterS(this: PageKit): number | null {
  const times = this.all('meta[http-equiv="refresh" i]')
    .map((meta) => Number.parseFloat(Element.prototype.getAttribute.call(meta, 'content') ?? ''))
    .filter((seconds) => seconds >= 0);
  return times.length === 0 ? null : Math.min(...times);
}

function visibleText(this: PageKit, maxChars: number): string {
  const parts: string[] = [];
  let chars = 0;
  const add = (text: string | null | undefined) => {
    if (text === null || text === undefined || text === '' || chars > maxChars) return;
    parts.push(text.slice(0, maxChars));
    chars += text.length;
  };
  // What lies in a frame is of that frame's realm, where `instanceof` is of no use, and named elements shadow properties of a document.
  const innerText = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'innerText')?.get;
  const bodyOf = Object.getOwnPropertyDescriptor(Document.prototype, 'body')?.get;
  const say = (node: Node) => {
    if (node.nodeType === Node.TEXT_NODE) sayAlone(node);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const isHtml = (node as Element).namespaceURI === 'http://www.w3.org/1999/xhtml';
    // The inner text of what is not rendered is all its text, style sheets too.
    if (isHtml && Element.prototype.checkVisibility.call(node)) add(innerText?.call(node));
    else if (!isHtml || getComputedStyle(node as Element).display === 'contents') for (const child of node.childNodes) say(child);
  };
  const sayAlone = (text: Node) => {
    const holder = text.parentElement ?? (text.getRootNode() as ShadowRoot).host;
    if (text.nodeValue?.trim() === '' || getComputedStyle(holder).visibility !== 'visible') return;
    const range = new Range();
    range.selectNodeContents(text);
    if (range.getClientRects().length > 0) add(text.nodeValue);
  };
  const read = (root: Document, tops: Iterable<Node>) => {
    for (const tree of this.trees(root)) {
      for (const top of tree === root ? tops : tree.childNodes) say(top);
      for (const element of this.allIn(tree, 'input,textarea,iframe,frame')) {
        if (chars > maxChars) return;
        if (/^(input|textarea)$/.test(element.localName)) field(element as HTMLInputElement);
        else within(element as HTMLIFrameElement);
      }
      if (chars > maxChars) return;
    }
  };
  const field = (element: HTMLInputElement) => {
    if (/^(hidden|password|checkbox|radio|file|image|range|color)$/.test(element.type) || !this.isVisible(element)) return;
    add(element.value === '' ? element.placeholder : element.value);
  };
  const within = (element: HTMLIFrameElement) => {
    const inner = element.contentDocument ?? null;
    if (inner === null || !this.isVisible(element)) return;
    const body: Element | null = bodyOf?.call(inner);
    read(inner, body === null ? [] : [body]);
  };
  const top = this.body() ?? this.documentProperty('documentElement');
  read(document, top === null ? [] : [top]);
  return parts.join('\n').slice(0, maxChars);
}

function edit(): void {
  (globalThis as { stillframeEdit?: () => void }).stillframeEdit?.();
}

const FUNCTIONS = {
  all,
  allIn,
  trees,
  parentOf,
  documentProperty,
  body,
  isVisible,
  areaInView,
  finiteMotion,
  runsScript,
  imagesInView,
  coverOnTop,
  alphaOf,
  frame,
  orLate,
  refreshAfterS,
  visibleText,
  edit,
};

/** Source of an expression that makes the kit. Some compilers wrap functions in a `__name` of their own, hence the first line. */
export const PAGE_KIT_SOURCE = `(() => {
const __name = (target) => target;
return {${Object.entries(FUNCTIONS)
  .map(([name, source]) => `${name}: ${source.toString()}`)
  .join(',\n')}};
})()`;
