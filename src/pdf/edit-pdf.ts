/** Reads and edits PDFs of Chromium and pdfkit. Runs in the thread of `PdfFiles`. */
import { inflateSync } from 'node:zlib';
import { PDF, type PDFPage, PdfDict, PdfRef, PdfStream } from '@libpdf/core';
import { CaptureError } from '../contract/capture-error.js';

/** What is done to a PDF. Text, links, tags and outline stay as they are. */
export interface PdfEdits {
  /** The language (WCAG 2, PDF16) of a document that declares none, as Chromium 156 makes those without tags. Ignored unless it is a language tag. */
  language?: string;
  /** Parts of each page that are removed from the first, and drawn with an opacity that nothing else has. */
  removedFromFirst?: readonly RemovedPart[];
}

export interface RemovedPart {
  opacity: number;
  /** The field of the request that removes the part, and the part's name, for errors. */
  field: string;
  name: string;
}

/** The first page's size in CSS px, and the number of pages. */
export interface ReadPdf {
  width: number;
  height: number;
  pages: number;
}

export interface PdfTask {
  content: Uint8Array;
  edits: PdfEdits;
}

const CSS_PX_PER_POINT = 96 / 72;
const LANGUAGE_TAG = /^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,8}$/i;

/** @throws CaptureError `invalid_request` for a part that cannot be removed */
export async function editPdf({ content, edits }: PdfTask): Promise<ReadPdf & { content: Uint8Array }> {
  const pdf = await PDF.load(content, { lenient: false });
  const page = pdf.getPage(0);
  if (page === null) throw new Error('The PDF has no page.');
  const { language = '', removedFromFirst = [] } = edits;
  if (LANGUAGE_TAG.test(language) && pdf.getLanguage() === undefined) pdf.setLanguage(language);
  for (const part of removedFromFirst) removePart(pdf, page, part);
  const [width, height] = [page.width, page.height].map((points) => Math.round(points * CSS_PX_PER_POINT)) as [
    number,
    number,
  ];
  // Appending takes a twentieth of the time that writing all objects anew would take.
  return { content: await pdf.save({ incremental: true }), width, height, pages: pdf.getPageCount() };
}

/** Chromium 156 writes opacities with about four digits. */
const OPACITY_TOLERANCE = 0.00002;
/** A page full of text has some hundred kB. */
const CONTENT_MAX_BYTES = 64 * 1024 * 1024;

/** Chromium 156 draws an element that is not opaque as one form, whose drawing is removed. */
function removePart(pdf: PDF, page: PDFPage, part: RemovedPart): void {
  const resolve = (ref: PdfRef) => pdf.getObject(ref);
  const states = page.getResources().getDict('ExtGState', resolve) ?? new PdfDict();
  const settings = new Set<string>();
  for (const [name, state] of states) {
    const dict = state instanceof PdfRef ? resolve(state) : state;
    const opacity = dict instanceof PdfDict ? dict.getNumber('ca', resolve)?.value : undefined;
    if (opacity !== undefined && Math.abs(opacity - part.opacity) < OPACITY_TOLERANCE)
      settings.add(`/${name.value} gs`);
  }
  if (settings.size === 0) return;
  const stream = page.dict.get('Contents', resolve);
  if (!(stream instanceof PdfStream)) throw new Error('The first page of the PDF has no content.');
  // Chromium 156 writes each operator on a line of its own, and draws headers and footers after the page's content.
  const marks = unpacked(stream, part).split('\n');
  const set = marks.findLastIndex((mark) => settings.has(mark));
  const drawn = marks.findIndex((mark, nth) => nth > set && mark.endsWith(' Do'));
  if (set === -1 || drawn === -1) return;
  stream.delete('Filter');
  stream.setData(Buffer.from(marks.toSpliced(drawn, 1).join('\n'), 'latin1'));
}

function unpacked(stream: PdfStream, { field, name }: RemovedPart): string {
  if (stream.getName('Filter')?.value !== 'FlateDecode') return Buffer.from(stream.data).toString('latin1');
  try {
    return inflateSync(stream.data, { maxOutputLength: CONTENT_MAX_BYTES }).toString('latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
    const message = `cannot be false for this page: its first page draws too much to be searched for the ${name}`;
    throw new CaptureError({
      code: 'invalid_request',
      message: `\`${field}\` ${message}.`,
      details: { issues: [{ path: field, message }] },
    });
  }
}
