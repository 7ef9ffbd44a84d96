/**
 * Which texts are capture targets at all, and their one normal form (interface.md, CaptureRequest.url; decisions.md,
 * Capture semantics). Judges the spelling only; whether an address may be reached is egress/'s to say.
 */

import { URL_MAX_BYTES } from './limits.js';

export type TargetUrl = { url: string } | { problem: string };

/** Characters that URL parsers strip or read differently: refused rather than guessed at. */
const AMBIGUOUS = /[\u0000-\u0020\u007f-\u009f\u2028\u2029\ufeff\\]/;
const WEB_SCHEME = /^https?:/i;
const ANY_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** `localhost:3000/x` parses as the scheme `localhost:`; digits after the colon mean a port. */
const HOST_AND_PORT = /^[^/?#:]+:\d{1,5}(?:[/?#]|$)/;

const TOO_LONG: TargetUrl = { problem: `must be at most ${URL_MAX_BYTES} bytes` };

/** A bare hostname gets https; only http and https; no credentials; the fragment is kept. */
export function normalizeTargetUrl(text: string): TargetUrl {
  const trimmed = text.trim();
  if (Buffer.byteLength(trimmed) > URL_MAX_BYTES) return TOO_LONG;
  if (AMBIGUOUS.test(trimmed)) {
    return { problem: 'must not contain spaces, control characters or backslashes (percent-encode them)' };
  }
  const hasWebScheme = WEB_SCHEME.test(trimmed);
  if (hasWebScheme && !/^https?:\/\/[^/]/i.test(trimmed)) {
    return { problem: 'must have exactly two slashes after the scheme, and a host: https://example.com/' };
  }
  if (!hasWebScheme && ANY_SCHEME.test(trimmed) && !HOST_AND_PORT.test(trimmed)) {
    return { problem: 'must be an http or https URL' };
  }
  if (!hasWebScheme && /^[/?#.]/.test(trimmed)) return { problem: 'must begin with a host name or with https://' };
  return parse(hasWebScheme ? trimmed : `https://${trimmed}`);
}

function parse(text: string): TargetUrl {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { problem: 'must be a valid http or https URL, such as https://example.com/' };
  }
  if (url.username !== '' || url.password !== '' || authorityOf(text).includes('@')) {
    return { problem: 'must not carry credentials; send them in `headers` instead' };
  }
  if (url.hostname === '' || /^\.+$/.test(url.hostname) || url.hostname.includes('..')) {
    return { problem: 'must have a valid host name' };
  }
  // Percent-encoding may have made it longer.
  return url.href.length > URL_MAX_BYTES ? TOO_LONG : { url: url.href };
}

function authorityOf(text: string): string {
  return text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1)[0] ?? '';
}
