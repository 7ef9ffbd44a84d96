import { ELEMENT_NAME_MAX_CHARS, ELEMENTS_MAX_ITEMS, FACT_LIST_MAX_CHARS } from '../../contract/limits.js';
import type { PageElement } from '../../contract/page-facts.js';
import { accessibleName, roleOf } from './accessible.js';
import { type ElementBox, onPage, overlaps, shownPart } from './boxes.js';
import { findDeep } from './deep-selector.js';
import { ancestry, hasVisibleStyle, matches, scopeOf } from './dom.js';
import { queryTrees } from './dom-cache.js';
import { type Mark, mark } from './marks.js';
import { selectorOf } from './selector-of.js';

/**
 * The elements of a page that people can act on, with refs that need no memory: a ref has a digest of the element's role and name, and
 * one of its selector, by which the same element is found in another load of the page.
 */

type RefSearch =
  | { selector: string }
  /** No element has its role and name, or several have, and none of them is where it was. */
  | { candidates: number };

/** The maximum number of elements to inspect. */
const LOOKED_AT_MAX = 5_000;
const WANTED =
  'a[href],button,input:not([type="hidden" i]),select,textarea,summary,[role],[onclick],[tabindex]:not([tabindex^="-"]),[contenteditable]:not([contenteditable="false" i])';

const DISABLED = ':disabled,[aria-disabled="true"],[inert],[inert] *';

interface Candidate {
  element: Element;
  role: string;
  box: DOMRect;
}

/**
 * Lists visible elements, those in the picture first, each in the order of the document.
 * @param options.area the part of the page in the picture; null for the view
 * @param options.draws whether to draw their numbers on the page (marks.ts)
 */
export function list({ area, draws }: { area: ElementBox | null; draws: boolean }): PageElement[] {
  const shown = area ?? onPage({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  const all = candidates().map((one) => {
    const part = shownPart(one.box, one.element);
    return { ...one, part: part !== null && overlaps(onPage(part), shown) ? part : null };
  });
  const ordered = [...all.filter(({ part }) => part !== null), ...all.filter(({ part }) => part === null)];
  const elements: PageElement[] = [];
  const marks: Mark[] = [];
  let charsLeft = FACT_LIST_MAX_CHARS;
  for (const { element, role, box, part } of ordered) {
    if (elements.length >= ELEMENTS_MAX_ITEMS) break;
    const name = accessibleName(element, ELEMENT_NAME_MAX_CHARS);
    const selector = selectorOf(element);
    if (selector === null) continue;
    charsLeft -= name.length + selector.length;
    if (charsLeft < 0) break;
    const number = elements.length + 1;
    elements.push({
      ref: `e${number}-${digest(`${role} ${name}`)}-${digest(selector)}`,
      role,
      name,
      box: rounded(box),
      selector,
    });
    if (part !== null) marks.push({ number, box: DOMRect.fromRect(rounded(part)) });
  }
  if (draws) mark(marks);
  return elements;
}

/**
 * Finds the element of a ref: the only one of its role and name, or of several the one at its selector.
 * @returns its selector for Playwright
 */
export function find(ref: string): RefSearch {
  const [, identity, place] = ref.split('-');
  const alike = candidates().filter(
    ({ element, role }) => digest(`${role} ${accessibleName(element, ELEMENT_NAME_MAX_CHARS)}`) === identity,
  );
  const at = alike.find(({ element }) => digest(selectorOf(element) ?? '') === place) ?? null;
  const found = at ?? (alike.length === 1 ? alike[0] : undefined);
  const selector = found === undefined ? null : selectorOf(found.element);
  return selector === null ? { candidates: alike.length } : { selector: forPlaywright(selector) };
}

/** Playwright's `css` also looks into shadow trees; `css:light` finds what the browser does. */
function forPlaywright(selector: string): string {
  const parts = selector.split(' >>> ');
  if (parts.length === 1) return `css:light=${selector}`;
  const { found } = findDeep(selector);
  return `${parts.map((part) => `css=${part}`).join(' >> ')}${found.length === 1 ? '' : ' >> nth=0'}`;
}

function candidates(): Candidate[] {
  const found: Candidate[] = [];
  for (const element of queryTrees(WANTED).slice(0, LOOKED_AT_MAX)) {
    const role = roleOf(element) ?? (isClickable(element) ? 'generic' : null);
    if (role === null || matches(element, DISABLED)) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 1 || box.height < 1 || !isOnPage(element) || isCovered(element, box)) continue;
    found.push({ element, role, box });
  }
  return found;
}

/** A box that scrolls can have the focus without being of use. */
function isClickable(element: Element): boolean {
  return (
    (element.hasAttribute('onclick') || element.hasAttribute('tabindex')) &&
    getComputedStyle(element).cursor === 'pointer'
  );
}

/** A field with a drawing of its own in its place is transparent. */
function isOnPage(element: Element): boolean {
  if (hasVisibleStyle(element)) return true;
  return (
    element.localName === 'input' &&
    element.checkVisibility({ visibilityProperty: true }) &&
    /^(checkbox|radio|file)$/.test((element as HTMLInputElement).type)
  );
}

/** Whether something else is in front of it, as far as it is in view. Labels and what is inside of it do not count. */
function isCovered(element: Element, box: DOMRect): boolean {
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
  const front = scopeOf(element).elementFromPoint(x, y);
  if (front === null) return false;
  if (ancestry(front).some((at) => at === element || at.localName === 'label')) return false;
  // A line that wraps has its middle elsewhere, and a transparent field lies behind or before its drawing.
  return !element.contains(front) && !front.contains(element);
}

/** The place of a box of the view on the page, in whole px. */
function rounded(box: ElementBox): PageElement['box'] {
  const { left, top, right, bottom } = onPage(box);
  return { x: Math.round(left), y: Math.round(top), width: Math.round(right - left), height: Math.round(bottom - top) };
}

/** FNV-1a of two halves, in seven characters. It only has to tell the elements of one page apart. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36).padStart(7, '0');
}
