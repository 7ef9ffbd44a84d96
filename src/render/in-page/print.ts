import { body, documentProperty, eachElement, pageScroller } from './dom.js';
import { adopt, forceAll, styleOf } from './styles.js';

/**
 * In print, the paper is the viewport: whatever depends on the viewport's height must keep the size that it has on the screen.
 */

const MOST_ELEMENTS = 60_000;
const TITLE_MAX_CHARS = 2_000;
const LANGUAGE_MAX_CHARS = 100;

let layout = new Map<HTMLElement, [top: number, height: number, within: number]>();
/** Inline styles before they were changed. */
const own = new Map<CSSStyleDeclaration, string>();

/** Overrides the page's own `@page`, which would turn the paper or add margins. */
export function ownPaper(): void {
  adopt('@page { size: auto !important; margin: 0 !important; page-orientation: upright !important }');
}

/** CSS px: of what is laid out, also beyond the viewport's right edge. */
export function contentWidth(): number {
  return pageScroller().scrollWidth;
}

/** Keeps the browser from shrinking a page that is wider than the paper. */
export function keepWidth(): void {
  adopt('html, body { overflow-x: clip !important }');
}

/** The document's title and language, as it declares them. */
export function documentNames(): { title: string; language: string } {
  const declared = documentProperty('documentElement').getAttribute('lang') ?? '';
  return { title: documentProperty('title').slice(0, TITLE_MAX_CHARS), language: declared.trim().slice(0, LANGUAGE_MAX_CHARS) };
}

/** To be called before an inline style is changed: it is restored if the page cannot be printed. */
export function keepStyle(style: CSSStyleDeclaration): void {
  if (!own.has(style)) own.set(style, style.cssText);
}

/** Undoes all changes. */
export function putBack(): void {
  for (const [style, css] of own) style.cssText = css;
  own.clear();
}

/** Records the page's layout, which moving parts do not change; for a custom element also the size of its shadow tree, even a closed one. */
export function noteLayout(): void {
  layout = new Map();
  eachElement(MOST_ELEMENTS, (element) => {
    if (!(element instanceof HTMLElement)) return;
    const within = element.localName.includes('-') ? element.scrollHeight : 0;
    layout.set(element, [element.offsetTop, element.offsetHeight, within]);
  });
}

/** With the viewport as high as the paper: whether the layout is the same. */
export function isLaidOutAlike(pageHeight: number): boolean {
  const differs = (a: number, b: number) => Math.abs(a - b) > 1;
  if (differs(pageScroller().scrollHeight, Math.max(pageHeight, innerHeight))) return false;
  for (const [element, [top, height, within]] of layout) {
    if (differs(element.offsetTop, top) || differs(element.offsetHeight, height)) return false;
    if (within !== 0 && differs(element.scrollHeight, within)) return false;
  }
  return true;
}

/** Makes the page one box of the given height, which no page break divides and outside of which nothing is shown. */
export function boxPage(height: number): void {
  const box = body();
  if (box === null || document.documentElement.scrollHeight < height) return;
  const top = box.getBoundingClientRect().top + scrollY;
  const bottomMargin = Number.parseFloat(getComputedStyle(box).marginBottom) || 0;
  const size = `${Math.max(0, height - top - bottomMargin)}px`;
  const rules = { contain: 'size', overflow: 'clip', 'box-sizing': 'border-box', height: size, 'min-height': size, 'max-height': size };
  forceAll(box, rules);
}

/** In print, pinned elements would be repeated on every sheet: they are moved to where they are at the page's top, or at its end. */
export function pinOnce(pageHeight: number): void {
  const moved: [HTMLElement, Record<string, string>][] = [];
  eachElement(MOST_ELEMENTS, (element) => {
    const properties = element.style === undefined ? null : placeOnPaper(element, pageHeight);
    if (properties !== null) moved.push([element, properties]);
  });
  for (const [element, properties] of moved) {
    keepStyle(styleOf(element));
    forceAll(element, properties);
  }
}

function placeOnPaper(element: HTMLElement, pageHeight: number): Record<string, string> | null {
  const { position } = getComputedStyle(element);
  if (position === 'sticky') return { position: 'relative', inset: 'auto' };
  // With an offset parent, it is fixed within a transformed box and moves with that box.
  if (position !== 'fixed' || element.offsetParent !== null) return null;
  const { top, bottom, height } = element.getBoundingClientRect();
  const low = top > innerHeight / 2 && innerHeight - bottom < innerHeight / 4 && height < innerHeight / 2;
  const at = low ? pageHeight - (innerHeight - top) : top;
  const size = { height: `${height}px`, 'min-height': '0', 'max-height': 'none', 'box-sizing': 'border-box' };
  return { position: 'absolute', ...size, top: `${at}px`, bottom: 'auto', margin: '0' };
}
