/** The bookmarks of a PDF. */
import { type PDF, PdfDict, PdfNumber, type PdfObject, type PdfRef } from '@libpdf/core';
import type { ObjectCopies } from './object-copies.js';
import { type OpenPdf, resolverOf } from './open-pdf.js';

export interface Bookmark {
  /** Without the entries that connect it with other bookmarks. */
  entries: PdfDict;
  isOpen: boolean;
  kids: Bookmark[];
}

const CONNECTIONS = ['Parent', 'Prev', 'Next', 'First', 'Last', 'Count'];
const DEPTH_MAX = 60;

/** The bookmarks that lead to pages that are copied, and those that contain such bookmarks. */
export function readOutline(
  { pdf }: Pick<OpenPdf, 'pdf'>,
  { copies, isKept }: { copies: Pick<ObjectCopies, 'dict'>; isKept(destination: PdfObject | undefined): boolean },
): Bookmark[] {
  const resolve = resolverOf(pdf);
  const seen = new Set<PdfDict>();
  const read = (parent: PdfDict | undefined, depth: number): Bookmark[] => {
    const list: Bookmark[] = [];
    let item = depth > DEPTH_MAX ? undefined : parent?.getDict('First', resolve);
    for (; item !== undefined && !seen.has(item); item = item.getDict('Next', resolve)) {
      seen.add(item);
      const kids = read(item, depth + 1);
      const action = item.getDict('A', resolve);
      const isLocal = item.has('Dest') || action?.getName('S', resolve)?.value === 'GoTo';
      const destination = item.get('Dest') ?? action?.get('D');
      if (kids.length === 0 && isLocal && !isKept(destination)) continue;
      const isOpen = (item.getNumber('Count', resolve)?.value ?? 0) > 0;
      list.push({ entries: copies.dict(item, CONNECTIONS), isOpen, kids });
    }
    return list;
  };
  return read(pdf.getCatalog().getDict('Outlines', resolve), 0);
}

export function writeOutline(pdf: PDF, bookmarks: readonly Bookmark[]): void {
  const catalog = pdf.getCatalog();
  if (bookmarks.length === 0) {
    catalog.delete('Outlines');
    return;
  }
  const root = new PdfDict();
  const ref = pdf.register(root);
  root.set('Count', PdfNumber.of(connect(pdf, { parent: root, ref }, bookmarks)));
  catalog.set('Outlines', ref);
}

/** @returns the number of bookmarks that are visible below the parent when it is open */
function connect(pdf: PDF, { parent, ref }: { parent: PdfDict; ref: PdfRef }, bookmarks: readonly Bookmark[]): number {
  const items = bookmarks.map(({ entries, isOpen, kids }) => ({ entries, isOpen, kids, own: pdf.register(entries) }));
  let visible = items.length;
  for (const [nth, { entries, isOpen, kids, own }] of items.entries()) {
    entries.set('Parent', ref);
    const [previous, next] = [items[nth - 1], items[nth + 1]];
    if (previous !== undefined) entries.set('Prev', previous.own);
    if (next !== undefined) entries.set('Next', next.own);
    if (kids.length === 0) continue;
    const below = connect(pdf, { parent: entries, ref: own }, kids);
    entries.set('Count', PdfNumber.of(isOpen ? below : -below));
    if (isOpen) visible += below;
  }
  const [first, last] = [items[0], items.at(-1)];
  if (first !== undefined && last !== undefined) {
    parent.set('First', first.own);
    parent.set('Last', last.own);
  }
  return visible;
}
