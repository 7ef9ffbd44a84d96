import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';

/**
 * `min_capture_height` (output px) and `min_capture_bytes`, on the encoded picture.
 *
 * @throws CaptureError render_incomplete with what was asked for and what was got
 */
export function checkOutput(
  picture: { content: Uint8Array; height: number },
  { minCaptureHeight, minCaptureBytes }: Pick<CaptureOptions, 'minCaptureHeight' | 'minCaptureBytes'>,
): void {
  if (minCaptureHeight !== null && picture.height < minCaptureHeight) {
    throw tooLittle('min_capture_height', { required: minCaptureHeight, seen: picture.height }, 'px high');
  }
  const bytes = picture.content.byteLength;
  if (minCaptureBytes !== null && bytes < minCaptureBytes)
    throw tooLittle('min_capture_bytes', { required: minCaptureBytes, seen: bytes }, 'bytes');
}

function tooLittle(check: string, { required, seen }: { required: number; seen: number }, unit: string): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `\`${check}\`: the picture is ${seen} ${unit}, and at least ${required} were asked for.`,
    details: { check, required, seen },
  });
}
