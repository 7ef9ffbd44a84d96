import { type PDF, PdfRef } from '@libpdf/core';
import { keyOf } from './copy-objects.js';

/** The pages, from 1 on, of named destinations, which Chromium 156 writes for the targets of links within the document. */
export function pagesByDestination(pdf: PDF, names: readonly string[]): (number | null)[] {
  const pages = new Map(pdf.getPages().map(({ ref }, nth) => [keyOf(ref), nth + 1]));
  const resolve = (ref: PdfRef) => pdf.getObject(ref);
  const found = pdf.getCatalog().getDict('Dests', resolve);
  return names.map((name) => {
    const page = found?.getArray(name, resolve)?.at(0);
    return page instanceof PdfRef ? (pages.get(keyOf(page)) ?? null) : null;
  });
}
