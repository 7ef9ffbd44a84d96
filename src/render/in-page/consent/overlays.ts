import { hasContent } from '../blank.js';
import {
  areaInView,
  documentProperty,
  flatTreeParent,
  hasVisibleStyle,
  isElement,
  isPage,
  matches,
  trees,
} from '../dom.js';
import { cachedNames, queryTrees } from '../dom-cache.js';
import { ABOUT_COOKIES, asksForConsent, CONSENT_FRAME, opensBanner, refuses, talksOfConsent } from './words.js';

/** Finds consent banners by their appearance and text. Runs in the page's isolated world. */

/** A box on top of the page, or beside its content, that asks for consent. */
export interface Banner {
  element: HTMLElement;
  /** The control that declines; null if there is none. */
  refusal: HTMLElement | null;
  /** Whether its content is in a frame that cannot be read from here. */
  framed: boolean;
}

/** A box with more text than this is an article, not a banner. */
const BANNER_TEXT_MAX = 6_000;
const CANDIDATES_MAX = 40;
const PARTS_MAX = 200;
const CONTROLS_MAX = 60;
const GRID_X = [0.04, 0.25, 0.5, 0.75, 0.96];
const GRID_Y = [0.03, 0.14, 0.3, 0.5, 0.7, 0.86, 0.97];
const CONTROLS = 'button, a, [role="button"], input[type="button"], input[type="submit"]';
/** Clickable elements other than standard controls. */
const CLICKABLE =
  '[onclick], [tabindex="0"], [class*="btn" i], [class*="button" i], [class*="close" i], [id*="close" i], [class*="dismiss" i]';
/** Fields for typing, as in a login, a newsletter or a search. A banner has none. */
const TEXT_FIELDS =
  'textarea, input:not([type]), input[type="text"], input[type="email"], input[type="password"], input[type="tel"], input[type="search"]';
/** A link to a page about settings does not answer the banner. */
const SETTINGS_LABEL = /setting|preference|choice|polic|manage|notice/i;
const NAMED =
  '[id*="cookie" i],[class*="cookie" i],[id*="consent" i],[class*="consent" i],[id*="gdpr" i],[class*="gdpr" i],[id*="privacy-b" i]';
const MAIN = 'main, [role="main"]';
const LABELLED = '[aria-label*="cookie" i]';
const NAMES = /cookie|consent|gdpr|privacy-b/i;
const NAMED_AS_BANNER =
  /banner|notice|bar\b|popup|pop-up|modal|dialog|overlay|consent|message|msg|alert|law|wall|layer|box|info|gdpr/i;

/** The banners among boxes, by default those in view; outermost ones only. */
export function findBanners(boxes = [...boxesOnTop(), ...boxesByName()]): Banner[] {
  const found: Banner[] = [];
  for (const element of boxes) {
    if (found.some((banner) => banner.element.contains(element) || element.contains(banner.element))) continue;
    const banner = asBanner(element);
    if (banner !== null) found.push(banner);
  }
  return found;
}

/** The whole document as a banner, as in a consent platform's frame; null if it is not one. */
export function documentAsBanner(): Banner | null {
  return document.body === null ? null : readBanner(document.body);
}

export function isInView(element: Element): boolean {
  return areaInView(element.getBoundingClientRect()) > 0 && hasVisibleBox(element);
}

/** Whether the element is visible, and no dot for screen readers. */
function hasVisibleBox(element: Element): boolean {
  const { width, height } = element.getBoundingClientRect();
  return width >= 2 && height >= 2 && hasVisibleStyle(element);
}

/** The fixed or sticky boxes and dialogs that are topmost at points across the view. */
export function boxesOnTop(): HTMLElement[] {
  return boxesAt(GRID_Y.flatMap((y) => GRID_X.map((x): Point => [innerWidth * x, innerHeight * y])));
}

type Point = [x: number, y: number];

