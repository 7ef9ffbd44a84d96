import { all, areaInView, documentProperty, isVisible } from './dom.js';
import { orLate } from './frames.js';
import { surveyed } from './survey.js';

const MOST_IMAGES = 500;
const MOST_BACKGROUNDS_ASKED = 5_000;
const MOST_DECODED = 1_000;
const DECODE_MAX_MS = 1_000;

/**
 * Images, in open shadow trees too, whose box, though perhaps still empty, touches the view, but for counting pixels that have not come;
 * at most 500.
 */
export function imagesInView(): HTMLImageElement[] {
  const found: HTMLImageElement[] = [];
  for (const element of surveyed('img')) {
    const image = element as HTMLImageElement;
    const box = Element.prototype.getBoundingClientRect.call(image);
    const touches = box.bottom >= 0 && box.top <= innerHeight && box.right >= 0 && box.left <= innerWidth;
    const asked = image.currentSrc !== '' || image.hasAttribute('src') || image.hasAttribute('srcset');
    if (!touches || !asked || !Element.prototype.checkVisibility.call(image)) continue;
    if (image.complete || !isPixel(image)) found.push(image);
    if (found.length >= MOST_IMAGES) break;
  }
  return found;
}

/** Resolves once it is there, decoded, or as decoded as it will be. */
export async function decoded(image: HTMLImageElement): Promise<void> {
  if (!image.complete) {
    await new Promise((resolve) => {
      image.addEventListener('load', resolve, { once: true });
      image.addEventListener('error', resolve, { once: true });
    });
  }
  // Rejects for a broken image.
  await HTMLImageElement.prototype.decode.call(image).catch(() => undefined);
}

/** All images that are there, in view or not: the first picture after a scroll may lack those that are still being decoded. */
export async function allDecoded(): Promise<void> {
  const whole = Array.from(documentProperty('images'))
    .slice(0, MOST_DECODED)
    .filter((image) => image.complete && image.naturalWidth > 0);
  await orLate(Promise.all(whole.map((image) => HTMLImageElement.prototype.decode.call(image).catch(() => {}))), DECODE_MAX_MS);
}

/** Which of these addresses are backgrounds in view. */
export function backgroundsAmong(urls: string[]): string[] {
  let shown = '';
  for (const element of all('body,body *').slice(0, MOST_BACKGROUNDS_ASKED)) {
    const { backgroundImage } = getComputedStyle(element);
    if (!backgroundImage.includes('url("')) continue;
    const box = Element.prototype.getBoundingClientRect.call(element);
    const isCounter = box.width <= 2 || box.height <= 2;
    if (!isCounter && areaInView(box) > 0 && isVisible(element)) shown += backgroundImage;
  }
  return urls.filter((url) => shown.includes(`url("${url}")`));
}

/** By the size it is given: one whose size is yet to come with its picture has an empty box too. */
function isPixel(image: Element): boolean {
  return ['width', 'height'].some((side) => {
    const size = image.computedStyleMap().get(side);
    return size instanceof CSSUnitValue && size.unit === 'px' && size.value <= 2;
  });
}
