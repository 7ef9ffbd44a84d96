import {
  ancestry,
  body,
  documentProperty,
  flatTreeChildren,
  flatTreeParent,
  hasVisibleStyle,
  isPage,
  matches,
  pageBoxes,
  pageScroller,
  textBox,
  viewHeight,
} from './dom.js';

/** Finds the boxes of elements, what contains them, and which part of them is visible. */

/** A box in CSS px, relative to the view or the page. */
export interface ElementBox {
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
export const TOP_LAYER = ':modal, :popover-open, :fullscreen';
/** Boxes that clip nothing. */
const CLIPLESS = /^(inline|contents|table-(row|.*group))$/;

/**
 * The box relative to which a fixed element keeps its position during scrolling: a transformed ancestor, or a pinned one.
 * Null if it is the viewport.
 */
export function fixedContainer(element: Element): Element | null {
  for (
    let at: Element = element, parent = flatTreeParent(at);
    parent !== null;
    at = parent, parent = flatTreeParent(at)
  ) {
    // Elements in the top layer are positioned relative to the viewport.
    if (matches(at, TOP_LAYER)) return null;
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
  if (
    /paint|layout|strict|content/.test(style.contain) ||
    /transform|perspective|translate|rotate|scale|contain/.test(willChange)
  )
    return true;
  const moving = ['transform', 'perspective', 'translate', 'rotate', 'scale', 'offsetPath'] as const;
  return moving.some((property) => style[property] !== 'none');
}

/** Whether the page's scrolling moves the element. A sticky element in an inner scroller keeps its position there. */
export function isScrolledByPage(holder: Element | null): boolean {
  const root = documentProperty('documentElement');
  for (let box = holder; box !== null && box !== root; box = flatTreeParent(box)) {
    const { overflowX, overflowY, display } = getComputedStyle(box);
    if (!/auto|scroll|hidden/.test(overflowX + overflowY) || CLIPLESS.test(display)) continue;
    // The body's overflow applies to the viewport, unless the root has its own.
    return box === body() && getComputedStyle(root).overflow === 'visible';
  }
  return true;
}

/** Whether the element or an ancestor is fixed. Sticky ones do not count. */
export function isInFixed(element: Element): boolean {
  return ancestry(element).some((at) => getComputedStyle(at).position === 'fixed');
}

/** The share of a window's width, and of the view's height, from which a fixed element is a picture behind that window. */
const BEHIND_WIDTH_MIN = 0.95;
const BEHIND_HEIGHT_MIN = 0.5;
/** The height of the highest window of such a picture, in views. */
const HIGHEST_WINDOW = 2;

/**
 * The box in the flow that clips a fixed element, which is seen through it as through a window; null if there is none, or if it is so
 * high that the element stays in view while the page is scrolled, as the header of a page in one box that is clipped.
 */
export function windowOf(fixed: Element): Element | null {
  if (fixedContainer(fixed) !== null) return null;
  for (const at of ancestry(fixed).slice(1)) {
    const style = getComputedStyle(at);
    if (style.position === 'fixed' || isClippedAway(style)) return null;
    if (style.clipPath !== 'none' || (style.position === 'absolute' && style.clip !== 'auto'))
      return isWindow(at, fixed) ? at : null;
  }
  return null;
}

function isWindow(window: Element, fixed: Element): boolean {
  const [around, box] = [window.getBoundingClientRect(), fixed.getBoundingClientRect()];
  const isBehind = box.width >= BEHIND_WIDTH_MIN * around.width && box.height >= BEHIND_HEIGHT_MIN * viewHeight();
  return around.height <= (isBehind ? HIGHEST_WINDOW : 1) * viewHeight();
}

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

/** A box of the view in CSS px of the page. */
export function onPage(
  { left, top, right, bottom }: ElementBox,
  { scrollLeft, scrollTop }: Pick<Element, 'scrollLeft' | 'scrollTop'> = pageScroller(),
): ElementBox {
  return { left: left + scrollLeft, top: top + scrollTop, right: right + scrollLeft, bottom: bottom + scrollTop };
}

export function overlaps(one: ElementBox, other: ElementBox): boolean {
  return one.right > other.left && one.left < other.right && one.bottom > other.top && one.top < other.bottom;
}

export function isEmpty(box: DOMRect): boolean {
  return box.width < 1 || box.height < 1;
}

/**
 * The first column and row of the page in CSS px, which are negative where the page scrolls to the left or upwards, as its direction and
 * writing mode say (CSS Writing Modes 4, 6.4).
 */
export function pageStart(): { left: number; top: number } {
  const { scrollWidth, scrollHeight, clientWidth, clientHeight } = pageScroller();
  const { direction, writingMode } = getComputedStyle(body() ?? pageScroller());
  const [isRtl, isHorizontal] = [direction === 'rtl', writingMode === 'horizontal-tb'];
  const isLeftward = isHorizontal ? isRtl : writingMode.endsWith('-rl');
  const isUpward = !isHorizontal && isRtl !== (writingMode === 'sideways-lr');
  return { left: isLeftward ? clientWidth - scrollWidth : 0, top: isUpward ? clientHeight - scrollHeight : 0 };
}

/** The first column of the page, and the one after its last, in CSS px. */
export function pageColumns(): Pick<ElementBox, 'left' | 'right'> {
  const { clientWidth, scrollWidth } = pageScroller();
  // Content beside a view that does not scroll horizontally is not part of the page.
  const cuts = pageBoxes().some((box) => /hidden|clip/.test(getComputedStyle(box).overflowX));
  const { left } = pageStart();
  return cuts ? { left: 0, right: clientWidth } : { left, right: left + scrollWidth };
}

/** Whether scrolling cannot reach the box, because it is above or before the page's origin. */
export function isOffPage(candidate: Element, box: DOMRect): boolean {
  const scroller = pageScroller();
  const { left, top } = pageStart();
  if (box.right + scroller.scrollLeft > left && box.bottom + scroller.scrollTop > top) return false;
  return ancestry(candidate)
    .slice(1)
    .every((at) => at === scroller || (at.scrollTop === 0 && at.scrollLeft === 0));
}

/** Whether any part of this element's box, or of a text in it, remains visible after clipping, or can be scrolled to. */
export function isPartlyVisible(
  { left, top, right, bottom, width, height }: DOMRect,
  of: Element,
  isText = false,
): boolean {
  // A line is thin in one direction only; a box that is thin in both is for screen readers.
  if (width < 2 && height < 2) return false;
  let visible: ElementBox = { left, top, right, bottom };
  let position = isText ? 'static' : getComputedStyle(of).position;
  for (let at: Element | null = of; at !== null && !isPage(at); at = flatTreeParent(at)) {
    const style = getComputedStyle(at);
    if (isClippedAway(style)) return false;
    if ((at === of && !isText) || !isAround(at, style, position)) continue;
    position = style.position;
    visible = afterClipBy(visible, at, style);
  }
  return visible.right - visible.left >= Math.min(2, width) && visible.bottom - visible.top >= Math.min(2, height);
}

/** The part of an element's box that the boxes around it show at their present scroll positions; null if there is none. */
export function shownPart({ left, top, right, bottom }: ElementBox, of: Element): ElementBox | null {
  let visible: ElementBox = { left, top, right, bottom };
  let { position } = getComputedStyle(of);
  for (
    let inner: Element = of, at = flatTreeParent(of);
    at !== null && !isPage(at);
    inner = at, at = flatTreeParent(at)
  ) {
    // Nothing clips an element in the top layer.
    if (matches(inner, TOP_LAYER)) break;
    // The legend of a fieldset stands on its border.
    if (at.localName === 'fieldset' && inner.localName === 'legend') continue;
    const style = getComputedStyle(at);
    if (!isAround(at, style, position)) continue;
    position = style.position;
    const { display, overflowX, overflowY } = style;
    const hasMargin = () => Number.parseFloat(style.getPropertyValue('overflow-clip-margin')) > 0;
    const clips = (overflow: string) => (overflow === 'visible' || hasMargin() ? 'visible' : 'hidden');
    visible = afterClipBy(visible, at, { display, overflowX: clips(overflowX), overflowY: clips(overflowY) });
  }
  return visible.right > visible.left && visible.bottom > visible.top ? visible : null;
}

/** Whether an element's own clip leaves nothing, as in texts for screen readers and closed panels. */
export function isClippedAway({ clip, clipPath, position }: CSSStyleDeclaration): boolean {
  if (/absolute|fixed/.test(position) && /^rect\((\d+px)(, \1){3}\)$/.test(clip)) return true;
  return /^inset\((50%|[^()]*100%)/.test(clipPath);
}

/** Whether a box of this style clips an element with this position, because it is part of its containing block chain. */
function isAround(box: Element, style: CSSStyleDeclaration, position: string): boolean {
  if (position !== 'absolute' && position !== 'fixed') return true;
  return (position === 'absolute' && style.position !== 'static') || containsFixed(box, style);
}

/** The part of a rectangle that a box leaves visible. For a scroller, the part after scrolling it there. */
function afterClipBy(
  visible: ElementBox,
  at: Element,
  { display, overflowX, overflowY }: Pick<CSSStyleDeclaration, 'display' | 'overflowX' | 'overflowY'>,
): ElementBox {
  if (!(at instanceof HTMLElement) || CLIPLESS.test(display)) return visible;
  const box = at.getBoundingClientRect();
  const [wide, high] = [box.width / (at.offsetWidth || 1), box.height / (at.offsetHeight || 1)];
  const left = box.left + at.clientLeft * wide;
  const top = box.top + at.clientTop * high;
  const across = cutLine([visible.left, visible.right], [left, left + at.clientWidth * wide], overflowX);
  const down = cutLine([visible.top, visible.bottom], [top, top + at.clientHeight * high], overflowY);
  return { left: across[0], right: across[1], top: down[0], bottom: down[1] };
}

function cutLine([from, to]: [number, number], [start, end]: [number, number], overflow: string): [number, number] {
  if (overflow === 'visible') return [from, to];
  if (overflow === 'hidden' || overflow === 'clip') return [Math.max(from, start), Math.min(to, end)];
  const length = Math.min(to - from, end - start);
  const begin = Math.max(start, Math.min(from, end - length));
  return [begin, begin + length];
}

/** The outermost visible boxes in an element. Fixed ones count only if there are no others. */
export function partsOf(target: Element): Part[] {
  const parts: Part[] = [];
  const fixed: Part[] = [];
  let visited = 0;
  const collect = (parent: Element, inFixed: boolean) => {
    if (!(parent instanceof HTMLElement)) return;
    for (const node of flatTreeChildren(parent)) {
      if (visited++ > NODES_MAX) return;
      const isElement = node instanceof Element;
      if (!isElement && !(node instanceof Text && node.data.trim() !== '')) continue;
      const at = isElement ? node : parent;
      const box = isElement ? node.getBoundingClientRect() : textBox(node);
      const isFixed = inFixed || (isElement && getComputedStyle(node).position === 'fixed');
      const isVisible = isElement ? hasVisibleStyle(node) : getComputedStyle(parent).visibility === 'visible';
      if (!isEmpty(box) && isVisible) {
        const isPart = !isOffPage(at, box) && isPartlyVisible(box, at, !isElement);
        if (isPart) (isFixed ? fixed : parts).push({ box, at });
      } else if (isElement && isOpaque(node)) collect(node, isFixed);
    }
  };
  if (isOpaque(target)) collect(target, false);
  return parts.length > 0 ? parts : fixed;
}

/** Whether an element is rendered, be it without a box of its own, and not fully transparent. */
export function isOpaque(element: Element): boolean {
  const holder = ancestry(element).find((at) => getComputedStyle(at).display !== 'contents');
  if (holder?.checkVisibility() !== true) return false;
  if (holder.checkVisibility({ opacityProperty: true })) return true;
  for (const at of ancestry(holder)) {
    if (Number(getComputedStyle(at).opacity) === 0) return false;
    // The transparency of what is around it does not apply to the top layer.
    if (matches(at, TOP_LAYER)) return true;
  }
  return true;
}

/** Whether an element takes up room among its siblings. */
export function isInFlow(element: Element): boolean {
  return !/absolute|fixed/.test(getComputedStyle(element).position);
}

/** Whether a transform does more than move an element in its plane. */
export function isZoomed(element: Element): boolean {
  const { transform, scale, rotate } = getComputedStyle(element);
  if (scale !== 'none' || rotate !== 'none') return true;
  if (transform === 'none') return false;
  const { is2D, a, b, c, d } = new DOMMatrix(transform);
  return !is2D || a !== 1 || b !== 0 || c !== 0 || d !== 1;
}
