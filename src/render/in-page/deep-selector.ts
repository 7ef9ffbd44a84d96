import { allIn, shadowRootOf, type Tree, trees } from './dom.js';

/**
 * CSS selectors joined by `>>>`, as Puppeteer spells it: what follows is searched for in the open shadow trees of the elements that match what
 * precedes, or in the document of a frame of the same origin. Frames of other origins are searched from outside the page (foreign-element.ts).
 */

export interface Found {
  element: Element;
  /** Frames that it lies in, the outermost first. */
  frames: HTMLIFrameElement[];
}

export interface Search {
  found: Found[];
  /** The first frame that matched and shows a document of another origin, which cannot be searched from here. */
  barred: BarredFrame | null;
}

export interface BarredFrame {
  element: Element;
  /** Where the frame is in the page: the position among the matches of a selector without `>>>`. Null for one that another part leads to. */
  place: ForeignPlace | null;
}

/** A place in a frame of another origin. */
export interface ForeignPlace {
  frame: string;
  /** Position among the matches of `frame`. */
  index: number;
  /** The parts of the selector that follow. */
  rest: string[];
}

interface Place {
  scope: Tree | Element;
  frames: HTMLIFrameElement[];
}

const TOKENS = /\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|>>>|./gs;
/** Elements of one part in which the next part is searched for. */
const MOST_HOSTS = 10_000;
/** Of one selector: each may have to be searched for in many places. */
const MOST_PARTS = 8;

/**
 * The selectors between commas, each as the CSS selectors that its `>>>` join, outside of quotes and brackets. The first part is empty if a
 * selector begins with `>>>`.
 */
export function deepParts(selector: string): string[][] {
  let parts = [''];
  const selectors = [parts];
  let depth = 0;
  for (const [token] of selector.matchAll(TOKENS)) {
    if (/[([]/.test(token[0] ?? '')) depth++;
    else if (/[)\]]/.test(token[0] ?? '')) depth--;
    if (token === ',' && depth === 0) {
      parts = [''];
      selectors.push(parts);
    } else if (token === '>>>') parts.push('');
    else parts.push(`${parts.pop()}${token}`);
  }
  return selectors.map((each) => each.map((part) => part.trim()));
}

export function isDeep(selector: string): boolean {
  return selector.includes('>>>') && deepParts(selector).some(({ length }) => length > 1);
}

/** @throws the browser's SyntaxError for an invalid part, RangeError for too many parts */
export function checkDeep(selector: string): void {
  for (const parts of deepParts(selector)) {
    if (parts.length > MOST_PARTS) throw new RangeError(`A selector can have at most ${MOST_PARTS} parts joined by >>>.`);
    for (const [at, part] of parts.entries()) if (at > 0 || part !== '' || parts.length === 1) document.querySelector(part);
  }
}

/** Elements that match a selector with `>>>`. @throws as `checkDeep` */
export function findDeep(selector: string): Search {
  const searches = deepParts(selector).map(findParts);
  const found = new Map(searches.flatMap((search) => search.found.map((one) => [one.element, one] as const)));
  return { found: [...found.values()], barred: searches.find(({ barred }) => barred !== null)?.barred ?? null };
}

function findParts([first = '', ...rest]: string[]): Search {
  let barred: BarredFrame | null = null;
  let found: Found[] = first === '' ? [] : inPlaces([{ scope: document, frames: [] }], first);
  for (const [at, part] of rest.entries()) {
    const isFromTop = at === 0 && first === '';
    const index = found.findIndex(({ element }) => isFrame(element) && element.contentDocument === null);
    const frame = found[index];
    if (frame !== undefined) barred ??= { element: frame.element, place: at === 0 ? { frame: first, index, rest } : null };
    found = inPlaces(isFromTop ? placesIn(document, []) : found.slice(0, MOST_HOSTS).flatMap(beyond), part);
  }
  return { found, barred };
}

/** Matches of a selector with or without `>>>`; without, in this document alone. */
export function matchesOf(selector: string): Found[] {
  return isDeep(selector) ? findDeep(selector).found : inPlaces([{ scope: document, frames: [] }], selector);
}

function beyond({ element, frames }: Found): Place[] {
  if (!isFrame(element)) return placesIn(shadowRootOf(element) ?? element, frames);
  return element.contentDocument === null ? [] : placesIn(element.contentDocument, [...frames, element]);
}

function placesIn(scope: Tree | Element, frames: HTMLIFrameElement[]): Place[] {
  return trees(scope).map((tree) => ({ scope: tree, frames }));
}

function inPlaces(places: Place[], selector: string): Found[] {
  const found = new Map<Element, Found>();
  for (const { scope, frames } of places) for (const element of allIn(scope, selector)) found.set(element, { element, frames });
  return [...found.values()];
}

/** By name: objects of a frame are instances of that frame's classes. */
function isFrame(element: Element): element is HTMLIFrameElement {
  return /^i?frame$/.test(element.localName);
}
