import { allIn, shadowRootOf, type Tree, trees } from './dom.js';

/**
 * A cache of the parts of the document that several checks need, since accessing every element is slow. It is refreshed only
 * after elements or their names have changed, or a custom element has got its shadow tree.
 */

export interface Names {
  /** The ids in the document's own tree, limited in number. */
  readonly ids: ReadonlySet<string>;
  /** The values of `class` attributes. Tens of thousands of elements share a few hundred of them. */
  readonly classLists: ReadonlySet<string>;
  /** The `href` values that contain a host. */
  readonly hrefs: ReadonlySet<string>;
}

const NAMES_MAX = 6_000;
const WATCHED = { childList: true, subtree: true, attributeFilter: ['id', 'class', 'href'] };

interface Known {
  trees: readonly Tree[];
  undefinedElements: readonly Element[];
  names: Names | null;
}

let known: Known | null = null;
const observer = new MutationObserver(forget);

/** The document and its open shadow trees, outer ones first. */
export function cachedTrees(): readonly Tree[] {
  return cached().trees;
}

export function cachedNames(): Names {
  const found = cached();
  found.names ??= { ids: valuesOf('id'), classLists: valuesOf('class'), hrefs: valuesOf('href', '[href^="http" i],[href^="//"]') };
  return found.names;
}

export function queryTrees(selector: string): Element[] {
  return cachedTrees().flatMap((tree) => allIn(tree, selector));
}

/** Takes into account what the observer has not delivered yet. */
function cached(): Known {
  const isStale = observer.takeRecords().length > 0 || known?.undefinedElements.some((host) => shadowRootOf(host) !== null);
  if (isStale) forget();
  if (known === null) {
    const found = trees();
    for (const tree of found) observer.observe(tree, WATCHED);
    known = { trees: found, undefinedElements: found.flatMap((tree) => allIn(tree, ':not(:defined)')), names: null };
  }
  return known;
}

function forget(): void {
  observer.disconnect();
  known = null;
}

function valuesOf(attribute: string, selector = `[${attribute}]`): Set<string> {
  const values = new Set<string>();
  const elements = Document.prototype.querySelectorAll.call(document, selector);
  for (let at = 0; at < elements.length && values.size < NAMES_MAX; at++) {
    const value = elements[at]?.getAttribute(attribute);
    if (value) values.add(value);
  }
  return values;
}
