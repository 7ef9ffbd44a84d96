import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { Tolerance } from './tolerance.js';

/**
 * `min_capture_height` (output px) and `min_capture_bytes`, on the encoded picture.
 *
 * @throws CaptureError render_incomplete with what was asked for and what was got
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

/** A picture of one colour packs this small in every format; anything larger has something on it. */
const UNIFORM_MAX_BYTES_PER_PX = 0.02;
const UNIFORM_MAX_BYTES = 8_000;
/** Of red, green and blue, each: from here on a pixel counts as white. */
export const WHITE_MIN = 250;
/** Of more pixels than a large view has, only a summary is made: what is decoded lies in memory. */
const DECODED_MAX_PX = 16_000_000;

/**
 * The last guard against the picture of an empty page (decisions.md, Capture semantics): whatever the document says of itself, a picture that is white all
 * over shows nothing. Decodes only what is small enough to be one.
 *
 * @param mayBeWhite asked of such a picture: whether the page has painted that white itself
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

/** Most have something on their first rows, which ends the search. */
async function isWhite(content: Uint8Array): Promise<boolean> {
  const samples = await sharp(content, { limitInputPixels: false }).removeAlpha().raw().toBuffer();
  // Four at a time: this holds up the whole server, and white is 255 almost everywhere.
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
