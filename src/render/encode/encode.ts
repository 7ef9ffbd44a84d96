/** Keeps what was captured as strips of rows, and encodes it. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions, ImageFormat, ResizeOption } from '../../contract/capture-request.js';
import type { PaletteOption } from '../../contract/palette.js';
import { type Sharp, sharp } from '../../sharp.js';
import { runInThread, viewOf } from '../../thread.js';
import { type Deadlines, monotonicNow } from '../deadlines.js';
import { ownedName } from '../launch/profile-dir.js';
import type { DebugSink } from '../page-session.js';
import { encodeBmp, encodePalette, isAllWhitePixels, type Size, turned, wholePicture } from './whole-picture.js';

/** Above this size, webp is encoded with the least effort, which takes two thirds of the time for a file of about the same size. */
const WEBP_QUICK_PIXELS = 8_000_000;
/** Above this size, avif is encoded with the least effort, which takes a third of the time for a file that is an eighth larger. */
const AVIF_QUICK_PIXELS = 4_000_000;

export interface Encoding {
  format: ImageFormat;
  /** 1–100, for jpeg, webp and avif. */
  quality: number;
  /** Whether areas that the page leaves transparent stay so. */
  transparent: boolean;
  /** The size of the finished picture; null keeps its own. */
  resize: ResizeOption | null;
  /** Degrees clockwise by which the resized picture is turned. */
  rotate: CaptureOptions['rotate'];
  /** The only colors of the turned picture, which is opaque. */
  palette: PaletteOption | null;
}

/** The encoding of the image that a capture requests. */
export function encodingOf(options: CaptureOptions, format: ImageFormat): Encoding {
  const { quality, omitBackground: transparent, resize, rotate, palette } = options;
  return { format, quality, transparent, resize, rotate, palette };
}

/** A captured picture as PNGs, in memory or as paths: strips of equal height, one below the other, of which the last may be shorter. */
export interface Strips {
  pngs: (Buffer | string)[];
  /** The size of the picture in px. Further rows of the last strip are cut off. */
  width: number;
  height: number;
}

export interface Encoded {
  content: Buffer;
  /** Width in px, as written by the encoder. */
  width: number;
  height: number;
  /** Whether the picture was all white before it was resized or got its palette; absent if `content` still shows that. */
  wasWhite?: boolean;
}

/** Reads the size of a shot that needs no further encoding. */
export async function readFinal(content: Buffer): Promise<Encoded> {
  const { width, height } = await sharp(content).metadata();
  return { content, width, height };
}

/**
 * Joins the strips vertically, byte-exact at the seams, reading those on disk as needed, and encodes the picture.
 * @param rows the part to encode, in px; by default, all
 */
export async function encodeStrips(
  { pngs, width, height }: Strips,
  encoding: Encoding,
  rows = { top: 0, height },
): Promise<Encoded> {
  const { format, transparent, resize } = encoding;
  const open = { limitInputPixels: false, sequentialRead: true };
  const [only = '', ...others] = pngs;
  // Joined strips all get the height of the tallest, so the surplus of the last one is cut off.
  const joined = others.length === 0 ? sharp(only, open) : sharp(pngs, { ...open, join: { across: 1 } });
  const image = joined.extract({ left: 0, width, ...rows });
  const shown = transparent ? image : image.removeAlpha();
  const size = { width, height: rows.height };
  const sized = resize === null ? shown : scaledDown(shown, { resize, transparent, size });
  if (format === 'bmp' || isWhole(encoding)) {
    const whole = await wholePicture(sized, size, encoding);
    const encoded = await encodeWhole(turned(whole, encoding), size, encoding);
    const isWhite = await isAllWhitePixels(whole, WHITE_MIN);
    return { ...encoded, wasWhite: isWhite && (resize === null || (await areWhite(pngs))) };
  }
  const encoded = await encodeImage(sized, size, { ...encoding, format });
  // The picture before resizing is judged, since scaling averages thin content away, and `cover` cuts it off.
  return resize === null ? encoded : { ...encoded, wasWhite: (await isAllWhite(encoded)) && (await areWhite(pngs)) };
}

