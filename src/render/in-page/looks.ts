import { type ElementBox, onPage, pageColumns } from './boxes.js';
import {
  ancestry,
  childElements,
  documentProperty,
  eachElement,
  flatTreeParent,
  isPage,
  pageScroller,
  shadowRootOf,
  viewHeight,
} from './dom.js';
import {
  appearanceOf,
  areaOf,
  BLANK,
  contentOf,
  ELEMENTS_MAX,
  observer,
  placeOf,
  type Sight,
  showsSomething,
  TEXT_MAX,
} from './sights.js';

/**
 * Records what a person sees while scrolling through a page. Some pages remove or hide parts again outside the view, as virtual lists and
 * revealing sections do: such a part is captured at the scroll position where it was seen.
 */

export interface Look {
  top: number;
  bottom: number;
  sights: Map<Element, Sight>;
  /** The appearances of the parts that were visible, and of the elements around them. */
  states: Map<Element, State>;
}

export interface State {
  attributes: [name: string, value: string][];
  /** The text of an element without others inside; null for other elements. */
  text: string | null;
  parent: Element | null;
  /** The top of its box in CSS px of the page. */
  top: number;
}

export interface Appearance extends Pick<Sight, 'moves'> {
  appearance: string;
}

export const LOOKS_MAX = 300;

/** All sights that are kept, so that an endless page does not fill its renderer's memory. */
const SIGHTS_MAX = 200_000;

/** The number of views below the view in which parts are noted as they are before they come into view. */
const AHEAD = 2;

export const looks: Look[] = [];

/** How parts appeared below the view when they were first seen there. */
export const initial = new Map<Element, Appearance>();

/** The lowest place that each stage has had, in CSS px of the page. */
export const stageEnds = new Map<Element, number>();
let sightsKept = 0;

/** Notes each part that the view shows. */
export function look(): void {
  if (isIncomplete()) return;
  const { scrollTop: top } = pageScroller();
  const view = viewHeight();
  const bottom = top + view;
  const sights = new Map<Element, Sight>();
  const states = new Map<Element, State>();
  const { sightOf, boxOf } = observer();
  eachNearView(boxOf, (element) => {
    const isNew = !initial.has(element);
    const sight = sightOf(element, { top, bottom: isNew ? bottom + AHEAD * view : bottom });
    if (sight !== null && sight.top >= bottom && isNew)
      initial.set(element, { appearance: appearanceOf(sight), moves: sight.moves });
    if (sight === null || sight.top >= bottom) return;
    sights.set(element, sight);
    keepDrawing(element, sight);
    for (let at: Element | null = element; at !== null && !isPage(at) && !states.has(at); at = flatTreeParent(at))
      states.set(at, {
        attributes: attributesOf(at),
        text: textOf(at),
        parent: flatTreeParent(at),
        top: boxOf(at).top,
      });
  });
  sightsKept += sights.size;
  const one = { top, bottom, sights, states };
  findReusedRows(one);
  looks.push(one);
  for (const stage of new Set([...stageEnds.keys(), ...[...sights.values()].map((sight) => sight.stage)]))
    if (stage !== null)
      stageEnds.set(stage, Math.max(onPage(stage.getBoundingClientRect()).bottom, stageEnds.get(stage) ?? 0));
  for (const list of reused.keys()) copyRows(list, one);
}

/** Whether more parts were visible than are kept. */
export function isIncomplete(): boolean {
  return looks.length >= LOOKS_MAX || sightsKept > SIGHTS_MAX;
}

/** Attributes that decide how an element looks, as scripts change them. */
const LOOKS_BY = /^(class|style|hidden|open|src|srcset|data-.*|aria-hidden)$/;
const VALUE_MAX_CHARS = 4_000;

function textOf(element: Element): string | null {
  if (element.childElementCount > 0 || element.childNodes.length === 0) return null;
  const text = element.textContent ?? '';
  return text.length <= TEXT_MAX ? text : null;
}

export function attributesOf(element: Element): [string, string][] {
  return Array.from(element.attributes)
    .filter(({ name, value }) => LOOKS_BY.test(name) && value.length < VALUE_MAX_CHARS)
    .map(({ name, value }) => [name, value]);
}

/** Longer documents are not searched far from the view, since each box takes 3 µs. */
const SEARCHED_MAX = 3_000;

/** The number of siblings of which only the outer two are tested first. */
const SIBLINGS = 16;

/** The elements of which all content was below the view, and near it, in an earlier look. */
const noted = new WeakSet<Element>();

/**
 * Visits the elements in the view. In a long document, those far from it inside a box that they do not overflow are passed over, and so
 * are those below the view that have been noted.
 */
