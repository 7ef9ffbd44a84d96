import { allIn, documentIn, isElement, shadowRootOf, type Tree, trees } from './dom.js';

/** The trees and names of the page, which are kept up to date as it changes, since accessing every element is slow. */

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
/** More changes at once cost more than a new walk. */
const RECORDS_MAX = 1_000;

interface Known {
  trees: Set<Tree>;
  undefinedElements: Set<Element>;
  names: Names | null;
}

let known: Known | null = null;
const observer = new MutationObserver(update);

/** The document and its open shadow trees, outer ones first, and with `frames` the documents of the same origin in frames, with theirs. */
export function cachedTrees({ frames = false }: { frames?: boolean } = {}): readonly Tree[] {
  // In a frame, this program is loaded anew for each call.
  if (window !== top) return trees(document, { frames });
  const { trees: kept } = cached();
  // A tree that comes back is added again.
  for (const tree of kept) if (!tree.isConnected) kept.delete(tree);
  const own = [...kept];
  if (!frames) return own;
  const inner = own.flatMap((tree) => allIn(tree, 'iframe,frame,object')).flatMap((frame) => documentIn(frame) ?? []);
  return [...own, ...inner.flatMap((root) => trees(root, { frames }))];
}

/** The matching elements of these trees. */
export function queryTrees(selector: string, options?: { frames: boolean }): Element[] {
  return cachedTrees(options).flatMap((tree) => allIn(tree, selector));
}

/** This document, and those of the same origin in frames. */
export function documents(): Document[] {
  return cachedTrees({ frames: true }).filter((tree): tree is Document => tree.nodeType === Node.DOCUMENT_NODE);
}

export function cachedNames(): Names {
  const found = cached();
  found.names ??= {
    ids: valuesOf('id'),
    classLists: valuesOf('class'),
    hrefs: valuesOf('href', '[href^="http" i],[href^="//"]'),
  };
  return found.names;
}

function cached(): Known {
  // Takes into account what the observer has not delivered yet.
  update(observer.takeRecords());
  for (const host of known?.undefinedElements ?? []) if (shadowRootOf(host) !== null) add(host);
  if (known === null) add(document);
  return known as Known;
}

function update(records: MutationRecord[]): void {
  if (known === null || records.length === 0) return;
  if (records.length > RECORDS_MAX) {
    observer.disconnect();
    known = null;
    return;
  }
  known.names = null;
  for (const { addedNodes } of records) for (const node of addedNodes) if (isElement(node)) add(node);
}

/** Adds the trees of and in an element or document. */
function add(root: Element | Document): void {
  known ??= { trees: new Set(), undefinedElements: new Set(), names: null };
  if (isElement(root)) known.undefinedElements.delete(root);
  for (const tree of trees(root)) {
    for (const element of allIn(tree, ':not(:defined)')) known.undefinedElements.add(element);
    if (isElement(tree) || known.trees.has(tree)) continue;
    observer.observe(tree, WATCHED);
    known.trees.add(tree);
  }
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
