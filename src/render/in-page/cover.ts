import { areaInView, body } from './dom.js';
import { alphaOf } from './styles.js';

/** Read from the prototype, since a form field may shadow any property of its form. */
const parentElement = Object.getOwnPropertyDescriptor(Node.prototype, 'parentElement')?.get;

/** The opaque element without a background image that covers the whole view; null if there is none. */
export function coverOnTop(): Element | null {
  const central = coverAt(0.5, 0.5);
  const places = [0.1, 0.5, 0.9];
  return central !== null && places.every((x) => places.every((y) => coverAt(x, y) === central)) ? central : null;
}

function coverAt(x: number, y: number): Element | null {
  const hit = Document.prototype.elementFromPoint.call(document, innerWidth * x, innerHeight * y);
  for (let layer = hit; layer !== null && layer !== body(); layer = parentElement?.call(layer) ?? null) {
    const { position, backgroundColor, backgroundImage, opacity } = getComputedStyle(layer);
    const box = Element.prototype.getBoundingClientRect.call(layer);
    if (!/^(fixed|absolute)$/.test(position) || areaInView(box) < 0.95 * innerWidth * innerHeight) continue;
    const opaque = alphaOf(backgroundColor) >= 0.9 && Number(opacity) >= 0.9;
    return opaque && !backgroundImage.includes('url(') ? layer : null;
  }
  return null;
}
