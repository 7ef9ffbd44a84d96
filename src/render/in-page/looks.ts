import { type ElementBox, isClippedAway, isInFlow, onPage, pageColumns } from './boxes.js';
import {
  alphaOf,
  ancestry,
  documentProperty,
  eachElement,
  flatTreeParent,
  force,
  hasVisibleStyle,
  isPage,
  pageBoxes,
  pageScroller,
  shadowRootOf,
  viewHeight,
} from './dom.js';
import { isShowable } from './readiness.js';

/**
 * Records what a person sees while scrolling through a page. Some pages remove or hide parts again outside the view, as virtual lists and
 * revealing sections do: such a part is captured at the scroll position where it was seen.
 */

/** A vertical range of the page, in CSS px, and the scroll position at which all of it is visible. */
export interface PageRange {
  top: number;
  bottom: number;
  at: number;
}

/** The appearance of a part: its box in CSS px of the page, its effective opacity, and what it shows. */
interface Sight extends ElementBox {
  opacity: number;
  text: string;
  image: string;
  name: string;
  /** A digest of its colors, its background and its mask. */
  paint: number;
  /** A digest of the colors of the page and of the boxes around it that are higher than the view. */
  theme: number;
  /** A digest of what a canvas shows; null for other elements, and for one that cannot be read. */
  drawn: number | null;
  /** The number of transforms that move it, of its own and of the elements around it. */
  moves: number;
  /** The high pinned element that it is in, which scripts may fill anew while the page is scrolled; null if none. */
  stage: Element | null;
}

interface Look {
  top: number;
  bottom: number;
  sights: Map<Element, Sight>;
  /** The appearances of the parts that were visible, and of the elements around them. */
  states: Map<Element, State>;
}

interface State {
  attributes: [name: string, value: string][];
  /** The text of an element without others inside; null for other elements. */
  text: string | null;
  parent: Element | null;
  /** The top of its box in CSS px of the page. */
  top: number;
}

