/** Joins pages of PDFs into one: bookmarks, links, form fields, tags, layers, page labels and attachments of these pages are kept. */
import {
  PDF,
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
import { addStructure, newStructure, renameIds, type Structure, writeStructure } from './join-structure.js';
import { ObjectCopies } from './object-copies.js';
import { type FoundPage, keyOf, type OpenPdf, resolved, resolverOf, textKey, treeEntries } from './open-pdf.js';
import { type Bookmark, namedDestinations, readOutline, titled, writeOutline } from './outline.js';

export interface Part {
  open: OpenPdf;
  /** Numbers of pages, from 0, in the order of the result. Default: all. */
  pages?: readonly number[];
  /** The title of a bookmark that leads to the first page, and contains the bookmarks of the part. */
  chapter?: string;
  /** Addresses of the document, without fragments. Links of other parts to them lead to the part. */
  addresses?: readonly string[];
}

export interface JoinedPdf {
  pdf: PDF;
  pages: PdfRef[];
  /** The number of the first page of each part, from 0. */
  firstPages: number[];
}

/** The joined document, and everything that it gets besides its pages. */
interface Joined extends Structure {
  pdf: PDF;
  root: PdfRef;
  pages: PdfRef[];
  outline: Bookmark[];
  /** Named destinations: strings, and the names of PDF 1.1, by `textKey`. */
  strings: Map<string, [PdfString, PdfObject]>;
  names: Map<string, PdfObject>;
  files: Map<string, [PdfString, PdfObject]>;
  associated: PdfObject[];
  labels: [number, PdfObject][];
  fields: PdfObject[];
  fieldNames: Set<string>;
  form: PdfDict | null;
  layers: { all: PdfObject[]; off: PdfObject[]; order: PdfObject[]; automatic: PdfObject[] };
}

/** Copied from a part if there is no other, or from the first part. */
const OF_ONE_PART = ['Metadata', 'OutputIntents', 'Extensions'];
const OF_FIRST_PART = ['Lang', 'ViewerPreferences', 'PageMode', 'PageLayout'];
const NOT_COPIED = ['Parent', 'B', 'Thumb'];
const LETTER = [0, 0, 612, 792];

/** @param rules.startOnOddPages adds a blank page before a part that would begin on an even one, as for printing on both sides */
export function joinPdfs(parts: readonly Part[], { startOnOddPages = false } = {}): JoinedPdf {
  const joined = emptyJoined(parts.length > 1);
  const firstPages: number[] = [];
  for (const part of parts) {
    if (startOnOddPages && joined.pages.length % 2 === 1) joined.pages.push(blankPage(joined));
    firstPages.push(joined.pages.length);
    addPart(joined, part, parts);
  }
  write(joined);
  return { pdf: joined.pdf, pages: joined.pages, firstPages };
}

function emptyJoined(isJoined: boolean): Joined {
  const pdf = PDF.create();
  const { registry } = pdf.context;
  return {
    pdf,
    root: registry.allocateRef(),
    pages: [],
    outline: [],
    strings: new Map(),
    names: new Map(),
    files: new Map(),
    associated: [],
    labels: [],
    fields: [],
    fieldNames: new Set(),
    form: null,
    layers: { all: [], off: [], order: [], automatic: [] },
    ...newStructure(pdf, isJoined),
  };
}

function addPart(joined: Joined, { open, pages, chapter }: Part, parts: readonly Part[]): void {
  const { pdf, owners } = open;
  const resolve = resolverOf(pdf);
  const catalog = pdf.getCatalog();
  const isFirst = joined.pages.length === 0;
  const chosen = new Set(pages ?? open.pages.keys());
  const isLeftOut = (key: string) => {
    const owner = owners.get(key);
    return owner !== undefined && !chosen.has(owner);
  };
  const destinations = newDestinations(joined, open, isLeftOut);
  const nextParent = joined.parents.reduce((next, [key]) => Math.max(next, key + 1), 0);
  const usedParents = new Set<number>();
  const prefix = isFirst ? '' : `${joined.pages.length}.`;
  const renamedId = renameIds(prefix);
  const copies: ObjectCopies = new ObjectCopies(pdf, joined.pdf, {
    isLeftOut,
    replace: (key, value, dict) => {
      if ((key === 'StructParents' || key === 'StructParent') && value instanceof PdfNumber) {
        usedParents.add(value.value);
        return PdfNumber.of(value.value + nextParent);
      }
      const isDestination = key === 'Dest' || (key === 'D' && dict.getName('S')?.value === 'GoTo');
      if (isDestination && (value instanceof PdfName || value instanceof PdfString)) return destinations.renamed(value);
      if (key === 'Kids' && value instanceof PdfArray)
        return new PdfArray(
          value
            .toArray()
            .map((kid) => copies.of(kid))
            .filter((kid) => kid !== PdfNull.instance),
        );
      return renamedId(key, value, dict);
    },
  });
  const { registry } = joined.pdf.context;
  const targets = [...chosen].flatMap((nth) => {
    const page = open.pages[nth];
    if (page === undefined) return [];
    const to = registry.allocateRef();
    copies.set(page.ref, to);
    return [{ page, to }];
  });
  const target = joined.pdf.getCatalog();
  for (const key of [...(isFirst ? OF_FIRST_PART : []), ...(parts.length === 1 ? OF_ONE_PART : [])]) {
    const value = catalog.get(key);
    if (value !== undefined) target.set(key, copies.of(value));
  }
  const structure = addStructure(joined.pdf, joined, { open, copies, chosen, prefix });
  for (const { page, to } of targets) registry.registerAt(to, copyPage(joined, copies, page));
  addLabels(joined, { open, chosen, copies });
  joined.pages.push(...targets.map(({ to }) => to));
  for (const { name, value } of destinations.kept) {
    const copy = copies.of(value);
    if (name instanceof PdfName) joined.names.set(name.value, copy);
    else joined.strings.set(textKey(name), [name, copy]);
  }
  const bookmarks = readOutline(open, { copies, isKept: destinations.isKept });
  const [first] = targets;
  joined.outline.push(
    ...(chapter === undefined || first === undefined
      ? bookmarks
      : [{ entries: titled(chapter, first.to), isOpen: true, kids: bookmarks }]),
  );
  addForm(joined, { open, copies, isLeftOut });
  addLayers(joined, { open, copies });
  const names = catalog.getDict('Names', resolve);
  for (const [key, value] of treeEntries(pdf, names?.get('EmbeddedFiles'), 'Names'))
    if (key instanceof PdfString) putUnique(joined.files, key, copies.of(value));
  for (const file of catalog.getArray('AF', resolve) ?? []) joined.associated.push(copies.of(file));
  if (isFirst) copyInfo(joined.pdf, open, copies);
  joined.pdf.upgradeVersion(pdf.version);
  copies.finish();
  structure.finish(usedParents, nextParent);
  copies.finish();
}

function copyPage(joined: Joined, copies: ObjectCopies, { dict, inherited }: FoundPage): PdfDict {
  const copy = copies.dict(dict, NOT_COPIED);
  for (const [key, value] of inherited) if (!copy.has(key)) copy.set(key, copies.of(value));
  if (!copy.has('MediaBox')) copy.set('MediaBox', new PdfArray(LETTER.map((side) => PdfNumber.of(side))));
  copy.set('Type', PdfName.of('Page'));
  copy.set('Parent', joined.root);
  return copy;
}

/** The back of the last page. */
function blankPage({ pdf, root, pages }: Joined): PdfRef {
  const last = pages.at(-1);
  const front = last && pdf.getObject(last);
  const page = PdfDict.of({ Type: PdfName.of('Page'), Parent: root, Resources: new PdfDict() });
  for (const key of ['MediaBox', 'CropBox', 'Rotate']) {
    const value = front instanceof PdfDict ? front.get(key) : undefined;
    if (value !== undefined) page.set(key, value);
  }
  return pdf.context.registry.register(page);
}

interface Destinations {
  kept: { name: PdfName | PdfString; value: PdfObject }[];
  renamed(name: PdfName | PdfString): PdfName | PdfString;
  /** Whether a destination leads to a page that is copied, or to no page of the file. */
  isKept(destination: PdfObject | undefined): boolean;
}

/** The named destinations of pages that are copied. Names that the joined document has already get a number. */
function newDestinations(joined: Joined, { pdf }: OpenPdf, isLeftOut: (key: string) => boolean): Destinations {
  const resolve = resolverOf(pdf);
  const byName = new Map<string, PdfObject>();
  const renamed = new Map<string, PdfName | PdfString>();
  const keyed = (name: PdfName | PdfString) => `${name.type} ${textKey(name)}`;
  const leads = (destination: PdfObject | undefined): boolean => {
    let target = resolved(pdf, destination);
    if (target instanceof PdfDict) target = target.get('D', resolve);
    const page = target instanceof PdfArray ? target.at(0) : undefined;
    return !(page instanceof PdfRef && isLeftOut(keyOf(page)));
  };
  const kept: Destinations['kept'] = [];
  for (const { name, value } of namedDestinations(pdf)) {
    if (byName.has(keyed(name))) continue;
    byName.set(keyed(name), value);
    if (!leads(value)) continue;
    const free = freeName(name, (other) =>
      other instanceof PdfName ? joined.names.has(other.value) : joined.strings.has(textKey(other)),
    );
    renamed.set(keyed(name), free);
    kept.push({ name: free, value });
  }
  return {
    kept,
    renamed: (name) => renamed.get(keyed(name)) ?? name,
    isKept: (destination) => {
      const target = resolved(pdf, destination);
      const isNamed = target instanceof PdfName || target instanceof PdfString;
      return isNamed ? renamed.has(keyed(target)) || !byName.has(keyed(target)) : leads(target);
    },
  };
}

function freeName<Name extends PdfName | PdfString>(name: Name, isTaken: (name: PdfName | PdfString) => boolean): Name {
  let free: PdfName | PdfString = name;
  for (let nth = 2; isTaken(free); nth++)
    free =
      name instanceof PdfName
        ? PdfName.of(`${name.value}-${nth}`)
        : PdfString.fromString(`${(name as PdfString).asString()}-${nth}`);
  return free as Name;
}

function putUnique(into: Map<string, [PdfString, PdfObject]>, name: PdfString, value: PdfObject): void {
  const free = freeName(name, (other) => into.has(textKey(other)));
  into.set(textKey(free), [free, value]);
}

/** The page labels of a part, which begin anew where it has none of its own. */
function addLabels(
  { pages, labels }: Joined,
  { open, chosen, copies }: { open: OpenPdf; chosen: ReadonlySet<number>; copies: ObjectCopies },
): void {
  const { pdf } = open;
  const ranges = treeEntries(pdf, pdf.getCatalog().get('PageLabels'), 'Nums')
    .flatMap(([key, value]) => (key instanceof PdfNumber ? [{ from: key.value, label: resolved(pdf, value) }] : []))
    .sort((one, other) => one.from - other.from);
  if (ranges.length === 0 && labels.length === 0) return;
  let last: { nth: number; label: PdfObject | undefined } | null = null;
  for (const [at, nth] of [...chosen].entries()) {
    const range = ranges.findLast(({ from }) => from <= nth);
    if (last !== null && last.label === range?.label && nth === last.nth + 1) {
      last.nth = nth;
      continue;
    }
    last = { nth, label: range?.label };
    const label = range?.label instanceof PdfDict ? copies.dict(range.label) : PdfDict.of({ S: PdfName.of('D') });
    const start = label.getNumber('St')?.value ?? 1;
    const first = range === undefined ? pages.length + at + 1 : start + nth - range.from;
    label.set('St', PdfNumber.of(first));
    labels.push([pages.length + at, label]);
  }
}

function addForm(
  joined: Joined,
  { open, copies, isLeftOut }: { open: OpenPdf; copies: ObjectCopies; isLeftOut: (key: string) => boolean },
): void {
  const { pdf } = open;
  const resolve = resolverOf(pdf);
  const form = pdf.getCatalog().getDict('AcroForm', resolve);
  const fields = form?.getArray('Fields', resolve);
  if (form === undefined || fields === undefined) return;
  const seen = new Set<PdfObject>();
  const isKept = (field: PdfObject): boolean => {
    if (field instanceof PdfRef && isLeftOut(keyOf(field))) return false;
    const dict = resolved(pdf, field);
    if (!(dict instanceof PdfDict) || seen.has(dict)) return false;
    seen.add(dict);
    const kids = dict.getArray('Kids', resolve);
    return kids === undefined || kids.length === 0 || kids.toArray().some(isKept);
  };
  const kept = fields.toArray().filter(isKept);
  if (kept.length === 0) return;
  joined.form ??= new PdfDict();
  mergeInto(joined.form, 'DR', copies.of(form.getDict('DR', resolve) ?? new PdfDict()), joined.pdf);
  const appearance = form.get('DA');
  for (const key of ['DA', 'Q', 'SigFlags', 'NeedAppearances']) {
    const value = form.get(key);
    if (value !== undefined && (!joined.form.has(key) || value instanceof PdfBool))
      joined.form.set(key, copies.of(value));
  }
  copies.finish();
  for (const field of kept) {
    const copy = copies.of(field);
    copies.finish();
    const dict = resolved(joined.pdf, copy);
    if (!(dict instanceof PdfDict)) continue;
    const name = dict.getString('T', resolverOf(joined.pdf));
    if (name !== undefined) {
      const free = freeName(name, (other) => joined.fieldNames.has(textKey(other)));
      joined.fieldNames.add(textKey(free));
      dict.set('T', free);
    }
    if (appearance !== undefined && !dict.has('DA')) dict.set('DA', copies.of(appearance));
    joined.fields.push(copy);
  }
}

/** Adds the entries of a dictionary of dictionaries, without replacing any. */
function mergeInto(form: PdfDict, key: string, added: PdfObject, pdf: PDF): void {
  const known = form.getDict(key) ?? new PdfDict();
  form.set(key, known);
  if (!(added instanceof PdfDict)) return;
  for (const [name, value] of added) {
    const [one, other] = [resolved(pdf, known.get(name)), resolved(pdf, value)];
    if (one === undefined) known.set(name, value);
    else if (one instanceof PdfDict && other instanceof PdfDict)
      for (const [inner, item] of other) if (!one.has(inner)) one.set(inner, item);
  }
}

function addLayers({ layers }: Joined, { open, copies }: { open: OpenPdf; copies: ObjectCopies }): void {
  const { pdf } = open;
  const resolve = resolverOf(pdf);
  const properties = pdf.getCatalog().getDict('OCProperties', resolve);
  if (properties === undefined) return;
  const all = properties.getArray('OCGs', resolve)?.toArray() ?? [];
  const config = properties.getDict('D', resolve) ?? new PdfDict();
  const keysOf = (name: string) =>
    new Set(
      (config.getArray(name, resolve)?.toArray() ?? []).flatMap((one) => (one instanceof PdfRef ? [keyOf(one)] : [])),
    );
  const [on, off] = [keysOf('ON'), keysOf('OFF')];
  const isOff = config.getName('BaseState')?.value === 'OFF';
  for (const layer of all) {
    if (!(layer instanceof PdfRef)) continue;
    layers.all.push(copies.of(layer));
    if (off.has(keyOf(layer)) || (isOff && !on.has(keyOf(layer)))) layers.off.push(copies.of(layer));
  }
  layers.order.push(...(config.getArray('Order', resolve)?.toArray() ?? []).map((one) => copies.of(one)));
  layers.automatic.push(...(config.getArray('AS', resolve)?.toArray() ?? []).map((one) => copies.of(one)));
}

/** The title, the author and so on of the first part. */
function copyInfo(target: PDF, { pdf }: OpenPdf, copies: ObjectCopies): void {
  const info = resolved(pdf, pdf.context.info.trailer.get('Info'));
  const own = resolved(target, target.context.info.trailer.get('Info'));
  if (!(own instanceof PdfDict)) return;
  for (const key of [...own.keys()]) own.delete(key);
  if (info instanceof PdfDict) for (const [key, value] of copies.dict(info)) own.set(key, value);
}

function write(joined: Joined): void {
  const { pdf, root, pages, strings, names, files, associated, labels, form, fields, layers } = joined;
  const { registry } = pdf.context;
  const catalog = pdf.getCatalog();
  registry.registerAt(
    root,
    PdfDict.of({ Type: PdfName.of('Pages'), Kids: new PdfArray(pages), Count: PdfNumber.of(pages.length) }),
  );
  catalog.set('Pages', root);
  writeOutline(pdf, joined.outline);
  if (names.size > 0) catalog.set('Dests', registry.register(PdfDict.of(Object.fromEntries(names))));
  const trees = Object.entries({ Dests: strings, EmbeddedFiles: files }).filter(([, entries]) => entries.size > 0);
  if (trees.length > 0)
    catalog.set('Names', PdfDict.of(Object.fromEntries(trees.map(([key, entries]) => [key, nameTree(pdf, entries)]))));
  if (associated.length > 0) catalog.set('AF', new PdfArray(associated));
  if (labels.length > 0)
    catalog.set(
      'PageLabels',
      PdfDict.of({ Nums: new PdfArray(labels.flatMap(([at, label]) => [PdfNumber.of(at), label])) }),
    );
  if (form !== null) {
    form.set('Fields', new PdfArray(fields));
    catalog.set('AcroForm', registry.register(form));
  }
  const { all, off, order, automatic } = layers;
  if (all.length > 0) {
    const config = PdfDict.of({ OFF: new PdfArray(off), Order: new PdfArray(order), AS: new PdfArray(automatic) });
    config.set('Name', PdfString.fromString('Layers'));
    catalog.set('OCProperties', registry.register(PdfDict.of({ OCGs: new PdfArray(all), D: config })));
  }
  writeStructure(pdf, joined);
}

function nameTree(pdf: PDF, entries: ReadonlyMap<string, [PdfString, PdfObject]>): PdfRef {
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1));
  return pdf.register(PdfDict.of({ Names: new PdfArray(sorted.flatMap(([, entry]) => entry)) }));
}
