import { ancestry, areaInView, body, documentProperty, hasVisibleStyle, matches, scopeOf } from './dom.js';
import { cachedTrees } from './dom-cache.js';
import { alphaOf } from './styles.js';

/** Text in view that is legible against its background. */
export interface Words {
  text: string;
  parent: Element;
  bottom: number;
}

const TEXTS_MAX = 5_000;
const CHARS_MAX = 1_500;
const HIT_TESTS_MAX = 100;
const PICTURES = 'img,picture,svg,canvas,video,iframe,object,embed';

/** The hit tests left for the current call. */
let hitTests = 0;

export function textsInView(): Words[] {
  hitTests = HIT_TESTS_MAX;
  const found: Words[] = [];
  let looked = 0;
  let length = 0;
  for (const top of tops()) {
    const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
    for (; looked < TEXTS_MAX && length < CHARS_MAX && walker.nextNode(); looked++) {
      const words = wordsOf(walker.currentNode);
      if (words === null) continue;
      found.push(words);
      length += words.text.length + 1;
    }
  }
  return found;
}

/** Characters in the document and its open shadow trees. */
export function textLength(): number {
  return tops().reduce((sum, top) => sum + (top.textContent ?? '').length, 0);
}

function tops(): Node[] {
  return cachedTrees()
    .map((tree) => (tree instanceof ShadowRoot ? tree : body()))
    .filter((top) => top !== null);
}

/** @returns null if the text cannot be seen */
function wordsOf(node: Node): Words | null {
  const text = (node.nodeValue ?? '').trim();
  const root = node.parentNode;
  const parent = root instanceof ShadowRoot ? root.host : node.parentElement;
  if (text === '' || parent === null || /^(script|style|noscript|template)$/i.test(parent.tagName)) return null;
  const range = document.createRange();
  range.selectNodeContents(node);
  const box = range.getBoundingClientRect();
  if (areaInView(box) <= 4 || !hasVisibleStyle(parent) || !standsOut(parent, box)) return null;
  return { text, parent, bottom: box.bottom };
}

function standsOut(element: Element, box: DOMRect): boolean {
  const { color, backgroundClip, webkitTextFillColor } = getComputedStyle(element);
  if (alphaOf(color) < 0.05) return backgroundClip === 'text' || webkitTextFillColor !== color;
  for (const at of ancestry(element)) {
    const differs = differsFrom(color, getComputedStyle(at));
    if (differs !== null) return differs || liesOnLayer(element, box, color);
  }
  return color !== 'rgb(255, 255, 255)' || liesOnLayer(element, box, color);
}

/** @returns null if the background is transparent */
function differsFrom(colour: string, { backgroundImage, backgroundColor }: CSSStyleDeclaration): boolean | null {
  if (backgroundImage !== 'none') return true;
  return alphaOf(backgroundColor) > 0.5 ? backgroundColor !== colour : null;
}

/** Whether a layer between the text and its ancestors' background makes it legible, such as a dark overlay. */
function liesOnLayer(element: Element, box: DOMRect, colour: string): boolean {
  if (hitTests-- <= 0) return false;
  const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
  const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
  const scope = scopeOf(element);
  const stack = scope instanceof ShadowRoot ? scope.elementsFromPoint(x, y) : Document.prototype.elementsFromPoint.call(document, x, y);
  for (const at of stack.slice(Math.max(0, stack.indexOf(element)))) {
    if (matches(at, PICTURES) || ['::before', '::after'].some((part) => isLayer(getComputedStyle(at, part), colour))) return true;
    // Their backgrounds are painted on the canvas, behind all layers.
    if (at === body() || at === documentProperty('documentElement')) continue;
    const differs = differsFrom(colour, getComputedStyle(at));
    if (differs !== null) return differs;
  }
  return false;
}

function isLayer(style: CSSStyleDeclaration, colour: string): boolean {
  return style.content !== 'none' && /^(absolute|fixed)$/.test(style.position) && differsFrom(colour, style) === true;
}
