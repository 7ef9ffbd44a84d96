import { fixedContainer, isInFlow, windowOf } from './boxes.js';
import { StyleLog } from './change-log.js';
import {
  adopt,
  all,
  allIn,
  alphaOf,
  ancestry,
  body,
  documentProperty,
  eachElement,
  flatTreeParent,
  force,
  forceAll,
  hasVisibleStyle,
  isPage,
  keepAdopted,
  matches,
  nextSibling,
  pageScroller,
  sheetOf,
  styleOf,
  trees,
} from './dom.js';
import { isLow } from './pin.js';
import { isScrolledByScript } from './scrollers.js';
import { areaOf, common } from './sights.js';
import { visitSheet, visitSheets } from './style-sheets.js';

/**
 * Adapts the page to print, where the paper is the viewport: anything that depends on the viewport's height must keep its
 * size on screen. Style sheets of another origin can be neither read nor changed.
 */

const ELEMENTS_MAX = 60_000;
const TITLE_MAX_CHARS = 2_000;
const LANGUAGE_MAX_CHARS = 100;
const OF_HEIGHT = /height|aspect-ratio|orientation/;
const LENGTH =
  /url\((?:"[^"]*"|[^"()]*)\)|"[^"]*"|(?<![\w#.-])([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)[sld]?v(h|b|min|max)\b/gi;

let layout = new Map<HTMLElement, [top: number, height: number, contentHeight: number]>();
/** Inline styles, to be restored if the page cannot be printed. */
const own = new StyleLog();
/** Media queries that may depend on the viewport's height, with their results. */
let queries = new Map<MediaList, boolean>();
let sheets = new Set<CSSStyleSheet>();

/** Overrides the page's own `@page` rules, which could rotate the paper or add margins. */
export function overridePageRules(): void {
  adopt('@page { size: auto !important; margin: 0 !important; page-orientation: upright !important }');
}

/** Tells the page's scripts that it is about to be printed, or has been, as the browser cannot while they are stopped. */
export function announce(name: 'beforeprint' | 'afterprint'): void {
  dispatchEvent(new Event(name));
}

/** Ignores the size of pages and the breaks between them that the page asks for. */
export function ignorePages(): void {
  adopt('@page { size: auto !important }');
  adopt('*, ::before, ::after { break-before: auto !important; break-after: auto !important; page: auto !important }');
}

const HEADINGS_MAX = 5_000;

/** Keeps headings on the page of what follows them, except where the page says otherwise. */
export function keepHeadings(): void {
  const headings = trees().flatMap((tree) => allIn(tree, 'h1, h2, h3, h4, h5, h6'));
  for (const heading of headings.slice(0, HEADINGS_MAX)) {
    if (heading instanceof HTMLElement && getComputedStyle(heading).breakAfter === 'auto' && isFollowed(heading))
      force(heading, 'break-after', 'avoid');
  }
}

/**
 * Whether something follows below, in the same block or in one around it. A heading at the end of a card beside others would keep all
 * cards of a page on one sheet.
 */
function isFollowed(element: Element): boolean {
  for (let at = element, parent = flatTreeParent(at); parent !== null; at = parent, parent = flatTreeParent(at)) {
    const { display, flexDirection, gridTemplateColumns } = getComputedStyle(parent);
    const isColumn = /flex/.test(display)
      ? flexDirection.startsWith('column')
      : /grid/.test(display)
        ? !gridTemplateColumns.includes(' ')
        : /^(block|flow-root|list-item)$/.test(display);
    const { float, display: own } = getComputedStyle(at);
    if (!isColumn || float !== 'none' || /^inline/.test(own)) return false;
    for (let next = nextSibling(at); next !== null; next = nextSibling(next)) if (fillsLine(next)) return true;
    if (isPage(parent)) return false;
  }
  return false;
}

function fillsLine(node: Node): boolean {
  if (!(node instanceof Element)) return node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== '';
  return Element.prototype.getClientRects.call(node).length > 0 && isInFlow(node);
}

let hiding: CSSStyleSheet | null = null;

