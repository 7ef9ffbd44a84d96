/**
 * What all in-page code asks of the document. It runs in a world of its own, where the page's overridden prototypes do not reach; a form
 * control or image named like a property of a form or of `document` still does, so such properties are taken from the prototypes.
 */

export type Tree = Document | ShadowRoot;

const getters = {
  shadowRoot: getterOf<ShadowRoot | null>(Element.prototype, 'shadowRoot'),
  assignedSlot: getterOf<HTMLSlotElement | null>(Element.prototype, 'assignedSlot'),
  parentElement: getterOf<Element | null>(Node.prototype, 'parentElement'),
};

function getterOf<T>(prototype: object, name: string): (this: object) => T {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  if (get === undefined) throw new Error(`The browser has no ${name}.`);
  return get;
}

export function documentProperty<K extends keyof Document>(name: K, of: Document = document): Document[K] {
  return Object.getOwnPropertyDescriptor(Document.prototype, name)?.get?.call(of);
}

export function body(): HTMLElement | null {
  return documentProperty('body') ?? null;
}

/** What scrolls the page. */
export function pageScroller(): Element {
  return documentProperty('scrollingElement') ?? documentProperty('documentElement');
}

/** CSS px that the view shows at once, at the page's own zoom. */
export function viewHeight(): number {
  return visualViewport?.height ?? innerHeight;
}

/**
 * What can have no shadow tree: the most frequent of those elements. To touch an element from here is what costs, and a page may have tens
 * of thousands of them.
 */
const HOSTLESS =
  'a,abbr,b,br,button,circle,code,dd,dl,dt,em,figure,form,g,hr,i,img,input,label,li,line,link,meta,ol,option,path,picture,pre,rect,script,select,small,source,strong,style,sub,sup,svg,table,tbody,td,text,tfoot,th,thead,time,title,tr,tspan,ul,use';

/** The elements of one tree that may have a shadow tree, in its order. */
export function mayHost(tree: Tree): Element[] {
  return allIn(tree, `:not(${HOSTLESS})`);
}

export function shadowRootOf(element: Element): ShadowRoot | null {
  return getters.shadowRoot.call(element);
}

/** Elements of one tree that match, in its order. Throws the browser's SyntaxError for a bad selector. */
export function allIn(tree: Tree, selector: string): Element[] {
  // What lies in a frame is of that frame's realm, where `instanceof` is of no use.
  const prototype = tree.nodeType === Node.DOCUMENT_NODE ? Document.prototype : DocumentFragment.prototype;
  const found: NodeListOf<Element> = prototype.querySelectorAll.call(tree, selector);
  // A list of tens of thousands takes several times as long by its iterator.
  const elements = new Array<Element>(found.length);
  for (let at = 0; at < elements.length; at++) elements[at] = found[at] as Element;
  return elements;
}

export function all(selector: string): Element[] {
  return allIn(document, selector);
}

/** A document, ours unless given, and the open shadow trees in it, each before those within it. */
export function trees(root: Tree = document): Tree[] {
  const found = [root];
  for (const tree of found) {
    for (const element of mayHost(tree)) {
      const shadow = shadowRootOf(element);
      if (shadow !== null) found.push(shadow);
    }
  }
  return found;
}

/** Visits all elements, those of an open shadow tree before its host, until there have been so many. */
export function eachElement(most: number, visit: (element: HTMLElement) => void): void {
  let left = most;
  const visitTree = (tree: Tree) => {
    for (const element of allIn(tree, '*')) {
      if (left-- <= 0) return;
      const shadow = shadowRootOf(element);
      if (shadow !== null) visitTree(shadow);
      visit(element as HTMLElement);
    }
  };
  visitTree(document);
}

/** As it is rendered: out of a shadow tree to its host, from what is slotted to its slot. */
export function flatTreeParent(element: Element): Element | null {
  const parent = getters.assignedSlot.call(element) ?? getters.parentElement.call(element);
  if (parent !== null) return parent;
  const root = Node.prototype.getRootNode.call(element);
  return root instanceof ShadowRoot ? root.host : null;
}

/** The element and all that it is rendered in. */
export function ancestry(element: Element): Element[] {
  const found: Element[] = [];
  for (let at: Element | null = element; at !== null; at = flatTreeParent(at)) found.push(at);
  return found;
}

/** Whether one is rendered in the other, or is it. */
export function isWithin(inner: Element | null | undefined, outer: Element | null | undefined): boolean {
  for (let at = inner ?? null; at !== null; at = flatTreeParent(at)) if (at === outer) return true;
  return false;
}

/** What is rendered in an element: its shadow tree, what is slotted to it, or its children. */
export function flatTreeChildren(element: Element): Iterable<Node> {
  const shadow = shadowRootOf(element);
  if (shadow !== null) return shadow.childNodes;
  // By its name: what a frame holds is of classes of its own.
  if (element.localName === 'slot') {
    const assigned = (element as Partial<HTMLSlotElement>).assignedNodes?.() ?? [];
    if (assigned.length > 0) return assigned;
  }
  return element.childNodes;
}

/** Where hits are to be asked for: of what is in a shadow tree the document tells the host alone. */
export function scopeOf(element: Element): DocumentOrShadowRoot {
  const scope = Node.prototype.getRootNode.call(element);
  return scope instanceof ShadowRoot ? scope : document;
}

/** Has a box, and neither it nor an ancestor is hidden. */
export function isVisible(element: Element): boolean {
  const box = Element.prototype.getBoundingClientRect.call(element);
  if (box.width <= 0 || box.height <= 0) return false;
  return Element.prototype.checkVisibility.call(element, { visibilityProperty: true });
}

/** Is neither hidden nor seen through. */
export function isUnveiled(element: Element): boolean {
  return Element.prototype.checkVisibility.call(element, { visibilityProperty: true, opacityProperty: true });
}

/** The part of a box that lies in the view, in CSS px²; 0 when outside. */
export function areaInView(box: DOMRectReadOnly): number {
  const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0);
  const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  return width > 0 && height > 0 ? width * height : 0;
}
