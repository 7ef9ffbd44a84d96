import { findDeep } from './deep-selector.js';
import { isPage, keepAdopted, sheetOf } from './dom.js';

/** Keeps `custom_css`, `hide_selectors` and `remove_selectors` in force in this document, whatever the page does. */

interface Edits {
  css: string | null;
  /** The `@import` statements of the custom CSS. */
  imports: string;
  hide: string[];
  remove: string[];
}

let edits: Edits | null = null;
let sheets: CSSStyleSheet[] = [];
/** How often imports are inserted again, which loads them, since a page may keep removing them. */
const IMPORTS_MAX = 20;
let importer: HTMLStyleElement | null = null;
let imported = 0;

/** Must be called at the start of the document. */
export function start(given: Edits): void {
  edits = given;
  const { css, imports, hide, remove } = given;
  const isTop = window.top === window;
  // Each selector has its own rule, so that an invalid one does not affect the others. Descendants can override `visibility`,
  // even in a shadow tree, but not their parent's opacity.
  const hiding = hide.map((one) => `:is(${one}),:is(${one}) *{visibility:hidden!important}:is(${one}){opacity:0!important}`);
  const removing = remove.map((one) => `:is(${one}){display:none!important}`);
  sheets = [...(css !== null && isTop ? [css] : []), hiding.join('\n'), removing.join('\n')].map(sheetOf);
  if (imports !== '' && isTop) {
    importer = Document.prototype.createElement.call(document, 'style') as HTMLStyleElement;
    importer.textContent = imports;
  }
  apply();
  watch();
}

/** Applies everything again, since the page may have undone it. The last call is made when the page has been stopped. */
export function apply(): void {
  if (edits === null) return;
  keepAdopted(sheets);
  addImports();
  for (const selector of edits.hide) for (const { element } of findDeep(selector).found) conceal(element as HTMLElement);
  for (const selector of edits.remove) for (const { element } of findDeep(selector).found) remove(element);
}

function addImports(): void {
  const place = document.head ?? (document.readyState === 'loading' ? null : document.documentElement);
  if (importer === null || importer.isConnected || place === null || imported === IMPORTS_MAX) return;
  imported += 1;
  Element.prototype.append.call(place, importer);
}

/** Hides an element by an inline style, which overrides the page's own. */
function conceal({ style }: HTMLElement): void {
  // A form's `style` may be one of its fields; in a frame, it belongs to that frame's realm.
  if (typeof style?.setProperty !== 'function') return;
  style.setProperty('visibility', 'hidden', 'important');
  style.setProperty('opacity', '0', 'important');
}

/** The root and the body are emptied instead of removed, since a document without them shows nothing. */
function remove(element: Element): void {
  if (isPage(element)) Element.prototype.replaceChildren.call(element);
  else Element.prototype.remove.call(element);
}

/** The style sheets hide most new elements at once, so one check per frame suffices for the rest. */
function watch(): void {
  let isAsked = false;
  const observer = new MutationObserver(() => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      apply();
    });
  });
  observer.observe(document, { childList: true, subtree: true });
}
