/** Opens PDFs that nobody has checked, within limits. Runs in the thread of `PdfFiles`. */
import { inflateSync } from 'node:zlib';
import { PDF, PdfArray, PdfDict, PdfName, type PdfObject, PdfRef, PdfStream, type PdfString } from '@libpdf/core';
import { CaptureError, refusedField } from '../contract/capture-error.js';
import { PDF_PAGES_MAX } from '../contract/limits.js';

/** A page, with the attributes that it inherits. */
export interface FoundPage {
  ref: PdfRef;
  dict: PdfDict;
  inherited: ReadonlyMap<string, PdfObject>;
}

/** A PDF of which all pages have been found. */
export interface OpenPdf {
  pdf: PDF;
  pages: readonly FoundPage[];
  /** The number of the page, from 0, by `keyOf` of the page and of each of its annotations. */
  owners: ReadonlyMap<string, number>;
}

const INHERITABLE = ['Resources', 'MediaBox', 'CropBox', 'Rotate'];
/** The library looks for the place of the cross-references in the last 1,024 bytes of a file. */
const REFERENCES_BYTES = 2_000;
const TREE_NODES_MAX = 200_000;
/** The tables and object streams of all files of a task, unpacked. */
const UNPACKED_MAX_BYTES = 256_000_000;
/** LZW codes of 12 bits stand for at most 4,096 bytes; a run of RunLength for 128. */
const GROWTH: Record<string, number> = { LZWDecode: 2_731, RunLengthDecode: 64, ASCII85Decode: 4, ASCIIHexDecode: 1 };

let unpackedBytes = 0;

/** To be called at the beginning of a task: the limit of what is unpacked is that of one task. */
export function beginTask(): void {
  unpackedBytes = 0;
}

/**
 * Opens a file, and repairs it as far as its objects can be found.
 * @param name of the file, for errors
 * @throws CaptureError `invalid_request` for a file that is damaged, encrypted with a password, too large when unpacked, or has no pages or too many
 */
export async function openPdf(content: Uint8Array, name: string): Promise<OpenPdf> {
  let found = await loadPages(content, name);
  if (found instanceof Error || !hasAllPages(found)) {
    // The library uses references that can be read, also those that lead to other objects.
    const repaired = await loadPages(Buffer.concat([content, Buffer.alloc(REFERENCES_BYTES, '%')]), name);
    const isBetter = (before: FoundPages, after: FoundPages) =>
      hasAllPages(after) || after.pages.length > before.pages.length;
    if (found instanceof Error || (!(repaired instanceof Error) && isBetter(found, repaired))) found = repaired;
  }
  if (found instanceof Error) throw refusedField(name, 'is not a PDF, or is damaged', { cause: found });
  const { pdf, pages } = found;
  if (pdf.recoveredViaBruteForce) {
    if (Buffer.from(content.buffer, content.byteOffset, content.byteLength).includes('/Encrypt '))
      throw refusedField(name, 'is encrypted, and damaged');
    findInfo(pdf, content);
  }
  if (pages.length === 0) throw refusedField(name, 'is damaged: it has no pages');
  const owners = new Map<string, number>();
  for (const [nth, { ref, dict }] of pages.entries()) {
    owners.set(keyOf(ref), nth);
    for (const annotation of dict.getArray('Annots', resolverOf(pdf)) ?? [])
      if (annotation instanceof PdfRef) owners.set(keyOf(annotation), nth);
  }
  return { pdf, pages, owners };
}

interface FoundPages {
  pdf: PDF;
  pages: FoundPage[];
}

