import { Unplaceable } from './unplaceable.js';
import { stringOf, type TextPart } from './values.js';

const IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,]/i;
const SCHEMES = /^(?:https?|mailto|tel)$/i;

interface UrlPlace {
  /** As in Unplaceable. */
  place: string;
  /** Whether the address must begin with a text of the template. */
  isLoader?: boolean;
  /** Whether the text is a list of addresses. */
  isSeveral?: boolean;
}

/** Writes values into an address: one at its beginning is an address itself, and a later one is percent-encoded. @throws Unplaceable */
export function placeInUrl(parts: readonly TextPart[], { place, isLoader, isSeveral }: UrlPlace): string {
  let url = '';
  for (const part of parts) {
    if ('text' in part) url += part.text;
    else if (isSeveral === true) url += listed(stringOf(part.value), place);
    else if (url.trim() !== '') url += encoded(stringOf(part.value));
    else if (isLoader === true) throw new Unplaceable(place, 'an address there must begin with a text of the template');
    else url += stringOf(part.value);
  }
  if (isSeveral !== true) requireSafe(url, place);
  return url;
}

function listed(url: string, place: string): string {
  requireSafe(url, place);
  return url.replaceAll(/[\s,]/g, (one) => (one === ',' && IMAGE_DATA.test(url) ? one : encoded(one)));
}

/** Browsers ignore white space and control characters in the scheme of an address. */
function requireSafe(url: string, place: string): void {
  const plain = url.replaceAll(/[\0- ]/g, '');
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(plain)?.[1];
  if (scheme !== undefined && !SCHEMES.test(scheme) && !IMAGE_DATA.test(plain))
    throw new Unplaceable(place, 'an address there must be http, https, mailto, tel, relative, or a `data:` picture');
}

/** Lone surrogates, which a filter may leave of a cut character, are replaced. */
function encoded(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString()).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`,
  );
}

/** Makes an address safe inside `url()`, quoted or not. */
export function forCss(url: string): string {
  return url.replaceAll(/["'()\\<>\s]/g, encoded);
}
