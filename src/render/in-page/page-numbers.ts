/** Numbers of the pages on which parts of the document are printed, as in a table of contents (extensions.md, PDFs on paper). */
import type { PlaceInPdf } from '../../contract/capture-request.js';
import { adopt, all, documentProperty } from './dom.js';

const NUMBERED_MAX = 2_000;
const ID_MAX_CHARS = 500;
const ADDRESS_MAX_CHARS = 2_000;
const NUMBERED = '[data-page-number-of], [data-toc] a[href], a[data-toc][href]';
/** Any rule of the page for these pseudo-elements takes precedence. */
const STYLE = ':where([data-toc]) a[data-page-number]::after, :where(a[data-toc][data-page-number])::after';

let before = 0;
let numbered: { element: Element; target: number }[] = [];

/**
 * Finds the elements that show page numbers, and has the browser note where their targets are printed.
 * @param place of the document in the PDF that it becomes a part of
 * @returns the names of the targets' destinations, and the addresses that a table of contents links to outside of the document
 */
export function findTargets({ before: pagesBefore, pages }: PlaceInPdf): { targets: string[]; references: string[] } {
  const targets = new Map<string, number>();
  const references = new Set<string>();
  before = pagesBefore;
  numbered = [];
  for (const element of all(NUMBERED).slice(0, NUMBERED_MAX)) {
    const id = targetOf(element);
    const address = id === null ? addressOf(element) : null;
    if (address !== null) {
      references.add(address);
      if (Object.hasOwn(pages, address)) element.setAttribute('data-page-number', String(pages[address]));
    }
    if (id === null) continue;
    const target = targets.get(id) ?? targets.size;
    targets.set(id, target);
    numbered.push({ element, target });
  }
  if (numbered.length + references.size > 0) adopt(`${STYLE} { content: attr(data-page-number); float: right }`);
  return { targets: numbered.length === 0 ? [] : addDestinations([...targets.keys()]), references: [...references] };
}

/** Has the browser note where every part with an id is printed, since links of other documents may lead there. */
export function nameParts(): void {
  addDestinations(
    all('[id]')
      .slice(0, NUMBERED_MAX)
      .map((element) => element.id)
      .filter((id) => typeof id === 'string' && id !== '' && id.length <= ID_MAX_CHARS),
  );
}

/** Chromium 156 writes destinations for the targets of links, shown or not. */
function addDestinations(ids: readonly string[]): string[] {
  const links = document.createElement('div');
  links.hidden = true;
  const names = ids.map((id) => {
    const link = document.createElement('a');
    link.href = `${ownAddress()}#${encodeURIComponent(id)}`;
    links.append(link);
    return link.hash.slice(1);
  });
  documentProperty('documentElement').append(links);
  return names;
}

/**
 * Shows these pages of the targets. An element whose target is not printed keeps its text.
 * @returns whether any number has changed
 */
export function showPages(pages: readonly (number | null)[]): boolean {
  let hasChanged = false;
  for (const { element, target } of numbered) {
    const found = pages[target];
    if (found === null || found === undefined) continue;
    const page = before + found;
    const isLink = !element.hasAttribute('data-page-number-of');
    const shown = isLink ? element.getAttribute('data-page-number') : element.textContent;
    if (shown === String(page)) continue;
    hasChanged = true;
    if (isLink) element.setAttribute('data-page-number', String(page));
    else element.textContent = String(page);
  }
  return hasChanged;
}

/** The id of the element that a number is for; null if it is not in this document. */
function targetOf(element: Element): string | null {
  const named = element.getAttribute('data-page-number-of');
  const { href } = element as HTMLAnchorElement;
  const fragment = named?.trim().replace(/^#/, '') ?? fragmentOf(href);
  if (fragment === '' || fragment.length > ID_MAX_CHARS) return null;
  const id = [fragment, decoded(fragment)].find((each) => document.getElementById(each) !== null);
  return id ?? null;
}

/** The address of a link; null for other elements, and for very long ones. */
function addressOf(element: Element): string | null {
  const { href } = element as HTMLAnchorElement;
  const isAddress = !element.hasAttribute('data-page-number-of') && typeof href === 'string' && /^https?:/.test(href);
  return isAddress && href.length <= ADDRESS_MAX_CHARS ? href : null;
}

function fragmentOf(address: string): string {
  const own = `${ownAddress()}#`;
  return address.startsWith(own) ? address.slice(own.length) : '';
}

/** The document's address without its fragment. */
function ownAddress(): string {
  return location.href.split('#', 1)[0] ?? '';
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
