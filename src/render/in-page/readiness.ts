import { all, areaInView, documentIn, documentProperty, framesAround, isVisible } from './dom.js';
import { documents, queryTrees } from './dom-cache.js';
import { apply } from './edits.js';
import { boxInFrames } from './element.js';
import { endsInTime, passFrames } from './frames.js';

export interface Readiness {
  /** Whether the page runs no script, so that it cannot change by itself. */
  inert: boolean;
  /** Seconds until its `<meta http-equiv="refresh">`; null if there is none. */
  refreshAfterS: number | null;
  /** The images in flight that are backgrounds in view. */
  backgrounds: string[];
}

interface Budgets {
  /** Returns at once if the page runs scripts, since its clock runs first. */
  first: boolean;
  imagesInFlight: string[];
  fontsMs: number;
  imagesMs: number;
}

const FRAMES_MAX_MS = 200;

/** Waits for fonts, images in view and two frames, each within its time limit. */
export async function waitForAssets({ first, imagesInFlight, fontsMs, imagesMs }: Budgets): Promise<Readiness> {
  const readiness: Readiness = { inert: !runsScript(), refreshAfterS: refreshAfterS(), backgrounds: [] };
  apply(!first || readiness.inert);
  if (!readiness.inert) watch();
  if (first && !readiness.inert) return readiness;
  await endsInTime(Promise.all(loadingFonts().map(({ ready }) => ready)), fontsMs);
  await endsInTime(Promise.all(imagesInView().map(decoded)), imagesMs);
  await passFrames(2, FRAMES_MAX_MS);
  return imagesInFlight.length === 0 ? readiness : { ...readiness, backgrounds: backgroundsAmong(imagesInFlight) };
}

/** The number of changes after which an element counts as a running counter. */
const CHANGES = 3;
const NUMBER_MAX_CHARS = 24;
/**
 * Attributes for the position of circles and lines in an SVG. Paths and transformations are ignored, since endless
 * animations change them.
 */
const PLACES = ['cx', 'cy', 'x1', 'y1', 'x2', 'y2'];

/** Properties of inline styles. */
const SHARES = [/(?:^|[\s;])width:\s*([\d.]+%)/, /(?:^|[\s;])opacity:\s*([\d.]+)/];

const changes = new WeakMap<Node, number>();
let watching = false;
let hasCounted = false;

/**
 * Observes numbers that count up, bars that fill, parts that fade, and SVG parts that scripts move without an animation. Repeated calls
 * do nothing.
 */
function watch(): void {
  if (watching) return;
  watching = true;
  const options = {
    subtree: true,
    childList: true,
    characterData: true,
    attributeFilter: ['style', ...PLACES],
    attributeOldValue: true,
  };
  new MutationObserver((records) => records.forEach(note)).observe(document, options);
}

/** Whether anything has counted since the last call. */
export function isCounting(): boolean {
  const counted = hasCounted;
  hasCounted = false;
  return counted;
}

function note(record: MutationRecord): void {
  const { type, target } = record;
  const place = type === 'characterData' ? target.parentNode : target;
  if (place === null || !(type === 'attributes' ? isMoved(record) : isNumber(record))) return;
  const times = (changes.get(place) ?? 0) + 1;
  changes.set(place, times);
  if (times >= CHANGES) hasCounted = true;
}

function isNumber({ target, removedNodes: removed, addedNodes: added }: MutationRecord): boolean {
  const isText = target.nodeType === Node.TEXT_NODE;
  if (!isText && (removed.length !== 1 || added.length !== 1)) return false;
  const node = isText ? target : added[0];
  const text = node?.nodeType === Node.TEXT_NODE ? node.nodeValue : null;
  return text !== null && text.length <= NUMBER_MAX_CHARS && /\p{N}/u.test(text);
}

function isMoved({ target, attributeName, oldValue }: MutationRecord): boolean {
  const value = Element.prototype.getAttribute.call(target, attributeName ?? '');
  if (attributeName !== 'style') return value !== oldValue;
  return SHARES.some((share) => {
    const now = share.exec(value ?? '')?.[1];
    return now !== undefined && now !== share.exec(oldValue ?? '')?.[1];
  });
}

