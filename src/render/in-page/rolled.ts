import { flatTreeChildren } from './dom.js';
import { inner, keep } from './expand.js';

/**
 * Lists that draw as many rows as fit into a height that a script gave them, whatever height they have: the rest of such an expanded list
 * stays empty. Each part of it is shown by scrolling the list at its former height, which is moved to where the part belongs.
 */

/** CSS px of the page. */
export interface Stretch {
  top: number;
  bottom: number;
}

export const MOST_STRETCHES = 300;

/** Expanded scrollers with the height that they had before, CSS px. */
const heights = new Map<HTMLElement, number>();
/** Share of its former height that stays empty at the end of a list. */
const EMPTY_MIN = 0.5;
/** Share of a view, or of a list's former height, that is taken at once: at the bottom edge, elements may not be shown yet. */
const STEP_SHARE = 0.75;

interface Rolled {
  list: HTMLElement;
  /** CSS px: of the page, of the list before it was expanded, and of all that it holds. */
  top: number;
  height: number;
  whole: number;
}

let rolled: Rolled[] | null = null;

/** To be called before a scroller is expanded. */
export function remember(scroller: HTMLElement): void {
  if (!heights.has(scroller)) heights.set(scroller, scroller.offsetHeight);
}

/** To be called when it has not been expanded after all. */
export function forget(scroller: HTMLElement): void {
  heights.delete(scroller);
}

/** With the page at its top: the parts of expanded lists that are empty until they are rolled to. */
export function emptyParts(): Stretch[] {
  rolled ??= [...heights].flatMap(([list, height]) => {
    const { top, height: whole } = list.getBoundingClientRect();
    const padding = Number.parseFloat(getComputedStyle(list).paddingBottom) || 0;
    return showsBelow(list, top + whole - padding - height * EMPTY_MIN) ? [] : [{ list, top: top + scrollY, height, whole }];
  });
  return rolled.flatMap(({ top, height, whole }) => inSteps({ top, bottom: top + whole }, height));
}

/** Cut into parts that a view of that height shows, CSS px; with one too many if there are more than a picture can have. */
export function inSteps({ top, bottom }: Stretch, height: number): Stretch[] {
  const step = Math.max(1, Math.floor(height * STEP_SHARE));
  const count = Math.min(MOST_STRETCHES + 1, Math.ceil((bottom - top) / step));
  return Array.from({ length: count }, (_, at) => ({ top: top + at * step, bottom: Math.min(bottom, top + (at + 1) * step) }));
}

/** Shows what lists have at that position, CSS px of the page. */
export function roll(position: number): void {
  for (const { list, top, height, whole } of rolled ?? []) {
    const by = Math.max(0, Math.min(position - top, whole - height));
    for (const property of ['height', 'min-height']) keep(list, property, `${inner(list, height)}px`);
    keep(list, 'overflow-y', 'hidden');
    keep(list, 'translate', `0 ${by}px`);
    keep(list, 'margin-bottom', `${whole - height}px`);
    list.scrollTo({ top: by, behavior: 'instant' });
  }
}

/** Whether a list shows anything that reaches below this edge, CSS px of the view. Looks at what is last first. */
function showsBelow(list: HTMLElement, edge: number): boolean {
  const range = document.createRange();
  const left: Node[] = [list];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (node instanceof Text && node.data.trim() !== '') {
      range.selectNodeContents(node);
      if (range.getBoundingClientRect().bottom > edge) return true;
    }
    if (!(node instanceof Element)) continue;
    const children = [...flatTreeChildren(node)];
    if (children.length === 0 && Element.prototype.getBoundingClientRect.call(node).bottom > edge) return true;
    left.push(...children);
  }
  return false;
}
