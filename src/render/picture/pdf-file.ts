/** Prints PDFs with Chromium; reads and edits those of Chromium and pdfkit. */

import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import { CaptureError } from '../../contract/capture-error.js';
import type { BoundedPage } from '../page-session.js';

const PART_BYTES = 1024 * 1024;
/** A page of 30,000 px full of photographs prints as about 40 MB. */
const PDF_MAX_BYTES = 96 * 1024 * 1024;

/** Parameters of the protocol's `Page.printToPDF`. Lengths are in inches; a missing margin is 0. */
export interface PrintOptions {
  paperWidth: number;
  paperHeight: number;
  /** Page ranges; empty for all. */
  pageRanges: string;
  marginTop?: number;
  marginRight?: number;
  marginBottom?: number;
  marginLeft?: number;
  printBackground?: boolean;
  preferCSSPageSize?: boolean;
  scale?: number;
  displayHeaderFooter?: boolean;
  headerTemplate?: string;
  footerTemplate?: string;
  generateTaggedPDF?: boolean;
  generateDocumentOutline?: boolean;
}

/**
 * Prints the page and reads the PDF in parts, so that no message of the browser is as long as the PDF.
 * @throws CaptureError navigation_failed for a PDF beyond 96 MB, internal_error 503 if the browser has no room for it
 */
export async function printStream(page: Pick<BoundedPage, 'send'>, options: PrintOptions): Promise<Buffer> {
  const margins = { marginTop: 0, marginBottom: 0, marginLeft: 0, marginRight: 0 };
  const printed = await page.send('Page.printToPDF', {
    printBackground: true,
    ...margins,
    ...options,
    transferMode: 'ReturnAsStream',
  });
  const handle = printed.stream ?? '';
  const parts: Buffer[] = [];
  try {
    for (let bytes = 0; ; ) {
      const { data, eof, base64Encoded } = await page.send('IO.read', { handle, size: PART_BYTES }).catch(explain);
      const part = Buffer.from(data, base64Encoded === true ? 'base64' : 'utf8');
      bytes += part.length;
      if (bytes > PDF_MAX_BYTES) throw tooLong();
      parts.push(part);
      if (eof) return Buffer.concat(parts);
    }
  } finally {
    // A browser that has exited has closed the stream.
    page.send('IO.close', { handle }).catch(() => undefined);
  }
}

/** The browser keeps the PDF in a file until it is read. */
function explain(error: Error): never {
  if (!/Read failed/.test(error.message)) throw error;
  throw new CaptureError({
    code: 'internal_error',
    status: 503,
    message:
      "The browser could not keep the PDF: the server's temporary directory is full, or cannot be written to. Try again later.",
    retryAfterSeconds: 30,
    cause: error,
  });
}

function tooLong(): CaptureError {
  return new CaptureError({
    code: 'navigation_failed',
    message: `The page prints as more than ${PDF_MAX_BYTES / 1024 / 1024} MB of PDF.`,
    retriable: false,
  });
}

const TAIL_BYTES = 64;
/** A page object has a few hundred bytes, plus more for each image and font of the page. */
const OBJECT_HEAD_BYTES = 1024 * 1024;
const CSS_PX_PER_POINT = 96 / 72;
const LANGUAGE_TAG = /^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,8}$/i;
/** Content streams are searched on the event loop. A page full of text has some hundred kB. */
const CONTENT_MAX_BYTES = 8 * 1024 * 1024;

/** The size of the first page in CSS px, and the number of pages. */
export function readPdf(pdf: Buffer): { width: number; height: number; pages: number } {
  const file = openPdf(pdf);
  const pages = objectsOfType(file, 'Page');
  const [first] = pages;
  const box = /\/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/.exec(first === undefined ? '' : textOf(file, first));
  if (box === null) throw new Error('The PDF has no page.');
  const [width = 0, height = 0] = box.slice(1).map((points) => Math.round(Number(points) * CSS_PX_PER_POINT));
  return { width, height, pages: pages.length };
}

/** Adds the language (WCAG 2, PDF16), which Chromium 156 declares in tagged PDFs alone. Without a valid one, the PDF is unchanged. */
export function withLanguage(pdf: Buffer, language: string): Buffer {
  if (!LANGUAGE_TAG.test(language)) return pdf;
  const file = openPdf(pdf);
  const [catalog] = objectsOfType(file, 'Catalog');
  if (catalog === undefined) return pdf;
  const text = textOf(file, catalog);
  const content = text.slice(text.indexOf('<<')).trimEnd();
  if (/\/Lang\b/.test(content)) return pdf;
  return replaceObject(
    file,
    catalog,
    Buffer.from(content.replace('/Type /Catalog', `/Type /Catalog\n/Lang (${language})`), 'latin1'),
  );
}

export type PagePart = 'header' | 'footer';

/**
 * Opacities by which the header and the footer are found in a printed file: Chromium 156 draws an element that is not opaque as one
 * form. Printed, they cannot be told from 1.
 */
export const FORM_OPACITY: Record<PagePart, number> = { header: 0.9998, footer: 0.9997 };
/** Chromium 156 writes opacities with about four digits. */
const OPACITY_TOLERANCE = 0.00002;

/**
 * Removes the header or footer, printed with its FORM_OPACITY, from a Chromium PDF's first page. Everything else in the file
 * (text, links, tags, outline) is unchanged.
 * @throws CaptureError `invalid_request` if the first page draws too much to be searched
 */
