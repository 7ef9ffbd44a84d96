import { objectsOfType, openPdf, textOf } from './pdf-file.js';

const CSS_PX_PER_POINT = 96 / 72;

/** The size of the first page in CSS px, and the number of pages, of a PDF by Chromium or pdfkit. */
export function readPdf(pdf: Buffer): { width: number; height: number; pages: number } {
  const file = openPdf(pdf);
  const pages = objectsOfType(file, 'Page');
  const [first] = pages;
  const box = /\/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/.exec(first === undefined ? '' : textOf(file, first));
  if (box === null) throw new Error('The PDF has no page.');
  return { width: toCssPx(box[1]), height: toCssPx(box[2]), pages: pages.length };
}

function toCssPx(points = ''): number {
  return Math.round(Number(points) * CSS_PX_PER_POINT);
}
