import type { PageSession } from '../page-session.js';
import { untilDeadline } from './bounded-page.js';

/** Densities in hundredths, and those of most devices, have whole pixels at multiples of one of these. */
const ALIGN_PX = [100, 64, 8, 1];

/** The maximum number of rows of one capture, in px. Beyond a GPU's texture size, rows are repeated or blank. */
export const SHOT_MAX_ROWS = 16_384;
/** The maximum number of pixels of one capture, which takes 168 MB in the browser. */
export const SHOT_MAX_PIXELS = 42_000_000;

/** The maximum number of pixels of one band of a page, which takes 42 MB in the browser. */
export const BAND_PIXELS = SHOT_MAX_PIXELS / 4;

export interface Shot {
  /** The format in which the browser encodes; png is lossless. */
  format: 'png' | 'jpeg';
  /** 1–100, jpeg only. */
  quality?: number;
  /** Whether to encode a larger PNG in less time. */
  fast?: boolean;
  /** A part of the document in CSS px, which may be outside the viewport, at the page's own zoom (`scale`). */
  beyond?: { x: number; y: number; width: number; height: number; scale: number };
}

/** One capture by the browser, of the current viewport or of a part of the document beyond it. */
export async function captureShot(session: PageSession, deadline: number, shot: Shot): Promise<Buffer> {
  const { data } = await untilDeadline(session, deadline, () =>
    session.cdp.send('Page.captureScreenshot', {
      format: shot.format,
      optimizeForSpeed: shot.fast ?? false,
      ...(shot.quality === undefined ? {} : { quality: shot.quality }),
      ...(shot.beyond === undefined ? {} : { captureBeyondViewport: true, clip: shot.beyond }),
    }),
  );
  return Buffer.from(data, 'base64');
}

/** Size in px. */
export interface PixelSize {
  width: number;
  height: number;
}

/** Reads the size from a PNG's header. */
export function pngSize(png: Buffer): PixelSize {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

/** The end of a capture that begins at `y`: the end of the plan, or a position on a whole pixel. */
export function bandEnd(y: number, most: number, plan: { to: number; ratio: number }): number {
  if (plan.to - y <= most) return plan.to;
  for (const step of ALIGN_PX) {
    const end = y + Math.floor(most / step) * step;
    if (end > y && Math.abs(end * plan.ratio - Math.round(end * plan.ratio)) < 1e-6) return end;
  }
  return y + Math.max(1, Math.floor(most * plan.ratio)) / plan.ratio;
}
