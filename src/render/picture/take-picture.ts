/**
 * Takes the picture of a prepared page: of the view, the whole page, one element, or as PDF. Knows nothing of waiting,
 * checks or jobs.
 */

import { CaptureError } from '../../contract/capture-error.js';
import { type CaptureOptions, type ClipOption, isImageFormat } from '../../contract/capture-request.js';
import type { TimedPage } from '../page/page-clock.js';
import { boundedPage } from './bounded-page.js';
import { takeElement } from './element-picture.js';
import { type Encoding, encodingOf, finalShot } from './encode.js';
import { takeFullPage } from './full-page-picture.js';
import { takeMarkup } from './markup.js';
import { isMasked } from './mask.js';
import { takePagedPdf } from './paged-pdf.js';
import { takePdf } from './pdf-picture.js';
import type { Picture, PictureOrder } from './picture.js';
import { encodeShots, fitRegion, measurePage, takeRegion, takeShot } from './region-picture.js';
import type { ScrollReport } from './scroll-through.js';
import { BAND_PIXELS, SHOT_MAX_PIXELS, setDensity } from './shoot.js';

/**
 * Takes the picture requested by the options.
 * @param how.deadline ms by `monotonicNow`
 * @param how.scroll the result of scrollThrough; null if the page was not scrolled through
 * @throws CaptureError `render_incomplete` when the element is never visible, `invalid_request` for a selector that the
 * browser rejects, `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function takePicture(
  timed: TimedPage,
  options: CaptureOptions,
  how: Pick<PictureOrder, 'deadline' | 'encodes' | 'arranged' | 'index' | 'onShot'> & { scroll: ScrollReport | null },
): Promise<Picture> {
  const { deadline, scroll, ...others } = how;
  const page = boundedPage(timed.session, deadline);
  const order: PictureOrder = { ...timed, ...others, options, page, deadline, begun: performance.now() };
  const { format, selector, clip, omitBackground } = options;
  if (options.document === 'html') return takeMarkup(order);
  if (format === 'pdf' && options.pdf !== null) return takePagedPdf(order, options.pdf);
  if (format === 'pdf' && scroll !== null) return takePdf(order, scroll);
  if (!isImageFormat(format)) throw new Error('A PDF needs a page that was scrolled through, and an animation is no single picture.');
  const encoding = encodingOf(options, format);
  // Areas that the page does not paint stay transparent.
  if (omitBackground) await page.send('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } });
  if (selector !== null) return takeElement(order, selector, encoding);
  if (clip !== null) return takeClip(order, clip, encoding);
  if (scroll !== null && options.fullPage) return takeFullPage(order, scroll, encoding);
  // A mask is painted on raw pixels, which need much memory.
  return takeView(order, encoding, isMasked(order) ? BAND_PIXELS : SHOT_MAX_PIXELS);
}

/**
 * Captures the current view, at once if it is not too large for that.
 * @param mostPixels the maximum number of pixels of one capture
 */
export async function takeView(order: PictureOrder, encoding: Encoding, mostPixels = SHOT_MAX_PIXELS): Promise<Picture> {
  const { page, options } = order;
  const { view } = options;
  const density = view.deviceScaleFactor;
  // Otherwise Chromium changes the density for each capture and back, which computes the style of all elements twice.
  await setDensity(page, view, { scale: density });
  if (view.width * view.height * density ** 2 > mostPixels) {
    const measured = await measurePage(page);
    const { scrollX: left, scrollY: top, view: shown } = measured;
    const box = { left, right: left + shown.right - shown.left, top, bottom: top + shown.height };
    const region = { page: measured, box, density, limited: false, isCut: false };
    const how = { encoding, algorithm: 'native', stoppedReason: 'viewport', truncated: false, mostPixels } as const;
    // A phone that shows a whole desktop page places its fixed elements elsewhere in captures beyond the view.
    if (measured.zoom === 1) {
      const picture = await takeRegion(order, region, how);
      return { ...picture, diagnostics: { ...picture.diagnostics, sections: 1 } };
    }
  }
  await order.arranged?.(null);
  const [shot, metrics] = await Promise.all([takeShot(order, finalShot(encoding)), page.send('Page.getLayoutMetrics')]);
  return {
    ...(await encodeShots(order, shot, encoding)),
    diagnostics: {
      algorithm: 'native',
      sections: 1,
      deviceScaleFactor: density,
      scrollHeight: Math.ceil(metrics.cssContentSize.height),
      stoppedReason: 'viewport',
      truncated: false,
    },
  };
}

/**
 * Captures a part of the page, anywhere in it. Areas outside the page are omitted.
 * @throws CaptureError `render_incomplete` when the page has no content there
 */
async function takeClip(order: PictureOrder, clip: ClipOption, encoding: Encoding): Promise<Picture> {
  const { page } = order;
  const [right, bottom] = [clip.x + clip.width, clip.y + clip.height];
  await page.call('scrollers.expandAgain');
  const region = await fitRegion(order, encoding.format, async () => {
    const measured = await measurePage(page);
    const { view, viewHeight, pageHeight } = measured;
    const width = Math.max(measured.right, view.right);
    const box = { left: clip.x, top: clip.y, right: Math.min(right, width), bottom: Math.min(bottom, Math.max(pageHeight, viewHeight)) };
    if (box.right - clip.x < 0.5 || box.bottom - clip.y < 0.5) throw outside(clip, { width, height: pageHeight });
    return { page: measured, box };
  });
  const truncated = region.box.right < right - 0.5 || region.box.bottom < bottom - 0.5;
  return await takeRegion(order, region, { encoding, algorithm: 'native', stoppedReason: 'viewport', truncated });
}

function outside(clip: ClipOption, page: { width: number; height: number }): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `\`clip\` begins at ${clip.x},${clip.y}, outside of the page, which is ${page.width} × ${page.height} CSS px.`,
    retriable: false,
    details: { check: 'clip', clip, page },
  });
}
