import { body, documentProperty, eachElement, pageScroller } from './dom.js';
import { adopt, forceAll, styleOf } from './styles.js';

/**
 * Adapts the page to print, where the paper is the viewport: anything that depends on the viewport's height must keep its
 * size on screen.
 */

const ELEMENTS_MAX = 60_000;
const TITLE_MAX_CHARS = 2_000;
const LANGUAGE_MAX_CHARS = 100;

let layout = new Map<HTMLElement, [top: number, height: number, contentHeight: number]>();
/** Inline styles before they were changed. */
const own = new Map<CSSStyleDeclaration, string>();

/** Overrides the page's own `@page` rules, which could rotate the paper or add margins. */
export function overridePageRules(): void {
  adopt('@page { size: auto !important; margin: 0 !important; page-orientation: upright !important }');
}

/** The width of the laid-out content in CSS px, including content beyond the viewport's right edge. */
export function contentWidth(): number {
  return pageScroller().scrollWidth;
}

/** Prevents the browser from shrinking a page that is wider than the paper. */
export function keepWidth(): void {
  adopt('html, body { overflow-x: clip !important }');
}

/** The document's title and language, as it declares them. */
export function documentNames(): { title: string; language: string } {
  const declared = documentProperty('documentElement').getAttribute('lang') ?? '';
  return { title: documentProperty('title').slice(0, TITLE_MAX_CHARS), language: declared.trim().slice(0, LANGUAGE_MAX_CHARS) };
}

/** Must be called before an inline style is changed, so that it can be restored if the page cannot be printed. */
export function saveStyle(style: CSSStyleDeclaration): void {
  if (!own.has(style)) own.set(style, style.cssText);
}

/** Undoes all changes to inline styles. */
export function restoreStyles(): void {
  for (const [style, css] of own) style.cssText = css;
  own.clear();
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

/** Makes the page one box of the given height that no page break divides and that clips its content. */
export function fixPageHeight(height: number): void {
  const box = body();
  if (box === null || document.documentElement.scrollHeight < height) return;
  const top = box.getBoundingClientRect().top + scrollY;
  const bottomMargin = Number.parseFloat(getComputedStyle(box).marginBottom) || 0;
  const size = `${Math.max(0, height - top - bottomMargin)}px`;
  const rules = { contain: 'size', overflow: 'clip', 'box-sizing': 'border-box', height: size, 'min-height': size, 'max-height': size };
  forceAll(box, rules);
}

/** Print would repeat pinned elements on every sheet, so they are moved to their position at the page's top or end. */
export function placePinned(pageHeight: number): void {
  const moved: [HTMLElement, Record<string, string>][] = [];
  eachElement(ELEMENTS_MAX, (element) => {
    const properties = element.style === undefined ? null : placeOnPaper(element, pageHeight);
    if (properties !== null) moved.push([element, properties]);
  });
  for (const [element, properties] of moved) {
    saveStyle(styleOf(element));
    forceAll(element, properties);
  }
}

function placeOnPaper(element: HTMLElement, pageHeight: number): Record<string, string> | null {
  const { position } = getComputedStyle(element);
  if (position === 'sticky') return { position: 'relative', inset: 'auto' };
  // A fixed element with an offset parent is inside a transformed box, and moves with it.
  if (position !== 'fixed' || element.offsetParent !== null) return null;
  const { top, bottom, height } = element.getBoundingClientRect();
  const low = top > innerHeight / 2 && innerHeight - bottom < innerHeight / 4 && height < innerHeight / 2;
  const at = low ? pageHeight - (innerHeight - top) : top;
  const size = { height: `${height}px`, 'min-height': '0', 'max-height': 'none', 'box-sizing': 'border-box' };
  return { position: 'absolute', ...size, top: `${at}px`, bottom: 'auto', margin: '0' };
}
