import { PDFDocument, PDFRawStream } from 'pdf-lib';
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
