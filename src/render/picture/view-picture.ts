import sharp from 'sharp';
import { type Encoding, encodePng } from './encode.js';
import { findBlurs } from './in-page-blur.js';
import { addPinKit } from './in-page-pin-kit.js';
import { setDensity } from './metrics.js';
import { openHand, within } from './page-hand.js';
import type { Picture, PictureOrder } from './picture.js';
import { SectionShots } from './section-shot.js';
import { type Shot, shoot } from './shoot.js';

/** Of the browser's layout metrics, CSS px. */
interface ViewMetrics {
  cssVisualViewport: { pageY: number; clientHeight: number; scale: number };
}

/** Encoding a large view, slow. */
const ENCODE_MS = 1_000;

/**
 * The view as it stands: one capture. Chromium writes png and jpeg; its webp encoder blocks the browser process for longer than png and
 * sharp's webp take together.
 */
export async function takeView(order: PictureOrder, encoding: Encoding): Promise<Picture> {
  const { stage, options, deadline } = order;
  const { view } = options;
  const begun = performance.now();
  await setDensity(stage, { view, density: view.deviceScaleFactor, deadline });
  const [shot, metrics] = await Promise.all([
    shoot(stage, deadline, shotFor(encoding)),
    within(stage, deadline, () => stage.cdp.send('Page.getLayoutMetrics')),
  ]);
  // What has been captured is better than nothing.
  const scrolled = await shootScrolled(order, metrics).catch(() => stage.lost.throwIfAborted());
  const taken = performance.now();
  const { content, width, height } =
    scrolled !== undefined || encoding.format === 'webp' || encoding.resize !== null
      ? await order.encodes.run(0, () => encodePng(scrolled ?? shot, encoding))
      : await read(shot);
  return {
    content,
    width,
    height,
    diagnostics: {
      algorithm: 'native',
      sections: 1,
      deviceScaleFactor: view.deviceScaleFactor,
      scrollHeight: Math.ceil(metrics.cssContentSize.height),
      stoppedReason: 'viewport',
      truncated: false,
    },
    timings: { shoot: taken - begun, encode: performance.now() - taken },
  };
}

function shotFor({ format, quality, resize }: Encoding): Shot {
  if (format === 'jpeg' && resize === null) return { format: 'jpeg', quality };
  return { format: 'png', fast: format === 'webp' || resize !== null };
}

async function read(content: Buffer): Promise<{ content: Buffer; width: number; height: number }> {
  const { width, height } = await sharp(content).metadata();
  return { content, width, height };
}

/** A page that has been scrolled, as by its address, may have what only a section's shot shows rightly; undefined when it has not. */
async function shootScrolled({ stage, options, deadline }: PictureOrder, metrics: ViewMetrics): Promise<Buffer | undefined> {
  const { pageY, clientHeight: viewHeight, scale: zoom } = metrics.cssVisualViewport;
  const ratio = options.view.deviceScaleFactor * zoom;
  // Less than none is scrolled in a page that begins at its foot.
  if (pageY <= 0 || ratio === 1) return undefined;
  const hand = await openHand(stage, deadline);
  await hand.run(addPinKit, null);
  const { spans, scrollY } = await hand.run(findBlurs, 'views');
  if (spans.length === 0) return undefined;
  const band = { from: scrollY, to: scrollY + viewHeight, viewHeight, step: viewHeight, ratio, zoom };
  const shots = new SectionShots({ stage, hand }, { ...band, lastStart: deadline - ENCODE_MS, deadline }, spans);
  return await shots.take(scrollY);
}