function eachNearView(boxOf: (element: Element) => ElementBox, visit: (element: Element) => void): void {
  const isLong = document.getElementsByTagName('*').length > SEARCHED_MAX;
  const view = viewHeight();
  const { scrollTop } = pageScroller();
  /** -1 for an element that is more than half a view above the view, 1 for one far below, else 0. */
  const farAway = (element: Element) => {
    const box = boxOf(element);
    if (areaOf(box) === 0) return 0;
    const [top, bottom] = [box.top - scrollTop, box.bottom - scrollTop];
    if (top > (1 + AHEAD) * view) return 1;
    return bottom < -view / 2 && top + element.scrollHeight < -view / 2 ? -1 : 0;
  };
  const nearView = (siblings: Element[]) => {
    const near: Element[] = [];
    for (let from = 0; from < siblings.length; from += SIBLINGS) {
      const some = siblings.slice(from, from + SIBLINGS);
      const [first, last] = [some[0], some.at(-1)];
      const isGroup = some.length === SIBLINGS && first !== undefined && last !== undefined;
      const side = isGroup ? farAway(first) : 0;
      if (side === 0 || last === undefined || side !== farAway(last))
        near.push(...some.filter((one) => farAway(one) === 0));
    }
    return near;
  };
  const rest: (Element | ShadowRoot)[] = [documentProperty('documentElement')];
  let left = ELEMENTS_MAX;
  for (let parent = rest.pop(); parent !== undefined && left > 0; parent = rest.pop()) {
    const children = childElements(parent);
    left -= children.length;
    for (const child of isLong ? nearView(children) : children) {
      const box = boxOf(child);
      if (isLong && box.top >= scrollTop + view && noted.has(child)) continue;
      // The content of an element without an area is elsewhere.
      if (areaOf(box) > 0 && box.top > scrollTop && box.bottom <= scrollTop + (1 + AHEAD) * view) noted.add(child);
      visit(child);
      const shadow = shadowRootOf(child);
      rest.push(child, ...(shadow === null ? [] : [shadow]));
    }
  }
}

/** The height and width from which a part counts that no look has shown, in CSS px. */
const UNSEEN_MIN_PX = 40;

/** The number of scroll positions to which a page is scrolled again. */
export const STOPS_MAX = 40;

/** The distance between two scroll positions at which a part is in the middle of the view, as a share of the view's height. */
const MIDDLE_SHARE = 1 / 16;

/**
 * Some pages show a part only while all of it, or the middle of the view, is reached.
 * @returns scroll positions, from the last one, with parts in the middle that no look has shown, at most STOPS_MAX, and those
 * at which rows were seen that other items have replaced since. Parts of pinned boxes, parts that a box hides that scrolls by itself,
 * and parts of others that have not been seen either, have none.
 */
export function unseenAt(): number[] {
  look();
  const seen = new Set(looks.flatMap(({ sights }) => [...sights.keys()]));
  const { scrollHeight } = pageScroller();
  const last = Math.max(0, scrollHeight - viewHeight());
  const columns = pageColumns();
  const stops = looks.map(({ top }) => top);
  const { boxOf, aroundOf } = observer();
  const unseen = new Set<Element>();
  const isShownWithOther = (element: Element) =>
    ancestry(element).some((at) => unseen.has(at) && boxOf(at).bottom - boxOf(at).top <= viewHeight());
  const found: number[] = [];
  eachElement(ELEMENTS_MAX, (element) => {
    if (seen.has(element) || found.length >= STOPS_MAX || !mayAppear(element)) return;
    if (isShownWithOther(element) || aroundOf(element).isPinned || isScrolledAway(element)) return;
    unseen.add(element);
    const box = boxOf(element);
    const parent = flatTreeParent(element);
    const isAway = areaOf(box) < 1 || box.right <= columns.left || box.left >= columns.right;
    const { top, bottom } = isAway && parent !== null ? boxOf(parent) : box;
    const at = Math.max(0, Math.min(last, (top + bottom - viewHeight()) / 2));
    if ([...stops, ...found].every((one) => Math.abs(one - at) > viewHeight() * MIDDLE_SHARE)) found.push(at);
  });
  const again = looks
    .filter(lacksCopies)
    .map(({ top }) => top)
    .slice(0, STOPS_MAX);
  return [...new Set([...found, ...again])].sort((a, b) => b - a);
}

/** Whether an element takes up room on the page, and shows something, or is empty as if it were to be filled. */
function mayAppear(element: HTMLElement): boolean {
  const { offsetWidth, offsetHeight, childNodes } = element;
  if (!(offsetWidth >= UNSEEN_MIN_PX && offsetHeight >= UNSEEN_MIN_PX) || isPage(element)) return false;
  return childNodes.length === 0 || showsSomething(element);
}

