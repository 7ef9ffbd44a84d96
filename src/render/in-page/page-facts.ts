import { textOf, tidy } from './accessible.js';
import { all, allIn, documentProperty, isVisible, trees } from './dom.js';

/** The facts that a document states about itself: its head, headings, links and fonts. */

export interface FactLimits {
  textChars: number;
  urlChars: number;
  shortChars: number;
  nameChars: number;
  /** The maximum numbers of items, and the total length of all links. */
  links: number;
  linkChars: number;
  headings: number;
  icons: number;
  feeds: number;
  fonts: number;
  properties: number;
}

/** In the form that the result has. */
interface DocumentFacts {
  title: string;
  description?: string;
  canonical?: string;
  language?: string;
  theme_color?: string;
  open_graph: Record<string, string>;
  twitter: Record<string, string>;
  icons: { url: string; rel: string; sizes?: string }[];
  feeds: { url: string; type: string; title?: string }[];
  headings: { level: number; text: string }[];
  links: { url: string; text: string; rel?: string }[];
  fonts: { family: string; weight: string; style: string }[];
}

const OPEN_GRAPH = /^(?:og|article|book|profile|music|video|product|fb):[\w:.-]+$/;
const TWITTER = /^twitter:[\w:.-]+$/;
const FEED = /^application\/(?:rss\+xml|atom\+xml|feed\+json)$/i;
/** How many elements of one kind are looked at. */
const LOOKED_AT_MAX = 5_000;
const HEADINGS = 'h1,h2,h3,h4,h5,h6,[role="heading"]';

export function read(limits: FactLimits): DocumentFacts {
  const { textChars, shortChars } = limits;
  const metas = all('meta[content]').slice(0, LOOKED_AT_MAX);
  const meta = (name: string) => metas.find((one) => nameOfMeta(one) === name);
  const language = tidy(documentProperty('documentElement').getAttribute('lang')?.slice(0, shortChars) ?? '', shortChars);
  return {
    title: tidy(document.title.slice(0, textChars * 4), textChars),
    ...optional('description', contentOf(meta('description'), textChars)),
    ...optional('canonical', addressOf(all('link[rel~="canonical" i][href]')[0], limits)),
    ...optional('language', language),
    ...optional('theme_color', contentOf(meta('theme-color'), shortChars)),
    open_graph: properties(metas, OPEN_GRAPH, limits),
    twitter: properties(metas, TWITTER, limits),
    icons: icons(limits),
    feeds: feeds(limits),
    headings: headings(limits),
    links: links(limits),
    fonts: fonts(limits),
  };
}

function optional<Name extends string>(name: Name, value: string): { [Key in Name]?: string } {
  return value === '' ? {} : ({ [name]: value } as { [Key in Name]: string });
}

/** Open Graph has `property`, Twitter cards have `name`, and pages mix them up. */
function nameOfMeta(meta: Element): string {
  return (meta.getAttribute('property') ?? meta.getAttribute('name') ?? '').slice(0, 200).trim().toLowerCase();
}

function contentOf(meta: Element | undefined, maxChars: number): string {
  return tidy((meta?.getAttribute('content') ?? '').slice(0, maxChars * 4), maxChars);
}

/** The first value of each property. */
function properties(
  metas: readonly Element[],
  wanted: RegExp,
  { textChars, shortChars, properties: most }: FactLimits,
): Record<string, string> {
  const found = new Map<string, string>();
  for (const meta of metas) {
    const name = nameOfMeta(meta);
    if (!wanted.test(name) || name.length > shortChars || found.has(name)) continue;
    const value = contentOf(meta, textChars);
    if (value !== '') found.set(name, value);
    if (found.size >= most) break;
  }
  return Object.fromEntries(found);
}

/** The absolute http(s) address of a link; empty if it has another, or one that is too long. */
function addressOf(link: Element | undefined, { urlChars }: FactLimits): string {
  if (link === undefined || (link.getAttribute('href') ?? '').length > urlChars) return '';
  const { href } = link as HTMLAnchorElement;
  return typeof href === 'string' && /^https?:/.test(href) && href.length <= urlChars ? href : '';
}

