import { decodePDFRawStream, PDFDocument, PDFRawStream } from 'pdf-lib';
import sharp from 'sharp';

/** CSS px of each page. */
export async function pageSizes(pdf: Uint8Array): Promise<{ width: number; height: number }[]> {
  const document = await PDFDocument.load(pdf);
  return document
    .getPages()
    .map((page) => ({ width: Math.round((page.getWidth() * 96) / 72), height: Math.round((page.getHeight() * 96) / 72) }));
}

/** The jpegs of a PDF of pixels, in the order of its pages. */
export async function imagesOf(pdf: Uint8Array): Promise<Buffer[]> {
  const document = await PDFDocument.load(pdf);
  return document.context
    .enumerateIndirectObjects()
    .flatMap(([, object]) =>
      object instanceof PDFRawStream && String(object.dict).includes('/DCTDecode') ? [Buffer.from(object.contents)] : [],
    );
}

/** They below one another, as one lossless picture. */
export async function joinedImages(pdf: Uint8Array): Promise<Buffer> {
  const images = await imagesOf(pdf);
  const parts = await Promise.all(
    images.map((image) => sharp(image, { limitInputPixels: false }).removeAlpha().raw().toBuffer({ resolveWithObject: true })),
  );
  const width = parts[0]?.info.width ?? 0;
  const height = parts.reduce((sum, part) => sum + part.info.height, 0);
  const raw = Buffer.concat(parts.map((part) => part.data));
  return await sharp(raw, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .png({ compressionLevel: 0 })
    .toBuffer();
}

export interface PrintedBox {
  colour: string;
  /** CSS px. */
  top: number;
  height: number;
}

/** The boxes that the browser filled with one colour on the first page of its PDF, in the order of painting; none is transformed. */
export async function printedBoxes(pdf: Uint8Array): Promise<PrintedBox[]> {
  const document = await PDFDocument.load(pdf);
  const [, content] = document.context.enumerateIndirectObjects().find(([, object]) => object instanceof PDFRawStream) ?? [];
  if (!(content instanceof PDFRawStream)) throw new Error('The PDF has no content.');
  const marks = Buffer.from(decodePDFRawStream(content).decode()).toString('latin1');
  const boxes: PrintedBox[] = [];
  let colour = 'rgb(0,0,0)';
  for (const [, r, g, b, top, height] of marks.matchAll(/([\d.]+) ([\d.]+) ([\d.]+) rg|[-\d.]+ ([-\d.]+) [-\d.]+ ([-\d.]+) re\nf/g)) {
    if (r !== undefined) colour = `rgb(${[r, g, b].map((part) => Math.round(Number(part) * 255)).join(',')})`;
    else boxes.push({ colour, top: Number(top), height: Number(height) });
  }
  return boxes;
}