export async function withoutOnFirst(pdf: Buffer, part: PagePart): Promise<Buffer> {
  const file = openPdf(pdf);
  const [page] = objectsOfType(file, 'Page');
  const text = page === undefined ? '' : textOf(file, page);
  const objectOf = (number: string | undefined) => file.objects.find((object) => object.number === Number(number));
  const stream = objectOf(/\/Contents (\d+) 0 R/.exec(text)?.[1]);
  if (stream === undefined) throw new Error('The first page of the PDF has no content.');
  const settings = new Set<string>();
  for (const [, name, number] of text.matchAll(/\/(G\d+) (\d+) 0 R/g)) {
    const state = objectOf(number);
    const opacity = Number(/\/ca ([\d.]+)/.exec(state === undefined ? '' : textOf(file, state))?.[1]);
    if (Math.abs(opacity - FORM_OPACITY[part]) < OPACITY_TOLERANCE) settings.add(`/${name} gs`);
  }
  if (settings.size === 0) return pdf;
  // Chromium 156 writes each operator on a line of its own, and draws headers and footers after the page's content.
  const marks = (await readStream(file, stream, part)).split('\n');
  const set = marks.findLastIndex((mark) => settings.has(mark));
  const drawn = marks.findIndex((mark, nth) => nth > set && mark.endsWith(' Do'));
  if (set === -1 || drawn === -1) return pdf;
  const packed = await promisify(deflate)(Buffer.from(marks.toSpliced(drawn, 1).join('\n'), 'latin1'));
  const head = `<</Filter /FlateDecode\n/Length ${packed.length}>> stream\n`;
  return replaceObject(file, stream, Buffer.concat([Buffer.from(head), packed, Buffer.from('\nendstream')]));
}

/** Objects are located by the file's table, since the captured page may contain the same words. */
interface PdfFile {
  bytes: Buffer;
  /** The offset of the table of objects. */
  table: number;
  objects: PdfObject[];
}

/** The range of an object in the file. */
interface PdfObject {
  number: number;
  start: number;
  end: number;
}

function openPdf(bytes: Buffer): PdfFile {
  const tail = bytes.toString('latin1', Math.max(0, bytes.length - TAIL_BYTES));
  const table = Number(/startxref\s+(\d+)\s+%%EOF\s*$/.exec(tail)?.[1] ?? Number.NaN);
  if (Number.isNaN(table)) throw new Error('The PDF has no table of objects.');
  const starts = Array.from(bytes.toString('latin1', table).matchAll(/^(\d{10}) \d{5} n/gm), ([, at]) =>
    Number(at),
  ).sort((a, b) => a - b);
  const objects = starts.map((start, nth) => {
    const number = Number.parseInt(bytes.toString('latin1', start, start + TAIL_BYTES), 10);
    return { number, start, end: starts[nth + 1] ?? table };
  });
  return { bytes, table, objects };
}

/** The objects of a type, in the order of the file. */
function objectsOfType({ bytes, objects }: PdfFile, type: 'Page' | 'Catalog'): PdfObject[] {
  const begins = new RegExp(`^\\d+ 0 obj\\s*<<\\s*/Type /${type}\\s`);
  return objects.filter(({ start }) => begins.test(bytes.toString('latin1', start, start + TAIL_BYTES)));
}

/** The text of an object without a stream. */
function textOf({ bytes }: PdfFile, { start, end }: PdfObject): string {
  return bytes.toString('latin1', start, Math.min(end, start + OBJECT_HEAD_BYTES)).split('endobj', 1)[0] ?? '';
}

/** Replaces the content of an object, between `obj` and `endobj`. */
function replaceObject({ bytes, table }: PdfFile, object: PdfObject, content: Buffer): Buffer {
  const written = Buffer.concat([Buffer.from(`${object.number} 0 obj\n`), content, Buffer.from('\nendobj\n')]);
  const shift = written.length - (object.end - object.start);
  const moved = (at: number) => (at > object.start ? at + shift : at);
  const ends = bytes
    .toString('latin1', table)
    .replace(/^(\d{10})(?= \d{5} n)/gm, (at) => String(moved(Number(at))).padStart(10, '0'))
    .replace(/(startxref\s+)\d+(\s+%%EOF\s*)$/, `$1${moved(table)}$2`);
  return Buffer.concat([
    bytes.subarray(0, object.start),
    written,
    bytes.subarray(object.end, table),
    Buffer.from(ends, 'latin1'),
  ]);
}

async function readStream({ bytes }: PdfFile, { start, end }: PdfObject, part: PagePart): Promise<string> {
  const begin = bytes.indexOf('stream', start) + 'stream\n'.length;
  const head = bytes.toString('latin1', start, begin);
  const length = Number(/\/Length (\d+)/.exec(head)?.[1]);
  if (begin > end || Number.isNaN(length)) throw new Error('The first page of the PDF has no stream.');
  const content = bytes.subarray(begin, begin + length);
  const isPacked = head.includes('/FlateDecode');
  const tooMuch = (error?: unknown) => refuseTooMuch(part, error);
  const unpacked = isPacked
    ? await promisify(inflate)(content, { maxOutputLength: CONTENT_MAX_BYTES }).catch(tooMuch)
    : content;
  return unpacked.length > CONTENT_MAX_BYTES ? tooMuch() : unpacked.toString('latin1');
}

function refuseTooMuch(part: PagePart, error?: unknown): never {
  if (error !== undefined && (error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
  throw refusedAs(
    `pdf.first_page_${part}`,
    `cannot be false for this page: its first page draws too much to be searched for the ${part}`,
    error,
  );
}

/** The error for a field that the document cannot be printed with. */
export function refusedAs(path: string, message: string, cause?: unknown): CaptureError {
  return new CaptureError({
    code: 'invalid_request',
    message: `\`${path}\` ${message}.`,
    details: { issues: [{ path, message }] },
    cause,
  });
}
