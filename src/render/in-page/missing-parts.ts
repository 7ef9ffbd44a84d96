import { type ElementBox, onPage, pageColumns } from './boxes.js';
import { eachElement, flatTreeParent, pageScroller, styleOf, viewHeight } from './dom.js';
import {
  type Appearance,
  drawings,
  initial,
  LOOKS_MAX,
  type Look,
  look,
  looks,
  reusedRowOf,
  STOPS_MAX,
  stageEnds,
} from './looks.js';
import {
  appearanceOf,
  areaBetween,
  areaOf,
  BLANK,
  common,
  contentOf,
  ELEMENTS_MAX,
  inView,
  isMoved,
  lookOf,
  OPACITY_SLACK,
  observer,
  placeOf,
  presentSights,
  type Sight,
} from './sights.js';

/** Finds what a page, at its top, does not show as it was seen while scrolling (looks.ts), and where it is to be captured. */

/** A vertical range of the page, in CSS px, and the scroll position at which all of it is visible. */
export interface PageRange {
  top: number;
  bottom: number;
  at: number;
}

/** A part that the page, at its top, does not show as it appeared while scrolling. */
export interface MissingPart {
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

/** The opacity from which a part that is dimmed can still be read, such as the dots of a carousel. */
const LEGIBLE_MIN = 0.5;

/** How far the tops of the slides of a carousel may differ, in CSS px. */
const SLIDE_SLACK_PX = 2;

/** A part of which less is left has been collapsed. */
const LEFT_MIN = 0.5;

export let missing: MissingPart[] = [];

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

/** The scroll positions, at most STOPS_MAX, at which canvases were seen that the page has cleared or removed since. */
export function drawingStops(): number[] {
  const stops = missing.filter(({ place }) => drawings.has(place)).map(({ areas }) => bestShown([...areas])?.top ?? 0);
  return [...new Set(stops)].slice(0, STOPS_MAX);
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

/** The columns of the page, in CSS px, with the parts in place that are moved until they are scrolled to. */
export function columnsInPlace(): Pick<ElementBox, 'left' | 'right'> {
  const { aroundOf } = observer();
  const elsewhere = new Set(missing.map(({ element }) => element));
  const moved: [style: CSSStyleDeclaration, own: string][] = [];
  eachElement(ELEMENTS_MAX, (element) => {
    const isAway = aroundOf(element).opacity < OPACITY_SLACK || elsewhere.has(element);
    if (isAway && isMoved(getComputedStyle(element))) moved.push([styleOf(element), styleOf(element).cssText]);
  });
  for (const [style] of moved)
    for (const property of ['transition', 'transform', 'translate']) style.setProperty(property, 'none', 'important');
  const columns = pageColumns();
  for (const [style, own] of moved) style.cssText = own;
  return columns;
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

/** Finds the last of the looks that show at least half of the largest area: a part that moved in the first may have come to its end. */
export function bestShown(areas: [one: Look, area: number][]): Look | undefined {
  const most = Math.max(...areas.map(([, area]) => area));
  return areas.findLast(([, area]) => area >= most / 2)?.[0];
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

/** The place to which a part has been moved away again, and where it was not while it was in view. */
function coveredBy(element: Element, sight: Sight | null, moves: number): MissingPart[] {
  if (sight === null || sight.moves <= moves) return [];
  const inPlace = looks.filter(({ sights }) => sights.get(element)?.moves === moves);
  const areas = new Map(inPlace.map((one) => [one, areaBetween(sight, one)]));
  const [top, bottom] = [Math.floor(sight.top), Math.ceil(sight.bottom)];
  return [{ element, place: '', content: '', drawn: null, stage: null, top, bottom, areas }];
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
  // A list may make its rows anew for each view. Slides may differ in their background alone.
  const isBare = contentOf(sight).trim() === '';
  if (there.some(([, box]) => placeOf(box) === placeOf(sight) && (!isBare || box.paint === sight.paint))) return false;
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

export function onceCalled<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
