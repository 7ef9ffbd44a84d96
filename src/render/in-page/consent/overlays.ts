import { flatTreeParent, matches } from '../dom.js';
import { surveyedNames } from '../survey.js';
import { ABOUT_COOKIES, asksForConsent, CONSENT_FRAME, refuses, talksOfConsent } from './words.js';

/** Finding consent banners by how they look and what they say. Runs in the page, in a world of its own. */

/** A box on top of the page, or beside its content, that asks for consent. */
export interface Banner {
  element: HTMLElement;
  /** What to click to refuse; null when there is no such control. */
  refusal: HTMLElement | null;
  /** Its content lies in a frame and cannot be read from here. */
  framed: boolean;
}

/** Text beyond which a box is an article, not a banner. */
const BANNER_TEXT_MAX = 6_000;
const CANDIDATES_MAX = 40;
const PARTS_MAX = 200;
const GRID_X = [0.04, 0.25, 0.5, 0.75, 0.96];
const GRID_Y = [0.03, 0.14, 0.3, 0.5, 0.7, 0.86, 0.97];
const CONTROLS = 'button, a, [role="button"], input[type="button"], input[type="submit"]';
/** Clickable elements that are not controls. */
const MADE_TO_CLICK = '[onclick], [tabindex="0"], [class*="btn" i], [class*="button" i], [class*="close" i], [class*="dismiss" i]';
/** Where a visitor types: a log-in, a newsletter, a search; never a banner. */
const TYPED_INTO =
  'textarea, input:not([type]), input[type="text"], input[type="email"], input[type="password"], input[type="tel"], input[type="search"]';
/** A link to a page about settings is no answer. */
const ABOUT_SETTINGS = /setting|preference|choice|polic|manage|notice/i;
const NAMED =
  '[id*="cookie" i],[class*="cookie" i],[id*="consent" i],[class*="consent" i],[id*="gdpr" i],[class*="gdpr" i],[id*="privacy-b" i]';
const LABELLED = '[aria-label*="cookie" i]';
const NAMES = /cookie|consent|gdpr|privacy-b/i;
const NAMED_AS_BANNER = /banner|notice|bar\b|popup|pop-up|modal|dialog|overlay|consent|message|msg|alert|law|wall|layer|box|info|gdpr/i;

/**
 * The banners in view, each once, outermost box first.
 *
 * @param onTop what boxesOnTop has just found
 */
export function findBanners(onTop = boxesOnTop()): Banner[] {
  const found: Banner[] = [];
  for (const element of [...onTop, ...boxesByName()]) {
    if (found.some((banner) => banner.element.contains(element) || element.contains(banner.element))) continue;
    const banner = asBanner(element);
    if (banner !== null) found.push(banner);
  }
  return found;
}

/** The banners that a part of the page is, holds or belongs to. */
export function bannersIn(part: HTMLElement): Banner[] {
  const text = part.textContent ?? '';
  if (text.length > BANNER_TEXT_MAX || !talksOfConsent(text)) return [];
  const around = heldAncestor(part);
  const boxes = around === null ? [...part.querySelectorAll<HTMLElement>('*')].slice(0, PARTS_MAX).filter(isHeld) : [around];
  return boxes.map(asBanner).filter((banner) => banner !== null);
}

/** A whole document that is nothing but a banner: the content of a consent platform's frame. */
export function documentAsBanner(): Banner | null {
  return document.body === null ? null : readBanner(document.body);
}

export function isShown(element: Element): boolean {
  const box = element.getBoundingClientRect();
  if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) return false;
  return isVisible(element);
}

function isVisible(element: Element): boolean {
  const box = element.getBoundingClientRect();
  if (box.width < 2 || box.height < 2) return false;
  return element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
}

