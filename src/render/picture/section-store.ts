import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { DebugSink } from '../page-session.js';
import { ownedName } from '../pool/profile-dir.js';
import type { Strips } from './encode.js';
import { pngSize } from './shoot.js';

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

  /** Appends the first rows of a PNG in the background. A failure is reported by strips(). */
  add(png: Buffer, rows: number): void {
    this.debug?.picture(png);
    this.#written = this.#written.then(() => this.#append({ png, rows }));
    this.#written.catch(() => {});
  }

  /**
   * All rows. Nothing can be added afterwards.
   * @throws CaptureError internal_error 503 if not all could be written
   */
  async strips(): Promise<Strips> {
    await this.#written;
    if (this.#short !== null) await this.#write(this.#short.png);
    if (this.#rest.length > 0) await this.#writeRaw(this.#rest);
    return { pngs: this.#pngs, width: this.#width, height: this.#height };
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
    await this.#write(await toPng(sharp(raw, { raw: { width: this.#width, height, channels }, limitInputPixels: false })));
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
      message: 'The server could not keep the parts of the picture: its data directory is full, or cannot be written to. Try again later.',
      retryAfterSeconds: 30,
      cause,
    });
  }
}
