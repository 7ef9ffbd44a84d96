import type { ImageFormat, View } from '../../contract/capture-request.js';
import { FORMAT_MAX_SIDE_PX } from '../../contract/limits.js';
import type { BoundedPage } from './bounded-page.js';

/** One capture by the browser: its density, its limits, and the command. */

/** The maximum number of rows of one capture, in px. Beyond a GPU's texture size, rows are repeated or blank. */
export const SHOT_MAX_ROWS = 16_384;
/** The maximum number of pixels of one capture, which takes 168 MB in the browser. */
export const SHOT_MAX_PIXELS = 42_000_000;
/** The maximum number of pixels of one band of a page, which takes 42 MB in the browser. */
export const BAND_PIXELS = SHOT_MAX_PIXELS / 4;

/** The maximum number of pixels of a picture in any format. Beyond it, memory and time are out of proportion. */
export const PICTURE_MAX_PIXELS = 400_000_000;
/** Below this density, a page is not legible, so it is cut instead (decisions.md, Added). */
export const DENSITY_MIN = 0.5;
/** libjpeg's own limit is slightly below the format's 65,535. */
const SIDE_MAX_PX = { ...FORMAT_MAX_SIDE_PX, jpeg: 65_500 };

/** The scale of the picture while a page is only measured. */
export const MEASURE_SCALE = 0.05;

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
export function fitDensity({ width, height }: { width: number; height: number }, wanted: number, format: ImageFormat): Fit {
  const side = SIDE_MAX_PX[format];
  const most = Math.min(side / Math.max(width, height), Math.sqrt(PICTURE_MAX_PIXELS / (width * height)));
  if (most >= wanted) return { density: wanted, height, limited: false };
  // Densities in hundredths have whole pixels at least every hundred CSS px.
  const density = Math.min(wanted, Math.max(DENSITY_MIN, Math.floor(most * 100) / 100));
  const fits = Math.min(height, Math.floor(side / density), Math.floor(PICTURE_MAX_PIXELS / (density * density * width)));
  return { density, height: fits, limited: true };
}

/**
 * Sets the viewport and density on the page session's CDP session: a capture uses the emulation of the session that requests
 * it, and ignores that of others.
 * @param how.density output pixels per CSS px
 * @param how.scale of the picture alone, so that a viewport that is only measured costs no pixels
 */
export async function setDensity(
  page: BoundedPage,
  view: View,
  { density = view.deviceScaleFactor, scale }: { density?: number; scale?: number } = {},
): Promise<void> {
  const { width, height, isMobile } = view;
  const isTurned = isMobile && width > height;
  await page.send('Emulation.setDeviceMetricsOverride', {
    mobile: isMobile,
    width,
    height,
    screenWidth: width,
    screenHeight: height,
    deviceScaleFactor: density,
    ...(scale === undefined ? {} : { scale }),
    screenOrientation: { type: isMobile && !isTurned ? 'portraitPrimary' : 'landscapePrimary', angle: isTurned ? 90 : 0 },
  });
}

export interface Shot {
  /** The format in which the browser encodes; png is lossless. */
  format: 'png' | 'jpeg';
  /** 1–100, jpeg only. */
  quality?: number;
  /** Whether to encode a larger PNG in less time. */
  fast?: boolean;
}

/** A part of the document in CSS px, which may be outside the viewport, at the page's own zoom (`scale`). */
export interface ShotClip {
  x: number;
  y: number;
  width: number;
  height: number;
  scale: number;
}

/** One capture by the browser, of the current viewport or of a part of the document beyond it. */
export async function captureShot(page: BoundedPage, { format, quality, fast = false }: Shot, clip?: ShotClip): Promise<Buffer> {
  const { data } = await page.send('Page.captureScreenshot', {
    format,
    optimizeForSpeed: fast,
    ...(quality === undefined ? {} : { quality }),
    ...(clip === undefined ? {} : { captureBeyondViewport: true, clip }),
  });
  return Buffer.from(data, 'base64');
}

/** Reads the size in px from a PNG's header. */
export function pngSize(png: Buffer): { width: number; height: number } {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}