/** What lies on top at points all over the view, and is held there: fixed, sticky, or a dialog. */
export function boxesOnTop(): HTMLElement[] {
  const boxes = new Set<HTMLElement>();
  const seen = new Set<Element>();
  for (const y of GRID_Y) {
    for (const x of GRID_X) {
      const top = deepestAt(innerWidth * x, innerHeight * y);
      if (top === null || seen.has(top)) continue;
      seen.add(top);
      const box = top instanceof HTMLElement && isSealed(top) ? top : heldAncestor(top);
      if (box !== null) boxes.add(box);
    }
  }
  return [...boxes];
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

/** What it shows lies in a closed shadow root, outside its own box: its name is all that there is to read. */
function isSealed(element: Element): boolean {
  if (element.shadowRoot !== null || element.childNodes.length > 0 || element.getBoundingClientRect().height >= 2) return false;
  const name = `${element.localName} ${element.id} ${element.getAttribute('class') ?? ''}`;
  return /cookie|consent|gdpr/i.test(name) && NAMED_AS_BANNER.test(name);
}

/** The outermost ancestor that is held above the page and is not the page itself. */
export function heldAncestor(start: Element): HTMLElement | null {
  let held: HTMLElement | null = null;
  for (let at: Element | null = start; at !== null && at !== document.body && at !== document.documentElement; at = flatTreeParent(at)) {
    if (at instanceof HTMLElement && isHeld(at) && !isAppShell(at)) held = at;
  }
  return held;
}

function isHeld(element: HTMLElement): boolean {
  if (matches(element, 'dialog[open], [role="dialog"], [role="alertdialog"], [aria-modal="true"]')) return true;
  const { position } = getComputedStyle(element);
  return position === 'fixed' || position === 'sticky';
}

/** A fixed element that fills the view and scrolls is where the page itself lives. */
function isAppShell(element: HTMLElement): boolean {
  if (element.clientWidth < innerWidth * 0.9 || element.clientHeight < innerHeight * 0.9) return false;
  if (element.querySelector('main, article, [role="main"]') !== null) return true;
  return [element, ...element.children].some(
    (part) => part.scrollHeight > part.clientHeight * 1.5 && part.clientHeight > innerHeight * 0.5,
  );
}

/** Boxes in the flow of the page that are named for what they are. */
function boxesByName(): HTMLElement[] {
  const boxes: HTMLElement[] = [];
  for (const element of document.querySelectorAll<HTMLElement>(isNamed() ? `${NAMED},${LABELLED}` : LABELLED)) {
    if (boxes.length === CANDIDATES_MAX) break;
    if (!NAMED_AS_BANNER.test(`${element.id} ${element.getAttribute('class') ?? ''}`)) continue;
    if (element === document.body || !isShown(element)) continue;
    if (!isHeldWithin(element) && (isProse(element) || !ABOUT_COOKIES.test(deepText(element)))) continue;
    boxes.push(element);
  }
  return boxes;
}

/** To ask each element costs more than to ask each name. */
function isNamed(): boolean {
  const { ids, classLists } = surveyedNames();
  return [...ids, ...classLists].some((name) => NAMES.test(name));
}

/** Part of what the page is about, beside its headings and paragraphs. */
function isProse(element: HTMLElement): boolean {
  if (element.closest('article, main, [role="main"], pre, code, figure, blockquote') !== null) return true;
  for (let at = element.previousElementSibling; at !== null; at = at.previousElementSibling) if (matches(at, 'h1, h2, h3, p')) return true;
  return false;
}

function isHeldWithin(element: HTMLElement): boolean {
  for (let at: Element | null = element; at !== null && at !== document.body; at = flatTreeParent(at)) {
    if (at instanceof HTMLElement && isHeld(at)) return true;
  }
  return false;
}

function asBanner(element: HTMLElement): Banner | null {
  if (isSealed(element)) return { element, refusal: null, framed: false };
  if (!isShown(element) && ![...element.querySelectorAll('*')].slice(0, PARTS_MAX).some(isShown)) return null;
  const frame = matches(element, 'iframe') ? element : element.querySelector('iframe');
  if (frame !== null && (isNamedForConsent(frame) || bannerFrames.includes(addressOf(frame)))) {
    return { element, refusal: null, framed: true };
  }
  return readBanner(element);
}

function isNamedForConsent(frame: Element): boolean {
  return CONSENT_FRAME.test(['src', 'id', 'name', 'title', 'class'].map((name) => frame.getAttribute(name) ?? '').join(' '));
}

/** Addresses of frames whose documents were read, and are banners. */
let bannerFrames: readonly string[] = [];

/** @param urls of frames that are banners by what they hold, whatever they are named */
export function tellFrames({ urls }: { urls: string[] }): void {
  bannerFrames = urls;
}

/** As the browser tells of the frame's document. */
function addressOf(frame: Element): string {
  return frame.hasAttribute('srcdoc') ? 'about:srcdoc' : frame instanceof HTMLIFrameElement ? frame.src : '';
}

/** Whether a frame on top of the page may be a banner: who hosts it cannot read it. */
export function hasFrameOnTop(onTop: readonly HTMLElement[]): boolean {
  return onTop.some((box) => (matches(box, 'iframe') ? [box] : [...box.querySelectorAll('iframe')]).some(isShown));
}

function readBanner(element: HTMLElement): Banner | null {
  const text = deepText(element);
  if (text.length < 10 || text.length > BANNER_TEXT_MAX || !talksOfConsent(text)) return null;
  const controls = deepControls(element).map((control) => ({ control, label: labelOf(control), away: leadsAway(control) }));
  const labels = controls.map(({ label }) => label);
  const answers = controls.filter(({ label, away }) => !away || !ABOUT_SETTINGS.test(label)).map(({ label }) => label);
  if (!asksForConsent(ownWords(text, labels), answers)) return null;
  // A bar with the site's own navigation in it is a header, whatever its links say.
  if (element.querySelector('nav, input[type="search"], [role="navigation"], [role="search"]') !== null) return null;
  if ([...element.querySelectorAll(TYPED_INTO)].some(isVisible)) return null;
  const refusals = controls.filter(({ label, away }) => !away && refuses(label)).map(({ control }) => control);
  return { element, refusal: refusals.find(isShown) ?? refusals[0] ?? null, framed: false };
}

/** What is no control's: the talk of consent is the box's own, not one link among many. A bar of few controls may have no other words. */
function ownWords(text: string, labels: readonly string[]): string {
  const linked = labels.reduce((sum, label) => sum + label.length, 0);
  if (text.length - linked < 12) return labels.length <= 4 ? text : '';
  return labels.reduce((rest, label) => rest.replace(label, ' '), text);
}

/** A link to another document answers nothing. */
function leadsAway(control: HTMLElement): boolean {
  if (!(control instanceof HTMLAnchorElement)) return false;
  const href = control.getAttribute('href');
  return href !== null && !/^(#|javascript:|$)/i.test(href.trim()) && control.getAttribute('role') !== 'button';
}

function labelOf(control: HTMLElement): string {
  const text = control instanceof HTMLInputElement ? control.value : deepText(control);
  return bare(text) || bare(control.getAttribute('aria-label') ?? control.title) || (/^[×✕✖✗⨯]$/.test(text.trim()) ? 'close' : '');
}

function bare(label: string): string {
  return label
    .replace(/\s+/g, ' ')
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
    .trim();
}

/** A box may scroll: its controls need not be in view. */
function deepControls(root: HTMLElement | ShadowRoot): HTMLElement[] {
  const controls = [...root.querySelectorAll<HTMLElement>(`${CONTROLS}, ${MADE_TO_CLICK}`)].filter(
    (control) => isVisible(control) && (matches(control, CONTROLS) || isLoneControl(control)),
  );
  for (const host of hostsIn(root)) controls.push(...deepControls(host));
  return controls.slice(0, 60);
}

function isLoneControl(element: HTMLElement): boolean {
  return element.closest(CONTROLS) === null && element.querySelector(`${CONTROLS}, ${MADE_TO_CLICK}`) === null;
}

/** Visible text with shadow roots in it, white space folded. */
function deepText(root: HTMLElement | ShadowRoot): string {
  const parts = [
    root instanceof HTMLElement ? root.innerText : [...root.children].map((child) => (child as HTMLElement).innerText ?? '').join(' '),
  ];
  for (const host of hostsIn(root)) parts.push(deepText(host));
  return parts.join(' ').replace(/\s+/g, ' ').trim();
}

function hostsIn(root: HTMLElement | ShadowRoot): ShadowRoot[] {
  const roots: ShadowRoot[] = root instanceof HTMLElement && root.shadowRoot !== null ? [root.shadowRoot] : [];
  let looked = 0;
  for (const element of root.querySelectorAll('*')) {
    if (looked++ > 3_000) break;
    if (element.shadowRoot !== null) roots.push(element.shadowRoot);
  }
  return roots;
}
