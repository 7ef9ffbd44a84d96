/**
 * Takes an animated picture of the view: lets the page's time pass frame by frame, and takes a lossless picture of each. Equal
 * frames that follow each other are one, shown for longer.
 */

import { frameCount } from '../../contract/animation.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { AnimateOption, CaptureOptions, ClipOption } from '../../contract/capture-request.js';
import { monotonicNow, timeLimit } from '../deadlines.js';
import { encodeAnimation, FrameStore } from '../encode/encode-animation.js';
import type { ElementBox } from '../in-page/boxes.js';
import type { ImageBytes } from '../in-page/motion.js';
import { advanceFrame, ChildFrames, type TimedPage } from '../page/page-clock.js';
import { type BoundedPage, boundedPage, type PageSession } from '../page-session.js';
import { findElement, paddedBox } from './element-picture.js';
import {
  captureShot,
  FAST,
  measurePage,
  type Picture,
  type PictureTask,
  type ShotClip,
  setDensity,
} from './region-picture.js';

/** The real time that requests of the page may hold all frames together, in ms. */
const HELD_MAX_MS = 3_000;
/** Larger images of a page, and further ones, show their first frame. */
const IMAGE_MAX_BYTES = 4_000_000;
const IMAGES_MAX_BYTES = 12_000_000;

interface AnimationTask extends Pick<PictureTask, 'deadline' | 'encodes' | 'pdfs'> {
  animate: AnimateOption;
  /** STILLFRAME_FFMPEG. */
  ffmpeg: string | null;
  /** Aborted when the capture ends: frames that still wait to be encoded are given up. */
  signal: AbortSignal;
}

/**
 * Takes and encodes the frames of a page whose clock is held.
 * @throws CaptureError `render_timeout`, `render_crashed`, `render_incomplete`, `unsupported_option`; DocumentReplaced
 */
export async function takeAnimation(
  timed: TimedPage,
  options: CaptureOptions,
  animation: AnimationTask,
): Promise<Picture> {
  const { animate, deadline, encodes, pdfs, ffmpeg, signal } = animation;
  const { session } = timed;
  const begun = performance.now();
  const page = boundedPage(session, deadline);
  const { view, resize } = options;
  await setDensity(page, view, { scale: view.deviceScaleFactor });
  const region = await regionOf({ ...timed, options, page, deadline, encodes, pdfs, begun });
  await using store = await FrameStore.open(session.temporaryDir, {
    resize,
    count: frameCount(animate),
    debug: timed.debug,
  });
  await takeFrames(timed, { page, animate, deadline }, (at) =>
    captureShot(page, FAST, region?.clip).then((png) => store.add(png, at)),
  );
  const frames = await store.frames(animate.duration);
  const taken = performance.now();
  const { width, height } = frames;
  const encoding = { ...animate, quality: options.quality, ffmpeg, deadline, dir: store.folder, signal };
  const content = await encodes.run(width * height * frames.shown.length, () => encodeAnimation(frames, encoding));
  const metrics = await page.send('Page.getLayoutMetrics');
  timed.debug?.note({ step: 'animation', frames: frameCount(animate), distinct: frames.shown.length, ...region });
  return {
    content,
    width,
    height,
    isMoving: frames.shown.length > 1,
    diagnostics: {
      algorithm: region?.algorithm ?? 'native',
      sections: 1,
      deviceScaleFactor: view.deviceScaleFactor,
      scrollHeight: Math.ceil(metrics.cssContentSize.height),
      stoppedReason: animate.scroll ? 'end_of_page' : region?.algorithm === 'element' ? 'element' : 'viewport',
      truncated: region?.isCut ?? false,
    },
    timings: { begun, shoot: taken - begun, encode: performance.now() - taken },
  };
}

