import { documentProperty, eachElement, trees } from './dom.js';
import { fire } from './mechanisms.js';
import { keepStyle } from './print.js';
import { styleOf } from './styles.js';

/**
 * Fixes the rules of the page's style sheets that depend on the viewport's height. Style sheets of another origin can be neither read nor
 * changed.
 */

const OF_HEIGHT = /height|aspect-ratio|orientation/;
const LENGTH = /url\([^)]*\)|"[^"]*"|(?<![\w#.-])([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)[sld]?v(h|b|min|max)\b/gi;
const MOST_ELEMENTS = 60_000;

/** Media queries that may depend on the viewport's height, with their results. */
let queries = new Map<MediaList, boolean>();
let sheets = new Set<CSSStyleSheet>();

/** The page's own `@page` rules that hold for all pages, as CSS texts. */
export interface PageBox {
  size?: string;
  'margin-top'?: string;
  'margin-right'?: string;
  'margin-bottom'?: string;
  'margin-left'?: string;
}

const PAGE_PROPERTIES = ['size', 'margin-top', 'margin-right', 'margin-bottom', 'margin-left'] as const;
const PAGE_VALUE_MAX_CHARS = 100;

/** With the media that the page is printed for. */
export function ownPage(): PageBox {
  const box: PageBox = {};
  const important = new Set<string>();
  const read = ({ style }: CSSPageRule): void => {
    for (const property of PAGE_PROPERTIES) {
      const value = style.getPropertyValue(property).slice(0, PAGE_VALUE_MAX_CHARS);
      const isImportant = style.getPropertyPriority(property) === 'important';
      if (value === '' || (important.has(property) && !isImportant)) continue;
      box[property] = value;
      if (isImportant) important.add(property);
    }
  };
  const visit = (rules: CSSRuleList): void => {
    for (const rule of rules) {
      if (rule instanceof CSSPageRule && rule.selectorText === '') read(rule);
      if (rule instanceof CSSMediaRule && !matchMedia(rule.media.mediaText).matches) continue;
      if (rule instanceof CSSSupportsRule && !CSS.supports(rule.conditionText)) continue;
      if (rule instanceof CSSImportRule && rule.styleSheet !== null) visitSheet(rule.styleSheet);
      if (rule instanceof CSSGroupingRule) visit(rule.cssRules);
    }
  };
  const visitSheet = (sheet: CSSStyleSheet): void => {
    if (!sheet.disabled && matchMedia(sheet.media.mediaText).matches && isReadable(sheet)) visit(sheet.cssRules);
  };
  for (const sheet of [...document.styleSheets, ...document.adoptedStyleSheets]) visitSheet(sheet);
  return box;
}

/** Records these queries and their results. */
export function noteQueries(): void {
  queries = new Map();
  sheets = new Set();
  for (const tree of trees()) for (const sheet of [...tree.styleSheets, ...tree.adoptedStyleSheets]) noteSheet(sheet);
}

/** With the viewport as high as the paper: keeps only the queries whose result differs. @returns whether there are any */
export function keepChangedQueries(): boolean {
  for (const [media, matched] of queries) if (matchMedia(media.mediaText).matches === matched) queries.delete(media);
  return queries.size > 0;
}

/**
 * With the original viewport: replaces these queries by their results, and converts lengths that depend on the viewport's height to px: in
 * style sheets, in inline styles, and where the root is as high as the viewport.
 */
export function hold(): void {
  fire('held_for_paper');
  holdRoot();
  for (const [media, matched] of queries) media.mediaText = matched ? 'all' : 'not all';
  for (const sheet of sheets) holdRules(sheet.cssRules);
  eachElement(MOST_ELEMENTS, (element) => {
    if (element.style === undefined || !Element.prototype.hasAttribute.call(element, 'style')) return;
    keepStyle(styleOf(element));
    holdStyle(styleOf(element));
  });
}

function noteSheet(sheet: CSSStyleSheet): void {
  noteMedia(sheet.media);
  if (sheets.has(sheet) || !isReadable(sheet)) return;
  sheets.add(sheet);
  noteRules(sheet.cssRules);
}

function noteRules(rules: CSSRuleList): void {
  for (const rule of rules) {
    if (rule instanceof CSSMediaRule) noteMedia(rule.media);
    if (rule instanceof CSSImportRule && rule.styleSheet !== null) noteSheet(rule.styleSheet);
    if (rule instanceof CSSGroupingRule || rule instanceof CSSStyleRule) noteRules(rule.cssRules);
  }
}

function noteMedia(media: MediaList): void {
  const { mediaText } = media;
  if (OF_HEIGHT.test(mediaText)) queries.set(media, matchMedia(mediaText).matches);
}

function isReadable(sheet: CSSStyleSheet): boolean {
  try {
    return sheet.cssRules !== null;
  } catch {
    // Of another origin: not readable.
    return false;
  }
}

/** Percentage heights depend, from the root down, on the viewport's height. */
function holdRoot(): void {
  const root = documentProperty('documentElement');
  const used = root.computedStyleMap();
  for (const property of ['height', 'min-height', 'max-height']) {
    const height = used.get(property);
    if (!(height instanceof CSSUnitValue) || height.unit !== 'percent') continue;
    keepStyle(root.style);
    root.style.setProperty(property, `${(innerHeight * height.value) / 100}px`, 'important');
  }
}

function holdRules(rules: CSSRuleList): void {
  for (const rule of rules) {
    if ('style' in rule && rule.style instanceof CSSStyleDeclaration) holdStyle(rule.style);
    if ('cssRules' in rule && rule.cssRules instanceof CSSRuleList) holdRules(rule.cssRules);
  }
}

function holdStyle(style: CSSStyleDeclaration): void {
  const { cssText } = style;
  const held = cssText.replace(LENGTH, inPx);
  if (held !== cssText) style.cssText = held;
}

function inPx(found: string, count: string | undefined, side = ''): string {
  if (count === undefined) return found;
  const [least, most] = [Math.min(innerWidth, innerHeight), Math.max(innerWidth, innerHeight)];
  const px = { h: innerHeight, b: innerHeight, min: least, max: most }[side.toLowerCase()] ?? 0;
  return `${(Number(count) * px) / 100}px`;
}
