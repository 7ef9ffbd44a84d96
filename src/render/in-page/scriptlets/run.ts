/**
 * The scriptlets of filter lists, implemented from their public descriptions. They run in the main world before the page's
 * scripts, whose environment they change, and are built to a separate script.
 */
import { adjustTimer, preventAddEventListener, preventTimer, preventWindowOpen, wrap } from './calls.js';
import { patternTest } from './pattern.js';
import { abortCurrentScript, abortOnPropertyRead, abortOnPropertyWrite, setConstant } from './properties.js';
import { preventFetch, preventXhr } from './requests.js';
import type { Scriptlet } from './scriptlet.js';

const SCRIPTLETS: Record<string, (...given: string[]) => void> = {
  'abort-current-script': abortCurrentScript,
  'abort-on-property-read': abortOnPropertyRead,
  'abort-on-property-write': abortOnPropertyWrite,
  'adjust-setInterval': (...given) => adjustTimer('setInterval', ...given),
  'adjust-setTimeout': (...given) => adjustTimer('setTimeout', ...given),
  'json-prune': jsonPrune,
  'prevent-addEventListener': preventAddEventListener,
  'prevent-fetch': preventFetch,
  'prevent-setInterval': (...given) => preventTimer('setInterval', ...given),
  'prevent-setTimeout': (...given) => preventTimer('setTimeout', ...given),
  'prevent-window-open': preventWindowOpen,
  'prevent-xhr': preventXhr,
  'remove-attr': removeAttr,
  'remove-class': removeClass,
  'remove-node-text': removeNodeText,
  'set-constant': setConstant,
  'set-cookie': setCookie,
  'set-local-storage-item': (...given) => setItem('localStorage', ...given),
  'set-session-storage-item': (...given) => setItem('sessionStorage', ...given),
};

/** Runs the scriptlets for this document's host. A frame without a URL of its own belongs to its parent's host. */
export function run(byHost: Record<string, Scriptlet[]>): void {
  const host = self.origin === 'null' ? '' : new URL(self.origin).hostname;
  if (!Object.hasOwn(byHost, host)) return;
  for (const [name, ...given] of byHost[host] ?? []) {
    try {
      if (Object.hasOwn(SCRIPTLETS, name)) SCRIPTLETS[name]?.(...given);
    } catch {
      // The argument is invalid, such as a malformed regular expression, or the page has frozen the object.
    }
  }
}

const RUNS_MAX = 100;
const RUN_EVERY_MS = 50;

/** Implements `remove-attr`, for elements that match the selector, or for all. */
function removeAttr(names = '', selector = ''): void {
  const attributes = namesOf(names);
  if (attributes.length === 0) return;
  const fitting = selector === '' ? attributes.map((name) => `[${CSS.escape(name)}]`).join(',') : selector;
  whileLoading(() => {
    for (const element of document.querySelectorAll(fitting)) for (const name of attributes) element.removeAttribute(name);
  });
}

/** Implements `remove-class`, for elements that match the selector, or for all. */
function removeClass(names = '', selector = ''): void {
  const classes = namesOf(names);
  if (classes.length === 0) return;
  const fitting = selector === '' ? classes.map((name) => `.${CSS.escape(name)}`).join(',') : selector;
  whileLoading(() => {
    for (const element of document.querySelectorAll(fitting)) element.classList.remove(...classes);
  });
}

/** Implements `remove-node-text`: empties nodes with this name, mostly scripts, and matching text before they take effect. */
function removeNodeText(nodeName = '', search = ''): void {
  if (nodeName === '' || search === '') return;
  const name = nodeName.toLowerCase();
  const fits = patternTest(search);
  const empty = (node: Node | null) => {
    if (node?.nodeName.toLowerCase() === name && fits(node.textContent ?? '')) node.textContent = '';
  };
  new MutationObserver((changes) => {
    for (const { addedNodes, target } of changes) {
      for (const node of addedNodes) empty(node);
      // A parser adds an element before its text.
      empty(target);
    }
  }).observe(document, { childList: true, subtree: true });
}

function namesOf(text: string): string[] {
  return text.split(/\s*\|\s*|\s+/).filter((name) => name !== '');
}

/** Runs when the document is parsed and loaded, and after changes, a limited number of times. */
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

/** The maximum number of steps of the search in one parsed text. */
const STEPS_MAX = 10_000;

/** Implements `json-prune`: removes properties from parsed JSON if all required ones exist. */
function jsonPrune(paths = '', required = ''): void {
  const wanted = pathsOf(paths);
  const needed = pathsOf(required);
  if (wanted.length === 0) return;
  const pruned = (value: unknown) => {
    if (needed.every((path) => visit(value, path, () => {}))) for (const path of wanted) visit(value, path, remove);
    return value;
  };
  wrap(JSON, 'parse', (call, given) => pruned(call(...given)));
  wrap(Response.prototype, 'json', (call, given) => (call(...given) as Promise<unknown>).then(pruned));
}

function pathsOf(text: string): string[][] {
  return text
    .split(/\s+/)
    .filter((path) => path !== '')
    .map((path) => path.split('.').filter((name) => name !== ''));
}

function remove(owner: object, name: string): void {
  Reflect.deleteProperty(owner, name);
}

/**
 * Calls `found` for each property at the path, in which `[]` is any item and `*` any property.
 * @returns whether there was one
 */
function visit(root: unknown, path: readonly string[], found: (owner: object, name: string) => void): boolean {
  let steps = 0;
  const from = (value: unknown, at: number): boolean => {
    if (typeof value !== 'object' || value === null || steps++ > STEPS_MAX) return false;
    const name = path[at] ?? '';
    const isMany = name === '*' || (name === '[]' && Array.isArray(value));
    const names = isMany ? Object.keys(value) : Object.hasOwn(value, name) ? [name] : [];
    let any = false;
    for (const one of names) {
      if (at < path.length - 1) any = from(Reflect.get(value, one), at + 1) || any;
      else {
        found(value, one);
        any = true;
      }
    }
    return any;
  };
  return from(root, 0);
}

/** The values that a list may store. Those that give consent are excluded: banners are declined or hidden. */
const VALUES =
  /^(?:true|t|false|f|yes|y|no|n|ok|on|off|1st|reject|rejected|deny|denied|decline|declined|necessary|required|essential|hide|hidden|closed?|dismiss(?:ed)?|seen|done|none|-1|\d{1,4}|[12]\d{4}|3[01]\d{3})$/i;
const LITERALS: Record<string, string> = {
  '': '',
  emptyStr: '',
  emptyObj: '{}',
  '{}': '{}',
  emptyArr: '[]',
  '[]': '[]',
  null: 'null',
  undefined: 'undefined',
};

/** Implements `set-cookie`, for this host and until the capture ends. */
function setCookie(name = '', value = '', path = '/'): void {
  if (!/^[^\s;=,]{1,200}$/.test(name) || !VALUES.test(value)) return;
  const where = path === 'none' ? '' : '; path=/';
  const secure = /^__(?:secure|host)-/i.test(name) ? '; secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: the page's scripts read it at once.
  document.cookie = `${name}=${value}${where}${secure}`;
}

/** Implements `set-local-storage-item` and `set-session-storage-item`. The value `$remove$` removes an item. */
function setItem(area: 'localStorage' | 'sessionStorage', key = '', value = ''): void {
  const stored = Object.hasOwn(LITERALS, value) ? LITERALS[value] : VALUES.test(value) ? value : undefined;
  if (key === '') return;
  if (value === '$remove$') window[area].removeItem(key);
  else if (stored !== undefined) window[area].setItem(key, stored);
}