/** @param take called once the page shows the frame that begins at this time, in ms */
async function takeFrames(
  timed: TimedPage,
  { page, animate, deadline }: Pick<PictureTask, 'page' | 'deadline'> & { animate: AnimateOption },
  take: (atMs: number) => Promise<void>,
): Promise<void> {
  const { duration, fps, scroll } = animate;
  const count = frameCount(animate);
  const frames = new ChildFrames(timed.session);
  let heldMs = 0;
  await page.call('motion.begin', { fromMs: timed.clock.aheadMs, bytes: await imagesOf(timed.session, page) });
  for (let frame = 0; frame < count; frame++) {
    const atMs = frame * (1_000 / fps);
    const scrolled = scroll ? eased(count === 1 ? 0 : frame / (count - 1)) : null;
    if (scrolled !== null) await page.call('motion.scrollTo', scrolled);
    if (frame > 0) {
      const began = monotonicNow();
      if (timed.network.isHolding() && heldMs < HELD_MAX_MS)
        await timed.deadlines.orEnd(timed.network.answered(timeLimit(HELD_MAX_MS - heldMs)));
      heldMs += monotonicNow() - began;
      await advanceFrame(timed, 1_000 / fps, frames);
    }
    await page.call('motion.show', { atMs, scrolled });
    await take(atMs);
    if (monotonicNow() > deadline) throw tooSlow(frame + 1, count, duration);
  }
}

/** Slow at both ends, as people scroll. */
function eased(share: number): number {
  return (1 - Math.cos(Math.PI * share)) / 2;
}

interface ViewPart {
  clip: ShotClip;
  algorithm: 'native' | 'element';
  /** Whether the view does not show all of what was requested. */
  isCut: boolean;
}

/** The part of the view that `selector` or `clip` names, on whole CSS px; null for all of it. The page is scrolled to it first. */
async function regionOf(task: PictureTask): Promise<ViewPart | null> {
  const { page, options } = task;
  const { selector, clip, padding } = options;
  if (clip !== null) await page.call('scroll.step', { to: clip.y, left: clip.x });
  const wanted = selector === null ? clip && boxOfClip(clip) : await findElement(task, selector);
  if (wanted === null) return null;
  const measured = await measurePage(page);
  const { scrollX, scrollY, viewHeight, view, origin } = measured;
  const box = selector === null ? wanted : paddedBox(wanted, padding, measured);
  const shown = {
    left: Math.floor(Math.max(box.left, scrollX)),
    top: Math.floor(Math.max(box.top, scrollY)),
    right: Math.ceil(Math.min(box.right, scrollX + view.right - view.left)),
    bottom: Math.ceil(Math.min(box.bottom, scrollY + viewHeight)),
  };
  const [width, height] = [shown.right - shown.left, shown.bottom - shown.top];
  if (width < 1 || height < 1) throw outside(selector === null ? 'clip' : 'selector');
  return {
    clip: { x: origin.x + shown.left, y: origin.y + shown.top, width, height },
    algorithm: selector === null ? 'native' : 'element',
    isCut: box.right - box.left > width + 1 || box.bottom - box.top > height + 1,
  };
}

function boxOfClip({ x, y, width, height }: ClipOption): ElementBox {
  return { left: x, top: y, right: x + width, bottom: y + height };
}

/** The bytes of the page's images that may be animated. */
async function imagesOf({ cdp, mainFrameId: frameId }: PageSession, page: BoundedPage): Promise<ImageBytes[]> {
  const urls = new Set(await page.call('motion.imageUrls'));
  if (urls.size === 0) return [];
  const { frameTree } = await page.send('Page.getResourceTree');
  const images: ImageBytes[] = [];
  let left = IMAGES_MAX_BYTES;
  for (const { url, mimeType, contentSize = 0 } of frameTree.resources) {
    const mayMove =
      urls.has(url) &&
      /^image\/(gif|webp|a?png|avif)$/.test(mimeType) &&
      contentSize <= Math.min(IMAGE_MAX_BYTES, left);
    if (!mayMove) continue;
    // The browser may have dropped it.
    const got = await cdp.send('Page.getResourceContent', { frameId, url }).catch(() => null);
    if (got === null || !got.base64Encoded) continue;
    left -= contentSize;
    images.push({ url, mimeType, base64: got.content });
  }
  return images;
}

function tooSlow(taken: number, count: number, duration: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `\`animate\`: ${taken} of ${count} frames of ${duration} ms were taken in time. A lower \`animate.fps\`, a shorter \`animate.duration\` or a smaller viewport may help.`,
    details: { pending: 'picture' },
  });
}

function outside(check: 'clip' | 'selector'): CaptureError {
  const message = `\`${check}\` is not in view: with \`animate\`, it must be within the viewport once the page is scrolled to it.`;
  return new CaptureError({ code: 'render_incomplete', message, retriable: false, details: { check } });
}