function boxesAt(points: Point[]): HTMLElement[] {
  const boxes = new Set<HTMLElement>();
  const seen = new Set<Element>();
  for (const [x, y] of points) {
    const top = deepestAt(x, y);
    if (top === null || seen.has(top)) continue;
    seen.add(top);
    const box = top instanceof HTMLElement && hasClosedShadowBanner(top) ? top : overlayAncestor(top);
    if (box !== null) boxes.add(box);
  }
  return [...boxes];
}

const EDGE_STEP_PX = 40;
const EDGE_STEPS_MAX = 60;
/** Tabs are at the edge of the view, of which some show only a few pixels; round buttons are a little away from it. */
const EDGE_DISTANCES_PX = [3, 45];
const TAB_MAX_PX = { width: 320, height: 130 };
const TAB_TEXT_MAX = 60;
const ROOT_TEXT_MAX = 20_000;

/** Small controls at the edges of the view that open a banner again. */
export function bannerTabs(): HTMLElement[] {
  const along = (size: number) =>
    Array.from(
      { length: Math.min(Math.ceil(size / EDGE_STEP_PX), EDGE_STEPS_MAX) },
      (_, n) => (n + 0.5) * EDGE_STEP_PX,
    );
  const points = EDGE_DISTANCES_PX.flatMap((far) => [
    ...along(innerWidth).flatMap((x): Point[] => [
      [x, far],
      [x, innerHeight - far],
    ]),
    ...along(innerHeight).flatMap((y): Point[] => [
      [far, y],
      [innerWidth - far, y],
    ]),
  ]);
  return boxesAt(points).filter(isBannerTab);
}

function isBannerTab(box: HTMLElement): boolean {
  const { width, height } = box.getBoundingClientRect();
  if (width > TAB_MAX_PX.width || height > TAB_MAX_PX.height || getComputedStyle(box).position !== 'fixed')
    return false;
  const controls = deepControls(box);
  if (controls.length > 2 || controls.some(leadsAway)) return false;
  const isControl = controls.length > 0 || matches(box, CONTROLS) || getComputedStyle(box).cursor === 'pointer';
  const labelled = [box, ...controls];
  const icons = labelled.filter((element) => deepText(element) === '');
  const words = [deepText(box), ...icons.map(labelOf)].join(' ');
  const names = labelled.map((element) => `${element.id} ${element.getAttribute('class') ?? ''}`).join(' ');
  return isControl && words.length <= TAB_TEXT_MAX && (opensBanner(words) || NAMES.test(names) || isPartOfBanner(box));
}

/** Whether the box is in an element that has only fixed parts, such as a hidden banner. */
function isPartOfBanner(box: HTMLElement): boolean {
  let root: Element = box;
  for (let at = flatTreeParent(box); at !== null && !isPage(at); at = flatTreeParent(at)) root = at;
  if (!(root instanceof HTMLElement) || root === box || root.getBoundingClientRect().height >= 2) return false;
  return deepText(root).length <= TAB_TEXT_MAX * 2 && opensBanner((root.textContent ?? '').slice(0, ROOT_TEXT_MAX));
}

function deepestAt(x: number, y: number): Element | null {
  let element = document.elementFromPoint(x, y);
  while (element?.shadowRoot) {
    const inner = element.shadowRoot.elementFromPoint(x, y);
    if (inner === null || inner === element) break;
    element = inner;
  }
  return element;
}

/** Whether a custom element renders a banner in a closed shadow root, outside its own box. Only its name can be read. */
function hasClosedShadowBanner(element: Element): boolean {
  if (element.shadowRoot !== null || element.childNodes.length > 0 || element.getBoundingClientRect().height >= 2)
    return false;
  const name = `${element.localName} ${element.id} ${element.getAttribute('class') ?? ''}`;
  return /cookie|consent|gdpr/i.test(name) && NAMED_AS_BANNER.test(name);
}

