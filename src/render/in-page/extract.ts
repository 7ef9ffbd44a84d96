import type { ExtractedTable, ExtractRule } from '../../contract/extract.js';
import {
  EXTRACT_MATCHES_MAX,
  EXTRACT_MAX_CHARS,
  EXTRACT_TABLE_MAX,
  EXTRACT_VALUE_MAX_CHARS,
  FACT_NAME_MAX_CHARS,
  FACT_TEXT_MAX_CHARS,
  URL_MAX_BYTES,
} from '../../contract/limits.js';
import type { PageElement } from '../../contract/page-facts.js';
import { onPage } from './boxes.js';
import { type Found, findDeep, isDeep } from './deep-selector.js';
import { flatTreeChildren, flatTreeParent, getterOf, isElement, shadowRootOf } from './dom.js';
import { partOf } from './source.js';

/** The text of one match of a rule, from which the value is made outside of the page. */
export interface RawValue {
  /** The text, attribute or HTML to read; null if there is none. */
  text: string | null;
  /** A value for programs, such as `datetime`, which comes before the text. */
  exact?: string | undefined;
  /** The language of the element, which tells apart the notations of numbers and dates. */
  language?: string | undefined;
  table?: ExtractedTable | undefined;
  box: PageElement['box'] | null;
}

export interface RawValues {
  matches: RawValue[];
  /** Whether there are more matches, or a longer text. */
  isCut: boolean;
}

/** The time for all rules, in ms. The browser ends a longer call, and then there are no values at all. */
const READ_MS = 400;
/** HTML is longer than the Markdown that becomes of it. */
const MARKDOWN_SOURCE_MAX_CHARS = 5 * EXTRACT_VALUE_MAX_CHARS;
const HTML = 'http://www.w3.org/1999/xhtml';
const LINKS = 'a[href],area[href],img[src],link[href],source[src],video[src],audio[src],iframe[src]';
const EXACT_NUMBER = 'meta[content],[itemprop][content],data[value],meter[value],progress[value]';
/** Types that read what the page shows. */
const SHOWN_TYPES = /^(text|number|date|table|markdown)$/;
const STRUCK = /^(s|del|strike)$/;
/** More elements are not looked at for text that is struck through. */
const STRUCK_SEARCH_MAX = 500;
const EXACT_DATE = '[datetime],meta[content],[itemprop][content]';

// A form's properties may be its fields.
const read = {
  innerText: getterOf<string>(HTMLElement.prototype, 'innerText'),
  textContent: getterOf<string | null>(Node.prototype, 'textContent'),
  outerHtml: getterOf<string>(Element.prototype, 'outerHTML'),
  baseUri: getterOf<string>(Node.prototype, 'baseURI'),
};

/** Reads the matches of each rule, within limits of time, number and length. */
export function extract(rules: readonly ExtractRule[]): RawValues[] {
  const limits = { until: performance.now() + READ_MS, charsLeft: EXTRACT_MAX_CHARS };
  return rules.map((rule) => readRule(rule, limits));
}

interface Limits {
  until: number;
  charsLeft: number;
}

function readRule(rule: ExtractRule, limits: Limits): RawValues {
  const { found, isCut } = matchesOf(rule);
  const result: RawValues = { matches: [], isCut };
  for (const { element, frames } of found) {
    if (performance.now() > limits.until || limits.charsLeft <= 0) return { ...result, isCut: true };
    const mostChars = rule.type === 'markdown' ? MARKDOWN_SOURCE_MAX_CHARS : EXTRACT_VALUE_MAX_CHARS;
    const { value, full } = valueOrNone(element, rule, Math.min(mostChars, limits.charsLeft));
    limits.charsLeft -= sizeOf(value);
    if (rule.all && SHOWN_TYPES.test(rule.type) && value.exact === undefined && !isShown(element)) continue;
    result.isCut ||= !full;
    result.matches.push({ ...value, box: boxOf(element, frames) });
  }
  return result;
}

