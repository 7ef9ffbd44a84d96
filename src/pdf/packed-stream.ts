import { deflateSync, inflateSync } from 'node:zlib';
import { PdfArray, PdfName, type PdfObject, PdfStream } from '@libpdf/core';

/** A page full of text has some hundred kB. */
const CONTENT_MAX_BYTES = 64 * 1024 * 1024;

/** A stream of these bytes, deflated. */
export function packedStream(entries: Record<string, PdfObject>, bytes: Uint8Array): PdfStream {
  return PdfStream.fromDict({ ...entries, Filter: PdfName.of('FlateDecode') }, deflateSync(bytes));
}

/** @returns the bytes as latin1; null if they are packed in another way, or have more than 64 MB */
export function unpacked(stream: PdfStream): string | null {
  const filters = stream.get('Filter');
  const [filter, ...others] = filters instanceof PdfArray ? filters.toArray() : filters === undefined ? [] : [filters];
  if (filter === undefined) return Buffer.from(stream.data).toString('latin1');
  if (!(filter instanceof PdfName) || filter.value !== 'FlateDecode' || others.length > 0 || stream.has('DecodeParms'))
    return null;
  try {
    return inflateSync(stream.data, { maxOutputLength: CONTENT_MAX_BYTES }).toString('latin1');
  } catch {
    return null;
  }
}
