import { all, documentProperty, isVisible } from './dom.js';
import { visibleText } from './text.js';

/** The document's part of a wall's sign; null for conditions that do not apply. */
export interface Mark {
  marker: string | null;
  widget: string | null;
  /** Whether the sign counts only on a page with little other content. */
  bare: boolean;
}

/** The limits of a page with little other content, as a wall is. */
export interface Bareness {
  maxChars: number;
  maxLinks: number;
}

export interface WallInspection {
  title: string;
  text: string;
  /** Whether the document matches the marker and the widget, by sign. */
  marked: boolean[];
  /**
   * Whether the page has no more text and links than the limits, and no text field: a captcha next to one protects a form, not
   * the page.
   */
  bare: boolean;
}

const FIELDS = 'input,textarea,select';
const TYPED = /^(|text|email|password|search|tel)$/i;

export function inspect({ marks, maxChars, bareness }: { marks: Mark[]; maxChars: number; bareness: Bareness }): WallInspection {
  const text = visibleText(maxChars).trim();
  const bare = text.length <= bareness.maxChars && !hasTextField() && !hasMoreLinks(bareness.maxLinks);
  const asked = marks.map((mark) => (mark.bare && !bare ? null : mark));
  const there = matching(asked.flatMap((mark) => [mark?.marker ?? null, mark?.widget ?? null]).filter((selector) => selector !== null));
  return {
    title: documentProperty('title').slice(0, maxChars).trim(),
    text,
    bare,
    marked: asked.map((mark) => mark !== null && isMarked(mark, there)),
  };
}

function isMarked({ marker, widget }: Mark, there: readonly Element[]): boolean {
  const matches = (selector: string) => there.filter((element) => Element.prototype.matches.call(element, selector));
  if (marker !== null && matches(marker).length === 0) return false;
  return widget === null || matches(widget).some((element) => Element.prototype.checkVisibility.call(element));
}

/** Tests all selectors at once, since most pages match none, and each query scans the whole page. */
function matching(selectors: string[]): Element[] {
  return selectors.length === 0 ? [] : all(selectors.join(','));
}

function hasTextField(): boolean {
  return all(FIELDS).some((field) => {
    if (field.localName === 'input' && !TYPED.test(field.getAttribute('type') ?? '')) return false;
    return isVisible(field) && !/captcha|answer|response/i.test(`${field.id} ${field.getAttribute('name')}`);
  });
}

function hasMoreLinks(most: number): boolean {
  let count = 0;
  for (const link of all('a[href]')) if (isVisible(link) && ++count > most) return true;
  return false;
}
