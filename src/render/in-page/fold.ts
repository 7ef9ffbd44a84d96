/**
 * Normalizing takes quadratic time in the number of consecutive combining marks. A grapheme of any language has far fewer
 * (UAX 15, Stream-Safe).
 */
const MARKS_IN_A_ROW = /(\p{M}{30})\p{M}+/gu;

/**
 * Normalizes white space and case and removes invisible characters, so that texts can be compared (decisions.md, Capture
 * semantics). Ends with upper case, as CSS transforms text: ß becomes SS, both sigmas become one, and i loses its dot.
 */
export function foldText(text: string): string {
  return text
    .replace(MARKS_IN_A_ROW, '$1')
    .normalize('NFC')
    .replace(/[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .toUpperCase()
    .replace(/\u0307/g, '');
}
