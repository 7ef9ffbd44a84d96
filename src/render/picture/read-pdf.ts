const CSS_PX_PER_POINT = 96 / 72;
/** Enough for the end of a file, which names the place of its table of objects. */
const TAIL_BYTES = 64;
/** A page object is a few hundred bytes, and more with each image and font of the page. */
const PAGE_OBJECT_BYTES = 1024 * 1024;

/**
 * Size of the first page, CSS px, and number of pages of a PDF by Chromium or pdfkit. It is found by the file's table of objects: the same
 * words elsewhere, as in a title, a link or an image, are what the captured page has written.
 */
export function readPdf(pdf: Buffer): { width: number; height: number; pages: number } {
  const pages = objectsOf(pdf).filter((at) => /^\d+ 0 obj\s*<<\s*\/Type \/Page\s/.test(pdf.toString('latin1', at, at + TAIL_BYTES)));
  const [first] = pages;
  const object = first === undefined ? '' : pdf.toString('latin1', first, first + PAGE_OBJECT_BYTES).split('endobj', 1)[0];
  const box = /\/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/.exec(object ?? '');
  if (box === null) throw new Error('The PDF has no page.');
  return { width: toCssPx(box[1]), height: toCssPx(box[2]), pages: pages.length };
}

/** Places of the objects, in the order of the file. */
function objectsOf(pdf: Buffer): number[] {
  const start = Number(
    /startxref\s+(\d+)\s+%%EOF\s*$/.exec(pdf.toString('latin1', Math.max(0, pdf.length - TAIL_BYTES)))?.[1] ?? Number.NaN,
  );
  if (Number.isNaN(start)) throw new Error('The PDF has no table of objects.');
  const table = pdf.toString('latin1', start);
  return Array.from(table.matchAll(/^(\d{10}) \d{5} n/gm), ([, at]) => Number(at)).sort((one, other) => one - other);
}

function toCssPx(points = ''): number {
  return Math.round(Number(points) * CSS_PX_PER_POINT);
}
