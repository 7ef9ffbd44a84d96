import { coverOnTop } from './blank.js';
import { alphaOf, ancestry, areaInView, body, hasVisibleStyle, isVisible, matches, textBox } from './dom.js';
import { cachedTrees, queryTrees } from './dom-cache.js';
import { imagesInView, loadingFonts, runsScript } from './readiness.js';

const LOADING =
  /^\W*(loading|please wait|one moment|just a moment|laden|l[äa]dt|wird geladen|bitte warten|chargement|veuillez patienter|cargando|carregando|caricamento|загрузка|yükleniyor|ładowanie|読み込み中|加载中|正在加载|載入中|로딩|불러오는)/i;
/** Words of a short page or line that says what it is about to do. A page that does nothing is not waited for, whatever it says. */
const WAITING =
  /^[^\p{L}]{0,20}\p{L}{1,40}ing\b|(…|\.\.\.)[\s\p{P}]{0,3}$|\b(wait|moment|redirect|wird geladen|warten|weitergeleitet|patiente[rz]|redirigi|espere|aguarde|attend)/iu;
const MAINS = 'main,[role="main"],#main,#content,#root,#app';
const PICTURES = 'img,picture,svg,canvas,video,iframe,object,embed';
const SKELETONS =
  '[class*="skeleton" i],[class*="shimmer" i],[class*="placeholder-glow" i],[class*="placeholder-wave" i],[class*="content-loader" i],[data-testid*="skeleton" i]';
const SPINNERS =
  '[class*="spinner" i],[class*="loader" i],[class*="loading" i],[id*="spinner" i],[id*="loader" i],[role="progressbar" i]:not([aria-valuenow])';
const PAGE_FRAME = 'header,nav,footer,[role="banner"],[role="navigation"],[role="contentinfo"]';
const INTERACTIVE = 'a[href],button,input,select,textarea,h1,h2,h3';

/**
 * Returns why the page looks like a loading shell (`seen`), and which images in view or fonts are missing (`unfinished`), both in words for a
 * message or null; and the number of characters in the document and its open shadow trees: while it grows, the page is still rendering.
 */
export function inspect() {
  const text = tops().reduce((sum, top) => sum + (top.textContent ?? '').length, 0);
  return { seen: shellSign(textsInView()), unfinished: unfinishedSign(), text };
}

const FEW_CHARS = 'almost no visible text';

/**
 * Describes the sign by which the page shows that it waits or computes, for a message; null if it shows its content. Less certain than
 * `inspect`.
 * @returns also whether a timer may end the wait, which those of a short page seldom do, and whether the page installs a service
 * worker, which may take it over
 */
export async function waitingSign() {
  const texts = textsInView();
  const chars = lengthOf(texts.map(({ text }) => text).join(''));
  const line =
    chars < 200 && share(PICTURES) < 0.2
      ? texts.find(({ text }) => text.length <= 80 && WAITING.test(text))
      : undefined;
  const sign = line === undefined ? (shellSign(texts) ?? emptyMain(chars)) : `"${line.text.slice(0, 60)}"`;
  const worker =
    sign === null || !isSecureContext
      ? undefined
      : await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  const endsByTimer = sign !== null && (sign !== FEW_CHARS || chars === 0);
  return {
    sign,
    endsByTimer,
    installs: (worker?.installing ?? null) !== null || worker?.active?.state === 'activating',
  };
}

function emptyMain(chars: number): string | null {
  const main = queryTrees(MAINS)[0];
  const isEmpty =
    chars < 600 &&
    main !== undefined &&
    lengthOf(main.textContent ?? '') === 0 &&
    main.querySelector(PICTURES) === null;
  return isEmpty && isBare(main) ? 'an empty main part' : null;
}

function shellSign(texts: Words[]): string | null {
  const words = texts.map(({ text }) => text).join(' ');
  const chars = lengthOf(words);
  if (chars < 80 && LOADING.test(words)) return `"${words.slice(0, 60).trim()}" instead of content`;
  const pictures = chars < 300 ? share(PICTURES) + (hasBackgroundPicture() ? 1 : 0) : 1;
  const alone = chars >= 300 || pictures >= 0.2 ? null : loadingAlone(texts);
  if (alone !== null) return `"${alone}" instead of content`;
  if (chars < 600 && share('[aria-busy="true" i]') >= 0.25) return 'a part that is marked busy (aria-busy)';
  if (chars < 600 && share(SKELETONS) >= 0.1) return 'skeletons in place of content';
  if (chars < 200 && pictures < 0.2 && spins()) return 'a spinner in place of content';
  const cover = coverOnTop();
  if (cover !== null && isBare(cover) && hidesContent(cover, texts)) return 'an opaque cover over the view';
  if (chars < 16 && pictures < 0.05 && runsScript()) return FEW_CHARS;
  return null;
}

