const TAIL_BYTES = 64;
/** A page object is a few hundred bytes, and more with each image and font of the page. */
const OBJECT_HEAD_BYTES = 1024 * 1024;

/** A PDF by Chromium or pdfkit, object by object, found by its table: the same words elsewhere are what the captured page has written. */
export interface PdfFile {
  bytes: Buffer;
  /** Where its table of objects begins. */
  table: number;
  objects: PdfObject[];
}

/** Where an object is in the file, in the order of the file. */
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

/** The text of an object that is no stream. */
export function textOf({ bytes }: PdfFile, { start, end }: PdfObject): string {
  return bytes.toString('latin1', start, Math.min(end, start + OBJECT_HEAD_BYTES)).split('endobj', 1)[0] ?? '';
}

/** The file with other content in an object, between `obj` and `endobj`. */
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
