/**
 * DOM access for all in-page code. It runs in an isolated world, unaffected by overridden prototypes. A form control or image can
 * still shadow properties of its form or of `document` (HTML, `LegacyOverrideBuiltIns`), so those are read from the prototypes.
 */

import { noteStyle } from './change-log.js';

export type Tree = Document | ShadowRoot;

const getters = {
  shadowRoot: getterOf<ShadowRoot | null>(Element.prototype, 'shadowRoot'),
  assignedSlot: getterOf<HTMLSlotElement | null>(Element.prototype, 'assignedSlot'),
  parentElement: getterOf<Element | null>(Node.prototype, 'parentElement'),
  nextSibling: getterOf<Node | null>(Node.prototype, 'nextSibling'),
  documentElement: getterOf<HTMLElement>(Document.prototype, 'documentElement'),
  body: getterOf<HTMLElement | null>(Document.prototype, 'body'),
  firstElementChild: getterOf<Element | null>(Element.prototype, 'firstElementChild'),
  nextElementSibling: getterOf<Element | null>(Element.prototype, 'nextElementSibling'),
};

export function getterOf<T>(prototype: object, name: string): (this: object) => T {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  if (get === undefined) throw new Error(`The browser has no ${name}.`);
  return get;
}

export function documentProperty<K extends keyof Document>(name: K, of: Document = document): Document[K] {
  return Object.getOwnPropertyDescriptor(Document.prototype, name)?.get?.call(of);
}

export function body(): HTMLElement | null {
  return getters.body.call(document);
}

/** The root and the body, as far as they are HTML. */
export function pageBoxes(): HTMLElement[] {
  return [documentProperty('documentElement'), body()].filter((box) => box instanceof HTMLElement);
}

export function isPage(element: Element | null): boolean {
  return element !== null && (element === getters.documentElement.call(document) || element === body());
}

export function pageScroller(): Element {
  return documentProperty('scrollingElement') ?? documentProperty('documentElement');
}

/** The view's height in CSS px, at the page's own zoom. */
export function viewHeight(): number {
  return visualViewport?.height ?? innerHeight;
}

/**
 * Frequent elements that cannot have a shadow tree. Accessing an element from this world is slow, and a page may have tens
 * of thousands of them.
 */
const HOSTLESS =
  'a,abbr,b,br,button,circle,code,dd,dl,dt,em,figure,form,g,hr,i,img,input,label,li,line,link,meta,ol,option,path,picture,pre,rect,script,select,small,source,strong,style,sub,sup,svg,table,tbody,td,text,tfoot,th,thead,time,title,tr,tspan,ul,use';

export function shadowRootOf(element: Element): ShadowRoot | null {
  return getters.shadowRoot.call(element);
}

/**
 * The matching elements of a tree, or below an element, in tree order.
 * @throws the browser's SyntaxError for an invalid selector
 */
export function allIn(tree: Tree | Element, selector: string): Element[] {
  // Nodes in a frame belong to that frame's realm, where `instanceof` fails.
  const { prototype } = tree.nodeType === Node.DOCUMENT_NODE ? Document : isElement(tree) ? Element : DocumentFragment;
  const found: NodeListOf<Element> = prototype.querySelectorAll.call(tree, selector);
  // The iterator of a NodeList takes several times as long for tens of thousands of elements.
  const elements = new Array<Element>(found.length);
  for (let at = 0; at < elements.length; at++) elements[at] = found[at] as Element;
  return elements;
}

export function all(selector: string): Element[] {
  return allIn(document, selector);
}

/** More frames are not walked. */
const FRAMES_MAX = 100;

/**
 * The given root, by default this document, and all open shadow trees of it and in it, outer ones first.
 * @param options.frames whether documents of the same origin in frames are included, with their shadow trees
 */
export function trees<Root extends Tree | Element = Document>(
  root: Root = document as Tree as Root,
  { frames = false }: { frames?: boolean } = {},
): (Root | Tree)[] {
  const found: (Root | Tree)[] = [root];
  let left = FRAMES_MAX;
  for (const tree of found) {
    const own = isElement(tree) ? [tree] : [];
    for (const element of [...own, ...allIn(tree, `:not(${HOSTLESS})`)]) {
      const inner = shadowRootOf(element) ?? (frames ? documentIn(element) : null);
      if (inner !== null && (inner.nodeType !== Node.DOCUMENT_NODE || left-- > 0)) found.push(inner);
    }
  }
  return found;
}

/** The document of the same origin in a frame; null for another element. Tested by name, as elements in a frame have classes of their own. */
export function documentIn(element: Element): Document | null {
  return /^(i?frame|object)$/.test(element.localName) ? ((element as HTMLIFrameElement).contentDocument ?? null) : null;
}

/** The frames of the page that contain an element, outermost first. */
export function framesAround(element: Element): HTMLIFrameElement[] {
  const frames: HTMLIFrameElement[] = [];
  for (
    let view = element.ownerDocument.defaultView;
    view !== null && view !== window;
    view = view.parent as Window & typeof globalThis
  )
    frames.unshift(view.frameElement as HTMLIFrameElement);
  return frames;
}

/** Visits up to `most` elements; those in an open shadow tree come before its host. */
export function eachElement(maxCount: number, visit: (element: HTMLElement) => void): void {
  let left = maxCount;
  for (const tree of trees().toReversed()) {
    for (const element of allIn(tree, '*')) {
      if (left-- <= 0) return;
      visit(element as HTMLElement);
    }
  }
}

