import { PDF_PAGE_MAX_PX } from '../../contract/limits.js';
import { stitch } from './encode.js';
import type { Strips } from './section-store.js';

/** Interface.md has `quality` for jpeg and webp only. */
const PDF_JPEG_QUALITY = 90;
const POINTS_PER_CSS_PX = 72 / 96;

/**
 * Rendered pixels as a PDF: one image per page, as few pages as the format's greatest page allows.
 *
 * @param density px per CSS px
 */
export async function pixelPdf(strips: Strips, density: number): Promise<Buffer> {
  // Loaded by the first who wants it: it would cost every start 20 MB and a tenth of a second.
  const { default: PDFDocument } = await import('pdfkit');
  const document = new PDFDocument({ autoFirstPage: false, margin: 0 });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise<void>((resolve, reject) => {
    document.on('end', resolve);
    document.on('error', reject);
  });
  const mostRows = Math.floor(PDF_PAGE_MAX_PX * density);
  for (let top = 0; top < strips.height; top += mostRows) {
    const rows = { top, height: Math.min(mostRows, strips.height - top) };
    const { content } = await stitch(strips, { format: 'jpeg', quality: PDF_JPEG_QUALITY, transparent: false, resize: null }, rows);
    const size: [number, number] = [(strips.width / density) * POINTS_PER_CSS_PX, (rows.height / density) * POINTS_PER_CSS_PX];
    document.addPage({ size, margin: 0 });
    document.image(content, 0, 0, { width: size[0], height: size[1] });
  }
  document.end();
  await ended;
  return Buffer.concat(chunks);
}
