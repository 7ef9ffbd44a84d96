import { flatTreeParent } from './dom.js';
import { force, styleOf } from './styles.js';

/** Gives an inner scroller, and each box around it, the height that its content has. */

const FRAME_HELD_MAX = 10_000;
const FRAME_ROUNDS = 5;

/** What is scrolled: of a frame of the page's own origin the root of its document, else the element itself. */
export function contentOf(scroller: HTMLElement): HTMLElement {
  const held = scroller instanceof HTMLIFrameElement ? scroller.contentDocument : null;
  return held?.body ? held.documentElement : scroller;
}

/** Sets a property unless it is set already: a page may watch its elements. */
export function keep(element: HTMLElement, property: string, value: string): void {
  if (styleOf(element).getPropertyValue(property) !== value) force(element, property, value);
}

/** @returns whether that can be */
export function expand(scroller: HTMLElement): boolean {
  const content = contentOf(scroller);
  content.scrollTop = 0;
  if (content === scroller) expandBox(scroller);
  else if (!expandFrame(scroller, content)) return false;
  const html = document.documentElement;
  for (let parent = flatTreeParent(scroller); parent !== null && parent !== html; parent = flatTreeParent(parent)) {
    if (parent instanceof HTMLElement) grow(parent);
  }
  keep(html, 'overflow-y', 'visible');
  return true;
}

function grow(parent: HTMLElement): void {
  const { height } = parent.getBoundingClientRect();
  loosen(parent);
  const { top } = parent.getBoundingClientRect();
  const needed = contentBottom(parent) - top + (Number.parseFloat(getComputedStyle(parent).paddingBottom) || 0);
  // In px, so that elements beside the scroller with `height: 100%` grow with it.
  if (needed > height + 1) keep(parent, 'height', `${inner(parent, needed)}px`);
}

function expandBox(scroller: HTMLElement): void {
  keep(scroller, 'scroll-snap-type', 'none');
  loosen(scroller);
  keep(scroller, 'height', 'auto');
  keep(scroller, 'min-height', `${inner(scroller, scroller.scrollHeight + scroller.offsetHeight - scroller.clientHeight)}px`);
}

/** What is as high as the frame's view stays so; a frame whose content grows along nevertheless is left as it was. */
function expandFrame(frame: HTMLElement, root: HTMLElement): boolean {
  const all = [...root.ownerDocument.body.querySelectorAll<HTMLElement>('*:not(svg *)')];
  const inside = all.filter((element) => 'style' in element).slice(0, FRAME_HELD_MAX);
  const heights = new Map(inside.map((element) => [element, element.getBoundingClientRect().height]));
  const own = [frame, ...inside].map((element) => ({ element, css: element.style.cssText }));
  const wanted = root.scrollHeight;
  loosen(frame);
  // On the baseline there is a gap below it, which the document may have cut away.
  keep(frame, 'vertical-align', 'top');
  keep(frame, 'height', `${inner(frame, wanted + frame.offsetHeight - frame.clientHeight)}px`);
  for (let round = 0; round < FRAME_ROUNDS; round++) {
    const grown = inside.filter((element) => element.getBoundingClientRect().height > (heights.get(element) ?? 0) + 1);
    if (grown.length === 0 && root.scrollHeight <= wanted + 1) return true;
    // What holds another that has grown may shrink with it.
    const innermost = grown.filter((one, index) => !one.contains(grown[index + 1] ?? null));
    const held = innermost.map((element) => ({ element, height: inner(element, heights.get(element) ?? 0) }));
    for (const { element, height } of held) {
      keep(element, 'height', `${height}px`);
      keep(element, 'min-height', 'auto');
    }
  }
  if (root.scrollHeight <= wanted + 1) return true;
  for (const { element, css } of own) element.style.cssText = css;
  return false;
}

function loosen(element: HTMLElement): void {
  const style = getComputedStyle(element);
  keep(element, 'max-height', 'none');
  keep(element, 'flex-shrink', '0');
  keep(element, 'contain', 'none');
  if (!/visible/.test(style.overflowY)) {
    if (!/visible|clip/.test(style.overflowX)) keep(element, 'overflow-x', 'clip');
    keep(element, 'overflow-y', 'visible');
  }
  if (style.position === 'fixed') keep(element, 'position', 'absolute');
  // Stretched between its own `top` and `bottom`, its height would stay the view's.
  if (/absolute|fixed/.test(style.position)) keep(element, 'bottom', 'auto');
}

/** Of a height that its borders and padding are part of, what its `height` must say. */
function inner(element: HTMLElement, height: number): number {
  const style = getComputedStyle(element);
  if (style.boxSizing === 'border-box') return Math.ceil(height);
  const edges = [style.paddingTop, style.paddingBottom, style.borderTopWidth, style.borderBottomWidth];
  return Math.ceil(height - edges.reduce((sum, edge) => sum + (Number.parseFloat(edge) || 0), 0));
}

function contentBottom(parent: HTMLElement): number {
  let bottom = 0;
  // A form's `children` may be a field of that name.
  for (const element of parent.childNodes) {
    if (!(element instanceof Element) || getComputedStyle(element).position === 'fixed') continue;
    bottom = Math.max(bottom, element.getBoundingClientRect().bottom);
  }
  return bottom;
}
