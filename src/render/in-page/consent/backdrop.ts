import { matches } from '../dom.js';
import { isShown, overlayAncestor } from './overlays.js';

/** Finds the layer that darkens or blurs the page behind a banner. Runs in the page's isolated world. */

const TEXTS_LOOKED_AT = 3_000;
const LAYERS_LOOKED_AT = 30;
const MEDIA = 'img, video, canvas, iframe, svg, picture';
/** The minimum transparency of a backdrop, from 0 to 1. */
const TRANSPARENCY_MIN = 0.05;
/** The minimum share of a backdrop, from 0 to 1, that is not covered. A small round button in a corner is allowed. */
const CURTAIN_UNCOVERED_MIN = 0.95;
const LOADING_NAME = /load|splash|spin/i;

/**
 * The empty element over the whole view that the page shows through, or that only hides the page.
 * @returns null if the topmost element belongs to the page
 */
export function backdropOnTop(): HTMLElement | null {
  const top = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
  if (!(top instanceof HTMLElement) || top === document.body || top === document.documentElement) return null;
  return isEmptySheet(top) && isBackdrop(top) ? top : null;
}

function isEmptySheet(sheet: HTMLElement): boolean {
  const { position } = getComputedStyle(sheet);
  if (position !== 'fixed' && position !== 'absolute') return false;
  const box = sheet.getBoundingClientRect();
  if (box.width < innerWidth * 0.95 || box.height < innerHeight * 0.95 || sheet.innerText.trim() !== '') return false;
  if (matches(sheet, MEDIA) || sheet.querySelector(MEDIA) !== null) return false;
  return sheet.shadowRoot === null || sheet.shadowRoot.querySelector(':not(style, link, slot)') === null;
}

function isBackdrop(sheet: HTMLElement): boolean {
  const { position, opacity, backdropFilter } = getComputedStyle(sheet);
  const words = wordsAround(sheet);
  // A hero image and its shade are below the text. A menu may be above the backdrop that covers the rest.
  if (words.above && (position === 'absolute' || !words.below)) return false;
  if (backdropFilter !== 'none') return true;
  const seenThrough = Number(opacity) <= 1 - TRANSPARENCY_MIN;
  const layers = layersOf(sheet);
  if (layers.some(({ backgroundImage }) => /url\(|image-set\(/.test(backgroundImage))) return seenThrough && words.below;
  return seenThrough || !layers.some(isOpaque) || isCurtain(sheet);
}

/**
 * A fixed empty box of one colour that covers the whole view, including text of the page. Excluded are boxes with content,
 * which may belong to the page, and boxes named for loading, which disappear by themselves.
 */
function isCurtain(sheet: HTMLElement): boolean {
  const style = getComputedStyle(sheet);
  if (style.position !== 'fixed' || style.backgroundImage !== 'none' || [...sheet.querySelectorAll('*')].some(isShown)) return false;
  if (['::before', '::after'].some((part) => !/^(none|normal)$/.test(getComputedStyle(sheet, part).content))) return false;
  // A custom element may show content in a closed shadow root.
  if (sheet.localName.includes('-') || LOADING_NAME.test(`${sheet.id} ${sheet.getAttribute('class') ?? ''}`)) return false;
  return withAllHitTestable(() => {
    const words = wordsAround(sheet, true);
    return words.below && !words.above && uncoveredShare(sheet) >= CURTAIN_UNCOVERED_MIN;
  });
}

/** Makes hit tests include elements with `pointer-events: none` while `work` runs. */
function withAllHitTestable<T>(work: () => T): T {
  const all = new CSSStyleSheet();
  all.replaceSync('* { pointer-events: auto !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, all];
  try {
    return work();
  } finally {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== all);
  }
}

/** The share of points across the view, from 0 to 1, at which the sheet is topmost. */
function uncoveredShare(sheet: HTMLElement): number {
  const places = [0.05, 0.23, 0.41, 0.59, 0.77, 0.95];
  const hits = places.flatMap((y) => places.map((x) => document.elementFromPoint(innerWidth * x, innerHeight * y)));
  return hits.filter((hit) => hit === sheet).length / hits.length;
}

/**
 * Whether the page has text in view above the sheet, and below it.
 * @param everywhere also examines text in other fixed boxes
 */
function wordsAround(sheet: HTMLElement, everywhere = false): { above: boolean; below: boolean } {
  const found = { above: false, below: false };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let looked = 0; looked < TEXTS_LOOKED_AT && texts.nextNode() !== null && !(found.above && found.below); looked++) {
    const { parentElement: word, nodeValue } = texts.currentNode;
    if (word === null || (nodeValue ?? '').trim() === '' || !isShown(word) || getComputedStyle(word).pointerEvents === 'none') continue;
    const held = everywhere ? null : overlayAncestor(word);
    if (held !== null && !held.contains(sheet)) continue;
    const hit = elementHitAt(texts.currentNode);
    if (hit === word) found.above = true;
    else if (sheet.contains(hit)) found.below = true;
  }
  return found;
}

function elementHitAt(text: Node): Element | null {
  const range = document.createRange();
  range.selectNodeContents(text);
  const [line] = range.getClientRects();
  return line === undefined ? null : document.elementFromPoint(line.x + line.width / 2, line.y + line.height / 2);
}

/** The styles that paint the sheet: its own, those of its descendants, and those of their pseudo-elements, where they are wide. */
function layersOf(sheet: HTMLElement): CSSStyleDeclaration[] {
  return [sheet, ...sheet.querySelectorAll('*')]
    .slice(0, LAYERS_LOOKED_AT)
    .flatMap((box) => [getComputedStyle(box), ...['::before', '::after'].map((part) => getComputedStyle(box, part))])
    .filter(({ width, content }) => content !== 'none' && Number.parseFloat(width) >= innerWidth / 2);
}

function isOpaque({ opacity, backgroundColor, backgroundImage }: CSSStyleDeclaration): boolean {
  const alpha = /(?:^rgba.*, |\/ )([\d.]+)\)$/.exec(backgroundColor)?.[1] ?? 1;
  if (Number(alpha) * Number(opacity) > 1 - TRANSPARENCY_MIN) return true;
  return /\brgb\(/.test(backgroundImage) && Number(opacity) > 1 - TRANSPARENCY_MIN;
}
