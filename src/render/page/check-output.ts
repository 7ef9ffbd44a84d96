import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { Tolerance } from './tolerance.js';

/**
 * `min_capture_height` (output px) and `min_capture_bytes`, on the encoded picture.
 *
 * @throws CaptureError render_incomplete with the required and the actual value
 */
export function checkOutput(
  picture: { content: Uint8Array; height: number },
  { minCaptureHeight, minCaptureBytes }: Pick<CaptureOptions, 'minCaptureHeight' | 'minCaptureBytes'>,
  tolerance: Pick<Tolerance, 'orThrow'>,
): void {
  if (minCaptureHeight !== null && picture.height < minCaptureHeight) {
    tolerance.orThrow(tooLittle('min_capture_height', { required: minCaptureHeight, seen: picture.height }, 'px high'));
  }
  const bytes = picture.content.byteLength;
  if (minCaptureBytes !== null && bytes < minCaptureBytes)
    tolerance.orThrow(tooLittle('min_capture_bytes', { required: minCaptureBytes, seen: bytes }, 'bytes'));
}

function tooLittle(check: string, { required, seen }: { required: number; seen: number }, unit: string): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `\`${check}\`: the picture is ${seen} ${unit}, but at least ${required} were requested.`,
    details: { check, required, seen },
  });
}

/** A picture of one colour is at most this large in every format; a larger one has content. */
const UNIFORM_MAX_BYTES_PER_PX = 0.02;
const UNIFORM_MAX_BYTES = 8_000;
/** From this value of red, green and blue on, a pixel counts as white. */
export const WHITE_MIN = 250;
/** A picture with more pixels than this is only summarised, to save memory. */
const DECODED_MAX_PX = 16_000_000;

/**
 * The last check for empty pages (decisions.md, Capture semantics): whatever the document contains, an all-white picture shows nothing.
 * Decodes only pictures that are small enough to be all white.
 *
 * @param mayBeWhite called for such a picture: whether the page has painted the white itself
 * @throws CaptureError render_incomplete with `details.check: "blank"`
 */
export async function refuseWhite(
  picture: { content: Uint8Array; width: number; height: number },
  mayBeWhite: () => Promise<boolean> = async () => false,
): Promise<void> {
  const { content, width, height } = picture;
  if (content.byteLength > Math.max(UNIFORM_MAX_BYTES, width * height * UNIFORM_MAX_BYTES_PER_PX)) return;
  if (!(await (width * height > DECODED_MAX_PX ? isSummedUpAsWhite : isWhite)(content)) || (await mayBeWhite())) return;
  throw new CaptureError({
    code: 'render_incomplete',
    message: 'The picture is completely white: the page shows nothing.',
    details: { check: 'blank', seen: 'white' },
  });
}

/** Most pictures have content in their first rows, which ends the search. */
async function isWhite(content: Uint8Array): Promise<boolean> {
  const samples = await sharp(content, { limitInputPixels: false }).removeAlpha().raw().toBuffer();
  // Four bytes at a time, since this blocks the server, and white is 255 almost everywhere.
  const whole = samples.byteOffset % 4 === 0 ? samples.length >> 2 : 0;
  const quads = new Uint32Array(samples.buffer, whole === 0 ? 0 : samples.byteOffset, whole);
  for (let quad = 0; quad < whole; quad++) {
    if (quads[quad] === 0xffff_ffff) continue;
    for (let at = quad * 4; at < quad * 4 + 4; at++) if ((samples[at] ?? 255) < WHITE_MIN) return false;
  }
  for (let at = whole * 4; at < samples.length; at++) if ((samples[at] ?? 255) < WHITE_MIN) return false;
  return true;
}

async function isSummedUpAsWhite(content: Uint8Array): Promise<boolean> {
  const { channels } = await sharp(content, { limitInputPixels: false }).stats();
  return channels.slice(0, 3).every(({ min }) => min >= WHITE_MIN);
}
