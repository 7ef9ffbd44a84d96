/** Keeps the frames of an animated picture and encodes them: an mp4 with the operator's ffmpeg, which reads nothing but PNGs of the browser. */

import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CaptureError } from '../../contract/capture-error.js';
import type { AnimationFormat, ResizeOption } from '../../contract/capture-request.js';
import { sharp } from '../../sharp.js';
import { monotonicNow } from '../deadlines.js';
import { killProcess } from '../launch/process-table.js';
import type { DebugSink } from '../page-session.js';
import { makeFolder, orStorageFailure, pngSize, scaledDown } from './encode.js';

/** The frames of an animated picture: PNGs of one size, as paths, each with the ms for which it is shown. */
export interface Frames {
  shown: { path: string; ms: number }[];
  width: number;
  height: number;
}

/** The PNGs of one animated picture. Photographs and noise need the most. */
const STORED_MAX_BYTES = 500_000_000;
/** Frames from which on the bytes of all are foreseen; the fewer there are, the less is expected. */
const FORESEEN_FROM_FRAMES = 4;

/** The frames of one animated picture, on disk, so that a long one costs no memory. Removed on disposal. */
export class FrameStore implements AsyncDisposable {
  readonly #frames: { path: string; atMs: number }[] = [];
  #last: Buffer | null = null;
  #bytes = 0;
  #added = 0;
  #size = { width: 0, height: 0 };
  #written: Promise<void> = Promise.resolve();

  private constructor(
    readonly folder: string,
    private readonly options: { resize: ResizeOption | null; count: number; debug?: DebugSink | undefined },
  ) {}

  /**
   * @param dir created if only the last folder is missing
   * @param options.resize scales each frame down
   * @param options.count of frames that will be added, equal ones included
   * @throws CaptureError internal_error 503 if the directory is not writable
   */
  static async open(dir: string, options: FrameStore['options']): Promise<FrameStore> {
    return new FrameStore(await orStorageFailure(makeFolder(dir)), options);
  }

