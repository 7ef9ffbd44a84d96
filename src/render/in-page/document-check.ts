import { all, documentProperty, isPage, isVisible, matches } from './dom.js';
import { queryTrees } from './dom-cache.js';
import { visibleText } from './text.js';

interface WallQuestion {
  selectors: string[];
  /** The longest text and title to read. */
  maxChars: number;
  bareness: { maxChars: number; maxLinks: number };
}

/**
 * The page's title and text, whether it is `bare`: no more text and links than the limits, and no text field, since a captcha next to one
 * protects a form, not the page; and the selectors that match on a bare page, with whether any of their elements is rendered.
 */
export function inspectWall({ selectors, maxChars, bareness }: WallQuestion) {
  const text = visibleText(maxChars).trim();
  const isShort = text.length <= bareness.maxChars;
  const bare = isShort && !hasTextField() && queryTrees('a[href]').filter(isVisible).length <= bareness.maxLinks;
  // All selectors are tested at once, since most pages match none, and each query scans the whole page.
  const there = bare ? all(selectors.join(',')) : [];
  const found = selectors.flatMap((selector): [selector: string, rendered: boolean][] => {
    const matching = there.filter((element) => matches(element, selector));
    return matching.length === 0
      ? []
      : [[selector, matching.some((element) => Element.prototype.checkVisibility.call(element))]];
  });
  return { title: documentProperty('title').slice(0, maxChars).trim(), text, bare, found };
}

function hasTextField(): boolean {
  return queryTrees('input,textarea,select').some((field) => {
    if (field.localName === 'input' && !/^(|text|email|password|search|tel)$/i.test(field.getAttribute('type') ?? ''))
      return false;
    return isVisible(field) && !/captcha|answer|response/i.test(`${field.id} ${field.getAttribute('name')}`);
  });
}

/** The text of Chromium's error block (Blink's xml_errors.cc), which it inserts at the start of XML that does not parse; null if there is none. */
export function parseError(): string | null {
  const [block] = all('parsererror');
  const parent = block?.parentElement;
  if (block?.namespaceURI !== 'http://www.w3.org/1999/xhtml' || parent?.firstElementChild !== block || !isPage(parent))
    return null;
  return (block.querySelector('div')?.textContent ?? '').trim().slice(0, 300);
}

/** Whether the document is the browser's page for a single image that failed to load. */
export function isBrokenImage(): boolean {
  const [image] = all('img');
  return image instanceof HTMLImageElement && image.complete && image.naturalWidth === 0;
}

export function asksForPassword(): boolean {
  return queryTrees('input[type=password]', { frames: true }).some(isVisible);
}
