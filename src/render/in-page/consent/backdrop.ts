import { matches } from '../dom.js';
import { heldAncestor, isShown } from './overlays.js';

/** What darkened or blurred the page behind a banner. Runs in the page, in a world of its own. */

const TEXTS_LOOKED_AT = 3_000;
const LAYERS_LOOKED_AT = 30;
const SHOWN = 'img, video, canvas, iframe, svg, picture';
/** At least this much of what lies beneath shows through: from 0 to 1. */
const LETS_THROUGH = 0.05;
/** The minimum share of a backdrop, from 0 to 1, that nothing covers: a small round button in a corner may. */
const CURTAIN_UNCOVERED_MIN = 0.95;
const LOADS = /load|splash|spin/i;

/**
 * The empty sheet over the whole view that lies on top, when the page shows through it or it does nothing but hide the page; null when
 * what lies there is the page's own.
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
  if (matches(sheet, SHOWN) || sheet.querySelector(SHOWN) !== null) return false;
  return sheet.shadowRoot === null || sheet.shadowRoot.querySelector(':not(style, link, slot)') === null;
}

function isBackdrop(sheet: HTMLElement): boolean {
  const { position, opacity, backdropFilter } = getComputedStyle(sheet);
  const words = wordsAround(sheet);
  // A hero's picture and its shade lie below the words; a menu may lie above the backdrop that covers the rest.
  if (words.above && (position === 'absolute' || !words.below)) return false;
  if (backdropFilter !== 'none') return true;
  const seenThrough = Number(opacity) <= 1 - LETS_THROUGH;
  const layers = layersOf(sheet);
  if (layers.some(({ backgroundImage }) => /url\(|image-set\(/.test(backgroundImage))) return seenThrough && words.below;
  return seenThrough || !layers.some(isOpaque) || isCurtain(sheet);
}

/**
 * A fixed sheet of one colour, bare, over all that is in view, words of the page among it. What shows anything may be the page's own, and
 * so may what anything is shown upon; what is named for loading goes by itself.
 */
function isCurtain(sheet: HTMLElement): boolean {
  const style = getComputedStyle(sheet);
  if (style.position !== 'fixed' || style.backgroundImage !== 'none' || [...sheet.querySelectorAll('*')].some(isShown)) return false;
  if (['::before', '::after'].some((part) => !/^(none|normal)$/.test(getComputedStyle(sheet, part).content))) return false;
  // An element of the page's own making may show what nobody can read.
  if (sheet.localName.includes('-') || LOADS.test(`${sheet.id} ${sheet.getAttribute('class') ?? ''}`)) return false;
  return hittingAll(() => {
    const words = wordsAround(sheet, true);
    return words.below && !words.above && uncoveredShare(sheet) >= CURTAIN_UNCOVERED_MIN;
  });
}

/** What lets the pointer through is hit as well meanwhile. */
function hittingAll<T>(work: () => T): T {
  const all = new CSSStyleSheet();
  all.replaceSync('* { pointer-events: auto !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, all];
  try {
    return work();
  } finally {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== all);
  }
}

/** Of points all over the view, how many show the sheet: from 0 to 1. */
function uncoveredShare(sheet: HTMLElement): number {
  const places = [0.05, 0.23, 0.41, 0.59, 0.77, 0.95];
  const hits = places.flatMap((y) => places.map((x) => document.elementFromPoint(innerWidth * x, innerHeight * y)));
  return hits.filter((hit) => hit === sheet).length / hits.length;
}

/**
 * Whether the page has words in view above the sheet, and below it.
 *
 * @param everywhere also asks those of other boxes that are held there
 */
function wordsAround(sheet: HTMLElement, everywhere = false): { above: boolean; below: boolean } {
  const found = { above: false, below: false };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let looked = 0; looked < TEXTS_LOOKED_AT && texts.nextNode() !== null && !(found.above && found.below); looked++) {
    const { parentElement: word, nodeValue } = texts.currentNode;
    if (word === null || (nodeValue ?? '').trim() === '' || !isShown(word) || getComputedStyle(word).pointerEvents === 'none') continue;
    const held = everywhere ? null : heldAncestor(word);
    if (held !== null && !held.contains(sheet)) continue;
    const hit = whatIsHitAt(texts.currentNode);
    if (hit === word) found.above = true;
    else if (sheet.contains(hit)) found.below = true;
  }
  return found;
}

function whatIsHitAt(text: Node): Element | null {
  const range = document.createRange();
  range.selectNodeContents(text);
  const [line] = range.getClientRects();
  return line === undefined ? null : document.elementFromPoint(line.x + line.width / 2, line.y + line.height / 2);
}

/** What the sheet is painted with: itself, its boxes and the pseudo-elements of each, where they are wide. */
function layersOf(sheet: HTMLElement): CSSStyleDeclaration[] {
  return [sheet, ...sheet.querySelectorAll('*')]
    .slice(0, LAYERS_LOOKED_AT)
    .flatMap((box) => [getComputedStyle(box), ...['::before', '::after'].map((part) => getComputedStyle(box, part))])
    .filter(({ width, content }) => content !== 'none' && Number.parseFloat(width) >= innerWidth / 2);
}

function isOpaque({ opacity, backgroundColor, backgroundImage }: CSSStyleDeclaration): boolean {
  const alpha = /(?:^rgba.*, |\/ )([\d.]+)\)$/.exec(backgroundColor)?.[1] ?? 1;
  if (Number(alpha) * Number(opacity) > 1 - LETS_THROUGH) return true;
  return /\brgb\(/.test(backgroundImage) && Number(opacity) > 1 - LETS_THROUGH;
}