/** A "Loading…" that is the only content between the page's header and footer. */
function loadingAlone(texts: Words[]): string | null {
  const main = texts.filter(({ parent, bottom }) => isInMain(parent, bottom));
  const [only] = main;
  if (only === undefined || main.length > 1 || only.text.length > 40 || !LOADING.test(only.text)) return null;
  const hasWords = /\p{L}/u.test(only.text.replace(LOADING, '')) && !/(\.\.\.|…)$/.test(only.text);
  // Form fields do not count as text.
  const holdsMore = queryTrees('input,textarea,select').some(
    (field) => isVisible(field) && isInMain(field, field.getBoundingClientRect().bottom),
  );
  return hasWords || holdsMore ? null : only.text;
}

function isInMain(element: Element, bottom: number): boolean {
  return bottom > innerHeight * 0.15 && !ancestry(element).some((at) => matches(at, PAGE_FRAME));
}

function unfinishedSign(): string | null {
  const images = imagesInView().filter((image) => !image.complete).length;
  if (images > 0) return `${images} ${images === 1 ? 'image' : 'images'} in view not loaded yet`;
  return loadingFonts().length > 0 ? 'text whose web font is not loaded yet' : null;
}

function lengthOf(text: string): number {
  return text.replace(/\s+/g, '').length;
}

function share(selector: string): number {
  return shareOf(queryTrees(selector));
}

function shareOf(elements: Element[]): number {
  let area = 0;
  for (const element of elements.slice(0, 500)) {
    if (isVisible(element)) area += areaInView(element.getBoundingClientRect());
  }
  return area / (innerWidth * innerHeight);
}

function hasBackgroundPicture(): boolean {
  return document
    .elementsFromPoint(innerWidth / 2, innerHeight / 2)
    .some((element) => getComputedStyle(element).backgroundImage.includes('url('));
}

function spins(): boolean {
  return queryTrees(SPINNERS)
    .slice(0, 200)
    .some(
      (element) => areaInView(element.getBoundingClientRect()) > 0 && hasVisibleStyle(element) && isAnimated(element),
    );
}

function isAnimated(element: Element): boolean {
  const named = /^(spinner|loader)$|spin/i.test(element.getAttribute('class') ?? '');
  return named || element.getAnimations({ subtree: true }).length > 0 || element.getAttribute('role') === 'progressbar';
}

/** Whether the layer has a logo at most. One with a question, a heading or a picture is meant for visitors. */
function isBare(layer: Element): boolean {
  const inside = Array.from(layer.querySelectorAll('*'));
  if ([layer, ...inside].some((element) => element.shadowRoot !== null)) return false;
  if (inside.some((element) => matches(element, INTERACTIVE))) return false;
  if (shareOf(inside.filter((element) => matches(element, PICTURES))) >= 0.2) return false;
  return layer instanceof HTMLElement && layer.innerText.trim().length < 40;
}

function hidesContent(layer: Element, texts: Words[]): boolean {
  const behind = texts.filter(({ parent }) => !layer.contains(parent)).map(({ text }) => text);
  if (lengthOf(behind.join('')) >= 16) return true;
  return shareOf(queryTrees(PICTURES).filter((element) => !layer.contains(element))) >= 0.2;
}

interface Words {
  text: string;
  parent: Element;
  bottom: number;
}

const TEXTS_MAX = 5_000;
const CHARS_MAX = 1_500;

function textsInView(): Words[] {
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

function tops(): Node[] {
  return cachedTrees()
    .map((tree) => (tree instanceof ShadowRoot ? tree : body()))
    .filter((top) => top !== null);
}

/** @returns null if the text is not visible */
function wordsOf(node: Node): Words | null {
  const text = (node.nodeValue ?? '').trim();
  const root = node.parentNode;
  const parent = root instanceof ShadowRoot ? root.host : node.parentElement;
  if (text === '' || parent === null || /^(script|style|noscript|template)$/i.test(parent.tagName)) return null;
  const box = textBox(node);
  if (areaInView(box) <= 4 || !hasVisibleStyle(parent)) return null;
  const { color, backgroundClip, webkitTextFillColor } = getComputedStyle(parent);
  const isTransparent = alphaOf(color) < 0.05 && backgroundClip !== 'text' && webkitTextFillColor === color;
  return isTransparent ? null : { text, parent, bottom: box.bottom };
}
