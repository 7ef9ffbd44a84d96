/** Copies objects of one PDF into another. */
import { type PDF, PdfArray, PdfDict, PdfNull, type PdfObject, PdfRef, PdfStream } from '@libpdf/core';
import { keyOf } from './open-pdf.js';

/** Returns the object that an entry gets instead of its copy. */
export type Replace = (key: string, value: PdfObject, dict: PdfDict) => PdfObject | undefined;

/** Objects are copied once, with all that they refer to. The library's own copies recursively, which overflows the stack for long lists. */
export class ObjectCopies {
  readonly #copies = new Map<string, PdfObject>();
  readonly #open: { from: PdfRef; to: PdfRef }[] = [];

  constructor(
    private readonly from: PDF,
    private readonly to: PDF,
    private readonly rules: { isLeftOut: (key: string) => boolean; replace: Replace },
  ) {}

  /** Makes a reference to stand for another object than its copy. */
  set(ref: PdfRef, copy: PdfObject): void {
    this.#copies.set(keyOf(ref), copy);
  }

  /** The copy of an object. What it refers to is copied by `finish`. */
  of(object: PdfObject): PdfObject {
    if (object instanceof PdfRef) return this.#ofRef(object);
    if (object instanceof PdfStream) return new PdfStream(this.dict(object), object.data);
    if (object instanceof PdfDict) return this.dict(object);
    if (object instanceof PdfArray) return new PdfArray(object.toArray().map((item) => this.of(item)));
    return object;
  }

  dict(original: PdfDict, leftOut: readonly string[] = []): PdfDict {
    const copy = new PdfDict();
    for (const [{ value: key }, value] of original)
      if (!leftOut.includes(key)) copy.set(key, this.rules.replace(key, value, original) ?? this.of(value));
    return copy;
  }

  finish(): void {
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop())
      this.to.context.registry.registerAt(next.to, this.of(this.from.getObject(next.from) ?? PdfNull.instance));
  }

  #ofRef(from: PdfRef): PdfObject {
    const key = keyOf(from);
    const known = this.rules.isLeftOut(key) ? PdfNull.instance : this.#copies.get(key);
    if (known !== undefined) return known;
    const to = this.to.context.registry.allocateRef();
    this.#copies.set(key, to);
    this.#open.push({ from, to });
    return to;
  }
}
