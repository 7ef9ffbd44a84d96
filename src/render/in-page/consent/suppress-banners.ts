import { hide, hideBackdrops } from './dismiss.js';
import { bannersIn } from './overlays.js';

let holds = false;

/** From now on, hides each banner before it is painted. Used between the last inspection and the picture. */
export function suppressBanners(): void {
  if (holds) return;
  holds = true;
  const hideIn = (node: Node) => {
    if (!(node instanceof HTMLElement)) return;
    const banners = bannersIn(node);
    for (const { element } of banners) hide(element);
    if (banners.length > 0) hideBackdrops();
  };
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) for (const node of type === 'childList' ? addedNodes : [target]) hideIn(node);
  }).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ['class', 'style', 'hidden', 'open'] });
}
