import { type ElementBox, isClippedAway, onPage, pageColumns } from './boxes.js';
import {
  alphaOf,
  eachElement,
  flatTreeParent,
  hasVisibleStyle,
  isPage,
  pageBoxes,
  pageScroller,
  viewHeight,
} from './dom.js';

import { isMovedAlong, notePlace } from './moved-along.js';

/** How elements appear at present, and where: each by what a person sees of it. */

/** The appearance of a part: its box in CSS px of the page, its effective opacity, and what it shows. */
export interface Sight extends ElementBox {
  opacity: number;
  text: string;
  image: string;
  name: string;
  /** A digest of its colors, its background and its mask. */
  paint: number;
  /** A digest of the colors of the page and of the boxes around it that are higher than the view. */
  theme: number;
  /** A digest of what a canvas shows; null for other elements, and for one that cannot be read. */
  drawn: number | null;
  /** The number of transforms that move it, of its own and of the elements around it. */
  moves: number;
  /** The high pinned element that it is in, which scripts may fill anew while the page is scrolled; null if none. */
  stage: Element | null;
}

export const ELEMENTS_MAX = 60_000;

/** Differences of opacity that nobody sees. */
export const OPACITY_SLACK = 0.1;

/** Filters that make a part illegible, and the opacity that it counts as having. */
const HIDING_FILTER = /blur\(([4-9]|\d\d)|(opacity|brightness)\(0(\.[0-4]\d*)?\)/;
const BLURRED = 0.3;

const REPLACED =
  /^(img|svg|canvas|video|iframe|frame|embed|object|input|textarea|select|button|progress|meter|hr|math)$/;

export const TEXT_MAX = 200;

/** Returns all parts that the page shows at present, whether they are in view or not. */
export function presentSights(): Map<Element, Sight> {
  const { sightOf } = observer();
  const found = new Map<Element, Sight>();
  eachElement(ELEMENTS_MAX, (element) => {
    const sight = sightOf(element);
    if (sight !== null) found.set(element, sight);
  });
  return found;
}

interface Around extends Pick<Sight, 'moves' | 'theme'> {
  opacity: number;
  /** The area that the boxes around show, in CSS px of the page. */
  clip: ElementBox;
  isPinned: boolean;
  stage: Element | null;
}

/**
 * Observes the page as it is at present. `sightOf` returns the appearance of an element; null for one that shows nothing itself, and
 * for pinned ones, which have their own rules. `boxOf` returns its box in CSS px of the page, `aroundOf` what the element and those around
 * it do to its content.
 */
export function observer() {
  const { scrollLeft, scrollTop } = pageScroller();
  const view = viewHeight();
  const known = new Map<Element, Around>();
  const page: Around = {
    opacity: 1,
    moves: 0,
    theme: digestOf(pageBoxes().map(paintOf)),
    clip: { ...pageColumns(), top: Number.NEGATIVE_INFINITY, bottom: Number.POSITIVE_INFINITY },
    isPinned: false,
    stage: null,
  };
  const boxes = new Map<Element, ElementBox>();
  const boxOf = (element: Element): ElementBox => {
    const before = boxes.get(element);
    if (before !== undefined) return before;
    const box = onPage(element.getBoundingClientRect(), { scrollLeft, scrollTop });
    boxes.set(element, box);
    return box;
  };
  const aroundOf = (element: Element | null): Around => {
    if (element === null || isPage(element)) return page;
    const before = known.get(element);
    if (before !== undefined) return before;
    const { opacity, moves, theme, clip, isPinned, stage } = aroundOf(flatTreeParent(element));
    const style = getComputedStyle(element);
    const clips = style.overflowX !== 'visible' && style.display !== 'inline' && style.display !== 'contents';
    const box = boxOf(element);
    const height = box.bottom - box.top;
    if (style.position === 'fixed' && box.top < scrollTop + view && box.bottom > scrollTop)
      notePlace(element, scrollTop, box.top);
    const around = {
      opacity: opacity * Number(style.opacity) * (HIDING_FILTER.test(style.filter) ? BLURRED : 1),
      moves: moves + (isMoved(style) ? 1 : 0),
      theme: height > view ? digestOf([theme, paintOf(element)]) : theme,
      clip: isClippedAway(style) ? NOWHERE : clips ? common(clip, box) : clip,
      ...pinnedBy(element, style, { isHigh: height >= view / 2, around: { isPinned, stage } }),
    };
    known.set(element, around);
    return around;
  };
  const sightOf = (element: Element, within?: { top: number; bottom: number }): Sight | null => {
    const box = boxOf(element);
    if (within !== undefined && (box.bottom <= within.top || box.top >= within.bottom)) return null;
    const text = ownText(element);
    if (
      areaOf(box) < 1 ||
      isPage(element) ||
      !element.isConnected ||
      !showsSomething(element, text) ||
      !hasVisibleStyle(element)
    )
      return null;
    const { opacity, moves, clip, isPinned, stage } = aroundOf(element);
    const visible = common(box, clip);
    if (isPinned || opacity < OPACITY_SLACK || areaOf(visible) < 1) return null;
    const content = {
      text,
      image: imageOf(element),
      paint: paintOf(element),
      theme: aroundOf(flatTreeParent(element)).theme,
      drawn: drawnOn(element),
    };
    return { ...visible, opacity, moves, ...content, name: element.localName, stage };
  };
  return { sightOf, boxOf, aroundOf };
}

export function isMoved({ transform, translate }: CSSStyleDeclaration): boolean {
  if (transform === 'none' && translate === 'none') return false;
  return translate !== 'none' || !new DOMMatrixReadOnly(transform).isIdentity;
}

/** A pinned element has rules of its own, unless it is high: pages that move sideways, or change pictures, while they are scrolled. */
function pinnedBy(
  element: Element,
  { position, overflowY }: CSSStyleDeclaration,
  { isHigh, around }: { isHigh: boolean; around: Pick<Around, 'isPinned' | 'stage'> },
) {
  const { isPinned, stage } = around;
  if (isPinned || (stage !== null && /auto|scroll/.test(overflowY))) return { isPinned: true, stage };
  if (!/fixed|sticky/.test(position) || isMovedAlong(element)) return around;
  return isHigh && !/auto|scroll/.test(overflowY) ? { isPinned, stage: stage ?? element } : { isPinned: true, stage };
}

/** Whether the element has text, an image, a background or a border of its own. */
export function showsSomething(element: Element, text = ownText(element)): boolean {
  if (text !== '' || REPLACED.test(element.localName)) return true;
  const { backgroundColor, backgroundImage, borderTopWidth, borderBottomWidth, boxShadow } = getComputedStyle(element);
  if (alphaOf(backgroundColor) > 0 || backgroundImage !== 'none' || boxShadow !== 'none') return true;
  return borderTopWidth !== '0px' || borderBottomWidth !== '0px' || pseudoOpacity(element) >= OPACITY_SLACK;
}

/** The opacity of what CSS writes or draws into an empty element, such as the icon of a font; 0 for nothing. */
function pseudoOpacity(element: Element): number {
  if (element.childNodes.length > 0) return 0;
  const styles = ['::before', '::after'].map((name) => getComputedStyle(element, name));
  return Math.max(...styles.map(({ content, opacity }) => (/^(none|normal)$/.test(content) ? 0 : Number(opacity))));
}

function paintOf(element: Element): number {
  const { color, backgroundColor, backgroundImage, maskImage, maskSize } = getComputedStyle(element);
  const images = `${backgroundImage.slice(0, TEXT_MAX)} ${maskImage.slice(0, TEXT_MAX)}`;
  return digestOf(`${color} ${backgroundColor} ${images} ${maskSize}`);
}

const CANVAS_SIDE = 16;
export const BLANK = digestOf(new Uint8Array(CANVAS_SIDE * CANVAS_SIDE * 4));
let small: OffscreenCanvasRenderingContext2D | null = null;

export function drawnOn(element: Element): number | null {
  if (element.localName !== 'canvas') return null;
  const canvas = element as HTMLCanvasElement;
  small ??= new OffscreenCanvas(CANVAS_SIDE, CANVAS_SIDE).getContext('2d', { willReadFrequently: true });
  if (small === null || canvas.width * canvas.height === 0) return null;
  small.clearRect(0, 0, CANVAS_SIDE, CANVAS_SIDE);
  small.drawImage(canvas, 0, 0, CANVAS_SIDE, CANVAS_SIDE);
  try {
    return digestOf(small.getImageData(0, 0, CANVAS_SIDE, CANVAS_SIDE).data);
  } catch {
    // A canvas with images of another origin cannot be read, nor can one on which it has been drawn.
    small = null;
    return null;
  }
}

/** FNV-1a. The strings themselves would keep the page's in memory, of which each look may have thousands. */
function digestOf(values: ArrayLike<number> | string): number {
  let digest = 0x811c9dc5;
  for (let at = 0; at < values.length; at++) {
    const value = typeof values === 'string' ? values.charCodeAt(at) : (values[at] ?? 0);
    digest = Math.imul(digest ^ value, 0x01000193);
  }
  return digest;
}

function ownText(element: Element): string {
  let text = '';
  for (let node = element.firstChild; node !== null && text.length < TEXT_MAX; node = node.nextSibling)
    if (node.nodeType === Node.TEXT_NODE) text += (node as Text).data.slice(0, TEXT_MAX).trim();
  return text;
}

/** The address of the image that an element shows; empty for one without. */
function imageOf(element: Element): string {
  if (element.localName !== 'img') return '';
  const { currentSrc, naturalWidth } = element as HTMLImageElement;
  return naturalWidth > 1 ? currentSrc.slice(0, 2 * TEXT_MAX) : '';
}

export function placeOf(sight: Sight): string {
  const { left, top, right, bottom } = sight;
  return [left, top, right, bottom].map(Math.round).join() + sight.name + contentOf(sight);
}

/** A key of all that a part shows at its place. */
export function lookOf(sight: Sight): string {
  return placeOf(sight) + appearanceOf(sight);
}

export function appearanceOf(sight: Sight): string {
  return `${contentOf(sight)} ${sight.paint} ${sight.drawn}`;
}

export function contentOf({ text, image }: Sight): string {
  return `${text} ${image}`;
}

const NOWHERE: ElementBox = { left: 0, top: 0, right: 0, bottom: 0 };

export function common(one: ElementBox, other: ElementBox): ElementBox {
  return {
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  };
}

export function areaOf({ left, top, right, bottom }: ElementBox): number {
  return Math.max(0, right - left) * Math.max(0, bottom - top);
}

export function inView(
  { left, right, ...box }: ElementBox,
  { top, bottom }: Pick<ElementBox, 'top' | 'bottom'>,
): ElementBox {
  return { left, right, top: Math.max(box.top, top), bottom: Math.min(box.bottom, bottom) };
}

export function areaBetween(box: ElementBox, between: Pick<ElementBox, 'top' | 'bottom'>): number {
  return areaOf(inView(box, between));
}
