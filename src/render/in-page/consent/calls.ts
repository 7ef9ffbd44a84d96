/** What the blocker does inside a page, beside consent platforms: looking, hiding, refusing, freeing the scroll. */

export { dismiss, freeScroll } from './dismiss.js';
export { holdBack } from './hold-back.js';
export { awaitBanner, hideFromStart, isBanner, lay, look } from './look.js';
export { tellFrames } from './overlays.js';
