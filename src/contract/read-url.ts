/** Parsing takes quadratic time in the length of a label; a host name has at most 253 characters, each at most nine when encoded. */
const AUTHORITY_MAX_CHARS = 1_024;
const URL_READ_CHARS = 8_192;
const AUTHORITY = /^[a-z][a-z0-9+.-]{0,63}:[/\\]*([^/\\?#]*)/i;

/**
 * Parses an absolute URL that a caller or a page wrote. The end of a very long one is ignored: scheme, host and port are always right.
 *
 * @returns null if it is not valid, or has a longer authority than any real URL
 */
export function readUrl(text: string): URL | null {
  const head = text.slice(0, URL_READ_CHARS);
  const authority = AUTHORITY.exec(head)?.[1];
  if (authority === undefined || authority.length > AUTHORITY_MAX_CHARS) return null;
  try {
    return new URL(head);
  } catch {
    return null;
  }
}
