/** Files in a PDF, associated with the document as PDF/A-3 and PDF 2.0 have it. */
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { type PDF, PdfArray, PdfDict, PdfName, PdfNumber, type PdfRef, PdfStream, PdfString } from '@libpdf/core';
import type { PdfAttachment } from '../contract/document-schema.js';

/** Adds files, which replace those of the same names. */
export function attachFiles(pdf: PDF, files: readonly PdfAttachment[], modified: string): void {
  const { catalog } = pdf.context;
  const specs = new Map<string, PdfRef>();
  const associated = associatedFiles(pdf);
  const earlier = catalog.getEmbeddedFilesTree()?.entries() ?? [];
  for (const [name, spec] of earlier) specs.set(name, pdf.context.getRef(spec) ?? pdf.register(spec));
  for (const file of files) {
    const replaced = specs.get(file.name);
    const kept = associated.filter((ref) => ref !== replaced);
    const spec = fileSpec(pdf, file, modified);
    specs.set(file.name, spec);
    associated.splice(0, Infinity, ...kept, spec);
  }
  const sorted = [...specs].map(([name, ref]): [PdfString, PdfRef] => [PdfString.fromString(name), ref]);
  sorted.sort(([one], [other]) => Buffer.compare(one.bytes, other.bytes));
  catalog.setEmbeddedFilesTree(PdfDict.of({ Names: PdfArray.of(...sorted.flat()) }));
  pdf.getCatalog().set('AF', PdfArray.of(...associated));
}

function associatedFiles(pdf: PDF): PdfRef[] {
  const list = pdf.getCatalog().getArray('AF', (ref) => pdf.getObject(ref));
  return [...(list ?? [])].filter((item) => item.type === 'ref');
}

/** The parts of an attachment that are the same in each PDF that it is attached to. */
const prepared = new WeakMap<Uint8Array, { packed: Uint8Array; checksum: Buffer }>();

function prepare(content: Uint8Array): { packed: Uint8Array; checksum: Buffer } {
  const made = prepared.get(content) ?? {
    packed: deflateSync(content),
    checksum: createHash('md5').update(content).digest(),
  };
  prepared.set(content, made);
  return made;
}

function fileSpec(
  pdf: PDF,
  { name, content, mimeType, relationship, description }: PdfAttachment,
  modified: string,
): PdfRef {
  const { packed, checksum } = prepare(content);
  const params = PdfDict.of({
    Size: PdfNumber.of(content.length),
    ModDate: PdfString.fromString(modified),
    CheckSum: PdfString.fromBytes(checksum),
  });
  const entries = { Type: PdfName.of('EmbeddedFile'), Subtype: PdfName.of(mimeType), Params: params };
  const file = pdf.register(PdfStream.fromDict({ ...entries, Filter: PdfName.of('FlateDecode') }, packed));
  return pdf.createDict({
    Type: PdfName.of('Filespec'),
    F: PdfString.fromString(name),
    UF: PdfString.fromString(name),
    EF: PdfDict.of({ F: file, UF: file }),
    AFRelationship: PdfName.of(relationship.charAt(0).toUpperCase() + relationship.slice(1)),
    ...(description === null ? {} : { Desc: PdfString.fromString(description) }),
  });
}