/** The parent in the flat tree: from a shadow tree to its host, from a slotted element to its slot. */
export function flatTreeParent(element: Element): Element | null {
  const parent = getters.assignedSlot.call(element) ?? getters.parentElement.call(element);
  if (parent !== null) return parent;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

/** The element children of an element or a shadow root. */
export function childElements(parent: Element | ShadowRoot): Element[] {
  const found: Element[] = [];
  const first = isElement(parent) ? getters.firstElementChild.call(parent) : parent.firstElementChild;
  for (let at = first; at !== null; at = getters.nextElementSibling.call(at)) found.push(at);
  return found;
}

export function nextSibling(node: Node): Node | null {
  return getters.nextSibling.call(node);
}

/** The element and its ancestors in the flat tree. */
export function ancestry(element: Element): Element[] {
  const found: Element[] = [];
  for (let at: Element | null = element; at !== null; at = flatTreeParent(at)) found.push(at);
  return found;
}

/** Whether `outer` is the same element as `inner`, or its ancestor in the flat tree. */
export function isInside(inner: Element | null | undefined, outer: Element | null | undefined): boolean {
  for (let at = inner ?? null; at !== null; at = flatTreeParent(at)) if (at === outer) return true;
  return false;
}

/** An element's children in the flat tree: those of its shadow tree, its slotted nodes, or its own. */
export function flatTreeChildren(element: Element): Iterable<Node> {
  const shadow = shadowRootOf(element);
  if (shadow !== null) return shadow.childNodes;
  // Tested by name, since elements in a frame are instances of that frame's classes.
  if (element.localName === 'slot') {
    const assigned = (element as Partial<HTMLSlotElement>).assignedNodes?.() ?? [];
    if (assigned.length > 0) return assigned;
  }
  return element.childNodes;
}

/** The root for hit tests. For an element in a shadow tree, the document would return only the host. */
export function scopeOf(element: Element): DocumentOrShadowRoot {
  const scope = element.getRootNode();
  return scope instanceof ShadowRoot ? scope : document;
}

/** Replaces `element.matches`, which a form field of that name would shadow. */
export function matches(element: Element, selector: string): boolean {
  return Element.prototype.matches.call(element, selector);
}

/** Tested by node type, since nodes in a frame are instances of that frame's classes. */
export function isElement(node: Node): node is Element {
  return node.nodeType === Node.ELEMENT_NODE;
}

/** Whether the element is rendered, be it without a box of its own. Content that fades in is, and hidden elements may have visible children. */
export function isRendered(element: Element): boolean {
  return element.checkVisibility() || getComputedStyle(element).display === 'contents';
}

/** Whether the element has a box and neither it nor an ancestor is hidden. */
export function isVisible(element: Element): boolean {
  const box = element.getBoundingClientRect();
  if (box.width <= 0 || box.height <= 0) return false;
  return element.checkVisibility({ visibilityProperty: true });
}

/** Whether an element is neither hidden nor fully transparent. */
export function hasVisibleStyle(element: Element): boolean {
  return element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
}

/** The area of the part of a box in the view, in CSS px². */
export function areaInView(box: DOMRectReadOnly): number {
  const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0);
  const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  return width > 0 && height > 0 ? width * height : 0;
}

const NAME_MAX_CHARS = 120;

/** A name such as `nav#top.bar.dark`, at most 120 characters. */
export function nameOf(element: Element): string {
  // A form's `id` and `classList` may be its fields.
  const [id, classes] = ['id', 'class'].map((name) => (element.getAttribute(name) ?? '').slice(0, NAME_MAX_CHARS));
  const named = `${element.localName}${id === '' ? '' : `#${id}`}${(classes ?? '').replace(/(?<!\s)\s*(\S+)/g, '.$1')}`;
  return named.trim().slice(0, NAME_MAX_CHARS);
}

/** The alpha of a computed color, from 0 (transparent) to 1 (opaque). */
export function alphaOf(color: string): number {
  if (color === 'transparent' || color === '') return 0;
  const [, alpha, percent] = /(?:\/|^rgba\((?:[^,]+,){3})\s*([\d.]+)(%?)\s*\)$/.exec(color) ?? [];
  return alpha === undefined ? 1 : Number(alpha) / (percent === '%' ? 100 : 1);
}

const styleGetter = getterOf<CSSStyleDeclaration>(HTMLElement.prototype, 'style');

/** A form's `style` may be one of its fields. */
export function styleOf(element: HTMLElement): CSSStyleDeclaration {
  return element instanceof HTMLFormElement ? styleGetter.call(element) : element.style;
}

export function force(element: HTMLElement, property: string, value: string): void {
  const style = styleOf(element);
  noteStyle(style);
  style.setProperty(property, value, 'important');
}

export function forceAll(element: HTMLElement, properties: Record<string, string>): void {
  for (const [property, value] of Object.entries(properties)) force(element, property, value);
}

/** Adds a style sheet that no content policy can block. */
export function adopt(css: string): CSSStyleSheet {
  const sheet = sheetOf(css);
  keepAdopted([sheet]);
  return sheet;
}

export function sheetOf(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
}

/** Adds the sheets again that the page has removed, for instance by replacing the whole list. */
export function keepAdopted(sheets: readonly CSSStyleSheet[]): void {
  const there = documentProperty('adoptedStyleSheets');
  if (sheets.every((sheet) => there.includes(sheet))) return;
  document.adoptedStyleSheets = [...there.filter((sheet) => !sheets.includes(sheet)), ...sheets];
}

/** The box around a text, or around the contents of any node. */
export function textBox(node: Node): DOMRect {
  const range = document.createRange();
  range.selectNodeContents(node);
  return range.getBoundingClientRect();
}