/** All pixels of one picture, which are in memory outside of the heap. */
const THREAD_MEMORY_MB = 256;

/**
 * Encodes a picture. One whose pixels are read here, not by sharp, is encoded in a thread, which ends with its capture.
 * @throws CaptureError as `encodeStrips`, `render_timeout`; the reason of the capture's end
 */
export async function encodeAside(
  strips: Strips,
  encoding: Encoding,
  { thread: file, deadlines }: { thread: URL; deadlines: Deadlines },
): Promise<Encoded> {
  if (!isWhole(encoding)) return await encodeStrips(strips, encoding);
  const { content, ...encoded } = await runInThread<Omit<Encoded, 'content'> & { content: Uint8Array }>({
    file,
    task: { strips, encoding },
    memoryMb: THREAD_MEMORY_MB,
    timeoutMs: Math.max(1, deadlines.endsAt - monotonicNow()),
    signal: deadlines.signal,
    failed: (cause) =>
      new CaptureError({ code: 'render_timeout', message: 'The picture was not encoded in time.', cause }),
  });
  return { ...encoded, content: viewOf(content) };
}

/** Whether all pixels are read, and kept in memory. */
function isWhole({ format, rotate, palette }: Encoding): boolean {
  return format === 'bmp' || rotate !== null || palette !== null;
}

async function encodeWhole(image: Sharp, size: Size, encoding: Encoding): Promise<Encoded> {
  const { format, palette } = encoding;
  if (palette !== null) return await encodePalette(image, palette, format);
  return format === 'bmp' ? await encodeBmp(image) : await encodeImage(image, size, { ...encoding, format });
}

type ImageEncoding = Pick<Encoding, 'quality'> & { format: Exclude<ImageFormat, 'bmp'> };

/** @param size before it was resized */
async function encodeImage(
  image: Sharp,
  { width, height }: Size,
  { format, quality }: ImageEncoding,
): Promise<Encoded> {
  const encoders = {
    png: () => image.png({ compressionLevel: 6, adaptiveFiltering: false }),
    // Optimized coding would keep the whole picture in memory.
    jpeg: () => image.jpeg({ quality, optimiseCoding: false }),
    avif: () => image.avif({ quality, effort: width * height > AVIF_QUICK_PIXELS ? 0 : 1 }),
    webp: () => image.webp({ quality, effort: width * height > WEBP_QUICK_PIXELS ? 0 : 2 }),
  };
  const { data, info } = await encoders[format]().toBuffer({ resolveWithObject: true });
  return { content: data, width: info.width, height: info.height };
}

/**
 * Limits the target size to the picture's: `contain` fills its box with background, so a larger box would enlarge the file
 * and the cost without limit.
 */
export function scaledDown(
  image: Sharp,
  { resize, transparent, size }: { resize: ResizeOption; transparent: boolean; size: Size },
): Sharp {
  const width = resize.width === null ? undefined : Math.min(resize.width, size.width);
  const height = resize.height === null ? undefined : Math.min(resize.height, size.height);
  const background = transparent ? { r: 0, g: 0, b: 0, alpha: 0 } : '#fff';
  return image.resize({ width, height, fit: resize.fit, background, withoutEnlargement: true });
}

/** Size limits of a picture in one color, in every format. A larger picture has content. */
const UNIFORM_MAX_BYTES_PER_PX = 0.02;
const UNIFORM_MAX_BYTES = 8_000;
/** Red, green and blue of a white pixel have at least this value. */
export const WHITE_MIN = 250;
/** A picture with more pixels is only summarized, to save memory. */
const DECODED_MAX_PX = 16_000_000;

