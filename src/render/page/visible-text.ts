import { TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';

/** More text than any marker needs; a page of books is not carried out of the browser. */
const TEXT_MAX_CHARS = 2_000_000;
const TITLE_MAX_CHARS = 10_000;

/**
 * Title and text as a visitor sees them.
 *
 * @returns null when the page did not answer within `ms`
 * @throws PageMoved
 */
export async function visibleText({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<string | null> {
  const text = await deadlines.within(world.call('text.titled', { maxChars: TEXT_MAX_CHARS, titleMaxChars: TITLE_MAX_CHARS }), ms);
  return text === TIMED_OUT ? null : text;
}

/**
 * Folds white space and case, and drops what is invisible inside words, so that texts can be compared (decisions.md, Capture semantics).
 * In capitals last, as CSS writes them: ß is SS there, both sigmas are one, and a dot on an i is none.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .toUpperCase()
    .replace(/\u0307/g, '');
}
