import { allIn, shadowRootOf, type Tree, trees } from './dom.js';

/**
 * CSS selectors joined by Puppeteer's `>>>`: the next part is searched in the open shadow trees or same-origin frames of the
 * matches before it. Frames of other origins are searched from outside (element-picture.ts).
 */

export interface Found {
  element: Element;
  /** The frames that contain the element, outermost first. */
  frames: HTMLIFrameElement[];
}

export interface Search {
  found: Found[];
  /** The first matching frame of another origin, which cannot be searched from here. */
  crossOriginFrame: CrossOriginFrame | null;
}

interface CrossOriginFrame {
  element: Element;
  /** The frame's position among the matches of a selector without `>>>`; null if a later part matched it. */
  place: ForeignPlace | null;
}

export interface ForeignPlace {
  frame: string;
  /** The frame's index among the matches of `frame`. */
  index: number;
  rest: string[];
}

interface Place {
  scope: Tree | Element;
  frames: HTMLIFrameElement[];
}

const TOKENS = /\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|>>>|./gs;
/** The maximum number of elements in which the next part is searched for. */
const HOSTS_MAX = 10_000;
/** The maximum number of parts of a selector, since each may have to be searched for in many places. */
const PARTS_MAX = 8;

/**
 * Splits a selector at commas, and each alternative at `>>>`, outside quotes and brackets. The first part is empty if a
 * selector begins with `>>>`.
 */
function deepParts(selector: string): string[][] {
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
    if (parts.length > PARTS_MAX) throw new RangeError(`A selector can have at most ${PARTS_MAX} parts joined by >>>.`);
    for (const [at, part] of parts.entries())
      if (at > 0 || part !== '' || parts.length === 1) document.querySelector(part);
  }
}

/**
 * The matches of a selector. Without `>>>`, only this document is searched.
 * @throws the same errors as `checkDeep`
 */
export function findDeep(selector: string): Search {
  const searches = deepParts(selector).map(findParts);
  const found = new Map(searches.flatMap((search) => search.found.map((one) => [one.element, one] as const)));
  return {
    found: [...found.values()],
    crossOriginFrame: searches.map(({ crossOriginFrame }) => crossOriginFrame).find(Boolean) ?? null,
  };
}

function findParts([first = '', ...rest]: string[]): Search {
  let crossOriginFrame: CrossOriginFrame | null = null;
  let found: Found[] = first === '' ? [] : inPlaces([{ scope: document, frames: [] }], first);
  for (const [at, part] of rest.entries()) {
    const isFromTop = at === 0 && first === '';
    const index = found.findIndex(({ element }) => isFrame(element) && element.contentDocument === null);
    const frame = found[index];
    if (frame !== undefined)
      crossOriginFrame ??= { element: frame.element, place: at === 0 ? { frame: first, index, rest } : null };
    found = inPlaces(isFromTop ? placesIn(document, []) : found.slice(0, HOSTS_MAX).flatMap(beyond), part);
  }
  return { found, crossOriginFrame };
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
  for (const { scope, frames } of places)
    for (const element of allIn(scope, selector)) found.set(element, { element, frames });
  return [...found.values()];
}

/** Tested by name, since elements in a frame are instances of that frame's classes. */
function isFrame(element: Element): element is HTMLIFrameElement {
  return /^i?frame$/.test(element.localName);
}
