import { type PDF, PdfArray, PdfDict, PdfNull, type PdfObject, PdfRef, PdfStream } from '@libpdf/core';

/** Names an indirect object of a PDF. */
export function keyOf({ objectNumber, generation }: PdfRef): string {
  return `${objectNumber} ${generation}`;
}

/**
 * Copies objects from one PDF into another, with everything that they refer to. What several of them refer to is copied once.
 * @param copies the copies of indirect objects by `keyOf`, to which those that are made are added
 */
export function objectCopier(from: PDF, to: PDF, copies = new Map<string, PdfRef>()): (object: PdfObject) => PdfObject {
  // Lists of outline items and of structure elements are too long for a recursion.
  const unfinished: (PdfDict | PdfArray)[] = [];
  const copyOf = (object: PdfObject): PdfObject => {
    if (!(object instanceof PdfRef)) return shallowCopyOf(object);
    const known = copies.get(keyOf(object));
    if (known !== undefined) return known;
    const copy = to.register(shallowCopyOf(from.getObject(object) ?? PdfNull.instance));
    copies.set(keyOf(object), copy);
    return copy;
  };
  const shallowCopyOf = (object: PdfObject): PdfObject => {
    if (!(object instanceof PdfDict || object instanceof PdfArray)) return object;
    const copy =
      object instanceof PdfStream
        ? new PdfStream(object, object.data)
        : object instanceof PdfDict
          ? object.clone()
          : new PdfArray(object.toArray());
    unfinished.push(copy);
    return copy;
  };
  return (object) => {
    const copy = copyOf(object);
    for (let next = unfinished.pop(); next !== undefined; next = unfinished.pop()) {
      if (next instanceof PdfArray) for (const [nth, item] of next.toArray().entries()) next.set(nth, copyOf(item));
      else for (const [name, value] of [...next]) next.set(name, copyOf(value));
    }
    return copy;
  };
}
