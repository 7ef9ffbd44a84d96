/** The blocker's in-page calls other than consent platforms: inspecting, hiding, declining, and unlocking scrolling. */

export { dismiss, unlockScroll } from './dismiss.js';
export { applyHidingRules, applyStartRules, awaitBanner, isBanner, look } from './look.js';
export { setBannerFrames } from './overlays.js';
export { suppressBanners } from './suppress-banners.js';
