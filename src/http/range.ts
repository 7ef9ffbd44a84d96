import type { IncomingHttpHeaders } from 'node:http';
import { ifRangeHolds, type Validators } from './conditional.js';

/** Inclusive byte offsets. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * The range that a request asks for (RFC 9110, 14.2). The package `range-parser` takes a suffix that is longer than the file, and a range
 * that ends before it begins, for unsatisfiable.
 *
 * @returns null for the whole file: no range, several ranges, or a malformed one, which servers may ignore
 */
export function readRange(headers: IncomingHttpHeaders, bytes: number, validators: Validators): ByteRange | 'unsatisfiable' | null {
  const asked = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(headers.range ?? '');
  if (asked === null || !ifRangeHolds(headers['if-range'] as string | undefined, validators)) return null;
  const [, first = '', last = ''] = asked;
  if (first === '') return last === '' ? null : suffix(Number(last), bytes);
  if (last !== '' && Number(last) < Number(first)) return null;
  if (Number(first) >= bytes) return 'unsatisfiable';
  return { start: Number(first), end: last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1) };
}

function suffix(length: number, bytes: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || bytes === 0) return 'unsatisfiable';
  return { start: Math.max(0, bytes - length), end: bytes - 1 };
}