function short(element: Element, name: string, { shortChars }: FactLimits): string {
  return tidy((element.getAttribute(name) ?? '').slice(0, shortChars), shortChars);
}

function icons(limits: FactLimits): DocumentFacts['icons'] {
  const found: DocumentFacts['icons'] = [];
  for (const link of all('link[rel~="icon" i][href],link[rel^="apple-touch-icon" i][href],link[rel~="mask-icon" i][href]')) {
    const url = addressOf(link, limits);
    if (url !== '') found.push({ url, rel: short(link, 'rel', limits).toLowerCase(), ...optional('sizes', short(link, 'sizes', limits)) });
    if (found.length >= limits.icons) break;
  }
  return found;
}

function feeds(limits: FactLimits): DocumentFacts['feeds'] {
  const found: DocumentFacts['feeds'] = [];
  for (const link of all('link[rel~="alternate" i][type][href]')) {
    const type = short(link, 'type', limits).toLowerCase();
    const url = FEED.test(type) ? addressOf(link, limits) : '';
    if (url !== '')
      found.push({ url, type, ...optional('title', tidy((link.getAttribute('title') ?? '').slice(0, 2_000), limits.textChars)) });
    if (found.length >= limits.feeds) break;
  }
  return found;
}

function headings({ headings: most, nameChars }: FactLimits): DocumentFacts['headings'] {
  const found: DocumentFacts['headings'] = [];
  for (const element of inTrees(HEADINGS)) {
    if (found.length >= most) break;
    const text = isVisible(element) ? textOf(element, nameChars) : '';
    const declared = Number(element.getAttribute('aria-level') ?? /^h([1-6])$/.exec(element.localName)?.[1] ?? 2);
    if (text !== '') found.push({ level: Number.isInteger(declared) ? Math.min(6, Math.max(1, declared)) : 2, text });
  }
  return found;
}

/** Each address once, under the first text that is not empty. */
function links(limits: FactLimits): DocumentFacts['links'] {
  const found = new Map<string, DocumentFacts['links'][number]>();
  let charsLeft = limits.linkChars;
  for (const element of inTrees('a[href],area[href]')) {
    const url = addressOf(element, limits);
    const known = found.get(url);
    if (url === '' || (known !== undefined && known.text !== '')) continue;
    const text = (element.getAttribute('aria-label') ?? '').trim() === '' ? textOf(element, limits.nameChars) : label(element, limits);
    if (known !== undefined) {
      known.text = text;
      continue;
    }
    charsLeft -= url.length + text.length;
    if (charsLeft < 0 || found.size >= limits.links) break;
    found.set(url, { url, text, ...optional('rel', short(element, 'rel', limits)) });
  }
  return [...found.values()];
}

function label(element: Element, { nameChars }: FactLimits): string {
  return tidy((element.getAttribute('aria-label') ?? '').slice(0, nameChars * 4), nameChars);
}

function fonts({ fonts: most, shortChars }: FactLimits): DocumentFacts['fonts'] {
  const found = new Map<string, DocumentFacts['fonts'][number]>();
  const set = documentProperty('fonts') as FontFaceSet | undefined;
  let left = LOOKED_AT_MAX;
  for (const face of set ?? []) {
    if (left-- <= 0 || found.size >= most) break;
    if (face.status !== 'loaded') continue;
    const [family = '', weight = '', style = ''] = [face.family.replace(/^["']|["']$/g, ''), face.weight, face.style].map((one) =>
      tidy(one.slice(0, shortChars), shortChars),
    );
    found.set(`${family} ${weight} ${style}`, { family, weight, style });
  }
  return [...found.values()];
}

function inTrees(selector: string): Element[] {
  return trees()
    .flatMap((tree) => allIn(tree, selector).slice(0, LOOKED_AT_MAX))
    .slice(0, LOOKED_AT_MAX);
}
