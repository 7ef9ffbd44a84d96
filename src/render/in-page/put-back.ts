import { isInFlow } from './boxes.js';
import { force, isPage, pageScroller } from './dom.js';
import { attributesOf, drawings, lacksCopies, looks, reused, type State } from './looks.js';
import { bestShown, type MissingPart, missing, onceCalled } from './missing-parts.js';
import { isInMovedAlong } from './moved-along.js';
import { isShowable } from './readiness.js';
import { contentOf, drawnOn, observer, presentSights, showsSomething } from './sights.js';

/** Puts missing parts back where they cannot be captured at the scroll position at which they were seen, as on paper. */

/**
 * Puts the missing parts of a page back into the state in which most of them was visible.
 * @param within the element of which only the parts that are still there are put back; by default, all those of the whole page are
 */
export async function putBackMissing(within: Element | null = null): Promise<void> {
  const done = new Map<Element, State>();
  const removed = new Map<Element, Map<Element, number>>();
  for (const { element, areas, stage } of missing) {
    // On paper, a pinned element would be on every sheet.
    if (
      stage !== null ||
      isInMovedAlong(element) ||
      (within !== null && !(element.isConnected && within.contains(element)))
    )
      continue;
    // A list may make its rows anew for each view.
    const best = bestShown([...areas].filter(([one]) => one.states.has(element)));
    for (let at: Element | null = element; at !== within && at !== null && !isPage(at) && !done.has(at); ) {
      const state: State | undefined = best?.states.get(at);
      if (state === undefined) break;
      done.set(at, state);
      const { parent, top }: State = state;
      if (!at.isConnected && parent?.isConnected) removed.set(parent, (removed.get(parent) ?? new Map()).set(at, top));
      else if (!at.isConnected && parent !== null && at.parentNode === null) parent.append(at);
      at = parent;
    }
  }
  if (within !== null) {
    for (const [element, state] of done) restore(element, state);
    return;
  }
  // Restored paddings would move the rows that are there.
  const lists = [...removed].map(([list, rows]) => ({
    list,
    rows: [...rows, ...rowsOf(list)].sort((a, b) => a[1] - b[1]),
  }));
  for (const [element, state] of done) restore(element, state);
  for (const { list, rows } of lists) fill(list, rows);
  for (const [list, copies] of reused) {
    if (!missing.some(({ element }) => list.contains(element))) continue;
    for (const row of Array.from(list.children)) if (looks.some(({ states }) => states.has(row))) row.remove();
    fill(
      list,
      [...copies].map(([top, row]): [Element, number] => [row, top]).sort((a, b) => a[1] - b[1]),
    );
  }
  await Promise.all(missing.map(redraw));
}

/** Whether a page that will be printed lacks a part that was missing, wherever it is laid out on paper. */
export function lacksPart(): boolean {
  const { sightOf } = observer();
  const shown = onceCalled(() => new Set([...presentSights().values()].map(contentOf)));
  if (looks.some(lacksCopies)) return true;
  return missing.some(
    ({ element, content, drawn }) =>
      isInMovedAlong(element) ||
      (sightOf(element) === null && !(content.trim() !== '' && shown().has(content))) ||
      (drawn !== null && !redrawn.has(element) && drawn !== drawnOn(element)),
  );
}

/** The rows that a list has at present, with the top of each in CSS px of the page. */
function rowsOf(list: Element): [row: Element, top: number][] {
  const { scrollTop } = pageScroller();
  return Array.from(list.children)
    .filter(isFilled)
    .map((row) => [row, row.getBoundingClientRect().top + scrollTop]);
}

function restore(element: Element, { attributes, text }: State): void {
  if (text !== null && element.childElementCount === 0 && element.textContent !== text) element.textContent = text;
  const was = new Map(attributes);
  // A long address is not among those that were noted.
  for (const [name] of attributesOf(element))
    if (!was.has(name) && !name.startsWith('src')) element.removeAttribute(name);
  for (const [name, value] of was) if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Gives a list all its rows. It then needs no room for rows that are not there. */
function fill(list: Element, rows: readonly [row: Element, top: number][]): void {
  for (const child of Array.from(list.children)) if (!isFilled(child)) child.remove();
  list.append(...rows.map(([row]) => row));
  if (rows.every(([row]) => isInFlow(row)) && list instanceof HTMLElement)
    for (const side of ['padding-top', 'padding-bottom']) force(list, side, '0');
}

/** Whether an element is more than a spacer. */
function isFilled(element: Element): boolean {
  return element.childNodes.length > 0 || showsSomething(element);
}

/** Canvases that show a copy. */
const redrawn = new Set<Element>();

/** Shows in a canvas what it showed, unless it does. */
async function redraw({ element, place }: MissingPart): Promise<void> {
  const kept = drawings.get(place);
  if (kept === undefined || drawnOn(element) === kept.drawn) return;
  const image = kept.copy.toDataURL();
  if (!(await isShowable(image))) return;
  const { width, height } = kept.copy;
  Object.assign(element, { width, height });
  force(element as HTMLCanvasElement, 'content', `url(${image})`);
  redrawn.add(element);
}
