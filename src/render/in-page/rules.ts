import { documentProperty, eachElement, trees } from './dom.js';
import { fire } from './mechanisms.js';
import { saveStyle } from './print.js';
import { styleOf } from './styles.js';

/** Makes the page's style rules independent of the viewport's height. Style sheets of another origin can be neither read nor changed. */

const OF_HEIGHT = /height|aspect-ratio|orientation/;
const LENGTH = /url\([^)]*\)|"[^"]*"|(?<![\w#.-])([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)[sld]?v(h|b|min|max)\b/gi;
const ELEMENTS_MAX = 60_000;

/** Media queries that may depend on the viewport's height, with their results. */
let queries = new Map<MediaList, boolean>();
let sheets = new Set<CSSStyleSheet>();

/** The page's own `@page` rules that apply to all pages, as CSS text. */
export interface PageBox {
  size?: string;
  'margin-top'?: string;
  'margin-right'?: string;
  'margin-bottom'?: string;
  'margin-left'?: string;
}

const PAGE_PROPERTIES = ['size', 'margin-top', 'margin-right', 'margin-bottom', 'margin-left'] as const;
const PAGE_VALUE_MAX_CHARS = 100;

/** The page's own `@page` rules, evaluated for the print media. */
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

/** Records the queries that may depend on the viewport's height, with their results. */
export function recordQueries(): void {
  queries = new Map();
  sheets = new Set();
  for (const tree of trees()) for (const sheet of [...tree.styleSheets, ...tree.adoptedStyleSheets]) recordSheet(sheet);
}

/**
 * Keeps only the queries whose result differs now that the viewport is as high as the paper.
 * @returns whether there are any
 */
export function keepChangedQueries(): boolean {
  for (const [media, matched] of queries) if (matchMedia(media.mediaText).matches === matched) queries.delete(media);
  return queries.size > 0;
}

/**
 * With the original viewport, replaces these queries by their results, and converts lengths that depend on the viewport's
 * height to px: in style sheets, in inline styles, and on the root.
 */
export function fixHeights(): void {
  fire('held_for_paper');
  fixRoot();
  for (const [media, matched] of queries) media.mediaText = matched ? 'all' : 'not all';
  for (const sheet of sheets) fixRules(sheet.cssRules);
  eachElement(ELEMENTS_MAX, (element) => {
    if (element.style === undefined || !Element.prototype.hasAttribute.call(element, 'style')) return;
    saveStyle(styleOf(element));
    fixStyle(styleOf(element));
  });
}

function recordSheet(sheet: CSSStyleSheet): void {
  recordMedia(sheet.media);
  if (sheets.has(sheet) || !isReadable(sheet)) return;
  sheets.add(sheet);
  recordRules(sheet.cssRules);
}

function recordRules(rules: CSSRuleList): void {
  for (const rule of rules) {
    if (rule instanceof CSSMediaRule) recordMedia(rule.media);
    if (rule instanceof CSSImportRule && rule.styleSheet !== null) recordSheet(rule.styleSheet);
    if (rule instanceof CSSGroupingRule || rule instanceof CSSStyleRule) recordRules(rule.cssRules);
  }
}

function recordMedia(media: MediaList): void {
  const { mediaText } = media;
  if (OF_HEIGHT.test(mediaText)) queries.set(media, matchMedia(mediaText).matches);
}

function isReadable(sheet: CSSStyleSheet): boolean {
  try {
    return sheet.cssRules !== null;
  } catch {
    // A style sheet of another origin cannot be read.
    return false;
  }
}

/** Percentage heights depend on the viewport's height, from the root down. */
function fixRoot(): void {
  const root = documentProperty('documentElement');
  const used = root.computedStyleMap();
  for (const property of ['height', 'min-height', 'max-height']) {
    const height = used.get(property);
    if (!(height instanceof CSSUnitValue) || height.unit !== 'percent') continue;
    saveStyle(root.style);
    root.style.setProperty(property, `${(innerHeight * height.value) / 100}px`, 'important');
  }
}

function fixRules(rules: CSSRuleList): void {
  for (const rule of rules) {
    if ('style' in rule && rule.style instanceof CSSStyleDeclaration) fixStyle(rule.style);
    if ('cssRules' in rule && rule.cssRules instanceof CSSRuleList) fixRules(rule.cssRules);
  }
}

function fixStyle(style: CSSStyleDeclaration): void {
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
