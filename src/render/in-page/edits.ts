import { matchesOf } from './deep-selector.js';
import { documentProperty } from './dom.js';
import { fire } from './mechanisms.js';
import { keepAdopted } from './styles.js';

/** Keeps `custom_css`, `hide_selectors` and `remove_selectors` in force in this document, whatever the page does. */

export interface Edits {
  css: string | null;
  /** The `@import` statements of the custom CSS. */
  imports: string;
  hide: string[];
  remove: string[];
}

/** The maximum number of attempts for an element, one per frame, since a page may keep restoring its own style. */
const TRIES_MAX = 20;

let edits: Edits | null = null;
let sheets: CSSStyleSheet[] = [];
let importer: HTMLStyleElement | null = null;
let imported = 0;
const tries = new WeakMap<Element, number>();

/** Must be called at the start of the document. */
export function start(given: Edits): void {
  edits = given;
  const { css, imports, hide, remove } = given;
  const isTop = window.top === window;
  sheets = [...(css !== null && isTop ? [css] : []), hidingCss(hide), removingCss(remove)].map(asSheet);
  if (imports !== '' && isTop) {
    importer = Document.prototype.createElement.call(document, 'style') as HTMLStyleElement;
    importer.textContent = imports;
  }
  apply();
  watch();
}

/** Applies everything again, since the page may have undone it. */
export function apply(): void {
  if (edits === null) return;
  keepAdopted(sheets);
  addImports();
  for (const selector of edits.hide) for (const { element } of matchesOf(selector)) conceal(element as HTMLElement);
  for (const selector of edits.remove) for (const { element } of matchesOf(selector)) remove(element);
}

function asSheet(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
}

/**
 * Each selector has its own rule, so that an invalid one does not affect the others. Descendants can override `visibility`,
 * even in a shadow tree, but not their parent's opacity.
 */
function hidingCss(selectors: string[]): string {
  return selectors
    .map((selector) => `:is(${selector}),:is(${selector}) *{visibility:hidden!important}:is(${selector}){opacity:0!important}`)
    .join('\n');
}

function removingCss(selectors: string[]): string {
  return selectors.map((selector) => `:is(${selector}){display:none!important}`).join('\n');
}

function addImports(): void {
  const place = document.head ?? (document.readyState === 'loading' ? null : document.documentElement);
  if (importer === null || importer.isConnected || place === null || imported === TRIES_MAX) return;
  imported += 1;
  Element.prototype.append.call(place, importer);
}

/** Hides an element by an inline style if the page's own style overrides the sheet. */
function conceal(element: HTMLElement): void {
  const { visibility, opacity } = getComputedStyle(element);
  const tried = tries.get(element) ?? 0;
  const { style } = element;
  // A form's `style` may be one of its fields; in a frame, it belongs to that frame's realm.
  const isStyle = typeof style?.setProperty === 'function';
  if ((visibility !== 'visible' && Number(opacity) === 0) || tried === TRIES_MAX || !isStyle) return;
  tries.set(element, tried + 1);
  fire('hidden_by_own_style');
  style.setProperty('visibility', 'hidden', 'important');
  style.setProperty('opacity', '0', 'important');
}

/** The root and the body are emptied instead of removed, since a document without them shows nothing. */
function remove(element: Element): void {
  const isPage = element === documentProperty('documentElement') || element === documentProperty('body');
  if (isPage) Element.prototype.replaceChildren.call(element);
  else Element.prototype.remove.call(element);
}

/** The style sheets hide most new elements at once, so one check per frame suffices for the rest. */
function watch(): void {
  let asked = false;
  const observer = new MutationObserver(() => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      apply();
    });
  });
  const removes = edits !== null && edits.remove.length > 0;
  const hides = edits !== null && edits.hide.length > 0;
  const attributes = removes ? { attributes: true } : hides ? { attributeFilter: ['style', 'class'] } : {};
  observer.observe(document, { childList: true, subtree: true, ...attributes });
}
