import type { PageSession } from '../page-session.js';
import { within } from './bounded-page.js';

/** Every density in hundredths, and most devices' own, has whole pixels at a multiple of one of these. */
const ALIGN_PX = [100, 64, 8, 1];

/** Rows of one capture, px: beyond this a GPU's textures end, and rows are repeated or blank. */
export const SHOT_MAX_ROWS = 16_384;
/** Of one capture that holds more than is kept of it: 168 MB in the browser. */
export const SHOT_MAX_PIXELS = 42_000_000;

/** Limit of one band of a page, which takes 42 MB in the browser. */
export const BAND_PIXELS = SHOT_MAX_PIXELS / 4;

export interface Shot {
  /** What the browser encodes to: png is lossless. */
  format: 'png' | 'jpeg';
  /** 1–100, jpeg only. */
  quality?: number;
  /** A larger png, sooner. */
  fast?: boolean;
  /** CSS px of the document, which may lie outside the viewport, at the page's own zoom (`scale`). */
  beyond?: { x: number; y: number; width: number; height: number; scale: number };
}

/** One capture by the browser, of the viewport as it stands or of a part of the document beyond it. */
export async function shoot(session: PageSession, deadline: number, shot: Shot): Promise<Buffer> {
  const { data } = await within(session, deadline, () =>
    session.cdp.send('Page.captureScreenshot', {
      format: shot.format,
      optimizeForSpeed: shot.fast ?? false,
      ...(shot.quality === undefined ? {} : { quality: shot.quality }),
      ...(shot.beyond === undefined ? {} : { captureBeyondViewport: true, clip: shot.beyond }),
    }),
  );
  return Buffer.from(data, 'base64');
}

/** px. */
export interface PixelSize {
  width: number;
  height: number;
}

/** From a png's header. */
export function pngSize(png: Buffer): PixelSize {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

/** Where a capture that begins at `y` ends: at the end of all, or on a whole pixel. */
export function bandEnd(y: number, most: number, plan: { to: number; ratio: number }): number {
  if (plan.to - y <= most) return plan.to;
  for (const step of ALIGN_PX) {
    const end = y + Math.floor(most / step) * step;
    if (end > y && Math.abs(end * plan.ratio - Math.round(end * plan.ratio)) < 1e-6) return end;
  }
  return y + Math.max(1, Math.floor(most * plan.ratio)) / plan.ratio;
}
