import type { ImageFormat } from '../../contract/capture-request.js';
import { FORMAT_MAX_SIDE_PX } from '../../contract/limits.js';

/** Pixels of one picture at most, whatever its format: beyond this, memory and time are out of proportion. */
export const PICTURE_MAX_PIXELS = 400_000_000;

/** Below this a page cannot be read any more: then it is cut (decisions.md, Added). */
export const DENSITY_MIN = 0.5;

/** libjpeg's own limit is a little below the format's 65,535. */
const JPEG_ENCODER_MAX_SIDE_PX = 65_500;

export interface Fit {
  /** Output px per CSS px. */
  density: number;
  /** CSS px of the page's own scale that fit. */
  height: number;
  /** Whether the format, and not the page, decided. */
  limited: boolean;
}

/**
 * The highest density from `wanted` down to DENSITY_MIN at which a picture fits its format, and how much of it fits when none does
 * (decisions.md, render_diagnostics).
 *
 * @param size CSS px as shown: at a page's own zoom, the zoomed ones
 */
export function fitDensity(size: { width: number; height: number }, wanted: number, format: ImageFormat): Fit {
  const side = format === 'jpeg' ? Math.min(FORMAT_MAX_SIDE_PX.jpeg, JPEG_ENCODER_MAX_SIDE_PX) : FORMAT_MAX_SIDE_PX[format];
  const longest = Math.max(size.width, size.height);
  const bySide = side / longest;
  const byArea = Math.sqrt(PICTURE_MAX_PIXELS / (size.width * size.height));
  const most = Math.min(bySide, byArea);
  if (most >= wanted) return { density: wanted, height: size.height, limited: false };
  // Hundredths: such densities have whole pixels at whole CSS px every hundred of them at least.
  const density = Math.min(wanted, Math.max(DENSITY_MIN, Math.floor(most * 100) / 100));
  const height = Math.min(size.height, Math.floor(side / density), Math.floor(PICTURE_MAX_PIXELS / (density * density * size.width)));
  return { density, height, limited: true };
}
