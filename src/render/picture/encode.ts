import sharp, { type Sharp } from 'sharp';
import type { CaptureOptions, ImageFormat, ResizeOption } from '../../contract/capture-request.js';
import { isAllWhite, isSummedUpAsWhite } from './all-white.js';
import type { Strips } from './section-store.js';

// No picture is read twice, and several are made at once: what would be kept, or split among threads, is memory.
sharp.cache(false);
sharp.concurrency(1);

/** Above this, a webp is encoded with the least effort: it takes two thirds of the time, for a file of about the same size. */
const WEBP_QUICK_PIXELS = 8_000_000;

export interface Encoding {
  format: ImageFormat;
  /** 1–100; jpeg and webp. */
  quality: number;
  /** Keeps what the page leaves transparent. */
  transparent: boolean;
  /** Of the finished picture. */
  resize: ResizeOption | null;
}

/** How the image that a capture asks for is encoded. */
export function encodingOf(options: CaptureOptions, format: ImageFormat): Encoding {
  return { format, quality: options.quality, transparent: options.omitBackground, resize: options.resize };
}

export interface Encoded {
  content: Buffer;
  /** px, as the encoder wrote them. */
  width: number;
  height: number;
  /** Whether the picture was all white before it was resized; absent if it was not. */
  whiteBeforeResize?: boolean;
}

/** One png of the browser's, encoded anew. */
export async function encodePng(png: Buffer, encoding: Encoding): Promise<Encoded> {
  const { width, height } = await open(png).metadata();
  return finish(open(png), { width, height }, encoding);
}

/**
 * The strips below one another, byte-exact at the seams, read from disk as they are needed.
 *
 * @param rows the part to encode, px; default: all
 */
export function stitch({ paths, width, height }: Strips, encoding: Encoding, rows = { top: 0, height }): Promise<Encoded> {
  const part = { left: 0, width, ...rows };
  const [only] = paths;
  if (only !== undefined && paths.length === 1) return finish(open(only).extract(part), part, encoding);
  // Joined strips all take the height of the tallest: the last one's surplus is cut off.
  const joined = sharp(paths, { join: { across: 1 }, limitInputPixels: false, sequentialRead: true });
  return finish(joined.extract(part), part, encoding);
}

function open(input: Buffer | string): Sharp {
  return sharp(input, { limitInputPixels: false, sequentialRead: true });
}

interface Size {
  width: number;
  height: number;
}

async function finish(image: Sharp, size: Size, { format, quality, transparent, resize }: Encoding): Promise<Encoded> {
  const shown = transparent ? image : image.removeAlpha();
  const sized = resize === null ? shown : scaledDown(shown, { resize: within(resize, size), transparent });
  const { data, info } = await encoder(sized, { format, quality, size }).toBuffer({ resolveWithObject: true });
  const encoded = { content: data, width: info.width, height: info.height };
  // Scaling averages thin content away, and `cover` cuts it off.
  return resize === null ? encoded : { ...encoded, whiteBeforeResize: (await isAllWhite(encoded)) && (await isSummedUpAsWhite(image)) };
}

/** `contain` fills its box with background: a box larger than the picture would scale up the file, and cost a picture of any size. */
function within(resize: ResizeOption, size: Size): ResizeOption {
  const { width, height } = resize;
  return {
    ...resize,
    width: width === null ? null : Math.min(width, size.width),
    height: height === null ? null : Math.min(height, size.height),
  };
}

function scaledDown(image: Sharp, { resize, transparent }: { resize: ResizeOption; transparent: boolean }): Sharp {
  const { width, height, fit } = resize;
  const background = transparent ? { r: 0, g: 0, b: 0, alpha: 0 } : '#fff';
  return image.resize({ width: width ?? undefined, height: height ?? undefined, fit, background, withoutEnlargement: true });
}

function encoder(image: Sharp, { format, quality, size }: { format: ImageFormat; quality: number; size: Size }): Sharp {
  switch (format) {
    case 'png':
      return image.png({ compressionLevel: 6, adaptiveFiltering: false });
    case 'jpeg':
      // Optimised coding would hold the whole picture.
      return image.jpeg({ quality, optimiseCoding: false });
    case 'webp':
      return image.webp({ quality, effort: size.width * size.height > WEBP_QUICK_PIXELS ? 0 : 2 });
  }
}
