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
const ELSEWHERE = '[href^="http" i],[href^="//"]';
const WATCHED = { childList: true, subtree: true, attributeFilter: ['id', 'class', 'href'] };

let known: { trees: readonly Tree[]; undefinedElements: readonly Element[]; names: Names | null } | null = null;
let observer: MutationObserver | null = null;

/** The document and its open shadow trees, outer ones first. */
export function cachedTrees(): readonly Tree[] {
  return cached().trees;
}

/** Finds shadow trees attached to plain elements since, which no observer reports. */
export function refreshTrees(): void {
  const watch = watching();
  const names = known?.names ?? null;
  watch.disconnect();
  known = { ...readTrees(watch), names };
}

/** A document and its open shadow trees, outer ones first. Only this document's trees are cached. */
export function treesOf(root: Tree): readonly Tree[] {
  return root === document ? cachedTrees() : trees(root);
}

export function cachedNames(): Names {
  const found = cached();
  found.names ??= { ids: valuesOf('id', 'id'), classLists: valuesOf('class', 'className'), hrefs: valuesOf('href', null, ELSEWHERE) };
  return found.names;
}

/** Matching elements in the document and its open shadow trees. */
export function queryTrees(selector: string): Element[] {
  return cachedTrees().flatMap((tree) => allIn(tree, selector));
}

function cached(): NonNullable<typeof known> {
  const watch = watching();
  if (known?.undefinedElements.some((host) => shadowRootOf(host) !== null)) forget();
  known ??= readTrees(watch);
  return known;
}

/** The observer of changes. Records that it has not delivered yet are taken into account. */
function watching(): MutationObserver {
  observer ??= new MutationObserver(forget);
  if (observer.takeRecords().length > 0) forget();
  return observer;
}

function forget(): void {
  observer?.disconnect();
  known = null;
}

function readTrees(watch: MutationObserver): NonNullable<typeof known> {
  const found = trees();
  for (const tree of found) watch.observe(tree, WATCHED);
  return { trees: found, undefinedElements: found.flatMap((tree) => allIn(tree, ':not(:defined)')), names: null };
}

/** @param property the fastest way to read the attribute; a field of a form may shadow it */
function valuesOf(attribute: string, property: 'id' | 'className' | null, selector = `[${attribute}]`): Set<string> {
  const values = new Set<string>();
  const elements = Document.prototype.querySelectorAll.call(document, selector);
  for (let at = 0; at < elements.length && values.size < NAMES_MAX; at++) {
    const element = elements[at] as Element;
    const direct: unknown = property === null ? null : element[property];
    const value = typeof direct === 'string' ? direct : element.getAttribute(attribute);
    if (value !== null && value !== '') values.add(value);
  }
  return values;
}
