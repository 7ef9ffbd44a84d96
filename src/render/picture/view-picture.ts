import sharp from 'sharp';
import type { View } from '../../contract/capture-request.js';
import { VIEWPORT_WIDTH_PX } from '../../contract/limits.js';
import type { PageSession } from '../page-session.js';
import { boundedPage, untilDeadline } from './bounded-page.js';
import { type Encoded, type Encoding, encodePng } from './encode.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder } from './picture.js';
import { bandEnd, captureShot, type PixelSize, pngSize, SHOT_MAX_PIXELS, type Shot } from './shoot.js';

/**
 * Captures the current view at once. Chromium encodes png and jpeg; its webp encoder would block the browser process for
 * longer than png and sharp's webp take together.
 */
export async function takeView(order: PictureOrder, encoding: Encoding, mostPixels = SHOT_MAX_PIXELS): Promise<Picture> {
  const { session, options, deadline } = order;
  const { view } = options;
  const begun = performance.now();
  await setViewDensity(session, { view, deadline });
  const pixels = view.width * view.height * view.deviceScaleFactor ** 2;
  const isLarge = pixels > mostPixels;
  const [shot, metrics] = await Promise.all([
    isLarge ? shootLarge(order, mostPixels) : captureShot(session, deadline, shotFor(encoding)),
    untilDeadline(session, deadline, () => session.cdp.send('Page.getLayoutMetrics')),
  ]);
  const taken = performance.now();
  const encoded =
    isLarge || encoding.format === 'webp' || encoding.resize !== null
      ? await order.encodes.run(isLarge ? pixels : 0, () => encodePng(shot, encoding))
      : await read(shot);
  return {
    ...encoded,
    diagnostics: {
      algorithm: 'native',
      sections: 1,
      deviceScaleFactor: view.deviceScaleFactor,
      scrollHeight: Math.ceil(metrics.cssContentSize.height),
      stoppedReason: 'viewport',
      truncated: false,
    },
    timings: { begun, shoot: taken - begun, encode: performance.now() - taken },
  };
}

/**
 * Sets the density of a view's picture and renders the page at it. Otherwise Chromium changes the density for each capture
 * and back, which computes the style of all elements twice.
 */
export function setViewDensity(session: PageSession, { view, deadline }: { view: View; deadline: number }): Promise<void> {
  return setDensity(session, { view, density: view.deviceScaleFactor, scale: view.deviceScaleFactor, deadline });
}

async function shootLarge({ session, options, deadline }: PictureOrder, mostPixels: number): Promise<Buffer> {
  const { viewHeight, zoom } = await boundedPage(session, deadline).call('scroll.measure');
  return await shootView(session, { viewHeight, zoom, ratio: options.view.deviceScaleFactor * zoom, deadline }, mostPixels);
}

function shotFor({ format, quality, resize }: Encoding): Shot {
  if (format === 'jpeg' && resize === null) return { format: 'jpeg', quality };
  return { format: 'png', fast: format === 'webp' || resize !== null };
}

async function read(content: Buffer): Promise<Encoded> {
  const { width, height } = await sharp(content).metadata();
  return { content, width, height };
}

interface ViewShot {
  /** Height of the view in CSS px. */
  viewHeight: number;
  /** The page's own zoom, which is below 1 on phones for pages made for desktops. */
  zoom: number;
  /** Picture px per CSS px: density times zoom. */
  ratio: number;
  /** The time limit, ms by `monotonicNow`. */
  deadline: number;
}

/** Captures the current view as a PNG: at once, or as strips that are joined if a single capture would take too much memory. */
async function shootView(session: PageSession, shot: ViewShot, mostPixels = SHOT_MAX_PIXELS): Promise<Buffer> {
  const { viewHeight, zoom, ratio, deadline } = shot;
  const whole = () => captureShot(session, deadline, { format: 'png', fast: true });
  // A phone that shows a whole desktop page places its fixed elements elsewhere in captures beyond the view.
  if (zoom !== 1 || VIEWPORT_WIDTH_PX.max * viewHeight * ratio ** 2 <= mostPixels) return whole();
  const metrics = await untilDeadline(session, deadline, () => session.cdp.send('Page.getLayoutMetrics'));
  const { cssVisualViewport: view, cssLayoutViewport: layout } = metrics;
  const most = Math.max(1, Math.floor(mostPixels / (view.clientWidth * ratio ** 2)));
  if (view.clientHeight <= most) return whole();
  // The browser counts from the leftmost column, where a page written from right to left does not begin.
  const columns = { x: layout.pageX + view.offsetX, width: view.clientWidth, scale: 1 };
  const size = { width: Math.round(view.clientWidth * ratio), height: Math.round(view.clientHeight * ratio) };
  // Joined strips all get the height of the tallest, so none may be taller than the first. The surplus of the last one is cut
  // off.
  const step = bandEnd(0, most, { to: view.clientHeight, ratio });
  const strips: Buffer[] = [];
  for (let top = 0; top < view.clientHeight; top += step) {
    const end = Math.min(top + step, view.clientHeight);
    const beyond = { ...columns, y: view.pageY + top, height: end - top };
    const strip = await captureShot(session, deadline, { format: 'png', fast: true, beyond });
    strips.push(await cropped(strip, { ...size, height: Math.round(end * ratio) - Math.round(top * ratio) }));
  }
  return await sharp(strips, { join: { across: 1 }, limitInputPixels: false, sequentialRead: true })
    .extract({ left: 0, top: 0, ...size })
    .png({ compressionLevel: 1 })
    .toBuffer();
}

/** If a strip does not end on a whole pixel, the browser adds a row. */
async function cropped(png: Buffer, size: PixelSize): Promise<Buffer> {
  const { width, height } = pngSize(png);
  if (width === size.width && height === size.height) return png;
  return await sharp(png, { limitInputPixels: false })
    .extract({ left: 0, top: 0, ...size })
    .png({ compressionLevel: 1 })
    .toBuffer();
}
