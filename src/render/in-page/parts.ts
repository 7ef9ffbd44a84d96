import { isPartlyVisible } from './clipping.js';
import { ancestry, body, flatTreeChildren, flatTreeParent, hasVisibleStyle, pageScroller } from './dom.js';

export interface ElementBox {
  /** The box in CSS px. */
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A visible part of an element that has no box of its own, and the element to scroll to. */
export interface Part {
  box: ElementBox;
  at: Element;
}

const NODES_MAX = 2_000;

/** An element's box, relative to the view. */
export function boxOf(target: Element): ElementBox {
  const own = target.getBoundingClientRect();
  const parts = isEmpty(own) ? partsOf(target) : [];
  if (parts.length === 0) return own;
  return {
    left: Math.min(...parts.map(({ box }) => box.left)),
    right: Math.max(...parts.map(({ box }) => box.right)),
    top: Math.min(...parts.map(({ box }) => box.top)),
    bottom: Math.max(...parts.map(({ box }) => box.bottom)),
  };
}

export function isEmpty(box: DOMRect): boolean {
  return box.width < 1 || box.height < 1;
}

/** The leftmost column in CSS px. A right-to-left page scrolls to the left. */
export function pageLeft(): number {
  const scroller = pageScroller();
  const isRtl = getComputedStyle(body() ?? scroller).direction === 'rtl';
  return isRtl ? scroller.clientWidth - scroller.scrollWidth : 0;
}

/** Whether scrolling cannot reach the box, because it is above or before the page's origin. */
export function isOffPage(candidate: Element, box: ElementBox): boolean {
  const scroller = pageScroller();
  if (box.right + scroller.scrollLeft > pageLeft() && box.bottom + scroller.scrollTop > 0) return false;
  return ancestry(candidate)
    .slice(1)
    .every((at) => at === scroller || (at.scrollTop === 0 && at.scrollLeft === 0));
}

/** The outermost visible boxes in an element. Fixed ones count only if there are no others. */
export function partsOf(target: Element): Part[] {
  const found: Found = { parts: [], fixed: [], visited: 0 };
  if (isRendered(target)) collect(target, false, found);
  return found.parts.length > 0 ? found.parts : found.fixed;
}

interface Found {
  parts: Part[];
  fixed: Part[];
  visited: number;
}

/** Whether neither the element nor an ancestor is hidden or transparent. */
function isRendered(element: Element): boolean {
  let at: Element | null = element;
  while (at !== null && getComputedStyle(at).display === 'contents') at = flatTreeParent(at);
  return at?.checkVisibility({ opacityProperty: true }) ?? false;
}

function collect(parent: Element, inFixed: boolean, found: Found): void {
  if (!(parent instanceof HTMLElement)) return;
  for (const node of flatTreeChildren(parent)) {
    if (found.visited++ > NODES_MAX) return;
    if (node instanceof Text) takeText(node, { parent, inFixed, found });
    if (!(node instanceof Element)) continue;
    const { display, position } = getComputedStyle(node);
    const hangs = inFixed || position === 'fixed';
    const box = node.getBoundingClientRect();
    if (!isEmpty(box) && hasVisibleStyle(node)) take(box, { at: node, isText: false }, hangs ? found.fixed : found.parts);
    else if (display === 'contents' || node.checkVisibility({ opacityProperty: true })) collect(node, hangs, found);
  }
}

function takeText(text: Text, { parent, inFixed, found }: { parent: Element; inFixed: boolean; found: Found }): void {
  if (text.data.trim() === '' || getComputedStyle(parent).visibility !== 'visible') return;
  const range = document.createRange();
  range.selectNodeContents(text);
  const box = range.getBoundingClientRect();
  if (!isEmpty(box)) take(box, { at: parent, isText: true }, inFixed ? found.fixed : found.parts);
}

function take({ left, right, top, bottom }: DOMRect, { at, isText }: { at: Element; isText: boolean }, into: Part[]): void {
  const box = { left, right, top, bottom };
  if (!isOffPage(at, box) && isPartlyVisible(box, at, isText)) into.push({ box, at });
}
