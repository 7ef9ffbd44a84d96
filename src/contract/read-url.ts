import { URL_MAX_BYTES } from './limits.js';

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

/** The end of a sentence about the address of a webhook or upload, which may hold a secret and is not repeated. */
export const UNLESS_ALLOWED = "unless the server's operator lists its origin in STILLFRAME_WEBHOOK_ALLOW";

/**
 * Checks the syntax of a webhook URL (interface.md, CaptureRequest.webhook.url); egress/ decides whether its host is public.
 *
 * @param allowedOrigins origins that the operator allows although they are not public HTTPS on port 443 (STILLFRAME_WEBHOOK_ALLOW)
 * @returns the problem, or null
 */
export function webhookUrlProblem(text: string, allowedOrigins: readonly string[]): string | null {
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return 'must not contain spaces, control characters or backslashes';
  if (!/^https?:\/\/[^/]/i.test(text)) return 'must be an absolute HTTPS URL, such as https://example.com/hook';
  const url = readUrl(text);
  if (url === null) return 'must be a valid URL';
  if (authorityOf(text).includes('@')) return 'must not carry credentials';
  if (text.includes('#')) return 'must not have a fragment';
  if (allowedOrigins.includes(url.origin)) return null;
  if (url.protocol !== 'https:') return `must be HTTPS, ${UNLESS_ALLOWED}`;
  if (url.port !== '') return `must use port 443, ${UNLESS_ALLOWED}`;
  return null;
}

/**
 * Validates and normalizes capture targets (interface.md, CaptureRequest.url; decisions.md, Capture semantics). Checks the
 * syntax only; egress/ decides whether an address may be reached.
 */

export type TargetUrl = { url: string } | { problem: string };

/** Characters that URL parsers strip or interpret differently; rejected. */
const AMBIGUOUS = /[\u0000-\u0020\u007f-\u009f\u2028\u2029\ufeff\\]/;
const WEB_SCHEME = /^https?:/i;
const ANY_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** `localhost:3000/x` would parse as the scheme `localhost:`; digits after the colon are a port. */
const HOST_AND_PORT = /^[^/?#:]+:\d{1,5}(?:[/?#]|$)/;

/** Bad ports of the Fetch standard, which Chromium blocks. */
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
]);

const TOO_LONG: TargetUrl = { problem: `must be at most ${URL_MAX_BYTES} bytes` };

/** Whether an address begins with `http:` or `https:`. */
export function hasWebScheme(text: string): boolean {
  return WEB_SCHEME.test(text);
}

/** A bare host name gets https. Rejects other schemes than http and https, credentials, and ports that browsers block. Keeps the fragment. */
export function normalizeTargetUrl(text: string): TargetUrl {
  const trimmed = text.trim();
  if (Buffer.byteLength(trimmed) > URL_MAX_BYTES) return TOO_LONG;
  if (AMBIGUOUS.test(trimmed)) {
    return { problem: 'must not contain spaces, control characters or backslashes (percent-encode them)' };
  }
  const hasScheme = hasWebScheme(trimmed);
  if (hasScheme && !/^https?:\/\/[^/]/i.test(trimmed)) {
    return { problem: 'must have exactly two slashes after the scheme, and a host: https://example.com/' };
  }
  if (!hasScheme && ANY_SCHEME.test(trimmed) && !HOST_AND_PORT.test(trimmed)) {
    return { problem: 'must be an http or https URL' };
  }
  if (!hasScheme && /^[/?#.]/.test(trimmed)) return { problem: 'must begin with a host name or with https://' };
  return parse(hasScheme ? trimmed : `https://${trimmed}`);
}

function parse(text: string): TargetUrl {
  const url = readUrl(text);
  if (url === null) {
    return { problem: 'must be a valid http or https URL, such as https://example.com/' };
  }
  if (url.username !== '' || url.password !== '' || authorityOf(text).includes('@')) {
    return { problem: 'must not carry credentials; send them in `headers` instead' };
  }
  if (url.hostname === '' || /^\.+$/.test(url.hostname) || url.hostname.includes('..')) {
    return { problem: 'must have a valid host name' };
  }
  if (url.port !== '' && BAD_PORTS.has(Number(url.port)))
    return { problem: `must not use port ${url.port}, which browsers block` };
  // Percent-encoding may have lengthened it.
  return url.href.length > URL_MAX_BYTES ? TOO_LONG : { url: url.href };
}

function authorityOf(text: string): string {
  return text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1)[0] ?? '';
}
