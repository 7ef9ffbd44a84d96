/** Pictures of runs in other forms: small ones for mail, and several in one file. */
import { sharp } from '../sharp.js';

/** A mail shows a picture at most this wide and tall; the rest is cut off at the bottom. */
const INLINE_PX = { width: 1_200, height: 4_000 };
const QUALITY = 82;
/** A PDF page has at most 14,400 pt a side, and a picture 0.75 pt for each px. */
const PAGE_MAX_PT = 14_400;
const POINTS_PER_PX = 0.75;
const DECODED_MAX_PIXELS = 100_000_000;
const FRAME_MS = 1_000;
const FRAME_MAX_PX = 1_280;

/** A jpeg that mail programs show. Rejects for what is no picture, or too large. */
export async function inlinePicture(content: Buffer): Promise<Buffer> {
  const picture = open(content);
  const { width, height } = await picture.metadata();
  const shown = Math.min(width, INLINE_PX.width);
  const rows = Math.max(1, Math.min(Math.round((height * shown) / width), INLINE_PX.height));
  return await picture
    .resize({ width: shown, height: rows, fit: 'cover', position: 'top' })
    .flatten({ background: '#fff' })
    .jpeg({ quality: QUALITY })
    .toBuffer();
}

/** A PDF with a page for each picture. */
export async function picturesPdf(pictures: readonly Buffer[]): Promise<Buffer> {
  const { default: PDFDocument } = await import('pdfkit');
  const document = new PDFDocument({ autoFirstPage: false });
  const parts: Buffer[] = [];
  const written = new Promise<void>((resolve, reject) =>
    document
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', resolve)
      .on('error', reject),
  );
  for (const content of pictures) {
    const { data, info } = await open(content)
      .flatten({ background: '#fff' })
      .jpeg({ quality: QUALITY })
      .toBuffer({ resolveWithObject: true });
    const scale = Math.min(POINTS_PER_PX, PAGE_MAX_PT / Math.max(info.width, info.height));
    const size: [number, number] = [info.width * scale, info.height * scale];
    document.addPage({ size, margin: 0 }).image(data, 0, 0, { width: size[0], height: size[1] });
  }
  document.end();
  await written;
  return Buffer.concat(parts);
}

/** An animated webp that shows each picture for a second, on a page as large as the largest. */
export async function picturesAnimation(pictures: readonly Buffer[]): Promise<Buffer> {
  const frames = await Promise.all(
    pictures.map((content) =>
      open(content)
        .resize({ width: FRAME_MAX_PX, height: FRAME_MAX_PX, fit: 'inside', withoutEnlargement: true })
        .png()
        .toBuffer({ resolveWithObject: true }),
    ),
  );
  const width = Math.max(...frames.map(({ info }) => info.width));
  const height = Math.max(...frames.map(({ info }) => info.height));
  const even = await Promise.all(
    frames.map(({ data }) =>
      open(data)
        .resize({ width, height, fit: 'contain', position: 'left top', background: '#fff' })
        .flatten({ background: '#fff' })
        .png()
        .toBuffer(),
    ),
  );
  const [first] = even;
  // The library joins two or more.
  const joined = even.length === 1 ? sharp(first) : sharp(even, { join: { animated: true } });
  return await joined.webp({ quality: QUALITY, loop: 0, delay: even.map(() => FRAME_MS) }).toBuffer();
}

function open(content: Buffer) {
  return sharp(content, { limitInputPixels: DECODED_MAX_PIXELS, sequentialRead: true });
}
