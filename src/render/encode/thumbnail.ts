import { sharp } from '../../sharp.js';

/** A thumbnail is at most this wide; of a picture that is taller than 16:9 it shows the top. */
const THUMBNAIL = { width: 320, height: 180 };
/** The decoders of webp and avif keep the whole picture in memory; the others keep some rows. */
const ROWS_BYTES = 16_000_000;
const DECODED_MAX_PIXELS = 50_000_000;
const QUALITY = 70;

/**
 * Reads the header of a picture.
 * @returns bytes of memory that its thumbnail takes; null if the picture is too large or cannot be decoded
 */
export async function thumbnailMemory(content: Buffer): Promise<number | null> {
  const found = await sharp(content, { limitInputPixels: false })
    .metadata()
    .catch(() => null);
  if (found === null) return null;
  if (!/^(webp|heif)$/.test(found.format ?? '')) return ROWS_BYTES;
  const pixels = found.width * found.height;
  return pixels > DECODED_MAX_PIXELS ? null : pixels * 4;
}

/** Makes a thumbnail as webp. Rejects for a picture that is damaged. @param content png, jpeg, webp, avif or gif */
export async function makeThumbnail(content: Buffer): Promise<Buffer> {
  const image = sharp(content, { limitInputPixels: false, sequentialRead: true });
  const { width, height } = await image.metadata();
  const shown = Math.min(THUMBNAIL.width, width);
  const rows = Math.max(
    1,
    Math.min(Math.round((height * shown) / width), Math.round((shown * THUMBNAIL.height) / THUMBNAIL.width)),
  );
  return await image
    .resize({ width: shown, height: rows, fit: 'cover', position: 'top' })
    .flatten({ background: '#fff' })
    .webp({ quality: QUALITY, effort: 2 })
    .toBuffer();
}
