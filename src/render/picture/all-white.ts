import sharp, { type Sharp } from 'sharp';

/** Size limits of a picture in one colour, in every format. A larger picture has content. */
const UNIFORM_MAX_BYTES_PER_PX = 0.02;
const UNIFORM_MAX_BYTES = 8_000;
/** Red, green and blue of a white pixel have at least this value. */
export const WHITE_MIN = 250;
/** A picture with more pixels is only summarised, to save memory. */
const DECODED_MAX_PX = 16_000_000;

/** An encoded picture. */
export interface EncodedPicture {
  content: Uint8Array;
  width: number;
  height: number;
}

/** Whether a picture is completely white. Decodes only pictures that are small enough to be all white. */
export async function isAllWhite({ content, width, height }: EncodedPicture): Promise<boolean> {
  if (content.byteLength > Math.max(UNIFORM_MAX_BYTES, width * height * UNIFORM_MAX_BYTES_PER_PX)) return false;
  return width * height > DECODED_MAX_PX
    ? await hasWhiteStats(sharp(content, { limitInputPixels: false }))
    : await hasOnlyWhitePixels(content);
}

/** Judges the image's input, without its operations. It is not decoded as a whole. */
export async function hasWhiteStats(image: Sharp): Promise<boolean> {
  const { channels } = await image.stats();
  return channels.slice(0, 3).every(({ min }) => min >= WHITE_MIN);
}

/** Most pictures have content in their first rows, which ends the search. */
async function hasOnlyWhitePixels(content: Uint8Array): Promise<boolean> {
  const samples = await sharp(content, { limitInputPixels: false }).removeAlpha().raw().toBuffer();
  // Compares four bytes at a time, since this blocks the server, and white is 255 almost everywhere.
  const whole = samples.byteOffset % 4 === 0 ? samples.length >> 2 : 0;
  const quads = new Uint32Array(samples.buffer, whole === 0 ? 0 : samples.byteOffset, whole);
  for (let quad = 0; quad < whole; quad++) {
    if (quads[quad] === 0xffff_ffff) continue;
    for (let at = quad * 4; at < quad * 4 + 4; at++) if ((samples[at] ?? 255) < WHITE_MIN) return false;
  }
  for (let at = whole * 4; at < samples.length; at++) if ((samples[at] ?? 255) < WHITE_MIN) return false;
  return true;
}
