import { isPinned } from './containing.js';
import { isWithin, scopeOf, viewHeight } from './dom.js';

/** Whether a fixed element covers the view behind the content: a background, which is shown in every section. */
export function isBackdrop(element: Element, style: CSSStyleDeclaration, box: DOMRect): boolean {
  if (box.width < innerWidth * 0.95 || box.height < viewHeight() * 0.95) return false;
  if (Number(style.zIndex) < 0) return true;
  if (element instanceof HTMLElement && element.innerText.trim()) return false;
  return style.pointerEvents === 'none' || isUnseen(element, box) || isUnder(element);
}

export function isUnseen(element: Element, box: DOMRect): boolean {
  const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)];
  const [top, bottom] = [Math.max(0, box.top), Math.min(viewHeight(), box.bottom)];
  const scope = scopeOf(element);
  return ![0.2, 0.5, 0.8].some((part) => {
    const hit = scope.elementFromPoint(left + (right - left) * part, top + (bottom - top) * part);
    return hit !== null && isWithin(hit, element);
  });
}

/** Content lies above it in places, and nowhere below it; an overlay, by contrast, covers the content around its dialog. */
function isUnder(element: Element): boolean {
  const scope = scopeOf(element);
  const over = new Set<Element>();
  const under = new Set<Element>();
  for (let point = 0; point < 25; point++) {
    const hits = scope.elementsFromPoint(innerWidth * ((point % 5) * 0.2 + 0.1), viewHeight() * (Math.floor(point / 5) * 0.2 + 0.1));
    const at = hits.findIndex((hit) => isWithin(hit, element));
    if (at < 0) return false;
    for (const hit of hits.slice(0, at)) over.add(hit);
    for (const hit of hits.slice(at)) if (!isWithin(element, hit) && !isWithin(hit, element)) under.add(hit);
  }
  const content = [...over].filter((hit) => !isPinned(hit));
  return content.length > 0 && [...under].every((hit) => isPinned(hit) || content.some((one) => isWithin(one, hit)));
}
