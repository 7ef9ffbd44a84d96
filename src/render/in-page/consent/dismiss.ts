/** Declines or hides cookie banners that no consent platform's rule handled. Runs in the page's isolated world. */
import { all, alphaOf, body, force, isPage, matches } from '../dom.js';
import { sleep } from '../frames.js';
import { unlockScroll } from '../scrollers.js';
import { type Banner, documentAsBanner, findBanners, isInView } from './overlays.js';

/** The time limit for a declined banner to disappear. */
const DISAPPEARS_WITHIN_MS = 700;

/**
 * Clicks each banner's refusal. Hides banners that have none, or that stay.
 * @returns how many disappeared after a click on their refusal, and how many were hidden, declined or not
 * @param whole in a frame: the whole document is the banner
 * @param click false if a refusal was already clicked: waits for the banner to disappear before hiding it
 */
export async function dismiss({ whole, click }: { whole: boolean; click: boolean }) {
  const banners = whole ? [documentAsBanner()].filter((banner) => banner !== null) : findBanners();
  const done = { refused: 0, hidden: 0 };
  for (const banner of banners) {
    if (click && banner.refusal !== null) {
      banner.refusal.click();
      done.refused += 1;
      // The frame's embedder removes it.
      if (whole || (await goesAway(banner))) continue;
    } else if (whole || (!click && (await goesAway(banner)))) continue;
    hide(banner.element);
    done.hidden += 1;
  }
  if (done.hidden > 0 && !whole) hideBackdrops();
  return done;
}

/**
 * Makes a locked page scrollable, and restores content that was blurred or made inert behind a banner.
 * @returns whether anything was locked
 */
export function restorePage(): boolean {
  const page = body();
  if (page === null || all('dialog[open], [aria-modal="true"]').some(isInView)) return false;
  let isRestored = unlockScroll();
  for (const element of page.children) {
    if (!(element instanceof HTMLElement)) continue;
    const isBlurred = getComputedStyle(element).filter.includes('blur(');
    isRestored ||= element.inert || isBlurred;
    element.inert = false;
    if (isBlurred) force(element, 'filter', 'none');
  }
  return isRestored;
}

export async function goesAway({ element }: Pick<Banner, 'element'>): Promise<boolean> {
  const until = performance.now() + DISAPPEARS_WITHIN_MS;
  while (element.isConnected && isInView(element)) {
    if (performance.now() > until) return false;
    await sleep(50);
  }
  return true;
}

/** Hides the layers that darkened the page behind a banner. There may be a few of them. */
export function hideBackdrops(): void {
  for (let rounds = 0; rounds < 3; rounds++) {
    const backdrop = backdropOnTop();
    if (backdrop === null) return;
    hide(backdrop);
  }
}

export function hide(element: HTMLElement): void {
  if (element instanceof HTMLDialogElement && element.open) element.close();
  force(element, 'display', 'none');
}

const TEXTS_LOOKED_AT = 3_000;
const MEDIA = 'img, video, canvas, iframe, svg, picture';
/** The greatest opacity of a layer that the page shows through, from 0 to 1. */
const SEEN_THROUGH_MAX = 0.95;

/**
 * The empty element over the whole view and the page's text, which a banner has left behind.
 * @returns null if the topmost element belongs to the page
 */
function backdropOnTop(): HTMLElement | null {
  const top = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
  if (!(top instanceof HTMLElement) || isPage(top) || !isEmptySheet(top)) return null;
  const words = wordsAround(top);
  // A hero image and its shade are below the text. A header may be above the backdrop that covers the rest.
  return words.below && (!words.above || isShade(top)) ? top : null;
}

function isEmptySheet(sheet: HTMLElement): boolean {
  const { position } = getComputedStyle(sheet);
  if (position !== 'fixed' && position !== 'absolute') return false;
  const box = sheet.getBoundingClientRect();
  if (box.width < innerWidth * 0.95 || box.height < innerHeight * 0.95 || sheet.innerText.trim() !== '') return false;
  // A custom element may show content in a shadow tree.
  return !sheet.localName.includes('-') && !matches(sheet, MEDIA) && sheet.querySelector(MEDIA) === null;
}

function isShade(sheet: HTMLElement): boolean {
  const { position, opacity, backgroundColor, backgroundImage, backdropFilter } = getComputedStyle(sheet);
  const isClear = backgroundImage === 'none' && alphaOf(backgroundColor) <= SEEN_THROUGH_MAX;
  return position === 'fixed' && (isClear || Number(opacity) <= SEEN_THROUGH_MAX || backdropFilter !== 'none');
}

/** Whether the page has text in view above the sheet, and below it. */
function wordsAround(sheet: HTMLElement) {
  const found = { above: false, below: false };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (
    let looked = 0;
    looked < TEXTS_LOOKED_AT && texts.nextNode() !== null && !(found.above && found.below);
    looked++
  ) {
    const { parentElement: word, nodeValue } = texts.currentNode;
    if (word === null || (nodeValue ?? '').trim() === '' || !isInView(word)) continue;
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
