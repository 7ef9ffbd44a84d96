/** The bookmarks of a PDF. */
import {
  type PDF,
  PdfArray,
  PdfDict,
  PdfName,
  PdfNull,
  PdfNumber,
  type PdfObject,
  PdfRef,
  PdfString,
} from '@libpdf/core';
import { refusedField } from '../contract/capture-error.js';
import type { PdfBookmark } from '../contract/pdf-work.js';
import type { ObjectCopies } from './object-copies.js';
import { keyOf, type OpenPdf, resolved, resolverOf, textKey, treeEntries } from './open-pdf.js';

export interface Bookmark {
  /** The entries that do not connect it with other bookmarks. */
  entries: PdfDict;
  isOpen: boolean;
  kids: Bookmark[];
}

const TITLE_MAX_CHARS = 1_000;
const CONNECTIONS = ['Parent', 'Prev', 'Next', 'First', 'Last', 'Count'];
const DEPTH_MAX = 60;

/** A bookmark that leads to the top of a page. */
export function titled(title: string, page: PdfRef): PdfDict {
  return PdfDict.of({ Title: PdfString.fromString(title), Dest: topOf(page) });
}

/** A destination at the top of a page. */
export function topOf(page: PdfRef): PdfArray {
  return new PdfArray([page, PdfName.of('XYZ'), PdfNull.instance, PdfNull.instance, PdfNull.instance]);
}

/** The destinations that have a name: strings, and the names of PDF 1.1. */
export function namedDestinations(pdf: PDF): { name: PdfName | PdfString; value: PdfObject }[] {
  const resolve = resolverOf(pdf);
  const catalog = pdf.getCatalog();
  const names = [...(catalog.getDict('Dests', resolve) ?? [])];
  const strings = treeEntries(pdf, catalog.getDict('Names', resolve)?.get('Dests'), 'Names');
  return [...names, ...strings].flatMap(([name, value]) =>
    name instanceof PdfName || name instanceof PdfString ? [{ name, value }] : [],
  );
}

/** The bookmarks of a document, with the pages that they lead to. Those that lead elsewhere are left out, unless they contain others. */
export function listBookmarks({ pdf, owners }: Pick<OpenPdf, 'pdf' | 'owners'>): PdfBookmark[] {
  const resolve = resolverOf(pdf);
  const named = new Map(namedDestinations(pdf).map(({ name, value }) => [`${name.type} ${textKey(name)}`, value]));
  const pageOf = (destination: PdfObject | undefined): number | null => {
    let target = resolved(pdf, destination);
    if (target instanceof PdfName || target instanceof PdfString)
      target = resolved(pdf, named.get(`${target.type} ${textKey(target)}`));
    if (target instanceof PdfDict) target = target.get('D', resolve);
    const page = target instanceof PdfArray ? target.at(0) : undefined;
    const owner = page instanceof PdfRef ? owners.get(keyOf(page)) : undefined;
    return owner === undefined ? null : owner + 1;
  };
  const list = (bookmarks: readonly Bookmark[]): PdfBookmark[] =>
    bookmarks.flatMap(({ entries, kids }) => {
      const children = list(kids);
      const page = pageOf(entries.get('Dest') ?? entries.getDict('A', resolve)?.get('D')) ?? children[0]?.page;
      const title = entries.getString('Title', resolve)?.asString() ?? '';
      return page === undefined ? [] : [{ title: title.slice(0, TITLE_MAX_CHARS), page, children }];
    });
  return list(readOutline({ pdf }, { copies: { dict: (dict) => dict }, isKept: () => true }));
}

/** The entries of bookmarks, which lead to pages of a document. @throws CaptureError `invalid_request` for a page that it lacks */
export function toBookmarks(list: readonly PdfBookmark[], pages: readonly PdfRef[]): Bookmark[] {
  return list.map(({ title, page, children }) => {
    const ref = pages[page - 1];
    if (ref === undefined) throw refusedField('bookmarks', `lead to page ${page}, but there are ${pages.length}`);
    return { entries: titled(title, ref), isOpen: false, kids: toBookmarks(children, pages) };
  });
}

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