/** Hides everything, with its place kept, or shows it again. */
export function hideContent(isHidden: boolean): void {
  // Elements of the top layer do not have the opacity of the root.
  const top = ':is(dialog, [popover], :fullscreen)';
  hiding ??= sheetOf(
    `:root, ${top}, ${top} *, ::backdrop { visibility: hidden !important } :root { opacity: 0 !important; background: none !important }`,
  );
  if (isHidden) keepAdopted([hiding]);
  else document.adoptedStyleSheets = documentProperty('adoptedStyleSheets').filter((sheet) => sheet !== hiding);
}

/** Switches transitions off: in a stopped page, those that start when it is laid out for the paper would never end. */
export function endTransitions(): void {
  adopt('*, ::before, ::after { transition: none !important }');
}

/** The width of the laid-out content in CSS px, including content beyond the viewport's right edge. */
export function contentWidth(): number {
  return pageScroller().scrollWidth;
}

let flow: CSSStyleSheet | null = null;

/**
 * Lays a document that fills its viewport out at this width in CSS px instead; null for that of the viewport.
 * @returns whether it has that width: one that has a width, margins or a zoom of its own keeps them
 */
export function setWidth(width: number | null): boolean {
  flow?.replaceSync('');
  if (width === null) return false;
  const root = documentProperty('documentElement');
  const fills = Math.abs(root.getBoundingClientRect().width - innerWidth) < 1;
  if (!fills || getComputedStyle(root).zoom !== '1') return false;
  flow ??= sheetOf('');
  const rules = `box-sizing: border-box !important; width: ${width}px !important; min-width: 0 !important; max-width: none !important`;
  flow.replaceSync(`html:root:root { ${rules} }`);
  keepAdopted([flow]);
  return true;
}

/** Prevents the browser from shrinking a page that is wider than the paper. */
export function keepWidth(): void {
  adopt('html, body { overflow-x: clip !important }');
}

/** The document's title, description and language, as it declares them. */
export function documentNames() {
  const declared = documentProperty('documentElement').getAttribute('lang') ?? '';
  const description = all('meta[name="description" i]')[0]?.getAttribute('content') ?? '';
  return {
    title: documentProperty('title').slice(0, TITLE_MAX_CHARS),
    description: description.slice(0, TITLE_MAX_CHARS),
    language: declared.trim().slice(0, LANGUAGE_MAX_CHARS),
  };
}

/** Undoes all changes to inline styles. */
export function restoreStyles(): void {
  own.undo();
}

/**
 * Records the page's layout, which motion does not affect. For a custom element, includes the size of its shadow tree, even
 * a closed one.
 */
export function recordLayout(): void {
  layout = new Map();
  eachElement(ELEMENTS_MAX, (element) => {
    if (!(element instanceof HTMLElement)) return;
    const contentHeight = element.localName.includes('-') ? element.scrollHeight : 0;
    layout.set(element, [element.offsetTop, element.offsetHeight, contentHeight]);
  });
}

/** Whether the layout is unchanged now that the viewport is as high as the paper. */
export function hasSameLayout(pageHeight: number): boolean {
  const differs = (a: number, b: number) => Math.abs(a - b) > 1;
  if (differs(pageScroller().scrollHeight, Math.max(pageHeight, innerHeight))) return false;
  for (const [element, [top, height, contentHeight]] of layout) {
    if (differs(element.offsetTop, top) || differs(element.offsetHeight, height)) return false;
    if (contentHeight !== 0 && differs(element.scrollHeight, contentHeight)) return false;
  }
  return true;
}

/** Makes the page one box of this height that no page break divides and that clips its content. */
export function fixPageHeight(height: number): void {
  const box = body();
  if (box === null || document.documentElement.scrollHeight < height) return;
  const top = box.getBoundingClientRect().top + scrollY;
  const bottomMargin = Number.parseFloat(getComputedStyle(box).marginBottom) || 0;
  const size = `${Math.max(0, height - top - bottomMargin)}px`;
  const rules = {
    contain: 'size',
    overflow: 'clip',
    'box-sizing': 'border-box',
    height: size,
    'min-height': size,
    'max-height': size,
  };
  forceAll(box, rules);
}

/** Fixed elements that the page has on screen, and not on paper alone. */
let onScreen = new WeakSet<Element>();
/** Fixed elements of which the view shows nothing, such as closed panels. */
let unseen: HTMLElement[] = [];
/** Fixed elements that would cover the content of each sheet, such as the headers of sites. */
let bars: HTMLElement[] = [];

