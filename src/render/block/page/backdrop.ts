import { heldAncestor, isShown } from './overlays.js';

/** What darkened or blurred the page behind a banner. Runs in the page, in a world of its own. */

const TEXTS_LOOKED_AT = 3_000;
const LAYERS_LOOKED_AT = 30;
const SHOWN = 'img, video, canvas, iframe, svg, picture';
/** At least this much of what lies beneath shows through: from 0 to 1. */
const LETS_THROUGH = 0.05;

/** The empty sheet over the whole view that lies on top, when the page shows through it; null when what lies there is the page's own. */
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
  if (sheet.matches(SHOWN) || sheet.querySelector(SHOWN) !== null) return false;
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
  return seenThrough || !layers.some(isOpaque);
}

/** Whether the page has words in view above the sheet, and below it; those of other boxes that are held there are not asked. */
function wordsAround(sheet: HTMLElement): { above: boolean; below: boolean } {
  const found = { above: false, below: false };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let looked = 0; looked < TEXTS_LOOKED_AT && texts.nextNode() !== null && !(found.above && found.below); looked++) {
    const { parentElement: word, nodeValue } = texts.currentNode;
    if (word === null || (nodeValue ?? '').trim() === '' || !isShown(word) || getComputedStyle(word).pointerEvents === 'none') continue;
    const held = heldAncestor(word);
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
