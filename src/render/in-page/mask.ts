import { type ElementBox, isOpaque, onPage, overlaps, type Part, shownPart } from './boxes.js';
import { type Found, findDeep } from './deep-selector.js';
import { flatTreeChildren, isElement, pageScroller, textBox } from './dom.js';
import { boxInFrames } from './element.js';

/** A shot of stopped pages is moved by less than a CSS px. */
const MARGIN_PX = 2;

/**
 * The visible boxes, within `shown`, of all matching elements. Elements that are not rendered or fully transparent have none.
 * @param area the part in CSS px of the page; null for the view
 * @param maxCount one more box than this is returned if there are more
 * @returns the boxes to paint over, the upper left corner of what the view shows, both in CSS px of the page, and the page's own zoom
 */
export function boxes(selectors: string[], area: ElementBox | null, maxCount: number) {
  const { scrollLeft, scrollTop } = pageScroller();
  const {
    pageLeft: left = scrollLeft,
    pageTop: top = scrollTop,
    scale = 1,
    width = innerWidth,
    height = innerHeight,
  } = visualViewport ?? {};
  const part = area ?? { left, top, right: left + width, bottom: top + height };
  const visible = {
    left: part.left - MARGIN_PX,
    top: part.top - MARGIN_PX,
    right: part.right + MARGIN_PX,
    bottom: part.bottom + MARGIN_PX,
  };
  const found: ElementBox[] = [];
  for (const match of new Map(
    selectors.flatMap((one) => findDeep(one).found).map((each) => [each.element, each]),
  ).values()) {
    if (found.length > maxCount) break;
    for (const box of boxesOf(match, visible).map((box) => onPage(box))) if (overlaps(box, visible)) found.push(box);
  }
  return { boxes: found.slice(0, maxCount + 1), view: { left, top, zoom: scale } };
}

/**
 * Relative to the view. An element without a box of its own has those of its parts.
 * @param visible in CSS px of the page; what is elsewhere may be missing
 */
function boxesOf({ element, frames }: Found, visible: ElementBox): ElementBox[] {
  const isInFrames = frames.length > 0;
  if (isInFrames && !frames.every(isOpaque)) return [];
  return partsOf(element).flatMap(({ box, at }) => {
    // Finding what the boxes around an element show of it takes long, and a page may have thousands of matches elsewhere.
    if (!isInFrames && !overlaps(onPage(box), visible)) return [];
    const shown = isInFrames ? boxInFrames(box, frames) : shownPart(box, at);
    return shown !== null && shown.right > shown.left && shown.bottom > shown.top ? [shown] : [];
  });
}

/** The outermost boxes of an element and what is inside of it. Their number is limited by the time of the call alone: none may be missed. */
function partsOf(element: Element): Part[] {
  const own = paintedBox(element);
  if (!isThin(own)) return isOpaque(element) ? [{ box: own, at: element }] : [];
  return [...flatTreeChildren(element)].flatMap((node) => {
    if (isElement(node)) return partsOf(node);
    const box =
      node.nodeType === Node.TEXT_NODE && getComputedStyle(element).visibility === 'visible' ? textBox(node) : null;
    return box !== null && !isThin(box) && isOpaque(element) ? [{ box, at: element }] : [];
  });
}

function isThin({ left, right, top, bottom }: ElementBox): boolean {
  return right - left < 1 || bottom - top < 1;
}

/** The browser's box of a shape in an SVG is without its stroke, so that a straight line has none. */
function paintedBox(element: Element): ElementBox {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const shape = element as Partial<SVGGeometryElement>;
  const matrix = typeof shape.getTotalLength === 'function' ? shape.getScreenCTM?.() : null;
  if (!matrix) return { left, top, right, bottom };
  const { stroke, strokeWidth } = getComputedStyle(element);
  const scale = Math.max(Math.hypot(matrix.a, matrix.b), Math.hypot(matrix.c, matrix.d));
  const margin = stroke === 'none' ? 0 : (scale * Number.parseFloat(strokeWidth)) / 2 || 0;
  return { left: left - margin, top: top - margin, right: right + margin, bottom: bottom + margin };
}
