import type { IncomingHttpHeaders } from 'node:http';
import fresh from 'fresh';

export interface Validators {
  /** Strong, with its quotes. */
  etag: string;
  /** Unix ms. */
  modifiedAt: number;
}

/** Whether the client's copy is current (RFC 9110, 13.1.2 and 13.1.3): `If-None-Match` takes precedence over `If-Modified-Since`. */
export function isUnchanged(headers: IncomingHttpHeaders, { etag, modifiedAt }: Validators): boolean {
  // It gets these headers only, since `Cache-Control: no-cache` of a request would make it answer no.
  const asked = { 'if-none-match': headers['if-none-match'], 'if-modified-since': headers['if-modified-since'] };
  return fresh(asked, { etag, 'last-modified': new Date(modifiedAt).toUTCString() });
}

/** Whether a range may be served (RFC 9110, 13.1.5): strong comparison, or the same date. */
export function ifRangeHolds(header: string | undefined, validators: Validators): boolean {
  if (header === undefined) return true;
  if (header.startsWith('"')) return header.trim() === validators.etag;
  return Date.parse(header) === toSecond(validators.modifiedAt);
}

function toSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
