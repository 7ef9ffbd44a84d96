/** Makes an mp4 with the operator's ffmpeg, which reads nothing but PNGs that the browser has made. */

import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CaptureError } from '../../contract/capture-error.js';
import { monotonicNow } from '../budgets.js';
import { killProcess } from '../launch/process-table.js';
import type { Frames } from './frame-store.js';

export interface VideoEncoding {
  /** STILLFRAME_FFMPEG. */
  ffmpeg: string | null;
  fps: number;
  /** The time limit, ms by `monotonicNow`. */
  deadline: number;
  /** A directory for the file. */
  dir: string;
  /** Ends ffmpeg when it aborts. */
  signal: AbortSignal;
}

/** ffmpeg stops there, and the capture fails. */
const VIDEO_MAX_BYTES = 200_000_000;
const ERROR_KEPT_CHARS = 2_000;
/** The time that ffmpeg has at least. */
const RUN_MIN_MS = 2_000;

/**
 * @param how.dir where the video is written, since its index is put first in the end
 * @throws CaptureError `unsupported_option` without ffmpeg, `render_timeout`, `internal_error` with ffmpeg's last words as its cause
 */
export async function encodeVideo(frames: Frames, how: VideoEncoding): Promise<Buffer> {
  const { ffmpeg, fps, dir, deadline, signal } = how;
  if (ffmpeg === null) throw noFfmpeg();
  const path = join(dir, 'video.mp4');
  const run = spawn(ffmpeg, argumentsOf(fps, path), { cwd: dir, env: {}, detached: true, stdio: ['pipe', 'ignore', 'pipe'] });
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
    if ((await stat(path)).size >= VIDEO_MAX_BYTES) throw tooLarge();
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

function noFfmpeg(): CaptureError {
  const message = '`animate.format` mp4 is not available here: the operator has not set STILLFRAME_FFMPEG.';
  return new CaptureError({ code: 'unsupported_option', message, details: { issues: [{ path: 'animate.format', message }] } });
}

/** The error of an animated picture whose encoding has reached its time limit. */
export function tooLate(): CaptureError {
  const message =
    'The animated picture was not encoded in time. A lower `animate.fps`, a shorter `animate.duration` or a smaller viewport may help.';
  return new CaptureError({ code: 'render_timeout', message, details: { pending: 'picture' } });
}

function tooLarge(): CaptureError {
  const message = `The video has more than ${VIDEO_MAX_BYTES / 1_000_000} MB, which is the limit. Lower \`animate.duration\`, \`animate.fps\` or the size of the viewport.`;
  return new CaptureError({ code: 'unsupported_option', message, details: { issues: [{ path: 'animate', message }] } });
}