function matchesOf({ selector, all }: ExtractRule): { found: Found[]; isCut: boolean } {
  const maxCount = all ? EXTRACT_MATCHES_MAX : 1;
  if (isDeep(selector)) {
    const { found } = findDeep(selector);
    return { found: found.slice(0, maxCount), isCut: all && found.length > maxCount };
  }
  if (!all) {
    const element = Document.prototype.querySelector.call(document, selector);
    return { found: element === null ? [] : [{ element, frames: [] }], isCut: false };
  }
  const matches = Document.prototype.querySelectorAll.call(document, selector);
  const found: Found[] = [];
  for (let at = 0; at < Math.min(matches.length, maxCount); at++)
    found.push({ element: matches[at] as Element, frames: [] });
  return { found, isCut: matches.length > maxCount };
}

/** A form whose fields have the names of its own methods may have no value; other matches do. */
function valueOrNone(element: Element, rule: ExtractRule, mostChars: number): Reading {
  try {
    return readValue(element, rule, mostChars);
  } catch {
    return { value: { text: null }, full: false };
  }
}

interface Reading {
  value: Omit<RawValue, 'box'>;
  /** Whether nothing was left out. */
  full: boolean;
}

function readValue(element: Element, { type, attribute: name = '' }: ExtractRule, mostChars: number): Reading {
  switch (type) {
    case 'text':
      return cut(tidyLines(shownText(element, mostChars * 2) ?? ''), mostChars);
    case 'number':
      return inLanguage(
        element,
        attributeOf(element, EXACT_NUMBER, ['content', 'value']) ?? numberOf(element),
        unstruckNumber(element),
      );
    case 'date':
      return inLanguage(element, exactDate(element));
    case 'url':
      return { value: { text: addressOf(element) }, full: true };
    case 'html':
      return cut(read.outerHtml.call(element), mostChars);
    case 'attribute':
      return cut(attribute(element, name), mostChars);
    case 'markdown':
      return cut(partOf(element), mostChars);
    case 'table':
      return tableOf(element, mostChars);
  }
}

function inLanguage(element: Element, exact: string | null, part: string | null = null): Reading {
  const shown = part ?? shownText(element, FACT_TEXT_MAX_CHARS * 4);
  const text = shown === null ? null : tidyLines(shown).replaceAll('\n', ' ');
  const around = Element.prototype.closest.call(element, '[lang]') ?? null;
  const language = around === null ? '' : (attribute(around, 'lang') ?? '').slice(0, FACT_NAME_MAX_CHARS);
  const { value, full } = cut(text, FACT_TEXT_MAX_CHARS);
  return { value: { ...value, language, ...(exact === null ? {} : { exact }) }, full };
}

/**
 * Whether the element is displayed, be it transparent or below the view. What is in `head` and in a list of choices has no display of its own.
 */
function isShown(element: Element): boolean {
  const closest = (selector: string) => Element.prototype.closest.call(element, selector);
  if (closest('head') !== null) return true;
  let shown: Element | null = closest('select') ?? element;
  while (shown !== null && getComputedStyle(shown).display === 'contents') shown = flatTreeParent(shown);
  return shown === null || Element.prototype.checkVisibility.call(shown);
}

/** The text without what is struck through, such as an earlier price; null if nothing is, or if no number is left. */
function unstruckNumber(element: Element): string | null {
  const all = Element.prototype.querySelectorAll.call(element, '*');
  const isStruck = (one: Element) =>
    STRUCK.test(one.localName) || getComputedStyle(one).textDecorationLine.includes('line-through');
  const struck = new Set(
    Array.from({ length: Math.min(all.length, STRUCK_SEARCH_MAX) }, (_, at) => all[at] as Element).filter(isStruck),
  );
  if (struck.size === 0 || !isShown(element)) return null;
  let text = '';
  const add = (node: Node) => {
    if (text.length > FACT_TEXT_MAX_CHARS * 4) return;
    if (!isElement(node) || struck.has(node) || !isShown(node)) return;
    const { display, visibility } = getComputedStyle(node);
    const gap = display.startsWith('inline') ? '' : ' ';
    text += gap;
    for (const child of flatTreeChildren(node))
      if (child.nodeType !== Node.TEXT_NODE) add(child);
      else if (visibility === 'visible') text += child.nodeValue;
    text += gap;
  };
  add(element);
  return /\p{Nd}/u.test(text) ? text.slice(0, FACT_TEXT_MAX_CHARS * 4) : null;
}

