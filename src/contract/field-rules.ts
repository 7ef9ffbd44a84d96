/** Rules for single fields that the schema library does not have. */

export function hasLineBreak(text: string): boolean {
  return /[\r\n\0]/.test(text);
}

/** BCP 47 as the browser accepts it: a two- or three-letter language first. */
export function isLocale(text: string): boolean {
  if (!/^[A-Za-z]{2,3}(?:-|$)/.test(text)) return false;
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

/** An IANA name. Intl also accepts offsets (`+01:00`), but browsers do not. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** In the case that the browser requires: `europe/berlin` becomes `Europe/Berlin`. @param text isTimezone() */
export function canonicalTimezone(text: string): string {
  return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
}

/** Hop-by-hop headers (RFC 9110, 7.6.1), `Host` and `Content-Length`, which the connection sets. */
const REFUSED_HEADERS = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** @returns the problem with a header name, or null */
export function forbiddenHeader(name: string): string | null {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return 'is not a valid header name';
  if (REFUSED_HEADERS.has(name.toLowerCase())) return 'cannot be set: the connection controls it';
  return null;
}

export function hasControlCharacter(text: string): boolean {
  return /[\u0000-\u001f\u007f]/.test(text);
}
