/** The tags of joined PDFs. */
import {
  type PDF,
  PdfArray,
  PdfBool,
  PdfDict,
  PdfName,
  PdfNull,
  PdfNumber,
  type PdfObject,
  PdfRef,
  PdfString,
} from '@libpdf/core';
import type { ObjectCopies, Replace } from './object-copies.js';
import { keyOf, type OpenPdf, resolved, resolverOf, textKey, treeEntries } from './open-pdf.js';

export interface Structure {
  /** The elements at the top: below the root, or below the element of the joined document. */
  tags: PdfObject[];
  tagRoot: PdfRef;
  /** The element of the joined document; null if it has one part. */
  tagDocument: PdfRef | null;
  /** The parent tree. */
  parents: [number, PdfObject][];
  ids: [PdfString, PdfObject][];
  roles: PdfDict;
  classes: PdfDict;
  namespaces: PdfObject[];
  /** Whether all of the content of all parts is tagged. */
  areAllMarked: boolean;
}

interface Source {
  open: OpenPdf;
  copies: ObjectCopies;
  /** Numbers of the pages that are copied. */
  chosen: ReadonlySet<number>;
  /** Goes before the ids of elements, since those of Chromium are the same in each file. */
  prefix: string;
}

export function newStructure({ context: { registry } }: PDF, isJoined: boolean): Structure {
  return {
    tags: [],
    tagRoot: registry.allocateRef(),
    tagDocument: isJoined ? registry.allocateRef() : null,
    parents: [],
    ids: [],
    roles: new PdfDict(),
    classes: new PdfDict(),
    namespaces: [],
    areAllMarked: true,
  };
}

/**
 * Copies the elements with content on pages that are copied.
 * @returns what adds the entries of the parent tree that these pages use, once the pages are copied
 */
export function addStructure(
  pdf: PDF,
  into: Structure,
  source: Source,
): { finish(used: ReadonlySet<number>, nextKey: number): void } {
  const { copies, prefix } = source;
  const { pdf: from } = source.open;
  const resolve = resolverOf(from);
  const catalog = from.getCatalog();
  const rootRef = catalog.get('StructTreeRoot');
  const root = resolved(from, rootRef);
  if (catalog.getDict('MarkInfo', resolve)?.getBool('Marked', resolve)?.value !== true) into.areAllMarked = false;
  if (!(root instanceof PdfDict)) return { finish: () => undefined };
  if (rootRef instanceof PdfRef) copies.set(rootRef, into.tagRoot);
  const tags = copyElements(pdf, source, { root, target: into.tagDocument ?? into.tagRoot });
  into.tags.push(...(into.tagDocument === null ? tags : asPart(pdf, tags, { parent: into.tagDocument, from })));
  for (const [key, target] of [['RoleMap', into.roles] as const, ['ClassMap', into.classes] as const])
    for (const [name, value] of root.getDict(key, resolve) ?? [])
      if (!target.has(name)) target.set(name, copies.of(value));
  for (const space of root.getArray('Namespaces', resolve) ?? []) into.namespaces.push(copies.of(space));
  return {
    finish: (used, nextKey) => {
      for (const [key, value] of treeEntries(from, root.get('ParentTree'), 'Nums'))
        if (key instanceof PdfNumber && used.has(key.value)) into.parents.push([key.value + nextKey, copies.of(value)]);
      for (const [id, element] of treeEntries(from, root.get('IDTree'), 'Names')) {
        const copy = id instanceof PdfString ? copies.of(element) : PdfNull.instance;
        if (copy !== PdfNull.instance) into.ids.push([prefixed(id as PdfString, prefix), copy]);
      }
    },
  };
}

/** One element of a joined document, in the language of its part. */
function asPart(pdf: PDF, tags: PdfObject[], { parent, from }: { parent: PdfRef; from: PDF }): PdfObject[] {
  const elements = tags.flatMap((tag) => {
    const element = resolved(pdf, tag);
    return element instanceof PdfDict ? [element] : [];
  });
  const [first] = elements;
  if (first === undefined) return [];
  const isDocument = elements.length === 1 && first.getName('S')?.value === 'Document';
  const part = isDocument ? first : PdfDict.of({ Type: PdfName.of('StructElem'), P: parent, K: new PdfArray(tags) });
  const ref = isDocument ? tags : [pdf.register(part)];
  part.set('S', PdfName.of('Part'));
  for (const element of isDocument ? [] : elements) element.set('P', ref[0] as PdfRef);
  const language = from.getLanguage();
  if (language !== undefined && language !== pdf.getLanguage() && !part.has('Lang'))
    part.set('Lang', PdfString.fromString(language));
  return ref;
}