async function loadPages(content: Uint8Array, name: string): Promise<FoundPages | Error> {
  try {
    const pdf = await PDF.load(content);
    if (pdf.isEncrypted && !pdf.isAuthenticated)
      throw refusedField(name, 'is encrypted with a password: send it without one');
    return { pdf, pages: findPages(pdf, name) };
  } catch (error) {
    if (error instanceof CaptureError) throw error;
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Whether a file has as many pages as it says, and no other objects in their place. */
function hasAllPages({ pdf, pages }: FoundPages): boolean {
  const resolve = resolverOf(pdf);
  const count = pdf.getCatalog().getDict('Pages', resolve)?.getNumber('Count', resolve)?.value ?? 0;
  const arePages = pages.every(({ dict }) => (dict.getName('Type', resolve)?.value ?? 'Page') === 'Page');
  return arePages && pages.length >= Math.max(1, Math.min(count, PDF_PAGES_MAX));
}

/** @libpdf/core 0.4.2 leaves out the information dictionary of a file whose cross-references are lost (test/pdf/work-on-pdfs.test.ts). */
function findInfo(pdf: PDF, content: Uint8Array): void {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const at = bytes.lastIndexOf('/Info ');
  const [, number, generation] = /^\/Info (\d{1,9}) (\d{1,5}) R/.exec(bytes.toString('latin1', at, at + 30)) ?? [];
  const ref = number === undefined ? null : PdfRef.of(Number(number), Number(generation));
  if (ref !== null && pdf.getObject(ref) instanceof PdfDict) pdf.context.info.trailer.set('Info', ref);
}

export function keyOf({ objectNumber, generation }: PdfRef): string {
  return `${objectNumber} ${generation}`;
}

export function resolverOf(pdf: PDF): (ref: PdfRef) => PdfObject | null {
  return (ref) => pdf.getObject(ref);
}

/** The object itself, for an object or a reference to it. */
export function resolved(pdf: PDF, object: PdfObject | undefined): PdfObject | undefined {
  return object instanceof PdfRef ? (pdf.getObject(object) ?? undefined) : object;
}

/** The entries of a name tree or number tree. Keys are the bytes of names in latin1, or numbers. */
export function treeEntries(pdf: PDF, root: PdfObject | undefined, kind: 'Names' | 'Nums'): [PdfObject, PdfObject][] {
  const entries: [PdfObject, PdfObject][] = [];
  for (const node of nodesOf(pdf, root)) {
    const list = node.getArray(kind, resolverOf(pdf));
    for (let at = 0; at + 1 < (list?.length ?? 0); at += 2) {
      const key = resolved(pdf, list?.at(at));
      const value = list?.at(at + 1);
      if (key !== undefined && value !== undefined) entries.push([key, value]);
    }
  }
  return entries;
}

/** The nodes of a tree, each before its kids, in order. Cycles are left out. */
function* nodesOf(pdf: PDF, root: PdfObject | undefined): Generator<PdfDict> {
  const seen = new Set<PdfObject>();
  const open = [root];
  while (open.length > 0 && seen.size < TREE_NODES_MAX) {
    const node = resolved(pdf, open.pop());
    if (!(node instanceof PdfDict) || seen.has(node)) continue;
    seen.add(node);
    yield node;
    open.push(...(node.getArray('Kids', resolverOf(pdf))?.toArray().reverse() ?? []));
  }
}

/** The text of a name or string, by which destinations are found. */
export function textKey(object: PdfName | PdfString): string {
  return object instanceof PdfName ? object.value : Buffer.from(object.bytes).toString('latin1');
}

/** Finds pages as viewers do: nodes without `Type`, and lists of kids that are objects of their own, are understood, too. */
function findPages(pdf: PDF, name: string): FoundPage[] {
  const pages: FoundPage[] = [];
  const seen = new Set<string>();
  const catalog = pdf.getCatalog();
  // Where a damaged file has lost its catalog, the library has taken the root of its pages.
  const root = catalog.getName('Type')?.value === 'Pages' ? pdf.context.info.trailer.get('Root') : catalog.get('Pages');
  const open: { node: PdfObject | undefined; inherited: Map<string, PdfObject> }[] = [
    { node: root, inherited: new Map() },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, inherited } = next;
    // A page that is no object of its own cannot be the target of a link, and no program writes it.
    if (!(node instanceof PdfRef) || seen.has(keyOf(node))) continue;
    seen.add(keyOf(node));
    const dict = pdf.getObject(node);
    if (!(dict instanceof PdfDict)) continue;
    const known = new Map(inherited);
    for (const key of INHERITABLE) {
      const value = dict.get(key);
      if (value !== undefined) known.set(key, value);
    }
    const kids = dict.getArray('Kids', resolverOf(pdf));
    if (kids === undefined) pages.push({ ref: node, dict, inherited: known });
    else for (const kid of kids.toArray().reverse()) open.push({ node: kid, inherited: known });
    if (pages.length > PDF_PAGES_MAX) throw refusedField(name, `has more than ${PDF_PAGES_MAX} pages`);
  }
  return pages;
}

// @libpdf/core 0.4.2 unpacks streams without a limit (LibPDF-js/core, src/filters/filter-pipeline.ts), so that a small file could take all
// memory. It unpacks cross-references and objects itself, so that only the prototype can be changed.
const unpack = PdfStream.prototype.getDecodedData;
PdfStream.prototype.getDecodedData = function limited(this: PdfStream): Uint8Array {
  const filters = this.get('Filter');
  const names = filters instanceof PdfArray ? filters.toArray() : filters === undefined ? [] : [filters];
  const parameters = this.get('DecodeParms');
  let { data } = this;
  for (const [nth, filter] of names.entries()) {
    const own = parameters instanceof PdfArray ? parameters.at(nth) : parameters;
    data = unpackOnce(data, filter, own);
    unpackedBytes += data.length;
  }
  return data;
};

function unpackOnce(data: Uint8Array, filter: PdfObject, parameters: PdfObject | undefined): Uint8Array {
  const name = filter instanceof PdfName ? filter.value : '';
  const left = UNPACKED_MAX_BYTES - unpackedBytes;
  if (name === 'FlateDecode') {
    const inflated = inflate(data, left);
    if (inflated !== null && parameters === undefined) return inflated;
  } else if (data.length * (GROWTH[name] ?? Infinity) > left) throw tooLarge();
  const one = new PdfStream([['Filter', filter]], data);
  if (parameters !== undefined) one.set('DecodeParms', parameters);
  return unpack.call(one);
}

/** @returns null for a damaged stream, which has no more than what has been unpacked before the damage */
function inflate(data: Uint8Array, maxBytes: number): Uint8Array | null {
  try {
    return inflateSync(data, { maxOutputLength: Math.max(1, maxBytes) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    return null;
  }
}

function tooLarge(): CaptureError {
  const message = `The files have more than ${UNPACKED_MAX_BYTES / 1e6} MB of objects.`;
  return new CaptureError({ code: 'invalid_request', message });
}