/** The outermost fixed, sticky or dialog ancestor that does not contain the page itself. */
function overlayAncestor(start: Element): HTMLElement | null {
  let outermost: HTMLElement | null = null;
  for (let at: Element | null = start; at !== null && !isPage(at); at = flatTreeParent(at)) {
    if (at instanceof HTMLElement && isOverlay(at) && !isAppShell(at)) outermost = at;
  }
  return outermost;
}

function isOverlay(element: HTMLElement): boolean {
  if (matches(element, 'dialog[open], [role="dialog"], [role="alertdialog"], [aria-modal="true"]')) return true;
  const { position } = getComputedStyle(element);
  return position === 'fixed' || position === 'sticky';
}

/** A fixed element that fills the view and scrolls contains the page itself. */
function isAppShell(element: HTMLElement): boolean {
  if (matches(element, MAIN)) return true;
  if (element.clientWidth < innerWidth * 0.9 || element.clientHeight < innerHeight * 0.9) return false;
  if (element.querySelector(`${MAIN}, article`) !== null) return true;
  return [element, ...element.children].some(
    (part) => part.scrollHeight > part.clientHeight * 1.5 && part.clientHeight > innerHeight * 0.5,
  );
}

/** Whether the element is the page's own content, such as a text about cookies that has the name of a banner. */
export function isPageItself(element: Element): boolean {
  if (overlayAncestor(element) !== null) return false;
  const root = documentProperty('documentElement');
  return (
    matches(element, MAIN) || element.querySelector(MAIN) !== null || (root !== null && !hasContent(root, element))
  );
}

/** Boxes in normal flow whose names suggest a banner. */
export function boxesByName(): HTMLElement[] {
  const boxes: HTMLElement[] = [];
  // Testing the collected names is faster than testing each element.
  const { ids, classLists } = cachedNames();
  const isNamed = [...ids, ...classLists].some((name) => NAMES.test(name));
  for (const element of queryTrees(isNamed ? `${NAMED},${LABELLED}` : LABELLED) as HTMLElement[]) {
    if (boxes.length === CANDIDATES_MAX) break;
    if (!NAMED_AS_BANNER.test(`${element.id} ${element.getAttribute('class') ?? ''}`)) continue;
    if (isPage(element) || !isInView(element)) continue;
    if (isPageItself(element)) continue;
    if (overlayAncestor(element) === null && (isProse(element) || !ABOUT_COOKIES.test(deepText(element)))) continue;
    boxes.push(element);
  }
  return boxes;
}

/** Whether the element is part of the page's own content, next to headings and paragraphs. */
function isProse(element: HTMLElement): boolean {
  if (element.closest('article, main, [role="main"], pre, code, figure, blockquote') !== null) return true;
  for (let at = element.previousElementSibling; at !== null; at = at.previousElementSibling)
    if (matches(at, 'h1, h2, h3, p')) return true;
  return false;
}

function asBanner(element: HTMLElement): Banner | null {
  if (hasClosedShadowBanner(element)) return { element, refusal: null, framed: false };
  if (!isInView(element) && ![...element.querySelectorAll('*')].slice(0, PARTS_MAX).some(isInView)) return null;
  const frame = matches(element, 'iframe') ? element : element.querySelector('iframe');
  if (frame !== null && (isNamedForConsent(frame) || bannerFrames.includes(addressOf(frame)))) {
    return { element, refusal: null, framed: true };
  }
  return readBanner(element);
}

function isNamedForConsent(frame: Element): boolean {
  return CONSENT_FRAME.test(
    ['src', 'id', 'name', 'title', 'class'].map((name) => frame.getAttribute(name) ?? '').join(' '),
  );
}

/** URLs of frames whose documents were read and are banners. */
let bannerFrames: readonly string[] = [];

/** @param urls of frames whose content is a banner, whatever their names */
export function setBannerFrames({ urls }: { urls: string[] }): void {
  bannerFrames = urls;
}

/** The URL that the browser reports for the frame's document. */
function addressOf(frame: Element): string {
  return frame.hasAttribute('srcdoc') ? 'about:srcdoc' : frame instanceof HTMLIFrameElement ? frame.src : '';
}

