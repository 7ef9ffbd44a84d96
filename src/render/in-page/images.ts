import { all, areaInView, documentProperty, isVisible } from './dom.js';
import { queryTrees } from './dom-cache.js';
import { endsInTime } from './frames.js';

const IMAGES_MAX = 500;
const BACKGROUNDS_MAX = 5_000;
const DECODED_MAX = 1_000;
const DECODE_MAX_MS = 1_000;

/**
 * Images whose box, even if empty, touches the view, including open shadow trees. Excludes tracking pixels that have not
 * loaded. At most 500.
 */
export function imagesInView(): HTMLImageElement[] {
  const found: HTMLImageElement[] = [];
  for (const element of queryTrees('img')) {
    const image = element as HTMLImageElement;
    const box = Element.prototype.getBoundingClientRect.call(image);
    const touches = box.bottom >= 0 && box.top <= innerHeight && box.right >= 0 && box.left <= innerWidth;
    const asked = image.currentSrc !== '' || image.hasAttribute('src') || image.hasAttribute('srcset');
    if (!touches || !asked || !Element.prototype.checkVisibility.call(image)) continue;
    if (image.complete || !isPixel(image)) found.push(image);
    if (found.length >= IMAGES_MAX) break;
  }
  return found;
}

/** Resolves once the image has loaded and been decoded, or has failed. */
export async function decoded(image: HTMLImageElement): Promise<void> {
  if (!image.complete) {
    await new Promise((resolve) => {
      image.addEventListener('load', resolve, { once: true });
      image.addEventListener('error', resolve, { once: true });
    });
  }
  // `decode` rejects for a broken image.
  await HTMLImageElement.prototype.decode.call(image).catch(() => undefined);
}

/** Decodes all loaded images, in view or not: the first picture after a scroll may lack images that are still being decoded. */
export async function allDecoded(): Promise<void> {
  const whole = Array.from(documentProperty('images'))
    .slice(0, DECODED_MAX)
    .filter((image) => image.complete && image.naturalWidth > 0);
  await endsInTime(Promise.all(whole.map((image) => HTMLImageElement.prototype.decode.call(image).catch(() => {}))), DECODE_MAX_MS);
}

/** The URLs among these that are backgrounds in view. */
export function backgroundsAmong(urls: string[]): string[] {
  let shown = '';
  for (const element of all('body,body *').slice(0, BACKGROUNDS_MAX)) {
    const { backgroundImage } = getComputedStyle(element);
    if (!backgroundImage.includes('url("')) continue;
    const box = Element.prototype.getBoundingClientRect.call(element);
    const isCounter = box.width <= 2 || box.height <= 2;
    if (!isCounter && areaInView(box) > 0 && isVisible(element)) shown += backgroundImage;
  }
  return urls.filter((url) => shown.includes(`url("${url}")`));
}

/** EncodedPicture by its specified size, since an image without a specified size also has an empty box until it loads. */
function isPixel(image: Element): boolean {
  return ['width', 'height'].some((side) => {
    const size = image.computedStyleMap().get(side);
    return size instanceof CSSUnitValue && size.unit === 'px' && size.value <= 2;
  });
}
