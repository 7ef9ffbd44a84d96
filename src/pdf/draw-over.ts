import { PDF, type PDFPage, PdfArray, PdfDict, PdfName, PdfNumber, PdfRef, PdfStream } from '@libpdf/core';
import { ObjectCopies } from './object-copies.js';

/** A PDF whose pages are drawn over pages of another. */
export interface Overlay {
  content: Uint8Array;
  /** The page of the other PDF, from 0 on, over which each of its pages is drawn. */
  places: number[];
}

/** Draws pages over others, as headers and footers (PDF 1.7, 14.8.2.2). The text of both stays text. */
export async function drawOver(pdf: PDF, overlays: readonly Overlay[]): Promise<void> {
  if (overlays.length === 0) return;
  const before = pdf.register(streamOf('q\n'));
  for (const { content, places } of overlays) {
    const source = await PDF.load(content, { lenient: false });
    const copies = new ObjectCopies(source, pdf, { isLeftOut: () => false, replace: () => undefined });
    const resolve = (ref: PdfRef) => source.getObject(ref);
    for (const [nth, place] of places.entries()) {
      const [drawn, page] = [source.getPage(nth), pdf.getPage(place)];
      if (drawn === null || page === null) throw new Error('A page that is drawn over another is missing.');
      const stream = drawn.dict.get('Contents', resolve);
      if (!(stream instanceof PdfStream)) continue;
      const form = new PdfStream(stream, stream.data);
      form.set('Type', PdfName.of('XObject'));
      form.set('Subtype', PdfName.of('Form'));
      const { x, y, width, height } = drawn.getMediaBox();
      form.set('BBox', numbers(x, y, x + width, y + height));
      form.set('Resources', drawn.getResources());
      drawForm(pdf, page, { form: pdf.register(copies.of(form)), before });
    }
    copies.finish();
  }
}

function drawForm(pdf: PDF, page: PDFPage, { form, before }: { form: PdfRef; before: PdfRef }): void {
  const resolve = (ref: PdfRef) => pdf.getObject(ref);
  const resources = page.getResources();
  const forms = resources.getDict('XObject', resolve) ?? new PdfDict();
  const name = `Over${form.objectNumber}`;
  forms.set(name, form);
  resources.set('XObject', forms);
  const own = page.dict.get('Contents');
  const listed = own instanceof PdfRef ? resolve(own) : own;
  const streams = listed instanceof PdfArray ? listed.toArray() : own === undefined ? [] : [own];
  const marks = `Q\nq\n/Artifact <</Type /Pagination>> BDC\n/${name} Do\nEMC\nQ\n`;
  page.dict.set('Contents', new PdfArray([before, ...streams, pdf.register(streamOf(marks))]));
}

function streamOf(marks: string): PdfStream {
  return new PdfStream([], Buffer.from(marks, 'latin1'));
}

function numbers(...values: number[]): PdfArray {
  return new PdfArray(values.map((value) => PdfNumber.of(value)));
}
