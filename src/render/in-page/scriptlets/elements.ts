import { patternTest } from './pattern.js';

const RUNS_MAX = 100;
const RUN_EVERY_MS = 50;

/** `remove-attr`: of elements that fit the selector, or of all. */
export function removeAttr(names = '', selector = ''): void {
  const attributes = namesOf(names);
  if (attributes.length === 0) return;
  const fitting = selector === '' ? attributes.map((name) => `[${CSS.escape(name)}]`).join(',') : selector;
  whileLoading(() => {
    for (const element of document.querySelectorAll(fitting)) for (const name of attributes) element.removeAttribute(name);
  });
}

/** `remove-class` */
export function removeClass(names = '', selector = ''): void {
  const classes = namesOf(names);
  if (classes.length === 0) return;
  const fitting = selector === '' ? classes.map((name) => `.${CSS.escape(name)}`).join(',') : selector;
  whileLoading(() => {
    for (const element of document.querySelectorAll(fitting)) element.classList.remove(...classes);
  });
}

/** `remove-node-text`: empties nodes of a name, scripts mostly, whose text fits, before they have an effect. */
export function removeNodeText(nodeName = '', search = ''): void {
  if (nodeName === '' || search === '') return;
  const name = nodeName.toLowerCase();
  const fits = patternTest(search);
  const empty = (node: Node | null) => {
    if (node?.nodeName.toLowerCase() === name && fits(node.textContent ?? '')) node.textContent = '';
  };
  new MutationObserver((changes) => {
    for (const { addedNodes, target } of changes) {
      for (const node of addedNodes) empty(node);
      // A parser adds an element first, and then its text.
      empty(target);
    }
  }).observe(document, { childList: true, subtree: true });
}

function namesOf(text: string): string[] {
  return text.split(/\s*\|\s*|\s+/).filter((name) => name !== '');
}

/** Now, once the document is parsed and loaded, and after changes, a limited number of times. */
function whileLoading(run: () => void): void {
  let runs = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const now = () => {
    timer = null;
    if (runs++ < RUNS_MAX) run();
    else observer.disconnect();
  };
  const soon = () => {
    if (timer === null) timer = setTimeout(now, RUN_EVERY_MS);
  };
  const observer = new MutationObserver(soon);
  observer.observe(document, { childList: true, subtree: true, attributes: true });
  addEventListener('DOMContentLoaded', now);
  addEventListener('load', now);
}
