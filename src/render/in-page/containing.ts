import { body, documentProperty, flatTreeParent, matches } from './dom.js';

/**
 * The box relative to which a fixed element keeps its position during scrolling: a transformed ancestor, or a pinned one.
 * Null if it is the viewport.
 */
export function fixedContainer(element: Element): Element | null {
  for (let at: Element = element, parent = flatTreeParent(at); parent !== null; at = parent, parent = flatTreeParent(at)) {
    // Elements in the top layer are positioned relative to the viewport.
    if (matches(at, ':modal, :popover-open, :fullscreen')) return null;
    const style = getComputedStyle(parent);
    if (style.position === 'fixed' || containsFixed(parent, style)) return parent;
  }
  return null;
}

/** Follows Chromium: inline boxes are not transformed, the root's filter applies to the viewport, and `display: contents` has neither. */
export function containsFixed(element: Element, style: CSSStyleDeclaration): boolean {
  const { display, willChange } = style;
  if (display === 'contents') return false;
  const filters = style.filter !== 'none' || style.backdropFilter !== 'none' || willChange.includes('filter');
  if (filters && element !== documentProperty('documentElement')) return true;
  if (display === 'inline') return false;
  if (style.transformStyle === 'preserve-3d' || style.contentVisibility === 'auto') return true;
  if (/paint|layout|strict|content/.test(style.contain) || /transform|perspective|translate|rotate|scale|contain/.test(willChange))
    return true;
  return [style.transform, style.perspective, style.translate, style.rotate, style.scale, style.offsetPath].some(
    (value) => value !== 'none',
  );
}

/** Whether the page's scrolling moves the element. A sticky element in an inner scroller keeps its position there. */
export function isScrolledByPage(holder: Element | null): boolean {
  const root = documentProperty('documentElement');
  for (let box = holder; box !== null && box !== root; box = flatTreeParent(box)) {
    const { overflowX, overflowY, display } = getComputedStyle(box);
    if (!/auto|scroll|hidden/.test(overflowX + overflowY) || /^(inline|contents|table-(row|header|footer).*)$/.test(display)) continue;
    // The body's overflow applies to the viewport, unless the root has its own.
    return box === body() && getComputedStyle(root).overflow === 'visible';
  }
  return true;
}

export function isPinned(element: Element, positions = ['fixed']): boolean {
  for (let at: Element | null = element; at !== null; at = flatTreeParent(at)) {
    if (positions.includes(getComputedStyle(at).position)) return true;
  }
  return false;
}
