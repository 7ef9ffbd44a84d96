import { ELEMENT_SELECTOR_MAX_CHARS } from '../../contract/limits.js';
import { findDeep } from './deep-selector.js';
import { allIn, type Tree } from './dom.js';

/** Short selectors that lead to one element, and stay valid while the rest of a page changes. */

const VALUE_MAX_CHARS = 100;
/** Attributes that people give to elements in order to find them, or that rarely change. */
const ATTRIBUTES = ['data-testid', 'data-test', 'data-cy', 'name', 'aria-label', 'placeholder', 'href'];
/** Numbers and hashes of build tools and frameworks, which change with each visit or release. */
const GENERATED = /\d{4,}|[0-9a-f]{8,}|^[:«]|:$/i;

/**
 * A selector whose first match is the element; `>>>` leads into open shadow trees.
 * @returns null if it would be too long
 */
export function selectorOf(element: Element): string | null {
  const parts: string[] = [];
  for (let inner = element; ; ) {
    const tree = inner.getRootNode() as Tree;
    parts.unshift(selectorIn(tree, inner));
    if (!(tree instanceof ShadowRoot)) break;
    inner = tree.host;
  }
  const selector = parts.join(' >>> ');
  if (selector.length > ELEMENT_SELECTOR_MAX_CHARS) return null;
  // A nested shadow tree is searched, too.
  return parts.length === 1 || findDeep(selector).found[0]?.element === element ? selector : null;
}

function selectorIn(tree: Tree, element: Element): string {
  const byId = idSelector(tree, element);
  if (byId !== null) return byId;
  const tag = CSS.escape(element.localName);
  for (const name of ATTRIBUTES) {
    const value = element.getAttribute(name) ?? '';
    if (value === '' || value.length > VALUE_MAX_CHARS || /[\n\r\f]/.test(value)) continue;
    const selector = `${tag}[${name}="${value.replace(/["\\]/g, '\\$&')}"]`;
    if (isOnly(tree, selector)) return selector;
  }
  return pathTo(tree, element);
}

/** From the nearest ancestor with an id, or from the top. */
function pathTo(tree: Tree, element: Element): string {
  const steps: string[] = [];
  for (let at: Element | null = element; at !== null; at = at.parentElement) {
    const byId = at === element ? null : idSelector(tree, at);
    steps.unshift(byId ?? stepTo(at));
    if (byId !== null || at.localName === 'body') break;
  }
  return steps.join(' > ');
}

function stepTo(element: Element): string {
  const { localName } = element;
  const tag = CSS.escape(localName);
  let before = 0;
  for (let at = element.previousElementSibling; at !== null; at = at.previousElementSibling)
    if (at.localName === localName) before++;
  let isAlone = before === 0;
  for (let at = element.nextElementSibling; isAlone && at !== null; at = at.nextElementSibling)
    isAlone = at.localName !== localName;
  return isAlone ? tag : `${tag}:nth-of-type(${before + 1})`;
}

function idSelector(tree: Tree, element: Element): string | null {
  const id = element.getAttribute('id') ?? '';
  if (id === '' || id.length > VALUE_MAX_CHARS || GENERATED.test(id)) return null;
  const selector = `#${CSS.escape(id)}`;
  return isOnly(tree, selector) ? selector : null;
}

function isOnly(tree: Tree, selector: string): boolean {
  return allIn(tree, selector).length === 1;
}
