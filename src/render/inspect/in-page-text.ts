/** Functions that run inside the page: each is sent there as text, so it may use nothing from around it. */

export interface VisibleSource {
  /** The visible document as plain HTML: shadow trees flattened, addresses absolute, scripts and styles left out. */
  html: string;
  /** Visible text, for when the HTML is too much to read. */
  text: string;
  url: string;
  title: string;
}

/** What the rendered document says, up to a number of characters. */
export function readSource(mostChars: number): VisibleSource {
  const DROPPED =
    /^(script|style|noscript|template|link|meta|iframe|frame|object|embed|canvas|svg|math|audio|video|input|select|textarea)$/;
  const KEPT = [
    'href',
    'src',
    'alt',
    'title',
    'colspan',
    'rowspan',
    'align',
    'start',
    'lang',
    'dir',
    'class',
    'id',
    'role',
    'datetime',
    'data-lang',
    'data-language',
  ];
  const VOID = /^(img|br|hr|wbr|col)$/;
  const TITLE_MOST_CHARS = 2_000;
  const ATTRIBUTE_MOST_CHARS = 10_000;
  const parts: string[] = [];
  let chars = 0;
  write(document.body ?? document.documentElement, 0, { inCode: false, isSeen: true });
  const title = document.title.slice(0, TITLE_MOST_CHARS);
  const escapedTitle = asText(title);
  const lang = asText(document.documentElement.lang.slice(0, 100));
  return {
    html: `<!doctype html><html lang="${lang}"><head><title>${escapedTitle}</title></head>${parts.join('')}</html>`,
    text: (document.body?.innerText ?? '').slice(0, 20_000),
    url: document.baseURI.slice(0, ATTRIBUTE_MOST_CHARS),
    title,
  };

  function put(text: string): void {
    parts.push(text);
    chars += text.length;
  }

  function write(node: Node, depth: number, parent: { inCode: boolean; isSeen: boolean }): void {
    if (chars > mostChars || depth > 400) return;
    if (node.nodeType === Node.TEXT_NODE && parent.isSeen) put(asText((node.nodeValue ?? '').slice(0, mostChars)));
    if (!isElement(node)) return;
    if (isTick(node)) put(`<span data-tick="${node.checked ? 'x' : ' '}">${node.checked ? '☑' : '☐'}</span> `);
    const frame = frameBody(node);
    if ((frame === null && DROPPED.test(node.localName)) || !hasBox(node)) return;
    const isSeen = getComputedStyle(node).visibility === 'visible';
    const tag = frame !== null || (depth > 0 && node.localName === 'body') || (parent.inCode && isLine(node)) ? 'div' : node.localName;
    if (VOID.test(tag) && !isSeen) return;
    const before = { parts: parts.length, chars };
    put(`<${tag}${attributes(node)}>`);
    if (VOID.test(tag)) return;
    for (const child of frame === null ? childrenOf(node) : [frame])
      write(child, depth + 1, { inCode: parent.inCode || tag === 'pre', isSeen });
    if (isSeen || parts.length > before.parts + 1) put(`</${tag}>`);
    else {
      parts.length = before.parts;
      chars = before.chars;
    }
  }

  /** By its number: what a frame holds is of classes of its own. */
  function isElement(node: Node): node is Element {
    return node.nodeType === Node.ELEMENT_NODE;
  }

  /** What a frame shows, when it may be read and is the page's content: over half of the view, and more words than around it. */
  function frameBody(element: Element): HTMLElement | null {
    if (element.localName !== 'iframe') return null;
    const body = (element as HTMLIFrameElement).contentDocument?.body ?? null;
    const { width, height } = element.getBoundingClientRect();
    if (body === null || width * height * 2 < innerWidth * innerHeight) return null;
    return body.innerText.length > (document.body?.innerText.length ?? 0) ? body : null;
  }

  function childrenOf(element: Element): Iterable<Node> {
    if (element.shadowRoot !== null) return element.shadowRoot.childNodes;
    if (element.localName === 'slot') {
      const assigned = (element as Partial<HTMLSlotElement>).assignedNodes?.() ?? [];
      if (assigned.length > 0) return assigned;
    }
    return element.childNodes;
  }

  /** What fades in later has one; what is only hidden may have children that are not. */
  function hasBox(element: Element): boolean {
    return element.checkVisibility() || getComputedStyle(element).display === 'contents';
  }

  /** The one that says whether an item of a list is done: an empty box would not outlive Readability. */
  function isTick(element: Element): element is HTMLInputElement {
    if (element.localName !== 'input' || (element as HTMLInputElement).type !== 'checkbox') return false;
    return element.closest('li')?.querySelector('input') === element && element.checkVisibility({ visibilityProperty: true });
  }

  /** Some highlighters make each line of code a block by style alone. */
  function isLine(element: Element): boolean {
    return /^(span|code|a)$/.test(element.localName) && /^(block|flex|grid|list-item|table-row)$/.test(getComputedStyle(element).display);
  }

  function attributes(element: Element): string {
    let text = '';
    for (const name of KEPT) {
      const value = name === 'src' || name === 'href' ? address(element, name) : element.getAttribute(name);
      if (value) text += ` ${name}="${asText(value.slice(0, ATTRIBUTE_MOST_CHARS))}"`;
    }
    return text;
  }

  function address(element: Element, name: 'src' | 'href'): string | null {
    if (!element.hasAttribute(name)) return null;
    const { localName } = element;
    const { currentSrc, src, href } = element as Partial<HTMLImageElement & HTMLAnchorElement>;
    const value = localName === 'img' ? currentSrc || src : localName === 'a' ? href : '';
    return typeof value === 'string' && /^(?:https?|mailto|tel):/.test(value) ? value.slice(0, 2_000) : null;
  }

  function asText(text: string): string {
    return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  }
}

/**
 * Removes what follows the first so many rendered elements, in document order, and cuts their texts and labels. For a page that is looked
 * at no more.
 *
 * @returns whether the page has a body: a frameset, a picture and XML have none
 */
export function shortenPage(mostElements: number): boolean {
  const TEXT_MOST_CHARS = 20_000;
  let left = mostElements;
  if (document.body !== null) cutLabels(document.body);
  visit(document.body ?? document.documentElement);
  return Document.prototype.querySelector.call(document, 'body') !== null;

  function cutLabels(element: Element): void {
    // A form's `attributes` may be a field of that name.
    for (const name of Element.prototype.getAttributeNames.call(element)) {
      const value = Element.prototype.getAttribute.call(element, name) ?? '';
      if (value.length > TEXT_MOST_CHARS) Element.prototype.setAttribute.call(element, name, value.slice(0, TEXT_MOST_CHARS));
    }
  }

  function visit(parent: Element | ShadowRoot): void {
    // A form's `children` may be a field of that name.
    for (const child of [...parent.childNodes]) {
      if (child instanceof CharacterData && child.length > TEXT_MOST_CHARS) child.deleteData(TEXT_MOST_CHARS, child.length);
      if (!(child instanceof Element)) continue;
      cutLabels(child);
      if (left <= 0) child.remove();
      else if (child.checkVisibility() || getComputedStyle(child).display === 'contents') {
        left--;
        if (child.shadowRoot !== null) visit(child.shadowRoot);
        visit(child);
      }
    }
  }
}
