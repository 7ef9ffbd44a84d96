import {
  ELEMENT_NAME_MAX_CHARS,
  FACT_LIST_MAX_CHARS,
  FACT_NAME_MAX_CHARS,
  FACT_TEXT_MAX_CHARS,
  FACT_URL_MAX_CHARS,
  FEEDS_MAX_ITEMS,
  FONTS_MAX_ITEMS,
  HEADINGS_MAX_ITEMS,
  ICONS_MAX_ITEMS,
  LINKS_MAX_ITEMS,
  PROPERTIES_MAX_ITEMS,
} from '../../contract/limits.js';
import type { DocumentFacts } from '../../contract/page-facts.js';
import { textOf, tidy } from './accessible.js';
import { all, documentProperty, isVisible } from './dom.js';
import { queryTrees } from './dom-cache.js';

/** The facts that a document states about itself: its head, headings, links and fonts. */

const OPEN_GRAPH = /^(?:og|article|book|profile|music|video|product|fb):[\w:.-]+$/;
const TWITTER = /^twitter:[\w:.-]+$/;
const FEED = /^application\/(?:rss\+xml|atom\+xml|feed\+json)$/i;
/** The maximum number of elements of one kind to inspect. */
const LOOKED_AT_MAX = 5_000;
const HEADINGS = 'h1,h2,h3,h4,h5,h6,[role="heading"]';

/** Members that are undefined are left out of the browser's answer. */
export function read(): DocumentFacts {
  const metas = all('meta[content]').slice(0, LOOKED_AT_MAX);
  const meta = (name: string) => metas.find((one) => nameOfMeta(one) === name);
  return {
    title: tidy(document.title.slice(0, FACT_TEXT_MAX_CHARS * 4), FACT_TEXT_MAX_CHARS),
    description: longText(meta('description'), 'content') || undefined,
    canonical: addressOf(all('link[rel~="canonical" i][href]')[0]) || undefined,
    language: shortText(documentProperty('documentElement'), 'lang') || undefined,
    theme_color: longText(meta('theme-color'), 'content', FACT_NAME_MAX_CHARS) || undefined,
    open_graph: properties(metas, OPEN_GRAPH),
    twitter: properties(metas, TWITTER),
    icons: icons(),
    feeds: feeds(),
    headings: headings(),
    links: links(),
    fonts: fonts(),
  };
}

/** Open Graph has `property`, Twitter cards have `name`, and pages mix them up. */
function nameOfMeta(meta: Element): string {
  return (meta.getAttribute('property') ?? meta.getAttribute('name') ?? '').slice(0, 200).trim().toLowerCase();
}

/** The attribute's text, of which spaces may be a part that is not kept. */
function longText(element: Element | undefined, name: string, maxChars = FACT_TEXT_MAX_CHARS): string {
  return tidy((element?.getAttribute(name) ?? '').slice(0, maxChars * 4), maxChars);
}

function shortText(element: Element, name: string): string {
  return tidy((element.getAttribute(name) ?? '').slice(0, FACT_NAME_MAX_CHARS), FACT_NAME_MAX_CHARS);
}

/** The first value of each property. */
function properties(metas: readonly Element[], wanted: RegExp): Record<string, string> {
  const found = new Map<string, string>();
  for (const meta of metas) {
    const name = nameOfMeta(meta);
    if (!wanted.test(name) || name.length > FACT_NAME_MAX_CHARS || found.has(name)) continue;
    const value = longText(meta, 'content');
    if (value !== '') found.set(name, value);
    if (found.size >= PROPERTIES_MAX_ITEMS) break;
  }
  return Object.fromEntries(found);
}

/** The absolute http(s) address of a link; empty if it has another, or one that is too long. */
function addressOf(link: Element | undefined): string {
  if (link === undefined || (link.getAttribute('href') ?? '').length > FACT_URL_MAX_CHARS) return '';
  const { href } = link as HTMLAnchorElement;
  return typeof href === 'string' && /^https?:/.test(href) && href.length <= FACT_URL_MAX_CHARS ? href : '';
}

function icons() {
  const found: DocumentFacts['icons'] = [];
  for (const link of all(
    'link[rel~="icon" i][href],link[rel^="apple-touch-icon" i][href],link[rel~="mask-icon" i][href]',
  )) {
    const url = addressOf(link);
    if (url !== '')
      found.push({ url, rel: shortText(link, 'rel').toLowerCase(), sizes: shortText(link, 'sizes') || undefined });
    if (found.length >= ICONS_MAX_ITEMS) break;
  }
  return found;
}

function feeds() {
  const found: DocumentFacts['feeds'] = [];
  for (const link of all('link[rel~="alternate" i][type][href]')) {
    const type = shortText(link, 'type').toLowerCase();
    const url = FEED.test(type) ? addressOf(link) : '';
    if (url !== '') found.push({ url, type, title: longText(link, 'title') || undefined });
    if (found.length >= FEEDS_MAX_ITEMS) break;
  }
  return found;
}

function headings() {
  const found: DocumentFacts['headings'] = [];
  for (const element of queryTrees(HEADINGS, { frames: true }).slice(0, LOOKED_AT_MAX)) {
    if (found.length >= HEADINGS_MAX_ITEMS) break;
    const text = isVisible(element) ? textOf(element, ELEMENT_NAME_MAX_CHARS) : '';
    const declared = Number(element.getAttribute('aria-level') ?? /^h([1-6])$/.exec(element.localName)?.[1] ?? 2);
    if (text !== '') found.push({ level: Number.isInteger(declared) ? Math.min(6, Math.max(1, declared)) : 2, text });
  }
  return found;
}

/** Each address once, under the first text that is not empty. */
function links() {
  const found = new Map<string, DocumentFacts['links'][number]>();
  let charsLeft = FACT_LIST_MAX_CHARS;
  for (const element of queryTrees('a[href],area[href]', { frames: true }).slice(0, LOOKED_AT_MAX)) {
    const url = addressOf(element);
    const known = found.get(url);
    if (url === '' || (known !== undefined && known.text !== '')) continue;
    const text = longText(element, 'aria-label', ELEMENT_NAME_MAX_CHARS) || textOf(element, ELEMENT_NAME_MAX_CHARS);
    if (known !== undefined) {
      known.text = text;
      continue;
    }
    charsLeft -= url.length + text.length;
    if (charsLeft < 0 || found.size >= LINKS_MAX_ITEMS) break;
    found.set(url, { url, text, rel: shortText(element, 'rel') || undefined });
  }
  return [...found.values()];
}

function fonts() {
  const found = new Map<string, DocumentFacts['fonts'][number]>();
  let left = LOOKED_AT_MAX;
  for (const face of documentProperty('fonts')) {
    if (left-- <= 0 || found.size >= FONTS_MAX_ITEMS) break;
    if (face.status !== 'loaded') continue;
    const [family = '', weight = '', style = ''] = [
      face.family.replace(/^["']|["']$/g, ''),
      face.weight,
      face.style,
    ].map((one) => tidy(one.slice(0, FACT_NAME_MAX_CHARS), FACT_NAME_MAX_CHARS));
    found.set(`${family} ${weight} ${style}`, { family, weight, style });
  }
  return [...found.values()];
}