/** The fonts of this document, and of those in frames of the same origin, that are still loading. */
export function loadingFonts(): FontFaceSet[] {
  return documents()
    .map((one) => documentProperty('fonts', one))
    .filter(({ status }) => status === 'loading');
}

const IMAGES_MAX = 500;
const BACKGROUNDS_MAX = 5_000;
const DECODED_MAX = 1_000;
const DECODE_MAX_MS = 1_000;

/**
 * Images whose box, even if empty, touches the view, including open shadow trees and frames of the same origin. Excludes tracking pixels
 * that have not loaded. At most 500.
 */
export function imagesInView(): HTMLImageElement[] {
  const found: HTMLImageElement[] = [];
  for (const image of queryTrees('img', { frames: true }) as HTMLImageElement[]) {
    const frames = framesAround(image);
    const box = boxInFrames(image.getBoundingClientRect(), frames);
    const isShown = frames.length === 0 || box.bottom > box.top;
    const touches = isShown && box.bottom >= 0 && box.top <= innerHeight && box.right >= 0 && box.left <= innerWidth;
    const hasSource = image.currentSrc !== '' || image.hasAttribute('src') || image.hasAttribute('srcset');
    if (touches && hasSource && image.checkVisibility() && (image.complete || !isPixel(image))) found.push(image);
    if (found.length >= IMAGES_MAX) break;
  }
  return found;
}

/** Decodes all loaded images, in view or not: the first picture after a scroll may lack images that are still being decoded. */
export async function allDecoded(): Promise<void> {
  const images = queryTrees('img', { frames: true }) as HTMLImageElement[];
  const loaded = images.filter((image) => image.complete && image.naturalWidth > 0);
  await endsInTime(Promise.all(loaded.slice(0, DECODED_MAX).map(decoded)), DECODE_MAX_MS);
}

/** Resolves once the image has loaded and been decoded, or has failed. */
async function decoded(image: HTMLImageElement): Promise<void> {
  await image.decode().catch(() => undefined);
}

/** Decodes an image of ours. False if a policy of the page forbids images at `data:` addresses. */
export async function isShowable(address: string): Promise<boolean> {
  const image = new Image();
  image.src = address;
  return await image.decode().then(
    () => true,
    () => false,
  );
}

/** The URLs among these that are backgrounds in view. */
function backgroundsAmong(urls: string[]): string[] {
  let shown = '';
  for (const element of queryTrees('*').slice(0, BACKGROUNDS_MAX)) {
    const { backgroundImage } = getComputedStyle(element);
    if (!backgroundImage.includes('url("')) continue;
    const box = element.getBoundingClientRect();
    const isCounter = box.width <= 2 || box.height <= 2;
    if (!isCounter && areaInView(box) > 0 && isVisible(element)) shown += backgroundImage;
  }
  return urls.filter((url) => shown.includes(`url("${url}")`));
}

/** Judged by its specified size, since an image without a specified size also has an empty box until it loads. */
function isPixel(image: Element): boolean {
  return ['width', 'height'].some((side) => {
    const size = image.computedStyleMap().get(side);
    return size instanceof CSSUnitValue && size.unit === 'px' && size.value <= 2;
  });
}

const PROGRAM = /javascript|^(module)?$/i;
const RUNNING = 'object,embed,[onload],[onerror],[onpageshow]';

/**
 * Whether the page runs scripts, or contains a frame that runs them, is still loading or cannot be read. Without scripts, a
 * page cannot change by itself.
 */
export function runsScript(): boolean {
  // Most pages have a script element, which is faster to find than the other elements.
  const isProgram = (script: HTMLScriptElement) => PROGRAM.test(script.getAttribute('type') ?? '');
  if (documents().some((one) => [...documentProperty('scripts', one)].some(isProgram))) return true;
  if (queryTrees(RUNNING, { frames: true }).length > 0) return true;
  return queryTrees('iframe,frame', { frames: true }).some((frame) => documentIn(frame)?.readyState !== 'complete');
}

/** Seconds until a pending `<meta http-equiv="refresh">`, or null if there is none. */
function refreshAfterS(): number | null {
  const metas = all('meta[http-equiv="refresh" i]');
  const times = metas
    .map((meta) => Number.parseFloat(meta.getAttribute('content') ?? ''))
    .filter((seconds) => seconds >= 0);
  return times.length === 0 ? null : Math.min(...times);
}
