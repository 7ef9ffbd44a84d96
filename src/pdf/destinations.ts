import { type PDF, PdfArray, PdfRef } from '@libpdf/core';
import { keyOf, resolved, resolverOf } from './open-pdf.js';

/** The pages, from 1 on, of named destinations, which Chromium writes for the targets of links within the document (Blink, `PrintContext::OutputLinkedDestinations`). */
export function pagesOfDestinations(pdf: PDF): Map<string, number> {
  const pages = new Map(pdf.getPages().map(({ ref }, nth) => [keyOf(ref), nth + 1]));
  const found = new Map<string, number>();
  for (const [name, value] of pdf.getCatalog().getDict('Dests', resolverOf(pdf)) ?? []) {
    const destination = resolved(pdf, value);
    const page = destination instanceof PdfArray ? destination.at(0) : undefined;
    const number = page instanceof PdfRef ? pages.get(keyOf(page)) : undefined;
    if (number !== undefined) found.set(name.value, number);
  }
  return found;
}
