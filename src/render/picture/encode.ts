import sharp, { type Sharp } from 'sharp';
import type { CaptureOptions, ImageFormat, ResizeOption } from '../../contract/capture-request.js';
import { hasWhiteStats, isAllWhite } from './all-white.js';
import type { Strips } from './section-store.js';

// Caching or several threads would only use memory: no picture is read twice, and several are encoded at once.
sharp.cache(false);
sharp.concurrency(1);

/** Above this size, webp is encoded with the least effort, which takes two thirds of the time for a file of about the same size. */
const WEBP_QUICK_PIXELS = 8_000_000;

export interface Encoding {
  format: ImageFormat;
  /** 1–100, for jpeg and webp. */
  quality: number;
  /** Whether areas that the page leaves transparent stay so. */
  transparent: boolean;
  /** How to resize the finished picture; null keeps its size. */
  resize: ResizeOption | null;
}

/** The encoding of the image that a capture requests. */
export function encodingOf(options: CaptureOptions, format: ImageFormat): Encoding {
  return { format, quality: options.quality, transparent: options.omitBackground, resize: options.resize };
}

export interface Encoded {
  content: Buffer;
  /** Width in px, as written by the encoder. */
  width: number;
  height: number;
  /** True if the picture was all white before it was resized, absent if it was not resized. */
  whiteBeforeResize?: boolean;
}

/** Encodes a PNG from the browser. */
export async function encodePng(png: Buffer, encoding: Encoding): Promise<Encoded> {
  const { width, height } = await open(png).metadata();
  return encodeResized(open(png), { width, height }, encoding);
}

/**
 * Joins the strips vertically, byte-exact at the seams, reading them from disk as needed.
 * @param rows the part to encode, in px; by default, all
 */
export function stitch({ paths, width, height }: Strips, encoding: Encoding, rows = { top: 0, height }): Promise<Encoded> {
  const part = { left: 0, width, ...rows };
  const [only] = paths;
  if (only !== undefined && paths.length === 1) return encodeResized(open(only).extract(part), part, encoding);
  // Joined strips all get the height of the tallest, so the surplus of the last one is cut off.
  const joined = sharp(paths, { join: { across: 1 }, limitInputPixels: false, sequentialRead: true });
  return encodeResized(joined.extract(part), part, encoding);
}

function open(input: Buffer | string): Sharp {
  return sharp(input, { limitInputPixels: false, sequentialRead: true });
}

interface Size {
  width: number;
  height: number;
}

async function encodeResized(image: Sharp, size: Size, { format, quality, transparent, resize }: Encoding): Promise<Encoded> {
  const shown = transparent ? image : image.removeAlpha();
  const sized = resize === null ? shown : scaledDown(shown, { resize: limitTo(resize, size), transparent });
  const { data, info } = await encoder(sized, { format, quality, size }).toBuffer({ resolveWithObject: true });
  const encoded = { content: data, width: info.width, height: info.height };
  // EncodedPicture before resizing, since scaling averages thin content away, and `cover` cuts it off.
  return resize === null ? encoded : { ...encoded, whiteBeforeResize: (await isAllWhite(encoded)) && (await hasWhiteStats(image)) };
}

/**
 * Limits the target size to the picture's. `contain` fills its box with background, so a larger box would enlarge the file
 * and the cost without limit.
 */
function limitTo(resize: ResizeOption, size: Size): ResizeOption {
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
      // Optimised coding would keep the whole picture in memory.
      return image.jpeg({ quality, optimiseCoding: false });
    case 'webp':
      return image.webp({ quality, effort: size.width * size.height > WEBP_QUICK_PIXELS ? 0 : 2 });
  }
}