/** Whether a picture is completely white. Decodes only pictures that are small enough to be all white. */
export async function isAllWhite({ content, width, height }: Encoded): Promise<boolean> {
  if (content.byteLength > Math.max(UNIFORM_MAX_BYTES, width * height * UNIFORM_MAX_BYTES_PER_PX)) return false;
  const image = sharp(content, { limitInputPixels: false });
  if (width * height > DECODED_MAX_PX) return await hasWhiteStats(image);
  // Each value becomes 0 or 255, and a byte of 0 is found without a loop that would block the server.
  const levels = await image.removeAlpha().threshold(WHITE_MIN, { grayscale: false }).raw().toBuffer();
  return !levels.includes(0);
}

/** Judges the image's input, without its operations. It is not decoded as a whole, and must not be joined. */
async function hasWhiteStats(image: Sharp): Promise<boolean> {
  const { channels } = await image.stats();
  return channels.slice(0, 3).every(({ min }) => min >= WHITE_MIN);
}

async function areWhite(pngs: Strips['pngs']): Promise<boolean> {
  for (const png of pngs)
    if (!(await hasWhiteStats(sharp(png, { limitInputPixels: false, sequentialRead: true })))) return false;
  return true;
}

/** PNGs of one height beside each other, as one. */
export async function joinedAcross(pngs: readonly Buffer[]): Promise<Buffer> {
  const [first = Buffer.alloc(0), ...others] = pngs;
  if (others.length === 0) return first;
  let left = 0;
  const placed = pngs.map((input) => {
    const place = { input, left, top: 0 };
    left += pngSize(input).width;
    return place;
  });
  const background = { r: 0, g: 0, b: 0, alpha: 0 };
  const canvas = sharp({
    create: { width: left, height: pngSize(first).height, channels: 4, background },
    limitInputPixels: false,
  });
  return await toPng(canvas.composite(placed));
}

/** A part of a PNG, in px, as far as there is one. */
export async function cropped(png: Buffer, part: Size & { left: number; top: number }): Promise<Buffer> {
  const { width, height } = pngSize(png);
  const size = { width: Math.min(part.width, width - part.left), height: Math.min(part.height, height - part.top) };
  return await toPng(sharp(png, { limitInputPixels: false }).extract({ ...part, ...size }));
}

/** The first rows of a PNG. */
interface Section {
  png: Buffer;
  rows: number;
}

/**
 * The rows of one picture, written to disk as they arrive, so that a long page costs no memory. The encoder joins strips of
 * one height only: the first section sets it, and sections of another height are split again. Removed on disposal.
 */
export class SectionStore implements AsyncDisposable {
  readonly #pngs: string[] = [];
  #written: Promise<void> = Promise.resolve();
  #stripRows = 0;
  #width = 0;
  #height = 0;
  /** The newest section, if it does not fill a strip. If it is the last, no section needs to be split. */
  #short: Section | null = null;
  /** Raw rows that do not fill a strip yet. */
  #rest: Buffer = Buffer.alloc(0);
  /** The first row of the picture that has not been added. */
  #next = 0;
  /** The sections below it, by their first row. */
  readonly #later = new Map<number, { file: string; rows: number }>();

  private constructor(
    private readonly folder: string,
    private readonly channels: 3 | 4,
    private readonly debug: DebugSink | undefined,
  ) {}

  /**
   * @param dir created if only the last folder is missing
   * @param transparent keeps the alpha channel
   * @param debug receives each section
   * @throws CaptureError internal_error 503 if the directory is not writable
   */
  static async open(dir: string, transparent: boolean, debug?: DebugSink): Promise<SectionStore> {
    const folder = await orStorageFailure(makeFolder(dir));
    return new SectionStore(folder, transparent ? 4 : 3, debug);
  }

  /**
   * Adds the first rows of a PNG in the background. A failure is reported by strips().
   * @param rows.top the row of the picture with which they begin; sections may be added in any order
   */
  add(png: Buffer, rows: { top: number; count: number }): void {
    this.debug?.picture(png);
    this.#written = this.#written.then(() => this.#insert(png, rows));
    this.#written.catch(() => {});
  }