const ELEMENTS_MAX = 60_000;
export const LOOKS_MAX = 300;
/** All sights that are kept, so that an endless page does not fill its renderer's memory. */
const SIGHTS_MAX = 200_000;
/** Differences of opacity that nobody sees. */
const OPACITY_SLACK = 0.1;
/** Filters that make a part illegible, and the opacity that it counts as having. */
const HIDING_FILTER = /blur\(([4-9]|\d\d)|(opacity|brightness)\(0(\.[0-4]\d*)?\)/;
const BLURRED = 0.3;
/** The opacity from which a part that is dimmed can still be read, such as the dots of a carousel. */
const LEGIBLE_MIN = 0.5;
/** How far the tops of the slides of a carousel may differ, in CSS px. */
const SLIDE_SLACK_PX = 2;
/** A part of which less is left has been collapsed. */
const LEFT_MIN = 0.5;
const REPLACED =
  /^(img|svg|canvas|video|iframe|frame|embed|object|input|textarea|select|button|progress|meter|hr|math)$/;

const looks: Look[] = [];
/** The number of views below the view in which parts are noted as they are before they come into view. */
const AHEAD = 2;
/** How parts appeared below the view when they were first seen there. */
const initial = new Map<Element, Appearance>();
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
  eachNearView((element) => {
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

/** Copies of canvases as they were last seen, by their places, since a page may clear or remove them when they leave the view. */
const drawings = new Map<string, { copy: HTMLCanvasElement; drawn: number }>();
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

/**
 * Lists that show other items in the same elements while the page is scrolled (vue-virtual-scroller, @angular/cdk), each with copies
 * of its rows by the top of each in CSS px of the page.
 */
const reused = new Map<Element, Map<number, Element>>();
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
function reusedRowOf(element: Element): { row: Element; list: Element } | null {
  if (reused.size === 0) return null;
  let row = element;
  for (let list = flatTreeParent(row); list !== null; list = flatTreeParent(row)) {
    if (reused.has(list)) return { row, list };
    row = list;
  }
  return null;
}

/** Whether a look has shown rows that other items have replaced since, and of which there is no copy. */
function lacksCopies({ sights, states }: Look): boolean {
  for (const element of reused.size === 0 ? [] : sights.keys()) {
    const { row, list } = reusedRowOf(element) ?? {};
    const top = row === undefined ? undefined : states.get(row)?.top;
    if (list !== undefined && top !== undefined && reused.get(list)?.has(Math.round(top)) === false) return true;
  }
  return false;
}

/** Longer documents are not searched far from the view, since each box takes 3 µs. */
const SEARCHED_MAX = 3_000;
/** The number of siblings of which only the outer two are tested first. */
const SIBLINGS = 16;

/** Visits the elements in the view. Far from it, in a long document, those inside a box that they do not overflow are passed over. */
function eachNearView(visit: (element: Element) => void): void {
  const isLong = document.getElementsByTagName('*').length > SEARCHED_MAX;
  const view = viewHeight();
  const rest: Node[] = [documentProperty('documentElement')];
  let left = ELEMENTS_MAX;
  for (let parent = rest.pop(); parent !== undefined && left > 0; parent = rest.pop()) {
    const children = childrenOf(parent);
    left -= children.length;
    for (const child of isLong ? nearView(children, view) : children) {
      visit(child);
      const shadow = shadowRootOf(child);
      rest.push(child, ...(shadow === null ? [] : [shadow]));
    }
  }
}

function childrenOf(parent: Node): Element[] {
  const walker = document.createTreeWalker(parent, NodeFilter.SHOW_ELEMENT);
  const found: Element[] = [];
  for (let at = walker.firstChild(); at !== null; at = walker.nextSibling()) found.push(at as Element);
  return found;
}

function nearView(siblings: Element[], view: number): Element[] {
  const near: Element[] = [];
  for (let from = 0; from < siblings.length; from += SIBLINGS) {
    const some = siblings.slice(from, from + SIBLINGS);
    const side = some.length < SIBLINGS ? 0 : farAway(some[0], view);
    if (side === 0 || side !== farAway(some.at(-1), view)) near.push(...some.filter((one) => farAway(one, view) === 0));
  }
  return near;
}

/** -1 for an element that is more than half a view above the view, 1 for one far below, else 0. */
function farAway(element: Element | undefined, view: number): number {
  const { top = 0, bottom = 0, width = 0, height = 0 } = element?.getBoundingClientRect() ?? {};
  if (width * height === 0) return 0;
  if (top > (1 + AHEAD) * view) return 1;
  return bottom < -view / 2 && top + (element?.scrollHeight ?? 0) < -view / 2 ? -1 : 0;
}

/** The height and width from which a part counts that no look has shown, in CSS px. */
const UNSEEN_MIN_PX = 40;
const UNSEEN_STOPS_MAX = 40;
/** The distance between two scroll positions at which a part is in the middle of the view, as a share of the view's height. */
const MIDDLE_SHARE = 1 / 16;

/**
 * Some pages show a part only while all of it, or the middle of the view, is reached.
 * @returns scroll positions, from the last one, with parts in the middle that no look has shown, at most UNSEEN_STOPS_MAX, and those
 * at which rows were seen that other items have replaced since
 */
export function unseenAt(): number[] {
  look();
  const seen = new Set(looks.flatMap(({ sights }) => [...sights.keys()]));
  const { scrollHeight } = pageScroller();
  const last = Math.max(0, scrollHeight - viewHeight());
  const columns = pageColumns();
  const stops = looks.map(({ top }) => top);
  const { boxOf, isPinned } = observer();
  const unseen = new Set<Element>();
  const isShownWithOther = (element: Element) =>
    ancestry(element).some((at) => unseen.has(at) && boxOf(at).bottom - boxOf(at).top <= viewHeight());
  const found: number[] = [];
  eachElement(ELEMENTS_MAX, (element) => {
    if (seen.has(element) || found.length >= UNSEEN_STOPS_MAX || !mayAppear(element)) return;
    if (isShownWithOther(element) || isPinned(element) || isScrolledAway(element)) return;
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
    .slice(0, UNSEEN_STOPS_MAX);
  return [...new Set([...found, ...again])].sort((a, b) => b - a);
}

/** Whether an element takes up room on the page, and shows something, or is empty as if it were to be filled. */
function mayAppear(element: HTMLElement): boolean {
  const { offsetWidth, offsetHeight, childNodes } = element;
  if (!(offsetWidth >= UNSEEN_MIN_PX && offsetHeight >= UNSEEN_MIN_PX) || isPage(element)) return false;
  return childNodes.length === 0 || showsSomething(element);
}

/** Whether an element is out of sight in a box that scrolls by itself. */
function isScrolledAway(element: Element): boolean {
  const box = element.getBoundingClientRect();
  return ancestry(element).some((at) => {
    if (at === element || isPage(at) || !/auto|scroll/.test(getComputedStyle(at).overflowY)) return false;
    return areaOf(common(box, at.getBoundingClientRect())) < 1;
  });
}

/** Attributes that decide how an element looks, as scripts change them. */
const LOOKS_BY = /^(class|style|hidden|open|src|srcset|data-.*|aria-hidden)$/;
const VALUE_MAX_CHARS = 4_000;

function textOf(element: Element): string | null {
  if (element.childElementCount > 0 || element.childNodes.length === 0) return null;
  const text = element.textContent ?? '';
  return text.length <= TEXT_MAX ? text : null;
}

function attributesOf(element: Element): [string, string][] {
  return Array.from(element.attributes)
    .filter(({ name, value }) => LOOKS_BY.test(name) && value.length < VALUE_MAX_CHARS)
    .map(({ name, value }) => [name, value]);
}

let missing: MissingPart[] = [];
/** The lowest place that each stage has had, in CSS px of the page. */
const stageEnds = new Map<Element, number>();
/** High pinned elements that show, while the page is scrolled, parts that they do not show at the top, and where the last part ends. */
const stages = new Map<Element, number>();

/** Notes what is missing at the top of a page, before it is laid out for its picture or for paper. */
export function keepMissing(): void {
  look();
  missing = missingParts();
  stages.clear();
  const last = new Map<Element, MissingPart>();
  for (const part of missing)
    if (part.stage !== null && part.bottom > (last.get(part.stage)?.bottom ?? 0)) last.set(part.stage, part);
  for (const [stage, part] of last) {
    // A stage may have a background below its last part.
    part.bottom = Math.max(part.bottom, Math.ceil(stageEnds.get(stage) ?? 0));
    stages.set(stage, part.bottom);
  }
}

export function isStage(element: Element): boolean {
  return stages.has(element);
}

/** The scroll positions, at most UNSEEN_STOPS_MAX, at which canvases were seen that the page has cleared or removed since. */
export function drawingStops(): number[] {
  const stops = missing.filter(({ place }) => drawings.has(place)).map(({ areas }) => bestShown([...areas])?.top ?? 0);
  return [...new Set(stops)].slice(0, UNSEEN_STOPS_MAX);
}

/** Finds the last of the looks that show at least half of the largest area: a part that moved in the first may have come to its end. */
function bestShown(areas: [one: Look, area: number][]): Look | undefined {
  const most = Math.max(...areas.map(([, area]) => area));
  return areas.findLast(([, area]) => area >= most / 2)?.[0];
}

/**
 * Puts the missing parts of a page back into the state in which most of them was visible, where it cannot be captured at the scroll
 * position at which they were seen, as on paper.
 * @param within the element of which only the parts that are still there are put back; by default, all those of the whole page are
 */
export async function putBack(within: Element | null = null): Promise<void> {
  const done = new Map<Element, State>();
  const removed = new Map<Element, Map<Element, number>>();
  for (const { element, areas, stage } of missing) {
    // On paper, a pinned element would be on every sheet.
    if (stage !== null || (within !== null && !(element.isConnected && within.contains(element)))) continue;
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

/** The rows that a list has at present, with the top of each in CSS px of the page. */
function rowsOf(list: Element): [row: Element, top: number][] {
  const { scrollTop } = pageScroller();
  return Array.from(list.children)
    .filter(isFilled)
    .map((row) => [row, row.getBoundingClientRect().top + scrollTop]);
}

/** Whether a page that will be printed lacks a part that was missing, wherever it is laid out on paper. */
export function lacksPart(): boolean {
  const { sightOf } = observer();
  const shown = onceCalled(() => new Set([...presentSights().values()].map(contentOf)));
  if (looks.some(lacksCopies)) return true;
  return missing.some(
    ({ element, content, drawn }) =>
      (sightOf(element) === null && !(content.trim() !== '' && shown().has(content))) ||
      (drawn !== null && !redrawn.has(element) && drawn !== drawnOn(element)),
  );
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

/** Whether more parts were visible than are kept. */
export function isIncomplete(): boolean {
  return looks.length >= LOOKS_MAX || sightsKept > SIGHTS_MAX;
}

/**
 * The ranges of the page whose missing parts are seen only at another scroll position, in order and without overlaps.
 * @returns `isAll` is false if parts that lie beside each other are never seen together, or if there are too many ranges
 */
export function rangesElsewhere(): { ranges: PageRange[]; isAll: boolean } {
  const parts = missing.toSorted((a, b) => a.top - b.top);
  const ranges: PageRange[] = [];
  let isAll = true;
  let beside: MissingPart[] = [];
  let next = 0;
  for (let y = parts[0]?.top; y !== undefined; ) {
    for (let part = parts[next]; part !== undefined && part.top <= y; part = parts[next]) {
      beside.push(part);
      next++;
    }
    beside = beside.filter(({ bottom }) => bottom > (y ?? 0));
    if (ranges.length >= LOOKS_MAX) return { ranges, isAll: false };
    const one = bestLook(beside, y);
    if (one === null) {
      y = parts[next]?.top;
      continue;
    }
    // A stage fills the view wherever the page is scrolled, as far as it is pinned.
    const ends = beside.flatMap(({ stage }) => (stage === null ? [] : [stages.get(stage) ?? 0]));
    const isStaged = ends.length > 0;
    const staged = Math.min(y, Math.max(...ends, 0) - viewHeight());
    const shows = ({ areas, stage }: MissingPart) => areas.has(one) || (isStaged && stage !== null);
    const isLegible = ({ element }: MissingPart) => (one.sights.get(element)?.opacity ?? 0) >= LEGIBLE_MIN;
    isAll &&= beside.every((part) => shows(part) || isLegible(part));
    // The rows of a part above or below the view are captured as it is in the nearest one.
    let end = isStaged
      ? y + viewHeight()
      : y < one.top
        ? one.top
        : y < one.bottom
          ? one.bottom
          : Number.POSITIVE_INFINITY;
    let seenTo = beside.reduce((to, part) => (shows(part) ? Math.max(to, part.bottom) : to), y);
    for (let at = next; (parts[at]?.top ?? end) < end; at++) {
      const part = parts[at] as MissingPart;
      if (shows(part)) seenTo = Math.max(seenTo, part.bottom);
      else end = part.top;
    }
    end = Math.min(end, seenTo);
    const last = ranges.at(-1);
    if (!isStaged && last !== undefined && last.at === one.top && last.bottom === y) last.bottom = end;
    else ranges.push({ top: y, bottom: end, at: isStaged ? staged : one.top });
    y = end;
  }
  const isShown = ({ areas }: MissingPart) =>
    ranges.some(({ at }) => [...areas.keys()].some(({ top }) => Math.abs(top - at) <= viewHeight() / 4));
  return { ranges, isAll: isAll && parts.every((part) => part.stage === null || isShown(part)) };
}

/** Finds the look that shows most of the parts at a position; of several, the nearest one, and that with the largest area of them. */
function bestLook(parts: MissingPart[], y: number): Look | null {
  const distance = ({ top, bottom }: Look) => Math.max(0, top - y, y + 1 - bottom);
  const shown = new Map<Look, { count: number; area: number }>();
  for (const part of parts)
    for (const [one, more] of part.areas) {
      const { count = 0, area = 0 } = shown.get(one) ?? {};
      shown.set(one, { count: count + 1, area: area + more });
    }
  const [best] = [...shown].sort(
    ([one, a], [other, b]) => b.count - a.count || distance(one) - distance(other) || b.area - a.area,
  );
  return best?.[0] ?? null;
}

/** A part that the page, at its top, does not show as it appeared while scrolling. */
interface MissingPart {
  element: Element;
  /** Its box and content, as a key. */
  place: string;
  /** Its text and image. */
  content: string;
  /** As that of its sight. */
  drawn: number | null;
  stage: Element | null;
  top: number;
  bottom: number;
  /** The looks that show it as well as any, each with the area in view, in CSS px². */
  areas: Map<Look, number>;
}

/** The missing parts, from the top of the page. */
function missingParts(): MissingPart[] {
  const best = new Map<Element, number>();
  for (const { sights } of looks)
    for (const [element, { opacity }] of sights) best.set(element, Math.max(best.get(element) ?? 0, opacity));
  const { sightOf } = observer();
  const now = new Map([...best.keys()].map((element) => [element, sightOf(element)] as const));
  const parts = new Map<Element | string, MissingPart>();
  const present = onceCalled(presentSights);
  const shown = onceCalled(() => new Set([...present().values()].map(placeOf)));
  const shownAlike = onceCalled(() => new Set([...present().values()].map(lookOf)));
  const kinds = onceCalled(() => groupBy(present(), ([element]) => kindOf(element)));
  const reverted = revertedParts(now);
  const marks = onceCalled(() => currentMarks(now));
  const slides = new Map<Element, boolean>();
  const isSlide = (element: Element) => {
    const found = slides.get(element) ?? looks.some((one) => hasAlternated(element, one, kinds()));
    slides.set(element, found);
    return found;
  };
  for (const one of looks)
    for (const [element, sight] of one.sights) {
      // A part that fades in looks best where it is opaque.
      const isBest = sight.opacity >= (best.get(element) ?? 1) - OPACITY_SLACK;
      const { stage } = sight;
      // An element that is also pinned at the top may be a window that opens while the page is scrolled.
      if (stage !== null && (!stage.isConnected || getComputedStyle(stage).position === 'fixed')) continue;
      const changed = reverted.get(element);
      const hasReverted = changed?.appearance === appearanceOf(sight) && changed.moves === sight.moves;
      if (!isBest || (!hasReverted && isStillSeen(sight, now.get(element) ?? null))) continue;
      if (
        stage === null &&
        (takesTurns(element, sight, one) || isSlide(element) || marks().haveMoved(element, sight, one))
      )
        continue;
      const { top, bottom } = sight;
      // Where a stage is at the top of the page, it is captured as it is there.
      const from = Math.floor(stage === null ? top : Math.max(top, onPage(stage.getBoundingClientRect()).bottom));
      // A list may make its rows anew for each view, or reuse them.
      const isOne = element.isConnected && reusedRowOf(element) === null;
      const place = placeOf(sight);
      if (isOne ? now.get(element) === null && shownAlike().has(lookOf(sight)) : shown().has(place)) continue;
      const key = isOne ? element : place;
      const part = parts.get(key) ?? {
        element,
        place,
        content: contentOf(sight),
        drawn: sight.drawn,
        stage,
        top: from,
        bottom: Math.ceil(bottom),
        areas: new Map<Look, number>(),
      };
      if (typeof key === 'string') part.element = element;
      part.top = Math.min(part.top, from);
      part.bottom = Math.max(part.bottom, Math.ceil(bottom));
      part.areas.set(one, areaBetween(sight, one));
      parts.set(key, part);
    }
  const covered = [...reverted].flatMap(([element, { moves }]) => coveredBy(element, now.get(element) ?? null, moves));
  return [...parts.values(), ...covered].filter((part) => part.bottom > part.top);
}

/**
 * Finds the marks that exactly one of several parts has at a time, such as the dot of the current slide.
 * @param now the present sights of parts
 */
function currentMarks(now: ReadonlyMap<Element, Sight | null>) {
  const bottom = pageScroller().scrollTop + viewHeight();
  const markOf = ({ name, paint, opacity }: Sight) => `${name} ${paint} ${opacity.toFixed(1)}`;
  const below = [...now].filter((one): one is [Element, Sight] => one[1] !== null && one[1].top >= bottom);
  const beside = groupBy(below, ([element]) => flatTreeParent(element));
  return {
    /** Whether one part beside the element has the mark that it alone had in a look, and the element itself is there without it. */
    haveMoved(element: Element, before: Sight, { sights }: Look): boolean {
      const present = now.get(element) ?? null;
      if (present === null || present.opacity < LEGIBLE_MIN || present.moves !== before.moves) return false;
      const mark = markOf(before);
      const parts = beside.get(flatTreeParent(element)) ?? [];
      const marked = parts.filter(([, sight]) => markOf(sight) === mark);
      const wereMarked = parts.filter(([one]) => markOf(sights.get(one) ?? present) === mark);
      return mark !== markOf(present) && marked.length === 1 && wereMarked.length === 1;
    },
  };
}

/** The place to which a part has been moved away again, and where it was not while it was in view. */
function coveredBy(element: Element, sight: Sight | null, moves: number): MissingPart[] {
  if (sight === null || sight.moves <= moves) return [];
  const inPlace = looks.filter(({ sights }) => sights.get(element)?.moves === moves);
  const areas = new Map(inPlace.map((one) => [one, areaBetween(sight, one)]));
  const [top, bottom] = [Math.floor(sight.top), Math.ceil(sight.bottom)];
  return [{ element, place: '', content: '', drawn: null, stage: null, top, bottom, areas }];
}

interface Appearance extends Pick<Sight, 'moves'> {
  appearance: string;
}

/**
 * The parts that look again as before they came into view, or are moved away again as they were then, each with the last appearance
 * that it had while it was well in view.
 */
function revertedParts(now: ReadonlyMap<Element, Sight | null>): Map<Element, Appearance> {
  const bottom = pageScroller().scrollTop + viewHeight();
  const found = new Map<Element, Appearance & { area: number }>();
  /** Those that have looked so while they were well in view, too, such as the slides of a carousel. */
  const both = new Set<Element>();
  for (const one of looks)
    for (const [element, sight] of one.sights) {
      const [present, first] = [now.get(element) ?? null, initial.get(element)];
      // The view is right as it is. A part that changes by itself seldom comes back to its first state.
      if (present === null || first?.appearance !== appearanceOf(present)) continue;
      // A parallax effect moves a part that was not moved before, or moves it further.
      const wasInPlace = first.moves === present.moves && sight.moves < present.moves;
      if (present.top < bottom && !wasInPlace) continue;
      // A page that changes its colors while it is scrolled shows all parts in those that it has at its top.
      if (sight.theme !== present.theme && !wasInPlace) continue;
      const [appearance, area] = [appearanceOf(sight), areaBetween(sight, one)];
      const isInitial = appearance === first.appearance;
      if (isInitial && area >= areaOf(sight) / 2) both.add(element);
      const most = found.get(element)?.area ?? 0;
      if ((wasInPlace || !isInitial) && area >= most / 2)
        found.set(element, { area: Math.max(area, most), appearance, moves: sight.moves });
    }
  for (const element of both) if (found.get(element)?.moves === initial.get(element)?.moves) found.delete(element);
  return found;
}

/** Whether the place of a part has shown something else in its stead, as that of a carousel does, while all of it was in view. */
function takesTurns(element: Element, sight: Sight, seenIn: Look): boolean {
  const showsPlace = ({ top, bottom }: Look) => sight.top >= top && sight.bottom <= bottom;
  if (!showsPlace(seenIn)) return false;
  return looks.some((other) => {
    if (!showsPlace(other) || other.sights.has(element)) return false;
    return isReplacedBy(
      [...other.sights].filter(([, box]) => covers(box, sight)),
      sight,
      seenIn,
    );
  });
}

/**
 * Whether another part of the same kind has been in the place of a part, as the next slide of a carousel is, while most of the place was in
 * view, or is there at present. A block that is drawn only in view has a placeholder of another kind elsewhere.
 * @param present what the page shows at present, by kind
 */
function hasAlternated(element: Element, seenIn: Look, present: ReadonlyMap<string, [Element, Sight][]>): boolean {
  const sight = seenIn.sights.get(element);
  if (sight === undefined) return false;
  const place = inView(sight, seenIn);
  const kind = kindOf(element);
  const now = present.get(kind) ?? [];
  const isLevel = (box: ElementBox) => Math.abs(box.top - sight.top) < SLIDE_SLACK_PX;
  const there = now.filter(([one, box]) => one !== element && isLevel(box) && covers(box, place));
  // A block that has moved up or down is revealed by that.
  const hasMovedAway = now.some(([one, box]) => one === element && !isLevel(box));
  if (!hasMovedAway && isReplacedBy(there, sight, seenIn)) return true;
  return looks.some((other) => {
    if (other.sights.has(element) || !covers(inView(place, other), place)) return false;
    const alike = [...other.sights].filter(([one, box]) => covers(inView(box, other), place) && kindOf(one) === kind);
    return isReplacedBy(alike, sight, seenIn);
  });
}

/** Whether one of the parts that are in a place was not there when a look showed another part in it. */
function isReplacedBy(there: [Element, Sight][], sight: Sight, seenIn: Look): boolean {
  // A list may make its rows anew for each view.
  if (there.some(([, box]) => placeOf(box) === placeOf(sight))) return false;
  return there.some(([one, box]) => {
    const then = seenIn.sights.get(one);
    // The next slide may have been beside it.
    return then === undefined || (!covers(then, sight) && Math.abs(then.top - box.top) < SLIDE_SLACK_PX);
  });
}

/** Whether a box covers most of a part. */
function covers(box: ElementBox, part: ElementBox): boolean {
  return areaOf(common(box, part)) >= LEFT_MIN * areaOf(part);
}

function kindOf(element: Element): string {
  return `${element.localName} ${element.getAttribute('class') ?? ''}`;
}

function groupBy<Key, One>(all: Iterable<One>, keyOf: (one: One) => Key): Map<Key, One[]> {
  const groups = new Map<Key, One[]>();
  for (const one of all) {
    const group = groups.get(keyOf(one)) ?? [];
    group.push(one);
    groups.set(keyOf(one), group);
  }
  return groups;
}

function placeOf(sight: Sight): string {
  const { left, top, right, bottom } = sight;
  return [left, top, right, bottom].map(Math.round).join() + sight.name + contentOf(sight);
}

/** A key of all that a part shows at its place. */
function lookOf(sight: Sight): string {
  return placeOf(sight) + appearanceOf(sight);
}

function appearanceOf(sight: Sight): string {
  return `${contentOf(sight)} ${sight.paint} ${sight.drawn}`;
}

function contentOf({ text, image }: Sight): string {
  return `${text} ${image}`;
}

/** Returns all parts that the page shows at present, whether they are in view or not. */
function presentSights(): Map<Element, Sight> {
  const { sightOf } = observer();
  const found = new Map<Element, Sight>();
  eachElement(ELEMENTS_MAX, (element) => {
    const sight = sightOf(element);
    if (sight !== null) found.set(element, sight);
  });
  return found;
}

function onceCalled<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function isStillSeen(before: Sight, now: Sight | null): boolean {
  if (now === null || now.opacity < before.opacity - OPACITY_SLACK) return false;
  if (areaOf(now) < LEFT_MIN * areaOf(before)) return false;
  if (before.stage !== null) return true;
  if (now.drawn === BLANK && before.drawn !== null && before.drawn !== BLANK) return false;
  if ((before.text !== '' && now.text === '') || (before.image !== '' && now.image === '')) return false;
  // A list that reuses its rows shows another one.
  const isElsewhere = Math.abs(now.top - before.top) > (before.bottom - before.top) / 2;
  return !isElsewhere || (now.text === before.text && now.image === before.image);
}

function areaOf({ left, top, right, bottom }: ElementBox): number {
  return Math.max(0, right - left) * Math.max(0, bottom - top);
}

function inView({ left, right, ...box }: ElementBox, { top, bottom }: Pick<Look, 'top' | 'bottom'>): ElementBox {
  return { left, right, top: Math.max(box.top, top), bottom: Math.min(box.bottom, bottom) };
}

function areaBetween(box: ElementBox, between: Pick<Look, 'top' | 'bottom'>): number {
  return areaOf(inView(box, between));
}

interface Around extends Pick<Sight, 'moves' | 'theme'> {
  opacity: number;
  /** The area that the boxes around show, in CSS px of the page. */
  clip: ElementBox;
  isPinned: boolean;
  stage: Element | null;
}

/**
 * Observes the page as it is at present. `sightOf` returns the appearance of an element; null for one that shows nothing itself, and
 * for pinned ones, which have their own rules. `boxOf` returns its box in CSS px of the page.
 */
function observer() {
  const { scrollLeft, scrollTop } = pageScroller();
  const view = viewHeight();
  const known = new Map<Element, Around>();
  const page: Around = {
    opacity: 1,
    moves: 0,
    theme: digestOf(pageBoxes().map(paintOf)),
    clip: { ...pageColumns(), top: Number.NEGATIVE_INFINITY, bottom: Number.POSITIVE_INFINITY },
    isPinned: false,
    stage: null,
  };
  const boxes = new Map<Element, ElementBox>();
  const boxOf = (element: Element): ElementBox => {
    const before = boxes.get(element);
    if (before !== undefined) return before;
    const box = onPage(element.getBoundingClientRect(), { scrollLeft, scrollTop });
    boxes.set(element, box);
    return box;
  };
  const aroundOf = (element: Element | null): Around => {
    if (element === null || isPage(element)) return page;
    const before = known.get(element);
    if (before !== undefined) return before;
    const { opacity, moves, theme, clip, isPinned, stage } = aroundOf(flatTreeParent(element));
    const style = getComputedStyle(element);
    const clips = style.overflowX !== 'visible' && style.display !== 'inline' && style.display !== 'contents';
    const box = boxOf(element);
    const height = box.bottom - box.top;
    const around = {
      opacity: opacity * Number(style.opacity) * (HIDING_FILTER.test(style.filter) ? BLURRED : 1),
      moves: moves + (isMoved(style) ? 1 : 0),
      theme: height > view ? digestOf([theme, paintOf(element)]) : theme,
      clip: isClippedAway(style) ? NOWHERE : clips ? common(clip, box) : clip,
      ...pinnedBy(element, style, { isHigh: height >= view / 2, around: { isPinned, stage } }),
    };
    known.set(element, around);
    return around;
  };
  const sightOf = (element: Element, within?: { top: number; bottom: number }): Sight | null => {
    const box = boxOf(element);
    if (within !== undefined && (box.bottom <= within.top || box.top >= within.bottom)) return null;
    if (
      areaOf(box) < 1 ||
      isPage(element) ||
      !element.isConnected ||
      !showsSomething(element) ||
      !hasVisibleStyle(element)
    )
      return null;
    const { opacity, moves, clip, isPinned, stage } = aroundOf(element);
    const visible = common(box, clip);
    if (isPinned || opacity < OPACITY_SLACK || areaOf(visible) < 1) return null;
    const content = {
      text: ownText(element),
      image: imageOf(element),
      paint: paintOf(element),
      theme: aroundOf(flatTreeParent(element)).theme,
      drawn: drawnOn(element),
    };
    return { ...visible, opacity, moves, ...content, name: element.localName, stage };
  };
  return { sightOf, boxOf, isPinned: (element: Element) => aroundOf(element).isPinned };
}

function isMoved({ transform, translate }: CSSStyleDeclaration): boolean {
  if (transform === 'none' && translate === 'none') return false;
  return translate !== 'none' || !new DOMMatrixReadOnly(transform).isIdentity;
}

/** A pinned element has rules of its own, unless it is high: pages that move sideways, or change pictures, while they are scrolled. */
function pinnedBy(
  element: Element,
  { position, overflowY }: CSSStyleDeclaration,
  { isHigh, around }: { isHigh: boolean; around: Pick<Around, 'isPinned' | 'stage'> },
) {
  const { isPinned, stage } = around;
  if (isPinned || (stage !== null && /auto|scroll/.test(overflowY))) return { isPinned: true, stage };
  if (!/fixed|sticky/.test(position)) return around;
  return isHigh && !/auto|scroll/.test(overflowY) ? { isPinned, stage: stage ?? element } : { isPinned: true, stage };
}

const NOWHERE: ElementBox = { left: 0, top: 0, right: 0, bottom: 0 };

function common(one: ElementBox, other: ElementBox): ElementBox {
  return {
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  };
}

/** Whether the element has text, an image, a background or a border of its own. */
export function showsSomething(element: Element): boolean {
  if (REPLACED.test(element.localName) || ownText(element) !== '') return true;
  const { backgroundColor, backgroundImage, borderTopWidth, borderBottomWidth, boxShadow } = getComputedStyle(element);
  if (alphaOf(backgroundColor) > 0 || backgroundImage !== 'none' || boxShadow !== 'none') return true;
  return borderTopWidth !== '0px' || borderBottomWidth !== '0px' || pseudoOpacity(element) >= OPACITY_SLACK;
}

/** The opacity of what CSS writes or draws into an empty element, such as the icon of a font; 0 for nothing. */
function pseudoOpacity(element: Element): number {
  if (element.childNodes.length > 0) return 0;
  const styles = ['::before', '::after'].map((name) => getComputedStyle(element, name));
  return Math.max(...styles.map(({ content, opacity }) => (/^(none|normal)$/.test(content) ? 0 : Number(opacity))));
}

const CANVAS_SIDE = 16;
const BLANK = digestOf(new Uint8Array(CANVAS_SIDE * CANVAS_SIDE * 4));
let small: OffscreenCanvasRenderingContext2D | null = null;

function paintOf(element: Element): number {
  const { color, backgroundColor, backgroundImage, maskImage, maskSize } = getComputedStyle(element);
  const images = `${backgroundImage.slice(0, TEXT_MAX)} ${maskImage.slice(0, TEXT_MAX)}`;
  return digestOf(`${color} ${backgroundColor} ${images} ${maskSize}`);
}

function drawnOn(element: Element): number | null {
  if (element.localName !== 'canvas') return null;
  const canvas = element as HTMLCanvasElement;
  small ??= new OffscreenCanvas(CANVAS_SIDE, CANVAS_SIDE).getContext('2d', { willReadFrequently: true });
  if (small === null || canvas.width * canvas.height === 0) return null;
  small.clearRect(0, 0, CANVAS_SIDE, CANVAS_SIDE);
  small.drawImage(canvas, 0, 0, CANVAS_SIDE, CANVAS_SIDE);
  try {
    return digestOf(small.getImageData(0, 0, CANVAS_SIDE, CANVAS_SIDE).data);
  } catch {
    // A canvas with images of another origin cannot be read, nor can one on which it has been drawn.
    small = null;
    return null;
  }
}

/** FNV-1a. The strings themselves would keep the page's in memory, of which each look may have thousands. */
function digestOf(values: ArrayLike<number> | string): number {
  let digest = 0x811c9dc5;
  for (let at = 0; at < values.length; at++) {
    const value = typeof values === 'string' ? values.charCodeAt(at) : (values[at] ?? 0);
    digest = Math.imul(digest ^ value, 0x01000193);
  }
  return digest;
}

const TEXT_MAX = 200;

function ownText(element: Element): string {
  let text = '';
  for (let node = element.firstChild; node !== null && text.length < TEXT_MAX; node = node.nextSibling)
    if (node.nodeType === Node.TEXT_NODE) text += (node as Text).data.slice(0, TEXT_MAX).trim();
  return text;
}

/** The address of the image that an element shows; empty for one without. */
function imageOf(element: Element): string {
  if (element.localName !== 'img') return '';
  const { currentSrc, naturalWidth } = element as HTMLImageElement;
  return naturalWidth > 1 ? currentSrc.slice(0, 2 * TEXT_MAX) : '';
}
