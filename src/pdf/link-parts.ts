import { type PDF, PdfArray, PdfDict, PdfRef } from '@libpdf/core';
import type { JoinedPdf, Part } from './join-pdfs.js';
import { keyOf, resolved, resolverOf } from './open-pdf.js';
import { topOf } from './outline.js';

/** Makes links to the address of another part links to its place in the joined document, as far as its destinations are named. */
export function linkParts({ pdf, pages, firstPages }: JoinedPdf, parts: readonly Part[]): void {
  const byAddress = new Map(
    parts.flatMap((part, nth) =>
      (part.addresses ?? []).map((address) => [address, { part, first: firstPages[nth] ?? 0 }]),
    ),
  );
  if (byAddress.size === 0) return;
  for (const link of linksOf(pdf, pages)) {
    const uri = link.getDict('A', resolverOf(pdf))?.getString('URI', resolverOf(pdf))?.asString() ?? '';
    const [address = '', fragment = ''] = uri.split('#', 2);
    const target = byAddress.get(address);
    if (target === undefined) continue;
    const page = pages[target.first];
    const destination = destinationIn(target.part, fragment, pages.slice(target.first)) ?? (page && topOf(page));
    if (destination === undefined) continue;
    link.delete('A');
    link.set('Dest', destination);
  }
}

function* linksOf(pdf: PDF, pages: readonly PdfRef[]): Generator<PdfDict> {
  for (const ref of pages) {
    const page = pdf.getObject(ref);
    const annotations = page instanceof PdfDict ? page.getArray('Annots', resolverOf(pdf)) : undefined;
    for (const one of annotations ?? []) {
      const annotation = resolved(pdf, one);
      if (annotation instanceof PdfDict && annotation.getName('Subtype')?.value === 'Link') yield annotation;
    }
  }
}

/** @param pages the joined document's, from the first of the part on */
function destinationIn({ open }: Part, name: string, pages: readonly PdfRef[]): PdfArray | undefined {
  if (name === '') return undefined;
  const resolve = resolverOf(open.pdf);
  const own = open.pdf.getCatalog().getDict('Dests', resolve)?.getArray(name, resolve);
  const [page, ...place] = own?.toArray() ?? [];
  const nth = open.pages.findIndex(({ ref }) => page instanceof PdfRef && keyOf(ref) === keyOf(page));
  const to = pages[nth];
  return to && new PdfArray([to, ...place]);
}
