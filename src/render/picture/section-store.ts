import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { DebugSink } from '../debug-sink.js';
import { ownedName } from '../pool/profile-dir.js';
import { pngSize } from './shoot.js';

/** The part of a capture that is kept, in px: rows `from` … `to`, and columns from `left` on. */
export interface Cut {
  left: number;
  width: number;
  from: number;
  to: number;
}

interface Part {
  png: Buffer;
  cut: Cut;
}

/** A picture on disk: strips of equal height, one below the other. The last one may be shorter. */
export interface Strips {
  paths: string[];
  /** Width in px. */
  width: number;
  height: number;
}

/**
 * The rows of one picture, written to disk as they arrive, so that a long page costs no memory. The encoder joins strips of
 * one height only: the first section sets it, and sections of another height are split again. Removed on disposal.
 */
export class SectionStore implements AsyncDisposable {
  readonly #folder: string;
  readonly #paths: string[] = [];
  #written: Promise<void> = Promise.resolve();
  #stripRows = 0;
  #width = 0;
  #height = 0;
  /** The newest part, if it does not fill a strip. If it is the last, no part needs to be split. */
  #short: Part | null = null;
  /** Raw rows that do not fill a strip yet. */
  #rest: Buffer = Buffer.alloc(0);

  readonly #channels: 3 | 4;

  readonly #debug: DebugSink | undefined;

  private constructor(folder: string, channels: 3 | 4, debug: DebugSink | undefined) {
    this.#folder = folder;
    this.#channels = channels;
    this.#debug = debug;
  }

  /**
   * @param dir created if only the last folder is missing
   * @param transparent keeps the alpha channel
   * @param debug receives each part
   * @throws CaptureError internal_error 503 if the directory is not writable
   */
  static async open(dir: string, transparent: boolean, debug?: DebugSink): Promise<SectionStore> {
    const folder = await orStorageFailure(makeFolder(dir));
    return new SectionStore(folder, transparent ? 4 : 3, debug);
  }

  /** Appends a part of a PNG in the background. A failure is reported by strips(). */
  add(png: Buffer, cut: Cut): void {
    this.#debug?.picture(png);
    this.#written = this.#written.then(() => this.#append({ png, cut }));
    this.#written.catch(() => {});
  }

  /**
   * All rows. Nothing can be added afterwards.
   * @throws CaptureError internal_error 503 if not all could be written
   */
  async strips(): Promise<Strips> {
    await this.#written;
    if (this.#short !== null) await this.#writePng(this.#short);
    if (this.#rest.length > 0) await this.#writeRaw(this.#rest);
    return { paths: this.#paths, width: this.#width, height: this.#height };
  }

  async #append(newest: Part): Promise<void> {
    const { cut } = newest;
    const rows = cut.to - cut.from;
    if (this.#stripRows === 0) {
      this.#stripRows = rows;
      this.#width = cut.width;
    }
    this.#height += rows;
    if (this.#short !== null) await this.#cutAnew(this.#short);
    this.#short = null;
    if (this.#rest.length > 0 || rows > this.#stripRows) await this.#cutAnew(newest);
    else if (rows === this.#stripRows) await this.#writePng(newest);
    else this.#short = newest;
  }

  async #cutAnew(given: Part): Promise<void> {
    const kept = cropOf(given);
    const raw = await (this.#channels === 4 ? kept.ensureAlpha() : kept.removeAlpha()).raw().toBuffer();
    this.#rest = Buffer.concat([this.#rest, raw]);
    const stripBytes = this.#stripRows * this.#width * this.#channels;
    while (this.#rest.length >= stripBytes) {
      await this.#writeRaw(this.#rest.subarray(0, stripBytes));
      this.#rest = this.#rest.subarray(stripBytes);
    }
  }

  async #writePng(given: Part): Promise<void> {
    const { png, cut } = given;
    const { width, height } = pngSize(png);
    const whole = cut.left === 0 && cut.from === 0 && cut.width === width && cut.to === height;
    await this.#write(whole ? png : await cropOf(given).png({ compressionLevel: 1 }).toBuffer());
  }

  async #writeRaw(raw: Buffer): Promise<void> {
    const channels = this.#channels;
    const height = raw.length / (this.#width * channels);
    const picture = sharp(raw, { raw: { width: this.#width, height, channels }, limitInputPixels: false });
    await this.#write(await picture.png({ compressionLevel: 1 }).toBuffer());
  }

  async #write(png: Buffer): Promise<void> {
    const path = join(this.#folder, `${this.#paths.length}.png`);
    this.#paths.push(path);
    await orStorageFailure(writeFile(path, png));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#written.catch(() => {});
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A missing parent is not created, since it means that the data directory itself was removed. */
async function makeFolder(dir: string): Promise<string> {
  await mkdir(dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return await mkdtemp(join(dir, `${ownedName()}-`));
}

/** @throws CaptureError internal_error 503 if the file cannot be written */
async function orStorageFailure<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (cause) {
    throw new CaptureError({
      code: 'internal_error',
      status: 503,
      message: 'The server could not keep the parts of the picture: its data directory is full, or cannot be written to. Try again later.',
      retryAfterSeconds: 30,
      cause,
    });
  }
}

function cropOf({ png, cut: { left, width, from, to } }: Part): Sharp {
  return sharp(png, { limitInputPixels: false }).extract({ left, top: from, width, height: to - from });
}