/** Whether an element is above or below what a box that scrolls by itself shows. */
function isScrolledAway(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return ancestry(element).some((at) => {
    if (at === element || isPage(at) || at.scrollHeight <= at.clientHeight + 1) return false;
    const shown = at.getBoundingClientRect();
    return (bottom <= shown.top || top >= shown.bottom) && /auto|scroll/.test(getComputedStyle(at).overflowY);
  });
}

/** Copies of canvases as they were last seen, by their places, since a page may clear or remove them when they leave the view. */
export const drawings = new Map<string, { copy: HTMLCanvasElement; drawn: number }>();
const DRAWINGS_MAX_PX = 16_000_000;
let drawnPx = 0;

function keepDrawing(element: Element, sight: Sight): void {
  const { drawn } = sight;
  if (drawn === null) return;
  const place = placeOf(sight);
  const former = drawings.get(place);
  if (drawn === BLANK || former?.drawn === drawn) return;
  const { width, height } = element as HTMLCanvasElement;
  const morePx = width * height - (former === undefined ? 0 : former.copy.width * former.copy.height);
  if (drawnPx + morePx > DRAWINGS_MAX_PX) return;
  const copy = Object.assign(document.createElement('canvas'), { width, height });
  copy.getContext('2d')?.drawImage(element as HTMLCanvasElement, 0, 0);
  drawings.set(place, { copy, drawn });
  drawnPx += morePx;
}

/**
 * Lists that show other items in the same elements while the page is scrolled (vue-virtual-scroller, @angular/cdk), each with copies
 * of its rows by the top of each in CSS px of the page.
 */
export const reused = new Map<Element, Map<number, Element>>();

/** The last look that showed each part. */
const lastLooks = new Map<Element, Look>();
const ROWS_MIN = 2;
let elementsCopied = 0;

/** Notes the lists of which several rows show other items, at other places, than in the last look that showed them. */
function findReusedRows(one: Look): void {
  /** The number of contents of each row that are others, less that of those that are the same. */
  const changed = new Map<Element, number>();
  for (const [element, sight] of one.sights) {
    const before = lastLooks.get(element);
    lastLooks.set(element, one);
    const former = before?.sights.get(element);
    if (before === undefined || former === undefined || contentOf(former).trim() === '') continue;
    if (former.bottom > sight.top && former.top < sight.bottom) continue;
    let row = element;
    const hasMoved = (at: Element) => {
      const [now, then] = [one.states.get(at), before.states.get(at)];
      return now !== undefined && then !== undefined && Math.abs(now.top - then.top) >= 1;
    };
    for (let list = flatTreeParent(row); list !== null && hasMoved(list); list = flatTreeParent(row)) row = list;
    // A feed to which items are added above moves its rows, and may write their times anew.
    changed.set(row, (changed.get(row) ?? 0) + (contentOf(former) === contentOf(sight) ? -1 : 1));
  }
  const rows = new Map<Element, number>();
  for (const [row, count] of changed) {
    const list = flatTreeParent(row);
    if (count <= 0 || list === null || isPage(list) || reused.has(list)) continue;
    rows.set(list, (rows.get(list) ?? 0) + 1);
  }
  for (const [list, count] of rows) if (count >= ROWS_MIN) reused.set(list, new Map());
}

/** Keeps a copy of each row of a list that a look shows. */
function copyRows(list: Element, one: Look): void {
  for (const row of Array.from(list.children)) {
    const top = one.states.get(row)?.top;
    if (top === undefined || elementsCopied > ELEMENTS_MAX) continue;
    elementsCopied += 1 + row.getElementsByTagName('*').length;
    reused.get(list)?.set(Math.round(top), row.cloneNode(true) as Element);
  }
}

/** The row of a list that reuses its elements, and its list; null for an element that is in none. */
export function reusedRowOf(element: Element): { row: Element; list: Element } | null {
  if (reused.size === 0) return null;
  let row = element;
  for (let list = flatTreeParent(row); list !== null; list = flatTreeParent(row)) {
    if (reused.has(list)) return { row, list };
    row = list;
  }
  return null;
}

/** Whether a look has shown rows that other items have replaced since, and of which there is no copy. */
export function lacksCopies({ sights, states }: Look): boolean {
  for (const element of reused.size === 0 ? [] : sights.keys()) {
    const { row, list } = reusedRowOf(element) ?? {};
    const top = row === undefined ? undefined : states.get(row)?.top;
    if (list !== undefined && top !== undefined && reused.get(list)?.has(Math.round(top)) === false) return true;
  }
  return false;
}