  /**
   * Adds the frame that begins at this time, in ms, if it differs from the one before. It is written in the background.
   * @throws CaptureError unsupported_option if all frames together are too large, or will be if they go on like this
   */
  async add(png: Buffer, atMs: number): Promise<void> {
    this.#added++;
    if (this.#last?.equals(png) === true) return;
    this.#last = png;
    this.#bytes += png.length;
    if (this.#expected(png.length) > STORED_MAX_BYTES)
      throw tooLarge(
        `The frames would have more than ${STORED_MAX_BYTES / 1_000_000} MB together, which is the limit of an animated picture.`,
      );
    this.options.debug?.picture(png);
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

  /** The bytes of all frames, if those to come are as large as the latest one or the mean. @param latest of the latest frame */
  #expected(latest: number): number {
    if (this.#added < FORESEEN_FROM_FRAMES) return this.#bytes;
    const sure = this.#added / (this.#added + FORESEEN_FROM_FRAMES);
    return this.#bytes + (this.options.count - this.#added) * Math.min(latest, this.#bytes / this.#added) * sure;
  }

  async #write(path: string, png: Buffer): Promise<void> {
    const { resize } = this.options;
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

export interface AnimationEncoding {
  /** STILLFRAME_FFMPEG. */
  ffmpeg: string | null;
  fps: number;
  /** The time limit, ms by `monotonicNow`. */
  deadline: number;
  /** A directory for the file. */
  dir: string;
  /** Ends ffmpeg when it aborts. */
  signal: AbortSignal;
  format: AnimationFormat;
  /** 1–100, for webp. */
  quality: number;
}

/** GIF counts in hundredths of a second; browsers show a shorter frame for a tenth. */
const GIF_STEP_MS = 10;
const GIF_MIN_MS = 20;

/**
 * Encodes the frames, which repeat for ever in a webp or gif. They are read one after the other as the encoder needs them.
 * @throws CaptureError `unsupported_option` for mp4 without ffmpeg, `internal_error`, `render_timeout`; the signal's reason if it has
 * aborted before
 */
export async function encodeAnimation(frames: Frames, encoding: AnimationEncoding): Promise<Buffer> {
  const { format, quality } = encoding;
  // The capture may have ended while it waited for its turn.
  encoding.signal.throwIfAborted();
  if (format === 'mp4') return await encodeVideo(frames, encoding);
  const paths = frames.shown.map(({ path }) => path);
  const open = { limitInputPixels: false, sequentialRead: true };
  // sharp 0.35 joins at least two.
  const [only = ''] = paths;
  const joined = paths.length === 1 ? sharp(only, open) : sharp(paths, { ...open, join: { animated: true } });
  const image = joined
    .removeAlpha()
    .timeout({ seconds: Math.max(1, Math.ceil((encoding.deadline - monotonicNow()) / 1_000)) });
  const animated = paths.length === 1 ? {} : { delay: delaysOf(frames, format), loop: 0 };
  const encoded =
    format === 'webp' ? image.webp({ quality, effort: 2, ...animated }) : image.gif({ effort: 3, ...animated });
  return await encoded.toBuffer().catch((error: unknown) => Promise.reject(isLate(error) ? tooLate() : error));
}

/** Whether sharp has reached its time limit. */
function isLate(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('timeout:');
}

/** The ms for which each frame is shown, in steps of the format, without a drift over all of them. */
function delaysOf({ shown }: Frames, format: AnimationFormat): number[] {
  if (format !== 'gif') return shown.map(({ ms }) => ms);
  let end = 0;
  let reported = 0;
  return shown.map(({ ms }) => {
    end += ms;
    const delay = Math.max(GIF_MIN_MS, Math.round((end - reported) / GIF_STEP_MS) * GIF_STEP_MS);
    reported += delay;
    return delay;
  });
}

/** ffmpeg stops there, and the capture fails. */
const VIDEO_MAX_BYTES = 200_000_000;
const ERROR_KEPT_CHARS = 2_000;
/** The time that ffmpeg has at least. */
const RUN_MIN_MS = 2_000;

/**
 * @param options.dir where the video is written, since its index is put first in the end
 * @throws CaptureError `unsupported_option` without ffmpeg, `render_timeout`, `internal_error` with ffmpeg's last words as its cause
 */
async function encodeVideo(frames: Frames, encoding: AnimationEncoding): Promise<Buffer> {
  const { ffmpeg, fps, dir, deadline, signal } = encoding;
  if (ffmpeg === null)
    throw refused(
      'animate.format',
      '`animate.format` mp4 is not available here: the operator has not set STILLFRAME_FFMPEG.',
    );
  const path = join(dir, 'video.mp4');
  const run = spawn(ffmpeg, argumentsOf(fps, path), {
    cwd: dir,
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let words = '';
  let stopped: CaptureError | null = null;
  const kill = () => {
    if (run.pid !== undefined) killProcess(-run.pid);
  };
  const late = () => {
    stopped = tooLate();
    kill();
  };
  const timer = setTimeout(late, Math.max(RUN_MIN_MS, deadline - monotonicNow()));
  signal.addEventListener('abort', kill, { once: true });
  run.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-ERROR_KEPT_CHARS);
  });
  try {
    const ended = new Promise<number | null>((resolve, reject) => run.once('error', reject).once('close', resolve));
    // A program that ends early closes its input; its exit code says why.
    const fed = pipeline(Readable.from(pictures(frames, fps)), run.stdin).catch(() => undefined);
    const [code] = await Promise.all([ended, fed]);
    if (code !== 0) throw new Error(`ffmpeg ended with ${code}: ${words}`);
    if ((await stat(path)).size >= VIDEO_MAX_BYTES)
      throw tooLarge(`The video has more than ${VIDEO_MAX_BYTES / 1_000_000} MB, which is the limit.`);
    return await readFile(path);
  } catch (cause) {
    signal.throwIfAborted();
    if (stopped !== null) throw stopped;
    if (cause instanceof CaptureError) throw cause;
    throw new CaptureError({ code: 'internal_error', message: 'The video could not be made.', cause });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** Fixed but for a number and our own path. One thread and no metadata, so that the same frames make the same bytes. */
function argumentsOf(fps: number, path: string): string[] {
  const input = ['-f', 'image2pipe', '-framerate', String(fps), '-c:v', 'png', '-i', 'pipe:0'];
  // H.264 with this pixel format, which all players know, needs even sides.
  const shape = ['-vf', 'pad=ceil(iw/2)*2:ceil(ih/2)*2', '-pix_fmt', 'yuv420p'];
  const video = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '20', '-threads', '1', '-movflags', '+faststart'];
  const same = ['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:v', '+bitexact', '-fs', String(VIDEO_MAX_BYTES)];
  return [
    '-hide_banner',
    '-nostats',
    '-loglevel',
    'error',
    '-protocol_whitelist',
    'pipe,file',
    ...input,
    '-an',
    ...shape,
    ...video,
    ...same,
    '-y',
    path,
  ];
}

/** Every frame as often as it is shown, since a pipe of pictures has no times. */
async function* pictures({ shown }: Frames, fps: number): AsyncGenerator<Buffer> {
  let end = 0;
  let sent = 0;
  for (const { path, ms } of shown) {
    end += ms;
    for (const last = Math.max(sent + 1, Math.round((end * fps) / 1_000)); sent < last; sent++) {
      for await (const chunk of createReadStream(path)) yield chunk as Buffer;
    }
  }
}

/** The error of an animated picture whose encoding has reached its time limit. */
function tooLate(): CaptureError {
  const message =
    'The animated picture was not encoded in time. A lower `animate.fps`, a shorter `animate.duration` or a smaller viewport may help.';
  return new CaptureError({ code: 'render_timeout', message, details: { pending: 'picture' } });
}

function tooLarge(fact: string): CaptureError {
  return refused('animate', `${fact} Lower \`animate.duration\`, \`animate.fps\` or the size of the viewport.`);
}

function refused(path: string, message: string): CaptureError {
  return new CaptureError({ code: 'unsupported_option', message, details: { issues: [{ path, message }] } });
}
