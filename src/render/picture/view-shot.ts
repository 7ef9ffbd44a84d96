import sharp from 'sharp';
import { VIEWPORT_WIDTH_PX } from '../../contract/limits.js';
import type { PageSession } from '../page-session.js';
import { within } from './bounded-page.js';
import { bandEnd, type PixelSize, pngSize, SHOT_MAX_PIXELS, shoot } from './shoot.js';

export interface ViewShot {
  /** CSS px. */
  viewHeight: number;
  /** The page's own: below 1 on phones for pages made for desktops. */
  zoom: number;
  /** Picture px per CSS px: density times zoom. */
  ratio: number;
  /** ms by `monotonicNow`. */
  deadline: number;
}

/** The view as it stands, as a png: one capture, or strips joined to one picture if a single capture would take too much memory. */
export async function shootView(session: PageSession, shot: ViewShot, mostPixels = SHOT_MAX_PIXELS): Promise<Buffer> {
  const { viewHeight, zoom, ratio, deadline } = shot;
  const whole = () => shoot(session, deadline, { format: 'png', fast: true });
  // A phone that shows a whole desktop page places its fixed elements elsewhere in captures beyond the view.
  if (zoom !== 1 || VIEWPORT_WIDTH_PX.max * viewHeight * ratio ** 2 <= mostPixels) return whole();
  const metrics = await within(session, deadline, () => session.cdp.send('Page.getLayoutMetrics'));
  const { cssVisualViewport: view, cssLayoutViewport: layout } = metrics;
  const most = Math.max(1, Math.floor(mostPixels / (view.clientWidth * ratio ** 2)));
  if (view.clientHeight <= most) return whole();
  // The browser counts from the leftmost column, which a page written from right to left does not begin at.
  const columns = { x: layout.pageX + view.offsetX, width: view.clientWidth, scale: 1 };
  const size = { width: Math.round(view.clientWidth * ratio), height: Math.round(view.clientHeight * ratio) };
  // Joined strips all take the height of the tallest, so none may be taller than the first. The surplus of the last one is cut off.
  const step = bandEnd(0, most, { to: view.clientHeight, ratio });
  const strips: Buffer[] = [];
  for (let top = 0; top < view.clientHeight; top += step) {
    const end = Math.min(top + step, view.clientHeight);
    const beyond = { ...columns, y: view.pageY + top, height: end - top };
    const strip = await shoot(session, deadline, { format: 'png', fast: true, beyond });
    strips.push(await cropped(strip, { ...size, height: Math.round(end * ratio) - Math.round(top * ratio) }));
  }
  return await sharp(strips, { join: { across: 1 }, limitInputPixels: false, sequentialRead: true })
    .extract({ left: 0, top: 0, ...size })
    .png({ compressionLevel: 1 })
    .toBuffer();
}

/** Where no strip ends on a whole pixel, the browser adds a row. */
async function cropped(png: Buffer, size: PixelSize): Promise<Buffer> {
  const { width, height } = pngSize(png);
  if (width === size.width && height === size.height) return png;
  return await sharp(png, { limitInputPixels: false })
    .extract({ left: 0, top: 0, ...size })
    .png({ compressionLevel: 1 })
    .toBuffer();
}
