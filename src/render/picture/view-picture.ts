import sharp from 'sharp';
import type { View } from '../../contract/capture-request.js';
import type { PageSession } from '../page-session.js';
import { boundedPage, within } from './bounded-page.js';
import { type Encoded, type Encoding, encodePng } from './encode.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder } from './picture.js';
import { SHOT_MAX_PIXELS, type Shot, shoot } from './shoot.js';
import { shootView } from './view-shot.js';

/**
 * The view as it stands: one capture. Chromium writes png and jpeg; its webp encoder blocks the browser process for longer than png and
 * sharp's webp take together.
 */
export async function takeView(order: PictureOrder, encoding: Encoding, mostPixels = SHOT_MAX_PIXELS): Promise<Picture> {
  const { session, options, deadline } = order;
  const { view } = options;
  const begun = performance.now();
  await setViewDensity(session, { view, deadline });
  const pixels = view.width * view.height * view.deviceScaleFactor ** 2;
  const isLarge = pixels > mostPixels;
  const [shot, metrics] = await Promise.all([
    isLarge ? shootLarge(order, mostPixels) : shoot(session, deadline, shotFor(encoding)),
    within(session, deadline, () => session.cdp.send('Page.getLayoutMetrics')),
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
 * Sets the density of a view's picture, and that the page is drawn at it: Chromium does that for each capture, and takes it back, whereby
 * it works out the style of all elements twice.
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
