import sharp from 'sharp';
import type { AnimationFormat } from '../../contract/capture-request.js';
import { monotonicNow } from '../budgets.js';
import { encodeVideo, tooLate, type VideoEncoding } from './ffmpeg.js';
import type { Frames } from './frame-store.js';

export interface AnimationEncoding extends VideoEncoding {
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
export async function encodeAnimation(frames: Frames, how: AnimationEncoding): Promise<Buffer> {
  const { format, quality } = how;
  // The capture may have ended while it waited for its turn.
  how.signal.throwIfAborted();
  if (format === 'mp4') return await encodeVideo(frames, how);
  const paths = frames.shown.map(({ path }) => path);
  const open = { limitInputPixels: false, sequentialRead: true };
  // sharp joins at least two.
  const [only = ''] = paths;
  const joined = paths.length === 1 ? sharp(only, open) : sharp(paths, { ...open, join: { animated: true } });
  const image = joined.removeAlpha().timeout({ seconds: Math.max(1, Math.ceil((how.deadline - monotonicNow()) / 1_000)) });
  const delays = delaysOf(frames, format);
  const animated = paths.length === 1 ? {} : { delay: delays, loop: 0 };
  const encoded = format === 'webp' ? image.webp({ quality, effort: 2, ...animated }) : image.gif({ effort: 3, ...animated });
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
  let told = 0;
  return shown.map(({ ms }) => {
    end += ms;
    const delay = Math.max(GIF_MIN_MS, Math.round((end - told) / GIF_STEP_MS) * GIF_STEP_MS);
    told += delay;
    return delay;
  });
}