/** The text that the element shows: its own value if it is a field, never a password; null if it is not displayed. */
function shownText(element: Element, mostChars: number): string | null {
  if (!isShown(element)) return null;
  if (element.namespaceURI !== HTML) return (read.textContent.call(element) ?? '').slice(0, mostChars);
  if (element.localName === 'input' || element.localName === 'textarea') {
    const { type, value } = element as HTMLInputElement;
    return type === 'password' ? '' : value.slice(0, mostChars);
  }
  if (element.localName === 'select') {
    const chosen = [...(element as HTMLSelectElement).selectedOptions].slice(0, EXTRACT_MATCHES_MAX);
    return chosen.map(({ text }) => text.slice(0, mostChars)).join('\n');
  }
  const shadow = shadowRootOf(element);
  if (shadow === null) return read.innerText.call(element).slice(0, mostChars);
  return [...shadow.children]
    .map((part) => shownText(part, mostChars) ?? '')
    .join('\n')
    .slice(0, mostChars);
}

/** Each line without the spaces around it, and at most one empty line between two. */
function tidyLines(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
  return lines
    .filter((line, at) => line !== '' || (lines[at - 1] ?? '') !== '')
    .join('\n')
    .trim();
}

function attribute(element: Element, name: string): string | null {
  return Element.prototype.getAttribute.call(element, name);
}

/** The first of these attributes, if the element is one that has it as a value for programs. */
function attributeOf(element: Element, selector: string, names: readonly string[]): string | null {
  if (!Element.prototype.matches.call(element, selector)) return null;
  const value = names.map((name) => attribute(element, name)).find((one) => one !== null) ?? null;
  return value?.slice(0, FACT_NAME_MAX_CHARS) ?? null;
}

function numberOf(element: Element): string | null {
  const isField = element.localName === 'input' && /^(number|range)$/.test((element as HTMLInputElement).type);
  return isField ? (element as HTMLInputElement).value.slice(0, FACT_NAME_MAX_CHARS) : null;
}

/** The `datetime` of the element or of the first time in it, or another value for programs. */
function exactDate(element: Element): string | null {
  const time = Element.prototype.querySelector.call(element, 'time[datetime]');
  const own = attributeOf(element, EXACT_DATE, ['datetime', 'content']);
  if (own !== null || time === null) return own ?? dateOf(element);
  return attributeOf(time, EXACT_DATE, ['datetime']);
}

function dateOf(element: Element): string | null {
  const isField =
    element.localName === 'input' && /^(date|datetime-local|month)$/.test((element as HTMLInputElement).type);
  return isField ? (element as HTMLInputElement).value : null;
}

/** The absolute address that the element has, or the first link or picture in it. */
function addressOf(element: Element): string | null {
  const names = ['href', 'src', 'data', 'action', 'poster', ...(element.localName === 'meta' ? ['content'] : [])];
  const own = names.map((name) => attribute(element, name)).find((value) => value !== null && value !== '');
  const inner = own === undefined ? Element.prototype.querySelector.call(element, LINKS) : null;
  if (inner !== null) return addressOf(inner);
  const current = element.localName === 'img' ? (element as HTMLImageElement).currentSrc : '';
  const address = current === '' || current.startsWith('data:') ? (own ?? '') : current;
  if (address === '' || address.length > URL_MAX_BYTES) return null;
  try {
    return new URL(address.trim(), read.baseUri.call(element)).href;
  } catch {
    return null;
  }
}

