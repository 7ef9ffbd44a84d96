import type { CaptureOptions } from '../../contract/capture-request.js';
import { TIMED_OUT } from '../deadlines.js';
import { type Encoded, isAllWhite } from '../encode/encode.js';
import { blank, incomplete } from '../page/check-page.js';
import type { OpenPage } from '../page/open-page.js';
import type { Picture } from './region-picture.js';

const LOOK_MAX_MS = 1_000;

/**
 * Checks the encoded picture: that it is not all white, `min_capture_height` (output px) and `min_capture_bytes`.
 * @throws CaptureError render_incomplete with the required and the actual value
 */
export async function checkPicture(page: OpenPage, picture: Picture, options: CaptureOptions): Promise<void> {
  const { world, deadlines, tolerance } = page;
  const showsAll = options.selector === null && options.clip === null && !options.omitBackground;
  // A white drawing is content, such as the empty sheet of a drawing program.
  const isDrawn = async () =>
    (await deadlines.within(world.call('blank.hasDrawnCanvas'), LOOK_MAX_MS).catch(() => TIMED_OUT)) === true;
  const mayBeWhite =
    options.document === 'html' || options.format === 'pdf' || options.format === 'mp4' || picture.isMoving === true;
  if (!mayBeWhite && showsAll) await refuseWhite(picture, isDrawn).catch((error: unknown) => tolerance.orThrow(error));
  const atLeast = (check: string, required: number | null, actual: number, unit: string) => {
    if (required === null || actual >= required) return;
    tolerance.orThrow(
      incomplete(check, `the picture is ${actual} ${unit}, but at least ${required} were requested`, {
        required,
        seen: actual,
      }),
    );
  };
  atLeast('min_capture_height', options.minCaptureHeight, picture.height, 'px high');
  atLeast('min_capture_bytes', options.minCaptureBytes, picture.content.byteLength, 'bytes');
}

/**
 * The last check for empty pages: an all-white picture shows nothing, whatever the document contains.
 * @param mayBeWhite called for such a picture; returns whether the page has painted the white itself
 * @throws CaptureError render_incomplete with `details.check: "blank"`
 */
export async function refuseWhite(picture: Encoded, mayBeWhite: () => Promise<boolean>): Promise<void> {
  if (!(picture.wasWhite ?? (await isAllWhite(picture))) || (await mayBeWhite())) return;
  throw blank('The picture is completely white: the page shows nothing.', 'white');
}
