import { all, documentProperty, eachElement, isUnveiled, viewHeight } from './dom.js';
import { orLate } from './frames.js';
import { hosts } from './pseudos.js';

/** Whether a capture beyond the viewport shows the page as a scrolled viewport would. */

const MOST_ELEMENTS = 30_000;
const MOST_IMAGES = 1_000;
const DECODE_MAX_MS = 1_000;
/** Elements that are drawn, or run, only in the viewport. */
const DRAWN_IN_VIEW = /^(canvas|embed|frame|iframe|object|video)$/;

/** With the page at its top: whether nothing is pinned below the middle of the view, moves with scrolling, or is drawn only in the view. */
export function isFlat(): boolean {
  if (all(':modal, :popover-open, :fullscreen').length > 0) return false;
  if (Document.prototype.getAnimations.call(document).some(({ timeline }) => !(timeline instanceof DocumentTimeline))) return false;
  if (hosts().some((host) => ['::before', '::after'].some((name) => /fixed|sticky/.test(getComputedStyle(host, name).position))))
    return false;
  let seen = 0;
  let flat = true;
  eachElement(MOST_ELEMENTS, (element) => {
    seen++;
    flat &&= staysThere(element);
  });
  return flat && seen < MOST_ELEMENTS;
}

/** All images, in view or not. */
export async function imagesDecoded(): Promise<void> {
  const whole = Array.from(documentProperty('images'))
    .slice(0, MOST_IMAGES)
    .filter((image) => image.complete && image.naturalWidth > 0);
  await orLate(Promise.all(whole.map((image) => HTMLImageElement.prototype.decode.call(image).catch(() => {}))), DECODE_MAX_MS);
}

function staysThere(element: HTMLElement): boolean {
  const { position, bottom, backdropFilter, backgroundAttachment, contentVisibility } = getComputedStyle(element);
  if (backgroundAttachment.includes('fixed') || contentVisibility === 'auto' || (position === 'sticky' && bottom !== 'auto')) return false;
  const isDrawnInView = DRAWN_IN_VIEW.test(element.localName) || backdropFilter !== 'none';
  if (!isDrawnInView && position !== 'fixed') return true;
  const box = Element.prototype.getBoundingClientRect.call(element);
  if (isDrawnInView && box.width > 1 && box.height > 1 && isUnveiled(element)) return false;
  return position !== 'fixed' || box.bottom <= viewHeight() / 2 || box.right <= 0 || !isUnveiled(element);
}
