import {
  all,
  alphaOf,
  areaInView,
  body,
  documentProperty,
  flatTreeParent,
  force,
  hasVisibleStyle,
  isPage,
  isVisible,
  matches,
  pageBoxes,
} from './dom.js';
import { queryTrees } from './dom-cache.js';
import { finishMotion } from './frames.js';

/** Whether the view shows anything but its background. */

/** `covered`: an empty layer covers the whole view and the content below it. */
export type Sight = 'something' | 'nothing' | 'covered';

type Rgb = [red: number, green: number, blue: number];

const NODES_MAX = 10_000;
const CANVAS_SAMPLE_PX = 16;
/** Selectors of the elements in which frameworks mount an application. They are empty after a crash. */
const APP_ROOTS = '#root,#app,#__next,#__nuxt,#___gatsby,app-root';

/**
 * Looks for text, pictures, drawn canvases and colored boxes anywhere in the page, or on its cover. The colors of the page
 * and of an application's empty root do not count; doubtful cases are not `something`.
 * @returns also `backdrops`, the opaque colors behind all content: a view that shows only one of them has no content; and whether an
 * application's mount element is empty
 */
export function inspectView() {
  const emptyRoots = all(APP_ROOTS).filter(isEmptyRoot);
  let sight = sightOf();
  // Elements that fade in may still be transparent, and a cover that fades out still opaque.
  if (sight !== 'something' && finishMotion()) sight = sightOf();
  return { sight, backdrops: backdrops(emptyRoots), hasEmptyRoot: emptyRoots.length > 0 };
}

function sightOf(): Sight {
  const root: Element | null = documentProperty('documentElement');
  if (root === null) return 'nothing';
  if (root.namespaceURI !== 'http://www.w3.org/1999/xhtml') {
    return documentProperty('contentType') !== 'image/svg+xml' && (root.textContent ?? '').trim() !== ''
      ? 'something'
      : 'nothing';
  }
  const cover = coverOnTop();
  if (cover !== null && hasContent(cover)) return 'something';
  if (!hasContent(root)) return 'nothing';
  return cover === null ? 'something' : 'covered';
}

/** Whether a visible canvas was drawn on, in any color. */
export function hasDrawnCanvas(): boolean {
  return queryTrees('canvas').some((canvas) => isVisible(canvas) && hasVisibleStyle(canvas) && isDrawn(canvas));
}

function backdrops(emptyRoots: Element[]): Rgb[] {
  return [documentProperty('documentElement'), body(), ...emptyRoots.filter(coversView)].flatMap((element) => {
    const color = element === null ? '' : getComputedStyle(element).backgroundColor;
    return alphaOf(color) === 1 ? [rgbOf(color)] : [];
  });
}

/** Parses a color in any CSS notation. */
function rgbOf(color: string): Rgb {
  const pixel = new OffscreenCanvas(1, 1).getContext('2d');
  if (pixel === null) return [255, 255, 255];
  pixel.fillStyle = color;
  pixel.fillRect(0, 0, 1, 1);
  const [red = 255, green = 255, blue = 255] = pixel.getImageData(0, 0, 1, 1).data;
  return [red, green, blue];
}

function isEmptyRoot(element: Element): boolean {
  return matches(element, APP_ROOTS) && element.firstElementChild === null && (element.textContent ?? '').trim() === '';
}

function coversView(element: Element): boolean {
  return areaInView(element.getBoundingClientRect()) >= 0.95 * innerWidth * innerHeight;
}