/** Renames the ids of elements, and the headers of table cells, which are such ids. */
export function renameIds(prefix: string): Replace {
  return (key, value, dict) => {
    if (prefix === '') return undefined;
    if (key === 'ID' && value instanceof PdfString && dict.has('S') && dict.has('P')) return prefixed(value, prefix);
    if (key !== 'Headers' || !(value instanceof PdfArray) || dict.getName('O')?.value !== 'Table') return undefined;
    return new PdfArray(value.toArray().map((id) => (id instanceof PdfString ? prefixed(id, prefix) : id)));
  };
}

function prefixed(id: PdfString, prefix: string): PdfString {
  return PdfString.fromBytes(Buffer.concat([Buffer.from(prefix), id.bytes]));
}

function copyElements(
  pdf: PDF,
  { open, copies, chosen }: Source,
  { root, target }: { root: PdfDict; target: PdfRef },
): PdfObject[] {
  const { registry } = pdf.context;
  const resolve = resolverOf(open.pdf);
  const areAllChosen = chosen.size === open.pages.length;
  const seen = new Set<PdfDict>();
  const isChosen = (page: PdfObject | undefined) =>
    areAllChosen || (page instanceof PdfRef && chosen.has(open.owners.get(keyOf(page)) ?? -1));
  const copyKid = (kid: PdfObject, parent: PdfRef, inherited: PdfObject | undefined): PdfObject | null => {
    const dict = resolved(open.pdf, kid);
    if (dict instanceof PdfNumber) return isChosen(inherited) ? dict : null;
    if (!(dict instanceof PdfDict) || seen.has(dict)) return null;
    const page = dict.get('Pg') ?? inherited;
    const type = dict.getName('Type', resolve)?.value;
    if (type === 'MCR' || type === 'OBJR') return isChosen(page) ? copies.of(kid) : null;
    seen.add(dict);
    const own = registry.allocateRef();
    if (kid instanceof PdfRef) copies.set(kid, own);
    const kids = copyKids(dict, own, page);
    if (kids.length === 0 && !isChosen(page)) {
      if (kid instanceof PdfRef) copies.set(kid, PdfNull.instance);
      return null;
    }
    const copy = copies.dict(dict, ['K', 'P']);
    copy.set('P', parent);
    if (kids.length > 0) copy.set('K', new PdfArray(kids));
    registry.registerAt(own, copy);
    return own;
  };
  const copyKids = (dict: PdfDict, parent: PdfRef, page: PdfObject | undefined): PdfObject[] => {
    const children = dict.get('K');
    const kids = resolved(open.pdf, children);
    const list = kids instanceof PdfArray ? kids.toArray() : [children];
    return list.flatMap((kid) => (kid === undefined ? [] : (copyKid(kid, parent, page) ?? [])));
  };
  return copyKids(root, target, undefined);
}

export function writeStructure(pdf: PDF, structure: Structure): void {
  const { tags, tagRoot, tagDocument, parents, ids, roles, classes, namespaces, areAllMarked } = structure;
  if (tags.length === 0) return;
  const { registry } = pdf.context;
  const catalog = pdf.getCatalog();
  const byKey = parents.toSorted(([one], [other]) => one - other);
  const byId = ids.toSorted(([one], [other]) => (textKey(one) < textKey(other) ? -1 : 1));
  if (tagDocument !== null)
    registry.registerAt(
      tagDocument,
      PdfDict.of({ Type: PdfName.of('StructElem'), S: PdfName.of('Document'), P: tagRoot, K: new PdfArray(tags) }),
    );
  const root = PdfDict.of({
    Type: PdfName.of('StructTreeRoot'),
    K: new PdfArray(tagDocument === null ? tags : [tagDocument]),
    ParentTree: registry.register(
      PdfDict.of({ Nums: new PdfArray(byKey.flatMap(([key, value]) => [PdfNumber.of(key), value])) }),
    ),
    ParentTreeNextKey: PdfNumber.of((byKey.at(-1)?.[0] ?? -1) + 1),
  });
  if (byId.length > 0) root.set('IDTree', registry.register(PdfDict.of({ Names: new PdfArray(byId.flat()) })));
  if (roles.size > 0) root.set('RoleMap', roles);
  if (classes.size > 0) root.set('ClassMap', classes);
  if (namespaces.length > 0) root.set('Namespaces', new PdfArray(namespaces));
  registry.registerAt(tagRoot, root);
  catalog.set('StructTreeRoot', tagRoot);
  if (areAllMarked) catalog.set('MarkInfo', PdfDict.of({ Marked: PdfBool.of(true) }));
}
