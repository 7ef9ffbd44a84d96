import type { ImageFormat } from '../../contract/capture-request.js';
import { FORMAT_MAX_SIDE_PX } from '../../contract/limits.js';

/** The maximum number of pixels of a picture in any format. Beyond it, memory and time are out of proportion. */
export const PICTURE_MAX_PIXELS = 400_000_000;

/** Below this density, a page is not legible, so it is cut instead (decisions.md, Added). */
export const DENSITY_MIN = 0.5;

/** libjpeg's own limit is slightly below the format's 65,535. */
const JPEG_ENCODER_MAX_SIDE_PX = 65_500;

export interface Fit {
  /** Output px per CSS px. */
  density: number;
  /** The height that fits, in CSS px at the page's own zoom. */
  height: number;
  /** Whether the format limited the density. */
  limited: boolean;
}

/**
 * The highest density from `wanted` down to DENSITY_MIN at which a picture fits its format, and the height that fits if none
 * does (decisions.md, render_diagnostics).
 * @param size CSS px at the page's own zoom
 */
export function fitDensity(size: { width: number; height: number }, wanted: number, format: ImageFormat): Fit {
  const side = format === 'jpeg' ? Math.min(FORMAT_MAX_SIDE_PX.jpeg, JPEG_ENCODER_MAX_SIDE_PX) : FORMAT_MAX_SIDE_PX[format];
  const longest = Math.max(size.width, size.height);
  const bySide = side / longest;
  const byArea = Math.sqrt(PICTURE_MAX_PIXELS / (size.width * size.height));
  const most = Math.min(bySide, byArea);
  if (most >= wanted) return { density: wanted, height: size.height, limited: false };
  // Densities in hundredths have whole pixels at least every hundred CSS px.
  const density = Math.min(wanted, Math.max(DENSITY_MIN, Math.floor(most * 100) / 100));
  const height = Math.min(size.height, Math.floor(side / density), Math.floor(PICTURE_MAX_PIXELS / (density * density * size.width)));
  return { density, height, limited: true };
}
