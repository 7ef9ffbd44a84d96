import { containsFixed } from './containing.js';
import { flatTreeParent } from './dom.js';

/** A rectangle in CSS px, relative to the view. */
interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Whether any part of this element's boxes or text remains visible after clipping. */
export function isPartlyVisible(box: Box, of: Element, isText = false): boolean {
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  // A line is thin in one direction only; a box that is thin in both is for screen readers.
  if (width < 2 && height < 2) return false;
  let seen = isText ? box : afterOwnClip(box, of);
  let position = isText ? 'static' : getComputedStyle(of).position;
  const [page, root] = [document.body, document.documentElement];
  for (let at = isText ? of : flatTreeParent(of); at !== null && at !== page && at !== root; at = flatTreeParent(at)) {
    seen = afterOwnClip(seen, at);
    const style = getComputedStyle(at);
    if (!holds(at, style, position)) continue;
    position = style.position;
    seen = afterClipBy(seen, at, style);
  }
  return seen.right - seen.left >= Math.min(2, width) && seen.bottom - seen.top >= Math.min(2, height);
}

/** The part of a rectangle that remains after the element's own `clip` and `clip-path: inset()`. */
function afterOwnClip(seen: Box, at: Element): Box {
  const { clipPath, clip, position } = getComputedStyle(at);
  if (/absolute|fixed/.test(position) && /^rect\((\d+px)(, \1){3}\)$/.test(clip)) return { ...seen, right: seen.left, bottom: seen.top };
  const insets = /^inset\(([^()]*?)( round [^()]*)?\)/.exec(clipPath)?.[1]?.split(' ');
  if (insets === undefined) return seen;
  const box = at.getBoundingClientRect();
  const px = (value: string, whole: number) => (Number.parseFloat(value) || 0) * (value.endsWith('%') ? whole / 100 : 1);
  const [top = '0', right = top, bottom = top, left = right] = insets;
  return {
    left: Math.max(seen.left, box.left + px(left, box.width)),
    right: Math.min(seen.right, box.right - px(right, box.width)),
    top: Math.max(seen.top, box.top + px(top, box.height)),
    bottom: Math.min(seen.bottom, box.bottom - px(bottom, box.height)),
  };
}

/** Whether a box of this style clips an element with this position, because it is part of its containing block chain. */
function holds(box: Element, style: CSSStyleDeclaration, position: string): boolean {
  if (position !== 'absolute' && position !== 'fixed') return true;
  return (position === 'absolute' && style.position !== 'static') || containsFixed(box, style);
}

/** The part of a rectangle that a box leaves visible. For a scroller, the part after scrolling it there. */
function afterClipBy(seen: Box, at: Element, { display, overflowX, overflowY }: CSSStyleDeclaration): Box {
  if (!(at instanceof HTMLElement) || /^(inline|contents|table-(row|.*group))$/.test(display)) return seen;
  const box = at.getBoundingClientRect();
  const [wide, high] = [box.width / (at.offsetWidth || 1), box.height / (at.offsetHeight || 1)];
  const left = box.left + at.clientLeft * wide;
  const top = box.top + at.clientTop * high;
  const across = cutLine([seen.left, seen.right], [left, left + at.clientWidth * wide], overflowX);
  const down = cutLine([seen.top, seen.bottom], [top, top + at.clientHeight * high], overflowY);
  return { left: across[0], right: across[1], top: down[0], bottom: down[1] };
}

function cutLine([from, to]: [number, number], [start, end]: [number, number], overflow: string): [number, number] {
  if (overflow === 'visible') return [from, to];
  if (overflow === 'hidden' || overflow === 'clip') return [Math.max(from, start), Math.min(to, end)];
  const length = Math.min(to - from, end - start);
  const begin = Math.max(start, Math.min(from, end - length));
  return [begin, begin + length];
}