/** Notes what is fixed on screen, before the page is laid out for paper. */
export function noteFixed(): void {
  onScreen = new WeakSet();
  eachElement(ELEMENTS_MAX, (element) => {
    if (getComputedStyle(element).position === 'fixed' && hasVisibleStyle(element)) onScreen.add(element);
  });
}

/**
 * Puts what is fixed to the view, and seen through a box of the page, into that box: paper has no view.
 * @param options.isForPaper whether the document is made for paper, which has on each sheet what is fixed
 * @returns whether other fixed elements are to be arranged on paper
 */
export function placeFixed(options: { isForPaper: boolean }): boolean {
  const found: [fixed: HTMLElement, window: HTMLElement][] = [];
  unseen = [];
  bars = [];
  // A page that is made for paper has room for what is on each sheet: margins, or empty rows that print repeats.
  const isSpacer = (rows: Element) => rows.textContent?.trim() === '' && rows.getBoundingClientRect().height > 0;
  const isForPaper =
    options.isForPaper ||
    Object.keys(ownPage()).some((property) => property.startsWith('margin')) ||
    all('thead,tfoot').some(isSpacer);
  eachElement(ELEMENTS_MAX, (element) => {
    if (element.style === undefined || getComputedStyle(element).position !== 'fixed') return;
    const window = windowOf(element);
    if (window instanceof HTMLElement) found.push([element, window]);
    else if (fixedContainer(element) !== null) return;
    else if (isOutside(element)) unseen.push(element);
    else if (!isForPaper && onScreen.has(element) && hidesContent(element)) bars.push(element);
  });
  for (const [fixed, window] of found) {
    for (const element of [fixed, window]) own.note(styleOf(element));
    if (getComputedStyle(window).position === 'static') force(window, 'position', 'relative');
    forceAll(fixed, {
      position: 'absolute',
      inset: '0',
      margin: '0',
      width: '100%',
      height: '100%',
      transform: 'none',
    });
  }
  return unseen.length + bars.length > 0;
}

/** Whether an element, with all that is in it, is outside of the view. */
function isOutside(element: Element): boolean {
  return [element, ...Array.from(element.querySelectorAll('*'))].every((part) => {
    const { top, right, bottom, left, width, height } = part.getBoundingClientRect();
    const isBeside = right <= 0 || left >= innerWidth;
    return width === 0 || height === 0 || bottom <= 0 || top >= innerHeight || isBeside;
  });
}

/** The share of its box from which a background makes an element opaque. */
const COVERED_MIN = 0.5;
const OPAQUE_MIN = 0.9;
const PARTS_MAX = 100;

const CONTROLS = 'button,input,select,nav';
/** A letterhead may link to a site and an address. */
const LINKS_MIN = 3;

