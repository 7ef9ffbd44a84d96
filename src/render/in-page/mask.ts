import { type ElementBox, isEmpty, partsOf, shownPart } from './boxes.js';
import { type Found, findDeep } from './deep-selector.js';
import { pageScroller } from './dom.js';
import { boxInFrames } from './element.js';

/** The boxes to paint over, in CSS px of the page, and the part of the page that the view shows. */
export interface MaskedBoxes {
  boxes: ElementBox[];
  /** CSS px of the page, and the page's own zoom. */
  view: { left: number; top: number; zoom: number };
}

/** A shot of stopped pages is moved by less than a CSS px. */
const MARGIN_PX = 2;

/**
 * The boxes in a part of the page of all elements that match, as far as the boxes around them show them. Elements that are not
 * rendered or fully transparent have none.
 * @param shown the part in CSS px of the page; null for the view
 * @param most one more box than this is returned if there are more
 */
export function boxes(selectors: string[], shown: ElementBox | null, most: number): MaskedBoxes {
  const { scrollLeft, scrollTop } = pageScroller();
  const {
    pageLeft: left = scrollLeft,
    pageTop: top = scrollTop,
    scale = 1,
    width = innerWidth,
    height = innerHeight,
  } = visualViewport ?? {};
  const part = shown ?? { left, top, right: left + width, bottom: top + height };
  const found: ElementBox[] = [];
  for (const match of new Map(selectors.flatMap((one) => findDeep(one).found).map((each) => [each.element, each])).values()) {
    if (found.length > most) break;
    for (const box of boxesOf(match)) {
      const onPage = {
        left: box.left + scrollLeft,
        right: box.right + scrollLeft,
        top: box.top + scrollTop,
        bottom: box.bottom + scrollTop,
      };
      if (overlaps(onPage, part)) found.push(onPage);
    }
  }
  return { boxes: found.slice(0, most + 1), view: { left, top, zoom: scale } };
}

function overlaps(box: ElementBox, part: ElementBox): boolean {
  const across = box.right > part.left - MARGIN_PX && box.left < part.right + MARGIN_PX;
  return across && box.bottom > part.top - MARGIN_PX && box.top < part.bottom + MARGIN_PX;
}

/** Relative to the view. An element without a box of its own has those of its parts. */
function boxesOf({ element, frames }: Found): ElementBox[] {
  const own = element.getBoundingClientRect();
  const isSeen = (at: Element) => at.checkVisibility({ opacityProperty: true });
  if (frames.length > 0) {
    if (isEmpty(own) || ![element, ...frames].every(isSeen)) return [];
    const box = boxInFrames(own, frames);
    return box.right > box.left && box.bottom > box.top ? [box] : [];
  }
  const parts = isEmpty(own) ? partsOf(element) : isSeen(element) ? [{ box: own, at: element }] : [];
  return parts.map(({ box, at }) => shownPart(box, at)).filter((box) => box !== null);
}
