const TAIL_BYTES = 64;
/** A page object has a few hundred bytes, plus more for each image and font of the page. */
const OBJECT_HEAD_BYTES = 1024 * 1024;

/** A PDF by Chromium or pdfkit. Objects are located by the file's table, since the captured page may contain the same words. */
export interface PdfFile {
  bytes: Buffer;
  /** The offset of the table of objects. */
  table: number;
  objects: PdfObject[];
}

/** The range of an object in the file. */
export interface PdfObject {
  number: number;
  start: number;
  end: number;
}

export function openPdf(bytes: Buffer): PdfFile {
  const tail = bytes.toString('latin1', Math.max(0, bytes.length - TAIL_BYTES));
  const table = Number(/startxref\s+(\d+)\s+%%EOF\s*$/.exec(tail)?.[1] ?? Number.NaN);
  if (Number.isNaN(table)) throw new Error('The PDF has no table of objects.');
  const starts = Array.from(bytes.toString('latin1', table).matchAll(/^(\d{10}) \d{5} n/gm), ([, at]) => Number(at)).sort((a, b) => a - b);
  const objects = starts.map((start, nth) => {
    const number = Number.parseInt(bytes.toString('latin1', start, start + TAIL_BYTES), 10);
    return { number, start, end: starts[nth + 1] ?? table };
  });
  return { bytes, table, objects };
}

/** The objects of a type, in the order of the file. */
export function objectsOfType({ bytes, objects }: PdfFile, type: 'Page' | 'Catalog'): PdfObject[] {
  const begins = new RegExp(`^\\d+ 0 obj\\s*<<\\s*/Type /${type}\\s`);
  return objects.filter(({ start }) => begins.test(bytes.toString('latin1', start, start + TAIL_BYTES)));
}

/** The text of an object without a stream. */
export function textOf({ bytes }: PdfFile, { start, end }: PdfObject): string {
  return bytes.toString('latin1', start, Math.min(end, start + OBJECT_HEAD_BYTES)).split('endobj', 1)[0] ?? '';
}

/** Replaces the content of an object, between `obj` and `endobj`. */
export function replaceObject({ bytes, table }: PdfFile, object: PdfObject, content: Buffer): Buffer {
  const written = Buffer.concat([Buffer.from(`${object.number} 0 obj\n`), content, Buffer.from('\nendobj\n')]);
  const shift = written.length - (object.end - object.start);
  const moved = (at: number) => (at > object.start ? at + shift : at);
  const ends = bytes
    .toString('latin1', table)
    .replace(/^(\d{10})(?= \d{5} n)/gm, (at) => String(moved(Number(at))).padStart(10, '0'))
    .replace(/(startxref\s+)\d+(\s+%%EOF\s*)$/, `$1${moved(table)}$2`);
  return Buffer.concat([bytes.subarray(0, object.start), written, bytes.subarray(object.end, table), Buffer.from(ends, 'latin1')]);
}
