import { allIn, documentProperty, getterOf, isVisible, textBox, trees } from './dom.js';
import { cachedTrees } from './dom-cache.js';
import { foldText } from './fold.js';

/** A box with more than this many times the wanted text is read in parts: its inner text would require a layout of all its text. */
const READ_WHOLE_FACTOR = 4;

interface Reading {
  parts: string[];
  chars: number;
  readonly maxChars: number;
}

/** Whether the title and the visible text contain each of these texts. */
export function shows(
  markers: string[],
  { maxChars, titleMaxChars }: { maxChars: number; titleMaxChars: number },
): boolean[] {
  const text = foldText(`${documentProperty('title').slice(0, titleMaxChars)}\n${visibleText(maxChars)}`);
  return markers.map((marker) => text.includes(foldText(marker)));
}

/** The visible text, including shadow trees, same-origin frames and form fields, at most `maxChars`. */
export function visibleText(maxChars: number): string {
  const reading: Reading = { parts: [], chars: 0, maxChars: maxChars };
  read(reading, document);
  return reading.parts.join('\n').slice(0, maxChars);
}

function read(reading: Reading, root: Document): void {
  const top = documentProperty('body', root) ?? documentProperty('documentElement', root);
  for (const tree of root === document ? cachedTrees() : trees(root)) {
    if (tree !== root) for (const node of tree.childNodes) readNode(reading, node);
    else if (top !== null) readNode(reading, top);
    if (reading.chars > reading.maxChars) return;
    for (const element of allIn(tree, 'input,textarea,iframe,frame')) {
      if (reading.chars > reading.maxChars) return;
      if (/^(input|textarea)$/.test(element.localName)) readField(reading, element as HTMLInputElement);
      else {
        const { contentDocument } = element as HTMLIFrameElement;
        if (contentDocument && isVisible(element)) read(reading, contentDocument);
      }
    }
  }
}

function add(reading: Reading, text: string | null | undefined): void {
  if (!text || reading.chars > reading.maxChars) return;
  reading.parts.push(text.slice(0, reading.maxChars));
  reading.chars += text.length;
}

const innerText = getterOf<string>(HTMLElement.prototype, 'innerText');
const textContent = getterOf<string | null>(Node.prototype, 'textContent');

function readNode(reading: Reading, node: Node): void {
  if (reading.chars > reading.maxChars) return;
  if (node.nodeType === Node.TEXT_NODE) readTextNode(reading, node);
  // Nodes in a frame belong to that frame's realm, where `instanceof` fails.
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  const isHtml = (node as Element).namespaceURI === 'http://www.w3.org/1999/xhtml';
  // The inner text of an element that is not rendered is all its text, including style sheets.
  const isRendered = isHtml && Element.prototype.checkVisibility.call(node);
  if (isRendered && (textContent.call(node) ?? '').length <= READ_WHOLE_FACTOR * reading.maxChars)
    add(reading, innerText.call(node));
  else if (isRendered || !isHtml || getComputedStyle(node as Element).display === 'contents')
    for (const child of node.childNodes) readNode(reading, child);
}

function readTextNode(reading: Reading, text: Node): void {
  const holder = text.parentElement ?? (text.getRootNode() as ShadowRoot).host;
  if (text.nodeValue?.trim() === '' || getComputedStyle(holder).visibility !== 'visible') return;
  if (textBox(text).width > 0) add(reading, text.nodeValue);
}

function readField(reading: Reading, element: HTMLInputElement): void {
  if (/^(hidden|password|checkbox|radio|file|image|range|color)$/.test(element.type) || !isVisible(element)) return;
  add(reading, element.value === '' ? element.placeholder : element.value);
}