/** The cells of the table, or of the first one in the element. A cell that spans several is in each of their places. */
function tableOf(element: Element, mostChars: number): Reading {
  const table = element.localName === 'table' ? element : Element.prototype.querySelector.call(element, 'table');
  if (table === null || !isShown(table)) return { value: { text: null }, full: true };
  const all = (table as HTMLTableElement).rows;
  const first = Array.from(
    { length: Math.min(all.length, EXTRACT_TABLE_MAX.rows) },
    (_, at) => all[at] as HTMLTableRowElement,
  );
  const rows = first.filter(isShown);
  const height = rows.length;
  const grid: string[][] = Array.from({ length: height }, () => []);
  let [charsLeft, headers, full] = [mostChars, 0, all.length === first.length];
  for (let at = 0; at < height; at++) {
    const row = rows[at] as HTMLTableRowElement;
    const { cells } = row;
    const isHeader =
      row.parentElement?.localName === 'thead' || [...cells].every(({ localName }) => localName === 'th');
    if (isHeader && headers === at && cells.length > 0) headers = at + 1;
    let column = 0;
    for (let nth = 0; nth < cells.length; nth++) {
      const cell = cells[nth] as HTMLTableCellElement;
      const shown = shownText(cell, FACT_TEXT_MAX_CHARS * 4);
      if (shown === null) continue;
      while (grid[at]?.[column] !== undefined) column++;
      const text = tidyLines(shown).slice(0, FACT_TEXT_MAX_CHARS);
      const right = Math.min(column + cell.colSpan, EXTRACT_TABLE_MAX.columns);
      const down = Math.min(cell.rowSpan === 0 ? height : at + cell.rowSpan, height);
      full &&= column < EXTRACT_TABLE_MAX.columns;
      for (let y = at; y < down; y++)
        for (let x = column; x < right; x++) {
          charsLeft -= text.length + 1;
          if (charsLeft > 0 && grid[y] !== undefined) (grid[y] as string[])[x] ??= text;
        }
      column = right;
      if (charsLeft <= 0 || column >= EXTRACT_TABLE_MAX.columns) break;
    }
    if (charsLeft <= 0) {
      grid.length = at + 1;
      full = false;
      break;
    }
  }
  const plain = grid.map((row) => Array.from(row, (cell) => cell ?? ''));
  const value = { columns: joined(plain.slice(0, headers)), rows: plain.slice(headers) };
  return { value: { text: null, table: value }, full };
}

/** One header of several header rows: the texts over each column, once each. */
function joined(headers: readonly string[][]): string[] {
  const width = Math.max(0, ...headers.map(({ length }) => length));
  return Array.from({ length: width }, (_, at) => {
    const texts = headers.map((row) => row[at] ?? '').filter((text) => text !== '');
    return [...new Set(texts)].join(' ').slice(0, FACT_TEXT_MAX_CHARS);
  });
}

function cut(text: string | null, mostChars: number): Reading {
  if (text === null || text.length <= mostChars) return { value: { text }, full: true };
  // Not inside a surrogate pair.
  return { value: { text: text.slice(0, mostChars).replace(/[\ud800-\udbff]$/, '') }, full: false };
}

function sizeOf({ text, table }: Omit<RawValue, 'box'>): number {
  const cells = table === undefined ? [] : [table.columns, ...table.rows].flat();
  return 20 + (text?.length ?? 0) + cells.reduce((sum, cell) => sum + cell.length + 3, 0);
}

/** In whole px of the page; null without a box. */
function boxOf(element: Element, frames: readonly HTMLIFrameElement[]): RawValue['box'] {
  if (Element.prototype.getClientRects.call(element).length === 0) return null;
  const { left, top, right, bottom } = Element.prototype.getBoundingClientRect.call(element);
  const box = { left, top, right, bottom };
  for (const frame of frames) {
    const at = frame.getBoundingClientRect();
    const [x, y] = [at.left + frame.clientLeft, at.top + frame.clientTop];
    Object.assign(box, { left: box.left + x, right: box.right + x, top: box.top + y, bottom: box.bottom + y });
  }
  const placed = onPage(box);
  return {
    x: Math.round(placed.left),
    y: Math.round(placed.top),
    width: Math.round(placed.right - placed.left),
    height: Math.round(placed.bottom - placed.top),
  };
}
