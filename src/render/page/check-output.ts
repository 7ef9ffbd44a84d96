import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { type EncodedPicture, isAllWhite } from '../picture/encode.js';
import type { Tolerance } from './tolerance.js';

/**
 * Checks `min_capture_height` (output px) and `min_capture_bytes` on the encoded picture.
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

/**
 * The last check for empty pages (decisions.md, Capture semantics): an all-white picture shows nothing, whatever the
 * document contains.
 * @param mayBeWhite called for such a picture; returns whether the page has painted the white itself
 * @throws CaptureError render_incomplete with `details.check: "blank"`
 */
export async function refuseWhite(
  picture: EncodedPicture & { whiteBeforeResize?: boolean },
  mayBeWhite: () => Promise<boolean> = async () => false,
): Promise<void> {
  if (!(picture.whiteBeforeResize ?? (await isAllWhite(picture))) || (await mayBeWhite())) return;
  throw new CaptureError({
    code: 'render_incomplete',
    message: 'The picture is completely white: the page shows nothing.',
    details: { check: 'blank', seen: 'white' },
  });
}
