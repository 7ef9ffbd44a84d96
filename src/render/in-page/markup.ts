/** The document as a text, which is read in parts. */

import { documentProperty } from './dom.js';

let text = '';

/**
 * Returns the part of the document's serialization that begins at a character; empty at its end.
 * @param from 0 serializes the document, as it is now
 * @param mostChars at least 2; a part is one shorter where it would end within a surrogate pair
 */
export function part(from: number, mostChars: number): string {
  if (from === 0) text = serialize();
  const excerpt = text.slice(from, from + mostChars);
  return from + mostChars < text.length ? excerpt.replace(/[\ud800-\udbff]$/, '') : excerpt;
}

function serialize(): string {
  const xml = new XMLSerializer();
  const root = documentProperty('documentElement');
  const isHtml = document instanceof HTMLDocument;
  return [...document.childNodes]
    .map((node) => (node === root && isHtml ? root.outerHTML : xml.serializeToString(node)))
    .join('');
}
