import type { PageKit } from './page-kit.js';

/** `covered`: nothing is seen but a bare sheet that lies over the whole view, and over something. */
export type Sight = 'something' | 'nothing' | 'covered';

/** Runs in the page. Text or a picture anywhere, or a coloured box; of a page that is covered, on its cover. Not `something` when in doubt. */
export function lookForBlank(kit: PageKit): Sight {
  const LOOKED_AT = 5_000;
  const root: Element | null = kit.documentProperty('documentElement');
  if (root === null) return 'nothing';
  if (root.namespaceURI !== 'http://www.w3.org/1999/xhtml') {
    return kit.documentProperty('contentType') !== 'image/svg+xml' && (root.textContent ?? '').trim() !== '' ? 'something' : 'nothing';
  }
  let moving: Element[] | undefined;
  const cover = coverAtRest();
  if (cover !== null && holdsSomething(cover)) return 'something';
  if (cover !== null && holdsSomething(root)) return 'covered';
  return holdsSomething(root) || isColoured(root) || isColoured(kit.body()) ? 'something' : 'nothing';

  /** What has begun to fade out is gone when the picture is taken. */
  function coverAtRest(): Element | null {
    const found = kit.coverOnTop();
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
    if (!kit.isVisible(element)) return false;
    if (Element.prototype.checkVisibility.call(element, { opacityProperty: true })) return true;
    return isMoving(element);
  }

  function isMoving(element: Element): boolean {
    moving ??= movingElements();
    return moving.some((target) => target.contains(element));
  }

  function movingElements(): Element[] {
    const effects = kit.finiteMotion().map(({ effect }) => effect);
    return effects.flatMap((effect) => (effect instanceof KeyframeEffect && effect.target !== null ? [effect.target] : []));
  }

  function isPainted(element: Element): boolean {
    if (!isSpacious(element)) return false;
    if (element !== root && element !== kit.body() && isColoured(element)) return true;
    const style = getComputedStyle(element);
    return ['Top', 'Right', 'Bottom', 'Left'].some((side) => {
      const width = Number.parseFloat(style.getPropertyValue(`border-${side.toLowerCase()}-width`));
      return width > 0 && kit.alphaOf(style.getPropertyValue(`border-${side.toLowerCase()}-color`)) > 0;
    });
  }

  /** Plain white is what an empty page looks like. */
  function isColoured(element: Element | null): boolean {
    if (element === null) return false;
    const colour = getComputedStyle(element).backgroundColor;
    return kit.alphaOf(colour) > 0.02 && !/^rgba?\(255, 255, 255/.test(colour);
  }
}
