import type { IncomingHttpHeaders } from 'node:http';

export interface Validators {
  /** Strong, with its quotes. */
  etag: string;
  /** Unix ms. */
  modifiedAt: number;
}

/** Whether the client's copy is current (RFC 9110, 13.1.2 and 13.1.3): `If-None-Match` takes precedence over `If-Modified-Since`. */
export function isUnchanged(headers: IncomingHttpHeaders, validators: Validators): boolean {
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) return noneMatch.trim() === '*' || tagsOf(noneMatch).includes(validators.etag);
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return Number.isFinite(since) && toSecond(validators.modifiedAt) <= since;
}

/** Whether a range may be served (RFC 9110, 13.1.5): strong comparison, or the same date. */
export function ifRangeHolds(header: string | undefined, validators: Validators): boolean {
  if (header === undefined) return true;
  if (header.startsWith('"')) return header.trim() === validators.etag;
  return Date.parse(header) === toSecond(validators.modifiedAt);
}

/** For weak comparison: without `W/`. */
function tagsOf(header: string): string[] {
  return header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
}

function toSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
