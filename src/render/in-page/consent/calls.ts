/** The blocker's in-page calls other than consent platforms: inspecting, hiding, declining, and unlocking scrolling. */

export { dismiss, unlockScroll } from './dismiss.js';
export { applyHidingRules, applyStartRules, awaitBanner, inspect, isBanner } from './inspect.js';
export { setBannerFrames } from './overlays.js';
export { suppressBanners } from './suppress-banners.js';
