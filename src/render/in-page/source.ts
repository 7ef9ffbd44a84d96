import { flatTreeChildren, isElement, isRendered, shadowRootOf } from './dom.js';

const DROPPED =
  /^(script|style|noscript|template|link|meta|iframe|frame|object|embed|canvas|svg|math|audio|video|input|select|textarea)$/;
const KEPT =
  'href src alt title colspan rowspan align start lang dir class id role datetime data-lang data-language'.split(' ');
const VOID = /^(img|br|hr|wbr|col)$/;
const DEPTH_MAX = 400;
/** Longer sources take seconds to parse for a result of 12,000 characters. */
const SOURCE_MAX_CHARS = 500_000;
/** The tree takes almost a millisecond per element, and is available only as a whole. This many elements yield more text than is kept. */
const OUTLINE_ELEMENTS_MAX = 2_000;
const TITLE_MAX_CHARS = 2_000;
const LANG_MAX_CHARS = 100;
const ATTRIBUTE_MAX_CHARS = 10_000;
/** The limit for all texts and labels in a page's outline, of which 12,000 characters are kept. */
const OUTLINE_TEXT_MAX_CHARS = 200_000;
/** The limit for one text or label. */
const LABEL_MAX_CHARS = 20_000;
/** Attributes that accessible names in the outline are made of. */
const LABELS = /^(aria-.*|alt|title|placeholder|value|label)$/;
const TEXT_MAX_CHARS = 20_000;
const ADDRESS_MAX_CHARS = 2_000;

interface Writing {
  parts: string[];
  chars: number;
}

interface Context {
  depth: number;
  inCode: boolean;
  isVisible: boolean;
}

/**
 * The visible document as plain HTML, with flattened shadow trees and absolute URLs, without scripts and styles; and its visible text, a
 * fallback for HTML that is too large to convert.
 */
export function read() {
  const writing: Writing = { parts: [], chars: 0 };
  write(writing, document.body ?? document.documentElement, { depth: 0, inCode: false, isVisible: true });
  const title = document.title.slice(0, TITLE_MAX_CHARS);
  const lang = asText(document.documentElement.lang.slice(0, LANG_MAX_CHARS));
  return {
    html: `<!doctype html><html lang="${lang}"><head><title>${asText(title)}</title></head>${writing.parts.join('')}</html>`,
    text: (document.body?.innerText ?? '').slice(0, TEXT_MAX_CHARS),
    url: document.baseURI.slice(0, ATTRIBUTE_MAX_CHARS),
    title,
  };
}

/** The visible content of an element as plain HTML, as of `read`; null if it has none. */
export function partOf(element: Element): string | null {
  const writing: Writing = { parts: [], chars: 0 };
  write(writing, element, { depth: 1, inCode: false, isVisible: true });
  return writing.chars === 0 ? null : writing.parts.join('');
}

/**
 * Removes everything after as many rendered elements as an outline has, in document order, and texts and labels beyond a total length. Must
 * be the last use of the page.
 * @returns whether the page has a body: a frameset, a picture and XML have none
 */
export function shorten(): boolean {
  let left = OUTLINE_ELEMENTS_MAX;
  let textLeft = OUTLINE_TEXT_MAX_CHARS;
  const allowance = () => Math.min(LABEL_MAX_CHARS, textLeft);
  const cutLabels = (element: Element) => {
    // A form's `attributes` may be one of its fields.
    for (const name of Element.prototype.getAttributeNames.call(element)) {
      const value = element.getAttribute(name) ?? '';
      if (value.length > allowance()) element.setAttribute(name, value.slice(0, allowance()));
      if (LABELS.test(name)) textLeft -= Math.min(value.length, allowance());
    }
  };
  const visit = (parent: Element | ShadowRoot) => {
    // A form's `children` may be one of its fields.
    for (const child of [...parent.childNodes]) {
      if (child instanceof CharacterData) {
        if (child.length > allowance()) child.deleteData(allowance(), child.length);
        textLeft -= child.length;
      }
      if (!(child instanceof Element)) continue;
      cutLabels(child);
      if (left <= 0 || textLeft <= 0) child.remove();
      else if (isRendered(child)) {
        left--;
        const shadow = shadowRootOf(child);
        if (shadow !== null) visit(shadow);
        visit(child);
      }
    }
  };
  if (document.body !== null) cutLabels(document.body);
  visit(document.body ?? document.documentElement);
  return Document.prototype.querySelector.call(document, 'body') !== null;
}

