/**
 * Shrinks texts to their boxes (extensions.md, Templates): `data-fit="28"` lets an element have a smaller font, down to 28 px. A text that
 * does not fit even then is cut with an ellipsis if the element has `data-fit-else="ellipsis"`.
 */

const ELEMENTS_MAX = 100;
const SMALLEST_PX = 8;
const STEP_PX = 0.5;
/** Chromium rounds ascents, descents and what is between lines to whole pixels. */
const TOLERANCE_PX = 1.5;

/** A text that does not fit, and must not be cut. */
export interface Misfit {
  /** The tag of the element with its classes, such as `<h1 class="title">`. */
  element: string;
  px: number;
}

export function fit(): Misfit | null {
  for (const element of [...document.querySelectorAll<HTMLElement>('[data-fit]')].slice(0, ELEMENTS_MAX)) {
    if (isInside(element)) continue;
    const px = shrink(element);
    if (isInside(element)) continue;
    if (element.dataset.fitElse !== 'ellipsis') return { element: tagOf(element), px };
    cut(element);
  }
  return null;
}

/** Finds the largest size in which the text fits. @returns the size, the smallest one if the text fits in none */
function shrink(element: HTMLElement): number {
  const size = Number.parseFloat(element.dataset.fit ?? '');
  const smallest = size > 0 ? size : SMALLEST_PX;
  const largest = Number.parseFloat(getComputedStyle(element).fontSize);
  let fitting = 0;
  let steps = Math.max(0, Math.floor((largest - smallest) / STEP_PX));
  const sizeOf = (nth: number) => smallest + nth * STEP_PX;
  const setSize = (nth: number) => element.style.setProperty('font-size', `${sizeOf(nth)}px`, 'important');
  while (fitting < steps) {
    const middle = Math.ceil((fitting + steps) / 2);
    setSize(middle);
    if (isInside(element)) fitting = middle;
    else steps = middle - 1;
  }
  setSize(fitting);
  return sizeOf(fitting);
}

/** Whether all lines of text are inside the content box. Scrolling sizes do not tell: they count what glyphs have beyond their lines. */
function isInside(element: HTMLElement): boolean {
  const style = getComputedStyle(element);
  const px = (name: string) => Number.parseFloat(style.getPropertyValue(name)) || 0;
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const inset = (side: string) => px(`border-${side}-width`) + px(`padding-${side}`) - TOLERANCE_PX;
  const box = {
    left: left + inset('left'),
    top: top + inset('top'),
    right: right - inset('right'),
    bottom: bottom - inset('bottom'),
  };
  return textsOf(element).every((text) => linesOf(text).every((line) => contains(box, line)));
}

type Box = Pick<DOMRect, 'left' | 'top' | 'right' | 'bottom'>;

function contains(box: Box, line: Box): boolean {
  return line.left >= box.left && line.right <= box.right && line.top >= box.top && line.bottom <= box.bottom;
}

/** A line is as high as its `line-height`, around the middle of its glyphs. */
function linesOf(text: Text): Box[] {
  const range = document.createRange();
  range.selectNodeContents(text);
  const lineHeight = Number.parseFloat(getComputedStyle(text.parentElement ?? document.body).lineHeight);
  return [...range.getClientRects()].map(({ left, right, top, bottom }) => {
    const half = (Number.isNaN(lineHeight) ? bottom - top : Math.min(lineHeight, bottom - top)) / 2;
    const middle = (top + bottom) / 2;
    return { left, right, top: middle - half, bottom: middle + half };
  });
}

function textsOf(element: HTMLElement): Text[] {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) texts.push(node as Text);
  return texts;
}

/** Leaves as many characters, as readers see them, as fit with an ellipsis behind them. */
function cut(element: HTMLElement): void {
  const texts = textsOf(element).map((node) => ({ node, whole: node.data }));
  const all = texts.map(({ whole }) => whole).join('');
  const ends = [...new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(all)].map(({ index }) => index);
  const keep = (chars: number) => {
    let left = chars;
    for (const { node, whole } of texts) {
      const kept = whole.slice(0, Math.max(0, left));
      const isLast = left > 0 && left <= whole.length;
      node.data = isLast ? `${kept.trimEnd()}…` : left > 0 ? kept : '';
      left -= whole.length;
    }
  };
  let fitting = 0;
  for (let end = ends.length - 1; fitting < end; ) {
    const middle = Math.ceil((fitting + end) / 2);
    keep(ends[middle] ?? 0);
    if (isInside(element)) fitting = middle;
    else end = middle - 1;
  }
  keep(ends[fitting] ?? 0);
}

function tagOf({ localName, className }: HTMLElement): string {
  const classes = className.slice(0, 60);
  return `<${localName}${classes === '' ? '' : ` class="${classes}"`}>`;
}