  /**
   * All rows from the top to the first that has not been added. Nothing can be added afterwards.
   * @throws CaptureError internal_error 503 if not all could be written
   */
  async strips(): Promise<Strips> {
    await this.#written;
    if (this.#short !== null) await this.#write(this.#short.png);
    if (this.#rest.length > 0) await this.#writeRaw(this.#rest);
    return { pngs: this.#pngs, width: this.#width, height: this.#height };
  }

  async #insert(png: Buffer, { top, count }: { top: number; count: number }): Promise<void> {
    if (top !== this.#next) {
      const file = join(this.folder, `later-${top}.png`);
      this.#later.set(top, { file, rows: count });
      return await orStorageFailure(writeFile(file, png));
    }
    let newest: Buffer | null = png;
    for (let rows = count; newest !== null; ) {
      await this.#append({ png: newest, rows: Math.min(rows, pngSize(newest).height) });
      this.#next += rows;
      const following = this.#later.get(this.#next);
      rows = following?.rows ?? 0;
      newest = following === undefined ? null : await orStorageFailure(readFile(following.file));
      if (following !== undefined) await rm(following.file);
    }
  }

  async #append(newest: Section): Promise<void> {
    const { png, rows } = newest;
    const { width, height } = pngSize(png);
    if (this.#stripRows === 0) {
      this.#stripRows = rows;
      this.#width = width;
    }
    this.#height += rows;
    if (this.#short !== null) await this.#split(this.#short);
    this.#short = null;
    if (this.#rest.length > 0 || rows > this.#stripRows) await this.#split(newest);
    else if (rows < this.#stripRows) this.#short = newest;
    else await this.#write(rows === height ? png : await toPng(this.#cropOf(newest)));
  }

  async #split(section: Section): Promise<void> {
    const kept = this.#cropOf(section);
    const raw = await (this.channels === 4 ? kept.ensureAlpha() : kept.removeAlpha()).raw().toBuffer();
    this.#rest = Buffer.concat([this.#rest, raw]);
    const stripBytes = this.#stripRows * this.#width * this.channels;
    while (this.#rest.length >= stripBytes) {
      await this.#writeRaw(this.#rest.subarray(0, stripBytes));
      this.#rest = this.#rest.subarray(stripBytes);
    }
  }

  #cropOf({ png, rows }: Section): Sharp {
    return sharp(png, { limitInputPixels: false }).extract({ left: 0, top: 0, width: this.#width, height: rows });
  }

  async #writeRaw(raw: Buffer): Promise<void> {
    const channels = this.channels;
    const height = raw.length / (this.#width * channels);
    await this.#write(
      await toPng(sharp(raw, { raw: { width: this.#width, height, channels }, limitInputPixels: false })),
    );
  }

  async #write(png: Buffer): Promise<void> {
    const path = join(this.folder, `${this.#pngs.length}.png`);
    this.#pngs.push(path);
    await orStorageFailure(writeFile(path, png));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#written.catch(() => {});
    await rm(this.folder, { recursive: true, force: true });
  }
}

function toPng(image: Sharp): Promise<Buffer> {
  return image.png({ compressionLevel: 1 }).toBuffer();
}

/** A new folder of a capture. A missing parent is not created, since it means that the data directory itself was removed. */
export async function makeFolder(dir: string): Promise<string> {
  await mkdir(dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return await mkdtemp(join(dir, `${ownedName()}-`));
}

/** @throws CaptureError internal_error 503 if the file cannot be written */
export async function orStorageFailure<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (cause) {
    throw new CaptureError({
      code: 'internal_error',
      status: 503,
      message:
        'The server could not keep the parts of the picture: its data directory is full, or cannot be written to. Try again later.',
      retryAfterSeconds: 30,
      cause,
    });
  }
}

/** Reads the size in px from a PNG's header. */
export function pngSize(png: Buffer): Size {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}