/** @param without an element that does not count, nor what is inside of it */
export function hasContent(scope: Element, without: Element | null = null): boolean {
  const nodes = document.createTreeWalker(scope, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node === without ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  for (let looked = 0; nodes.nextNode() !== null; looked++)
    if (looked === NODES_MAX || isContent(nodes.currentNode)) return true;
  return false;
}

function isContent(node: Node): boolean {
  const element = node instanceof Element ? node : node.parentElement;
  if (element === null || !isVisible(element) || !hasVisibleStyle(element)) return false;
  if (node === element) return isPicture(element) || isPainted(element);
  return (node.nodeValue ?? '').trim() !== '' && hasArea(element);
}

function isPicture(element: Element): boolean {
  if (element instanceof HTMLImageElement) return element.naturalWidth > 1;
  if (element instanceof HTMLCanvasElement) return isDrawn(element);
  return /^(input|button|select|textarea|progress|meter|hr)$/i.test(element.tagName);
}

/** Text for screen readers has a box of one pixel. */
function hasArea(element: Element): boolean {
  const { width, height } = element.getBoundingClientRect();
  return width * height >= 4;
}

function isPainted(element: Element): boolean {
  if (!hasArea(element) || isPage(element)) return false;
  if (isEmptyRoot(element) && coversView(element)) return false;
  const style = getComputedStyle(element);
  // White does not count as a color, since an empty page is white.
  if (alphaOf(style.backgroundColor) > 0.02 && !/^rgba?\(255, 255, 255/.test(style.backgroundColor)) return true;
  return ['top', 'right', 'bottom', 'left'].some((side) => {
    const width = Number.parseFloat(style.getPropertyValue(`border-${side}-width`));
    return width > 0 && alphaOf(style.getPropertyValue(`border-${side}-color`)) > 0;
  });
}

/** Whether any pixel is not transparent. A canvas that cannot be read contains an image of another origin. */
function isDrawn(canvas: Element): boolean {
  const { width, height } = canvas as HTMLCanvasElement;
  if (width === 0 || height === 0) return false;
  const sample = new OffscreenCanvas(CANVAS_SAMPLE_PX, CANVAS_SAMPLE_PX).getContext('2d');
  if (sample === null) return false;
  try {
    sample.drawImage(canvas as HTMLCanvasElement, 0, 0, CANVAS_SAMPLE_PX, CANVAS_SAMPLE_PX);
    return sample
      .getImageData(0, 0, CANVAS_SAMPLE_PX, CANVAS_SAMPLE_PX)
      .data.some((value, at) => at % 4 === 3 && value > 0);
  } catch {
    return true;
  }
}

/** The opaque element without a background image that covers the whole view; null if there is none. */
export function coverOnTop(): Element | null {
  const central = coverAt(0.5, 0.5);
  const places = [0.1, 0.5, 0.9];
  return central !== null && places.every((x) => places.every((y) => coverAt(x, y) === central)) ? central : null;
}

function coverAt(x: number, y: number): Element | null {
  const hit = document.elementFromPoint(innerWidth * x, innerHeight * y);
  for (let layer = hit; layer !== null && !isPage(layer); layer = flatTreeParent(layer)) {
    const { position, backgroundColor, backgroundImage, opacity } = getComputedStyle(layer);
    if (!/^(fixed|absolute)$/.test(position) || !coversView(layer)) continue;
    const opaque = alphaOf(backgroundColor) >= 0.9 && Number(opacity) >= 0.9;
    return opaque && !backgroundImage.includes('url(') ? layer : null;
  }
  return null;
}

/**
 * Shows a page that hides itself until a script shows it (anti-flicker snippets of A/B tests), in case the script did not
 * load. The page's own time limit would do the same.
 * @returns whether it was hidden and contains text
 */
export function showHiddenPage(): boolean {
  const holders = pageBoxes();
  const page = holders.at(-1);
  if (page === undefined || hasVisibleStyle(page) || (page.textContent ?? '').trim() === '') return false;
  for (const holder of holders) {
    const { visibility, opacity } = getComputedStyle(holder);
    if (visibility === 'hidden') force(holder, 'visibility', 'visible');
    if (Number(opacity) === 0) force(holder, 'opacity', '1');
  }
  return hasVisibleStyle(page);
}
