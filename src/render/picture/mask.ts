import type { CaptureOptions } from '../../contract/capture-request.js';
import { MASK_MAX_BOXES } from '../../contract/limits.js';
import { invalidRequest } from '../../contract/submission.js';
import { sharp } from '../../sharp.js';
import type { ElementBox } from '../in-page/boxes.js';
import type { BoundedPage } from '../page-session.js';

/** Paints over what must not be in a picture, in each shot before it is kept, so that no file has what it covers. */

/** The part of the page that a shot shows, in CSS px, and its px per CSS px. */
export interface ShotPlace extends ElementBox {
  ratio: number;
}

/** A rectangle in px of a shot; right and bottom are exclusive. */
type Rectangle = ElementBox;

/** The used parts of a picture's inputs. */
interface MaskTask {
  page: Pick<BoundedPage, 'call'>;
  options: Pick<CaptureOptions, 'mask' | 'maskColor' | 'view'>;
}

export function isMasked({ options }: { options: Pick<CaptureOptions, 'mask'> }): boolean {
  return options.mask.length > 0;
}

/**
 * Paints over the boxes of the elements that match `mask`, as they are now; the page must be stopped.
 * @param png a shot of the browser's
 * @param place the place of a shot beyond the view; by default, it shows the view
 * @returns the shot as PNG; the given one if there is nothing to paint
 * @throws CaptureError `invalid_request` for too many boxes, and those of BoundedPage
 */
export async function paintMask({ page, options }: MaskTask, png: Buffer, place?: ShotPlace): Promise<Buffer> {
  const { boxes, view } = await page.call('mask.boxes', options.mask, place ?? null, MASK_MAX_BOXES);
  if (boxes.length > MASK_MAX_BOXES) throw tooMany();
  if (boxes.length === 0) return png;
  const { left, top, ratio } = place ?? { ...view, ratio: view.zoom * options.view.deviceScaleFactor };
  const { data, info } = await sharp(png, { limitInputPixels: false }).raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  // The browser moves a shot that does not begin on a whole pixel by less than one.
  const slackOf = (edge: number) => (Math.abs(edge * ratio - Math.round(edge * ratio)) < 1e-6 ? 0 : 1);
  const [slackX, slackY] = [slackOf(left), slackOf(top)];
  const rectangles = boxes
    .map((box) => ({
      left: Math.max(0, Math.floor((box.left - left) * ratio + ROUNDING) - slackX),
      top: Math.max(0, Math.floor((box.top - top) * ratio + ROUNDING) - slackY),
      right: Math.min(width, Math.ceil((box.right - left) * ratio - ROUNDING) + slackX),
      bottom: Math.min(height, Math.ceil((box.bottom - top) * ratio - ROUNDING) + slackY),
    }))
    .filter((one) => one.right > one.left && one.bottom > one.top);
  if (rectangles.length === 0) return png;
  const [red = 0, green = 0, blue = 0] = await sharp({
    create: { width: 1, height: 1, channels: 3, background: options.maskColor },
  })
    .raw()
    .toBuffer();
  fill({ data, width, channels }, rectangles, Buffer.from([red, green, blue, 255].slice(0, channels)));
  return await sharp(data, { raw: { width, height, channels }, limitInputPixels: false })
    .png({ compressionLevel: 1 })
    .toBuffer();
}

/** Part of a pixel by which computed edges may differ from whole ones. */
const ROUNDING = 1e-3;

/** Fills each pixel once, however much the rectangles overlap. */
function fill(
  { data, width, channels }: { data: Buffer; width: number; channels: number },
  rectangles: readonly Rectangle[],
  pixel: Buffer,
): void {
  const fromLeft = [...rectangles].sort((a, b) => a.left - b.left);
  const end = Math.max(...fromLeft.map(({ bottom }) => bottom));
  for (let row = Math.min(...fromLeft.map(({ top }) => top)); row < end; row++) {
    let filledTo = 0;
    for (const { left, right, top, bottom } of fromLeft) {
      if (row < top || row >= bottom || right <= filledTo) continue;
      const start = row * width;
      data.fill(pixel, (start + Math.max(left, filledTo)) * channels, (start + right) * channels);
      filledTo = right;
    }
  }
}

function tooMany() {
  const message = `matches more than ${MASK_MAX_BOXES.toLocaleString('en-US')} boxes in one shot: select elements that contain them`;
  return invalidRequest([{ path: 'mask', message }]);
}
