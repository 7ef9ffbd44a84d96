/** Numbers of the pages on which parts of the document are printed, as in a table of contents (extensions.md, PDFs on paper). */
import { adopt, all, documentProperty } from './dom.js';

const NUMBERED_MAX = 2_000;
const ID_MAX_CHARS = 500;
const NUMBERED = '[data-page-number-of], [data-toc] a[href], a[data-toc][href]';
/** Any rule of the page for these pseudo-elements takes precedence. */
const STYLE = ':where([data-toc]) a[data-page-number]::after, :where(a[data-toc][data-page-number])::after';

let numbered: { element: Element; target: number }[] = [];

/**
 * Finds the elements that show page numbers, and has the browser note where their targets are printed.
 * @returns the names of their destinations
 */
export function findTargets(): string[] {
  const targets = new Map<string, number>();
  numbered = [];
  for (const element of all(NUMBERED).slice(0, NUMBERED_MAX)) {
    const id = targetOf(element);
    if (id === null) continue;
    const target = targets.get(id) ?? targets.size;
    targets.set(id, target);
    numbered.push({ element, target });
  }
  if (numbered.length === 0) return [];
  // Chromium 156 writes destinations for the targets of links, shown or not.
  const links = document.createElement('div');
  links.hidden = true;
  const names = [...targets.keys()].map((id) => {
    const link = document.createElement('a');
    link.href = `${ownAddress()}#${encodeURIComponent(id)}`;
    links.append(link);
    return link.hash.slice(1);
  });
  documentProperty('documentElement').append(links);
  adopt(`${STYLE} { content: attr(data-page-number); float: right }`);
  return names;
}

/**
 * Shows these pages of the targets. An element whose target is not printed keeps its text.
 * @returns whether any number has changed
 */
export function showPages(pages: readonly (number | null)[]): boolean {
  let hasChanged = false;
  for (const { element, target } of numbered) {
    const page = pages[target];
    if (page === null || page === undefined) continue;
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