/** Whether an element in front of the content has an opaque background, or is for people on screen. A watermark is neither. */
function hidesContent(element: HTMLElement): boolean {
  const { opacity, zIndex } = getComputedStyle(element);
  if (Number(zIndex) < 0 || !hasVisibleStyle(element)) return false;
  if (matches(element, CONTROLS) || element.querySelector(CONTROLS) !== null) return true;
  if (element.querySelectorAll('a[href]').length >= LINKS_MIN) return true;
  if (Number(opacity) < OPAQUE_MIN) return false;
  const whole = element.getBoundingClientRect();
  return [element, ...Array.from(element.querySelectorAll('*')).slice(0, PARTS_MAX)].some((part) => {
    const { backgroundColor, backgroundImage } = getComputedStyle(part);
    const isPainted =
      alphaOf(backgroundColor) >= OPAQUE_MIN || /^[^(]*gradient\((?!.*(rgba\(|transparent))/.test(backgroundImage);
    return isPainted && areaOf(common(part.getBoundingClientRect(), whole)) >= COVERED_MIN * areaOf(whole);
  });
}

/** Hides fixed elements of which the view shows nothing. */
export function hideUnseen(): void {
  const outside = unseen.filter(isOutside);
  for (const element of outside) {
    own.note(styleOf(element));
    force(element, 'display', 'none');
  }
}

/**
 * Arranges what is fixed where the paper is the view: print shows it on each sheet, and what is above a sheet on the one before it. What
 * covers the content is shown once: at the top, or, of what is at the bottom, in its place in the flow.
 */
export function arrangeOnPaper(): void {
  hideUnseen();
  const isLong = pageScroller().scrollHeight > innerHeight + 1;
  const boxes = bars.map((element) => element.getBoundingClientRect());
  for (const [nth, element] of bars.entries()) {
    const box = boxes[nth] as DOMRect;
    const { top, left, right, width, height } = box;
    // An element that is wider than the paper would make the page wider.
    if (right > innerWidth + 1 || (isLow(element, box) && !isLong)) continue;
    own.note(styleOf(element));
    if (isLow(element, box)) {
      forceAll(element, { position: 'static', transform: 'none' });
      continue;
    }
    const size = { width: `${width}px`, height: `${height}px`, 'min-height': '0', 'box-sizing': 'border-box' };
    forceAll(element, {
      position: 'absolute',
      ...size,
      inset: 'auto',
      top: '0',
      left: '0',
      margin: '0',
      transform: 'none',
    });
    // It may be in a positioned box.
    const at = element.getBoundingClientRect();
    forceAll(element, { top: `${top - at.top}px`, left: `${left - at.left}px` });
  }
}

/** Tables of lines of code are as narrow as these. */
const WIDE = 'table:not(:has(pre)),pre,pre code';
const WIDE_MAX = 2_000;
/** Smaller text is hard to read: code is broken into more lines instead. */
const CODE_ZOOM_MIN = 0.6;
const ZOOM_MIN = 0.25;
/** The cells of a table have borders that do not shrink. */
const ZOOM_ROUNDS = 3;

/** Whether there are tables or code in boxes that scroll, which may be wider than the box where the page is as narrow as paper. */
export function hasWide(): boolean {
  return all(WIDE)
    .slice(0, WIDE_MAX)
    .some((wide) => ancestry(wide).some(isScroller));
}

function isScroller(element: Element): boolean {
  if (isPage(element) || !(element instanceof HTMLElement)) return false;
  const { overflowX } = getComputedStyle(element);
  return /auto|scroll/.test(overflowX) || (overflowX === 'hidden' && isScrolledByScript(element));
}

/** Makes tables and code as narrow as the boxes in which the page scrolls them sideways, where the paper is the view: it cannot be scrolled. */
export function fitWide(): void {
  for (const wide of all(WIDE).slice(0, WIDE_MAX)) {
    const box = ancestry(wide).find(isScroller);
    if (box === undefined || !(wide instanceof HTMLElement)) continue;
    own.note(styleOf(wide));
    for (let round = 0, zoom = 1; round < ZOOM_ROUNDS; round++) {
      const isCut = box.scrollWidth > box.clientWidth + 1 && (wide === box || wide.scrollWidth > box.clientWidth);
      if (!isCut || box.clientWidth === 0) break;
      zoom *= box.clientWidth / box.scrollWidth;
      if (wide.localName !== 'table' && zoom < CODE_ZOOM_MIN)
        forceAll(wide, { zoom: '1', 'white-space': 'pre-wrap', 'overflow-wrap': 'anywhere' });
      else force(wide, 'zoom', String(Math.max(ZOOM_MIN, Math.floor(zoom * 1_000) / 1_000)));
    }
  }
}

/** Print would repeat pinned elements on every sheet, so they are moved to their position at the page's top or end. */
export function placePinned(pageHeight: number): void {
  const moved: [HTMLElement, Record<string, string>][] = [];
  eachElement(ELEMENTS_MAX, (element) => {
    const properties = element.style === undefined ? null : placeOnPaper(element, pageHeight);
    if (properties !== null) moved.push([element, properties]);
  });
  for (const [element, properties] of moved) {
    own.note(styleOf(element));
    forceAll(element, properties);
  }
}

function placeOnPaper(element: HTMLElement, pageHeight: number): Record<string, string> | null {
  const { position } = getComputedStyle(element);
  if (position === 'sticky') return { position: 'relative', inset: 'auto' };
  // A fixed element with an offset parent is inside a transformed box, and moves with it.
  if (position !== 'fixed' || element.offsetParent !== null) return null;
  const box = element.getBoundingClientRect();
  const { top, height } = box;
  const at = isLow(element, box) ? pageHeight - (innerHeight - top) : top;
  const size = { height: `${height}px`, 'min-height': '0', 'max-height': 'none', 'box-sizing': 'border-box' };
  return { position: 'absolute', ...size, top: `${at}px`, bottom: 'auto', margin: '0' };
}

const PAGE_PROPERTIES = ['size', 'margin-top', 'margin-right', 'margin-bottom', 'margin-left'] as const;
/** The page's own `@page` rules that apply to all pages, as CSS text. */
export type PageBox = { [Property in (typeof PAGE_PROPERTIES)[number]]?: string };
const PAGE_VALUE_MAX_CHARS = 100;

/** The page's own `@page` rules, evaluated for the print media. */
export function ownPage(): PageBox {
  const box: PageBox = {};
  const important = new Set<string>();
  const read = ({ style }: CSSPageRule) => {
    for (const property of PAGE_PROPERTIES) {
      const value = style.getPropertyValue(property).slice(0, PAGE_VALUE_MAX_CHARS);
      const isImportant = style.getPropertyPriority(property) === 'important';
      if (value === '' || (important.has(property) && !isImportant)) continue;
      box[property] = value;
      if (isImportant) important.add(property);
    }
  };
  visitSheets(document, (part) => {
    if (part instanceof CSSPageRule && part.selectorText === '') read(part);
    if (part instanceof CSSSupportsRule) return CSS.supports(part.conditionText);
    if (part instanceof CSSStyleSheet && part.disabled) return false;
    return part instanceof CSSStyleSheet || part instanceof CSSMediaRule
      ? matchMedia(part.media.mediaText).matches
      : true;
  });
  return box;
}

/** Records the queries that may depend on the viewport's height, with their results. */
export function recordQueries(): void {
  queries = new Map();
  sheets = new Set();
  for (const tree of trees()) {
    visitSheets(tree, (part) => {
      if (part instanceof CSSStyleSheet && sheets.has(part)) return false;
      if (part instanceof CSSStyleSheet) sheets.add(part);
      if (!(part instanceof CSSStyleSheet || part instanceof CSSMediaRule)) return true;
      const { mediaText } = part.media;
      if (OF_HEIGHT.test(mediaText)) queries.set(part.media, matchMedia(mediaText).matches);
      return true;
    });
  }
}

/**
 * Keeps only the queries whose result differs now that the viewport is as high as the paper.
 * @returns whether there are any
 */
export function keepChangedQueries(): boolean {
  for (const [media, matched] of queries) if (matchMedia(media.mediaText).matches === matched) queries.delete(media);
  return queries.size > 0;
}

/**
 * With the original viewport, replaces these queries by their results, and converts lengths that depend on the viewport's
 * height to px: in style sheets, in inline styles, and on the root.
 */
export function fixHeights(): void {
  fixRoot();
  for (const [media, matched] of queries) media.mediaText = matched ? 'all' : 'not all';
  for (const sheet of sheets) {
    visitSheet(sheet, (part) => {
      if ('style' in part && part.style instanceof CSSStyleDeclaration) fixStyle(part.style);
      return !(part instanceof CSSImportRule);
    });
  }
  eachElement(ELEMENTS_MAX, (element) => {
    if (element.style === undefined || !element.hasAttribute('style')) return;
    own.note(styleOf(element));
    fixStyle(styleOf(element));
  });
}

/** Percentage heights depend on the viewport's height, from the root down. */
function fixRoot(): void {
  const root = documentProperty('documentElement');
  const used = root.computedStyleMap();
  for (const property of ['height', 'min-height', 'max-height']) {
    const height = used.get(property);
    if (!(height instanceof CSSUnitValue) || height.unit !== 'percent') continue;
    own.note(root.style);
    root.style.setProperty(property, `${(innerHeight * height.value) / 100}px`, 'important');
  }
}

function fixStyle(style: CSSStyleDeclaration): void {
  const { cssText } = style;
  const held = cssText.replace(LENGTH, inPx);
  if (held !== cssText) style.cssText = held;
}

function inPx(found: string, count: string | undefined, side = ''): string {
  if (count === undefined) return found;
  const [least, most] = [Math.min(innerWidth, innerHeight), Math.max(innerWidth, innerHeight)];
  const px = { h: innerHeight, b: innerHeight, min: least, max: most }[side.toLowerCase()] ?? 0;
  return `${(Number(count) * px) / 100}px`;
}
