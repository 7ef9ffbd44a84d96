import { coverOnTop } from './cover.js';
import { body, documentProperty, isVisible } from './dom.js';
import { finiteMotion } from './motion.js';
import { alphaOf } from './styles.js';

/** `covered`: nothing is seen but a bare sheet that lies over the whole view, and over something. */
export type Sight = 'something' | 'nothing' | 'covered';

const LOOKED_AT = 5_000;

/** What has an animation that ends, as this look found it. */
let moving: Element[] | null = null;

/** Text or a picture anywhere, or a coloured box; of a page that is covered, on its cover. Not `something` when in doubt. */
export function look(): Sight {
  moving = null;
  const root: Element | null = documentProperty('documentElement');
  if (root === null) return 'nothing';
  if (root.namespaceURI !== 'http://www.w3.org/1999/xhtml') {
    return documentProperty('contentType') !== 'image/svg+xml' && (root.textContent ?? '').trim() !== '' ? 'something' : 'nothing';
  }
  const cover = coverAtRest();
  if (cover !== null && holdsSomething(cover)) return 'something';
  if (cover !== null && holdsSomething(root)) return 'covered';
  return holdsSomething(root) || isColoured(root) || isColoured(body()) ? 'something' : 'nothing';
}

/** What has begun to fade out is gone when the picture is taken. */
function coverAtRest(): Element | null {
  const found = coverOnTop();
  return found === null || isMoving(found) ? null : found;
}

function holdsSomething(scope: Element): boolean {
  const texts = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
  for (let looked = 0; looked < LOOKED_AT && texts.nextNode(); looked++) {
    const parent = texts.currentNode.parentElement;
    if ((texts.currentNode.nodeValue ?? '').trim() !== '' && parent !== null && isSpacious(parent) && isShown(parent)) return true;
  }
  let looked = 0;
  for (const element of scope.getElementsByTagName('*')) {
    if (++looked > LOOKED_AT) return true;
    if (!isShown(element)) continue;
    if (element instanceof HTMLImageElement && element.naturalWidth > 1) return true;
    if (/^(input|button|select|textarea|progress|meter|hr)$/i.test(element.tagName)) return true;
    if (isPainted(element)) return true;
  }
  return false;
}

/** Words for screen readers alone have a box of a pixel. */
function isSpacious(element: Element): boolean {
  const { width, height } = element.getBoundingClientRect();
  return width * height >= 4;
}

/** What has just begun to fade in is transparent only now: the picture is taken of its end. */
function isShown(element: Element): boolean {
  if (!isVisible(element)) return false;
  return Element.prototype.checkVisibility.call(element, { opacityProperty: true }) || isMoving(element);
}

function isMoving(element: Element): boolean {
  moving ??= finiteMotion().flatMap(({ effect }) => (effect instanceof KeyframeEffect && effect.target !== null ? [effect.target] : []));
  return moving.some((target) => target.contains(element));
}

function isPainted(element: Element): boolean {
  if (!isSpacious(element)) return false;
  if (element !== documentProperty('documentElement') && element !== body() && isColoured(element)) return true;
  const style = getComputedStyle(element);
  return ['top', 'right', 'bottom', 'left'].some((side) => {
    const width = Number.parseFloat(style.getPropertyValue(`border-${side}-width`));
    return width > 0 && alphaOf(style.getPropertyValue(`border-${side}-color`)) > 0;
  });
}

/** Plain white is what an empty page looks like. */
function isColoured(element: Element | null): boolean {
  if (element === null) return false;
  const colour = getComputedStyle(element).backgroundColor;
  return alphaOf(colour) > 0.02 && !/^rgba?\(255, 255, 255/.test(colour);
}