/** Whether a frame on top of the page may be a banner. Its embedder cannot read it. */
export function hasFrameOnTop(onTop: readonly HTMLElement[]): boolean {
  return onTop.some((box) => (matches(box, 'iframe') ? [box] : [...box.querySelectorAll('iframe')]).some(isInView));
}

function readBanner(element: HTMLElement): Banner | null {
  const text = deepText(element);
  const isNamed = NAMES.test(`${element.id} ${element.getAttribute('class') ?? ''}`);
  if (text.length < 10 || text.length > BANNER_TEXT_MAX || !(isNamed || talksOfConsent(text))) return null;
  const controls = deepControls(element).map((control) => ({
    control,
    label: labelOf(control),
    away: leadsAway(control),
  }));
  const labels = controls.map(({ label }) => label);
  const answers = controls.filter(({ label, away }) => !away || !SETTINGS_LABEL.test(label)).map(({ label }) => label);
  if (!asksForConsent(ownWords(text, labels), answers, isNamed)) return null;
  // A bar with the site's own navigation is a header, whatever its links say.
  if (element.querySelector('nav, input[type="search"], [role="navigation"], [role="search"]') !== null) return null;
  if ([...element.querySelectorAll(TEXT_FIELDS)].some(hasVisibleBox)) return null;
  const refusals = controls.filter(({ label, away }) => !away && refuses(label)).map(({ control }) => control);
  return { element, refusal: refusals.find(isInView) ?? refusals[0] ?? null, framed: false };
}

/**
 * The text outside controls, so that one link among many does not count as talk of consent. A bar with few controls may have
 * no other text.
 */
function ownWords(text: string, labels: readonly string[]): string {
  const linked = labels.reduce((sum, label) => sum + label.length, 0);
  if (text.length - linked < 12) return labels.length <= 4 ? text : '';
  return labels.reduce((rest, label) => rest.replace(label, ' '), text);
}

/** Whether the control is a link to another document, which answers nothing. */
export function leadsAway(control: HTMLElement): boolean {
  if (control.localName !== 'a') return false;
  const href = control.getAttribute('href');
  return href !== null && !/^(#|javascript:|$)/i.test(href.trim()) && control.getAttribute('role') !== 'button';
}

export function labelOf(control: HTMLElement): string {
  const text = matches(control, 'input') ? (control as HTMLInputElement).value : deepText(control);
  return (
    trimmedLabel(text) ||
    trimmedLabel(control.getAttribute('aria-label') ?? control.getAttribute('title') ?? '') ||
    (/^[×✕✖✗⨯]$/.test(text.trim()) ? 'close' : '')
  );
}

function trimmedLabel(label: string): string {
  return label
    .replace(/\s+/g, ' ')
    .replace(/^[^\p{L}\p{N}]+|(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/gu, '')
    .trim();
}

/** A box may scroll, so its controls need not be in view. */
export function deepControls(root: HTMLElement, options?: { frames: boolean }): HTMLElement[] {
  return trees(root, options)
    .flatMap((tree) => [...tree.querySelectorAll<HTMLElement>(`${CONTROLS}, ${CLICKABLE}`)])
    .filter((control) => hasVisibleBox(control) && (matches(control, CONTROLS) || isLoneControl(control)))
    .slice(0, CONTROLS_MAX);
}

function isLoneControl(element: HTMLElement): boolean {
  return element.closest(CONTROLS) === null && element.querySelector(`${CONTROLS}, ${CLICKABLE}`) === null;
}

/** The visible text, including shadow roots, with collapsed white space. */
export function deepText(root: HTMLElement, options?: { frames: boolean }): string {
  return trees(root, options)
    .flatMap((tree) => (isElement(tree) ? [tree] : [...tree.children]))
    .map((part) => ('innerText' in part ? part.innerText : ''))
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();
}