function put(writing: Writing, text: string): void {
  const kept = text.slice(0, Math.max(0, SOURCE_MAX_CHARS - writing.chars));
  writing.parts.push(kept);
  writing.chars += kept.length;
}

function write(writing: Writing, node: Node, context: Context): void {
  if (writing.chars > SOURCE_MAX_CHARS || context.depth > DEPTH_MAX) return;
  if (node.nodeType === Node.TEXT_NODE && context.isVisible)
    put(writing, asText((node.nodeValue ?? '').slice(0, SOURCE_MAX_CHARS)));
  if (!isElement(node)) return;
  if (isTick(node)) put(writing, `<span data-tick="${node.checked ? 'x' : ' '}">${node.checked ? '☑' : '☐'}</span> `);
  const frame = frameBody(node);
  if ((frame === null && DROPPED.test(node.localName)) || !isRendered(node)) return;
  const isVisible = getComputedStyle(node).visibility === 'visible';
  const isInner = frame !== null || (context.depth > 0 && node.localName === 'body');
  const tag = isInner || (context.inCode && isLine(node)) ? 'div' : node.localName;
  if (VOID.test(tag) && !isVisible) return;
  const before = { parts: writing.parts.length, chars: writing.chars };
  put(writing, `<${tag}${attributes(node)}>`);
  if (VOID.test(tag)) return;
  const inner = { depth: context.depth + 1, inCode: context.inCode || tag === 'pre', isVisible };
  for (const child of frame === null ? flatTreeChildren(node) : [frame]) write(writing, child, inner);
  if (isVisible || writing.parts.length > before.parts + 1) put(writing, `</${tag}>`);
  else {
    writing.parts.length = before.parts;
    writing.chars = before.chars;
  }
}

/** The body of a readable frame that is the page's content: it covers over half of the view, and has more text than the rest. */
function frameBody(element: Element): HTMLElement | null {
  if (element.localName !== 'iframe') return null;
  const inner = (element as HTMLIFrameElement).contentDocument?.body ?? null;
  const { width, height } = element.getBoundingClientRect();
  if (inner === null || width * height * 2 < innerWidth * innerHeight) return null;
  return inner.innerText.length > (document.body?.innerText.length ?? 0) ? inner : null;
}

/** The checkbox that marks a list item as done. An empty box would not survive Readability. */
function isTick(element: Element): element is HTMLInputElement {
  if (element.localName !== 'input' || (element as HTMLInputElement).type !== 'checkbox') return false;
  return (
    element.closest('li')?.querySelector('input') === element && element.checkVisibility({ visibilityProperty: true })
  );
}

/** Some highlighters make each line of code a block by style alone. */
function isLine(element: Element): boolean {
  return (
    /^(span|code|a)$/.test(element.localName) &&
    /^(block|flex|grid|list-item|table-row)$/.test(getComputedStyle(element).display)
  );
}

function attributes(element: Element): string {
  let text = '';
  for (const name of KEPT) {
    const value = name === 'src' || name === 'href' ? address(element, name) : attribute(element, name);
    if (value) text += ` ${name}="${asText(value.slice(0, ATTRIBUTE_MAX_CHARS))}"`;
  }
  return text;
}

/** A form's `getAttribute` may be one of its fields. */
function attribute(element: Element, name: string): string | null {
  return Element.prototype.getAttribute.call(element, name);
}

function address(element: Element, name: 'src' | 'href'): string | null {
  if (attribute(element, name) === null) return null;
  const { localName } = element;
  const { currentSrc, src, href } = element as Partial<HTMLImageElement & HTMLAnchorElement>;
  const value = localName === 'img' ? currentSrc || src : localName === 'a' ? href : '';
  if (typeof value !== 'string' || !/^(?:https?|mailto|tel):/.test(value)) return null;
  // Without credentials; the browser has made it an absolute address.
  return value.slice(0, ADDRESS_MAX_CHARS).replace(/^(https?:\/\/)[^/?#]*@/, '$1');
}

function asText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
