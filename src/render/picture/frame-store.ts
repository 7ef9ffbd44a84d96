import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { ResizeOption } from '../../contract/capture-request.js';
import type { DebugSink } from '../page-session.js';
import { makeFolder, orStorageFailure, pngSize, scaledDown } from './encode.js';

/** The frames of an animated picture: PNGs of one size, as paths, each with the ms for which it is shown. */
export interface Frames {
  shown: { path: string; ms: number }[];
  width: number;
  height: number;
}

interface Frame {
  path: string;
  atMs: number;
}

/** The PNGs of one animated picture. Photographs and noise need the most. */
const STORED_MAX_BYTES = 500_000_000;

/** The frames of one animated picture, on disk, so that a long one costs no memory. Removed on disposal. */
export class FrameStore implements AsyncDisposable {
  readonly #frames: Frame[] = [];
  #last: Buffer | null = null;
  #bytes = 0;
  #size = { width: 0, height: 0 };
  #written: Promise<void> = Promise.resolve();

  private constructor(
    readonly folder: string,
    private readonly how: { resize: ResizeOption | null; debug: DebugSink | undefined },
  ) {}

  /**
   * @param dir created if only the last folder is missing
   * @param how.resize scales each frame down
   * @throws CaptureError internal_error 503 if the directory is not writable
   */
  static async open(dir: string, how: { resize: ResizeOption | null; debug?: DebugSink | undefined }): Promise<FrameStore> {
    return new FrameStore(await orStorageFailure(makeFolder(dir)), { debug: undefined, ...how });
  }

  /**
   * Adds the frame that begins at this time, in ms, if it differs from the one before. It is written in the background.
   * @throws CaptureError unsupported_option if all frames together are too large
   */
  async add(png: Buffer, atMs: number): Promise<void> {
    if (this.#last?.equals(png) === true) return;
    this.#last = png;
    this.#bytes += png.length;
    if (this.#bytes > STORED_MAX_BYTES) throw tooLarge();
    this.how.debug?.picture(png);
    const path = join(this.folder, `${this.#frames.length}.png`);
    this.#frames.push({ path, atMs });
    // At most one frame waits in memory.
    await this.#written;
    this.#written = this.#write(path, png);
    this.#written.catch(() => {});
  }

  /**
   * All frames.
   * @param endMs when the last one ends
   * @throws CaptureError internal_error 503 if not all could be written
   */
  async frames(endMs: number): Promise<Frames> {
    await this.#written;
    const starts = [...this.#frames.map(({ atMs }) => atMs), endMs].map(Math.round);
    const shown = this.#frames.map(({ path }, at) => ({ path, ms: (starts[at + 1] ?? 0) - (starts[at] ?? 0) }));
    return { shown, ...this.#size };
  }

  async #write(path: string, png: Buffer): Promise<void> {
    const { resize } = this.how;
    const sized = resize === null ? png : await resized(png, resize);
    this.#size = pngSize(sized);
    await orStorageFailure(writeFile(path, sized));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#written.catch(() => {});
    await rm(this.folder, { recursive: true, force: true });
  }
}

function resized(png: Buffer, resize: ResizeOption): Promise<Buffer> {
  const image = sharp(png, { limitInputPixels: false }).removeAlpha();
  return scaledDown(image, { resize, transparent: false, size: pngSize(png) })
    .png({ compressionLevel: 1 })
    .toBuffer();
}

function tooLarge(): CaptureError {
  const message = `The frames have more than ${STORED_MAX_BYTES / 1_000_000} MB together, which is the limit of an animated picture. Lower \`animate.duration\`, \`animate.fps\` or the size of the viewport.`;
  return new CaptureError({ code: 'unsupported_option', message, details: { issues: [{ path: 'animate', message }] } });
}
