import { pages } from '../../../docs/contents.json?rendered';
import { ERROR_CODES } from '../../contract/capture-error.js';
import { ERROR_REFERENCE } from './error-reference.js';

/** A section of the documentation that a query found. */
export interface Found {
  /** Relative to the root of the server. */
  to: string;
  /** Title of its page. */
  page: string;
  heading: string;
  excerpt: string;
}

interface Section extends Omit<Found, 'excerpt'> {
  text: string;
}

const WORDS_MAX = 8;
const FOUND_MAX = 40;
/** Characters of an excerpt, and of what stands before the first word in it. */
const EXCERPT_CHARS = 200;
const BEFORE_CHARS = 60;
const ENTITIES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };

/** Sections that contain all words of a query, in any case; those whose headings contain most of them come first. */
export function searchDocs(query: string): Found[] {
  const words = (query.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? []).slice(0, WORDS_MAX);
  if (words.length === 0) return [];
  return sections()
    .filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)))
    .map((section) => ({ section, rank: words.filter((word) => section.heading.toLowerCase().includes(word)).length }))
    .sort((one, other) => other.rank - one.rank)
    .slice(0, FOUND_MAX)
    .map(({ section: { text, ...section } }) => ({ ...section, excerpt: excerptOf(text, words[0] ?? '') }));
}

let made: Section[] | null = null;

function sections(): Section[] {
  made ??= [
    ...pages.flatMap(({ name, title, html }) => html.split(/(?=<h[2-4] id=)/).map((part) => sectionOf({ name, title }, part))),
    ...ERROR_CODES.map((code) => {
      const { meaning, advice } = ERROR_REFERENCE[code];
      return { to: `docs#${code}`, page: 'Reference', heading: code, text: `${code} ${meaning} ${advice}` };
    }),
  ];
  return made;
}

function sectionOf({ name, title }: { name: string; title: string }, html: string): Section {
  const [, id, heading] = /^<h\d id="([^"]*)">(.*?)<\/h\d>/.exec(html) ?? [];
  const text = `${heading === undefined ? title : ''} ${textOf(html)}`;
  return { to: `docs/${name}${id === undefined ? '' : `#${id}`}`, page: title, heading: textOf(heading ?? title), text };
}

function textOf(html: string): string {
  return html
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}

function excerptOf(text: string, word: string): string {
  const from = Math.max(0, text.toLowerCase().indexOf(word) - BEFORE_CHARS);
  const part = text.slice(from, from + EXCERPT_CHARS).trim();
  return `${from > 0 ? '… ' : ''}${part}${from + EXCERPT_CHARS < text.length ? ' …' : ''}`;
}
