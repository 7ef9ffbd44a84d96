import { findDeep } from './deep-selector.js';
import { allIn, isPage, keepAdopted, sheetOf, trees } from './dom.js';

/** Keeps `custom_css`, `hide_selectors` and `remove_selectors` in force in this document, whatever the page does. */

interface Rules {
  hide: string[];
  remove: string[];
}

interface Edits extends Rules {
  css: string | null;
  /** The `@import` statements of the custom CSS. */
  imports: string;
}

/** A selector whose matches depend on other elements: the removal of one may make others match. */
const STRUCTURAL = /:(first|last|only|nth)-|:(empty|has)\b|[+~]/;
const NONE: Rules = { hide: [], remove: [] };

let plain = NONE;
let structural = NONE;
let sheets: CSSStyleSheet[] = [];
/** Applies structural selectors until the page is ready. */
let early: CSSStyleSheet | null = null;
/** The elements against which structural selectors have been matched; null until the page is ready. */
let judged: WeakSet<Element> | null = null;
/** Matches of structural selectors that are hidden. */
const hidden = new Set<Element>();
/** The number of times that imports are inserted again, which loads them, since a page may keep removing them. */
const IMPORTS_MAX = 20;
/** The number of times that an element is hidden again after changes of the page, which may show it again each time. */
const HIDDEN_AGAIN_MAX = 20;
const hiddenAgain = new WeakMap<Element, number>();
let importer: HTMLStyleElement | null = null;
let imported = 0;

/** Must be called at the start of the document. */
export function start({ css, imports, hide, remove }: Edits): void {
  const isTop = window.top === window;
  const isStructural = (selector: string) => STRUCTURAL.test(selector);
  const isPlain = (selector: string) => !isStructural(selector);
  plain = { hide: hide.filter(isPlain), remove: remove.filter(isPlain) };
  structural = { hide: hide.filter(isStructural), remove: remove.filter(isStructural) };
  early = sheetOf(cssOf(structural));
  sheets = [...(css !== null && isTop ? [css] : []), cssOf(plain)].map(sheetOf);
  sheets.push(early);
  if (imports !== '' && isTop) {
    importer = Document.prototype.createElement.call(document, 'style') as HTMLStyleElement;
    importer.textContent = imports;
  }
  apply(false);
  watch();
  // Only the main document is notified when it is ready.
  if (!isTop) addEventListener('load', () => apply(true));
}

/** Each selector has its own rule, so that an invalid one does not affect the others. */
function cssOf({ hide, remove }: Rules): string {
  // Descendants can override `visibility`, even in a shadow tree, but not their parent's opacity.
  const hiding = hide.map(
    (one) => `:is(${one}),:is(${one}) *{visibility:hidden!important}:is(${one}){opacity:0!important}`,
  );
  return [...hiding, ...remove.map((one) => `:is(${one}){display:none!important}`)].join('\n');
}

/**
 * Applies everything again, since the page may have undone it. The last call is made when the page has been stopped.
 * @param isReady whether the page has got what it shows: what structural selectors match then is changed once, and later only elements
 * that have been added since
 * @param options.afterChange whether a change of the page is the reason
 */
export function apply(isReady: boolean, { afterChange = false } = {}): void {
  if (early === null) return;
  keepAdopted(sheets);
  addImports();
  for (const element of [...matching(plain.hide), ...hidden]) {
    const times = hiddenAgain.get(element) ?? 0;
    if (!afterChange || times < HIDDEN_AGAIN_MAX) conceal(element);
    if (afterChange) hiddenAgain.set(element, times + 1);
  }
  for (const element of matching(plain.remove)) remove(element);
  if (!isReady && judged === null) return;
  const isFirst = judged === null;
  judged ??= new WeakSet();
  early.replaceSync('');
  const isNew = (element: Element) => judged?.has(element) === false;
  const toHide = matching(structural.hide).filter(isNew);
  const toRemove = matching(structural.remove).filter(isNew);
  for (const element of toHide) {
    hidden.add(element);
    conceal(element);
  }
  for (const element of toRemove) remove(element);
  if ((isFirst && structural.hide.length + structural.remove.length > 0) || toHide.length + toRemove.length > 0)
    for (const tree of trees(document, { frames: true })) for (const element of allIn(tree, '*')) judged.add(element);
}

function matching(selectors: readonly string[]): Element[] {
  return selectors.flatMap((selector) => findDeep(selector).found.map(({ element }) => element));
}

function addImports(): void {
  const place = document.head ?? (document.readyState === 'loading' ? null : document.documentElement);
  if (importer === null || importer.isConnected || place === null || imported === IMPORTS_MAX) return;
  imported += 1;
  Element.prototype.append.call(place, importer);
}

/** Hides an element by an inline style, which overrides the page's own. */
function conceal(element: Element): void {
  const { style } = element as HTMLElement;
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
  let isScheduled = false;
  const observer = new MutationObserver(() => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      apply(false, { afterChange: true });
    });
  });
  observer.observe(document, { childList: true, subtree: true });
}
