import { groups } from '../../../docs/contents.json?rendered';
import { ERROR_CODES } from '../../contract/capture-error.js';
import { ERROR_REFERENCE } from './error-reference.js';

/** A place of the documentation that a query found. */
export interface Found extends Place {
  excerpt: readonly Part[];
}

/** A section, or a row of a table that begins with a name. */
interface Place {
  /** Relative to the root of the server. */
  to: string;
  /** Titles of the page and of the section that it is in. */
  page: string;
  section: string;
  /** The heading, or the name that the row begins with. */
  name: string;
  isRow: boolean;
}

interface Part {
  text: string;
  isHit: boolean;
}

interface Searched extends Place {
  text: string;
}

const WORDS_MAX = 8;
const FOUND_MAX = 40;
/** Characters of an excerpt, and of what stands before the first word in it. */
const EXCERPT_CHARS = 220;
const BEFORE_CHARS = 60;
const ENTITIES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };

/** Finds the rows and sections that contain all words of a query, in any case; those whose names have most of them come first. */
export function searchDocs(query: string): Found[] {
  const words = (query.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? []).slice(0, WORDS_MAX).map(singular);
  if (words.length === 0) return [];
  const count = (text: string) => words.filter((word) => text.toLowerCase().includes(word)).length;
  return places()
    .map((place) => ({ place, rank: 3 * count(place.name) + 2 * count(place.section) + count(place.page) }))
    .filter(({ place: { page, section, name, text } }) => count(`${page} ${section} ${name} ${text}`) === words.length)
    .sort((one, other) => other.rank - one.rank)
    .slice(0, FOUND_MAX)
    .map(({ place: { text, ...place } }) => ({ ...place, excerpt: excerptOf(text, words) }));
}

/** Also finds the singular of a word. */
function singular(word: string): string {
  return word.length > 3 ? word.replace(/(?<!s)s$/, '') : word;
}

let made: Searched[] | null = null;

function places(): Searched[] {
  // The reference comes first among places with the same rank.
  made ??= [
    ...ERROR_CODES.map((code) => {
      const { meaning, advice } = ERROR_REFERENCE[code];
      return {
        to: `docs/errors#${code}`,
        page: 'Errors',
        section: '',
        name: code,
        isRow: true,
        text: `${meaning} ${advice}`,
      };
    }),
    ...[...groups]
      .reverse()
      .flatMap(({ pages }) =>
        pages.flatMap((page) => page.html.split(/(?=<h[2-4] id=)/).flatMap((part) => placesOf(page, part))),
      ),
  ];
  return made;
}

/** A section without its named rows, and these rows. */
function placesOf({ name, title }: { name: string; title: string }, html: string): Searched[] {
  const [, id, heading] = /^<h\d id="([^"]*)">(.*?)<\/h\d>/.exec(html) ?? [];
  const address = name === '' ? 'docs' : `docs/${name}`;
  const section = textOf(heading ?? '');
  const rows = html
    .split(/(?=<tr id=)/)
    .slice(1)
    .map((rest) => rest.split('</tr>', 1)[0] ?? '');
  const others = rows.reduce((left, row) => left.replace(row, ' '), html);
  const text = textOf(heading === undefined ? others : others.slice(others.indexOf('>', others.indexOf('</h')) + 1));
  return [
    {
      to: id === undefined ? address : `${address}#${id}`,
      page: title,
      section: '',
      name: section || title,
      isRow: false,
      text,
    },
    ...rows.map((row) => {
      const [, anchor = ''] = /^<tr id="([^"]*)"/.exec(row) ?? [];
      const rest = row.slice(row.indexOf('</th>')).replaceAll('<td', ' · <td').replace(' · ', '');
      return { to: `${address}#${anchor}`, page: title, section, name: anchor, isRow: true, text: textOf(rest) };
    }),
  ];
}

function textOf(html: string): string {
  return html
    .replace(/<\/?(?:a|code|em|strong)\b[^<>]*>/g, '')
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}

/** The text around the first of the words, in which all of them are marked. */
function excerptOf(text: string, words: readonly string[]): Part[] {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(text.length, ...places) - BEFORE_CHARS);
  const start = places.length === 0 ? 0 : from;
  const excerpt = text.slice(start, start + EXCERPT_CHARS);
  const part = `${start > 0 ? '… ' : ''}${excerpt.trim()}${start + EXCERPT_CHARS < text.length ? ' …' : ''}`;
  return part
    .split(new RegExp(`(${words.join('|')})`, 'i'))
    .map((piece, i) => ({ text: piece, isHit: i % 2 === 1 }))
    .filter(({ text: piece }) => piece !== '');
}
