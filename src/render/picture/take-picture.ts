/**
 * Takes the picture of a prepared page: of the view, the whole page, one element, or as PDF. Knows nothing of waiting,
 * checks or jobs.
 */

import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions, ClipOption } from '../../contract/capture-request.js';
import type { TimedPage } from '../page/page-clock.js';
import { takeBands } from './bands.js';
import { boundedPage, untilDeadline } from './bounded-page.js';
import { takeElement } from './element-picture.js';
import { type Encoding, encodingOf } from './encode.js';
import { encodeSections } from './encode-sections.js';
import { fitDensity } from './fit-density.js';
import { takeFullPage } from './full-page-picture.js';
import { setDensity } from './metrics.js';
import { takePagedPdf } from './paged-pdf.js';
import { takePdf } from './pdf-picture.js';
import type { Picture, PictureOrder } from './picture.js';
import type { ScrollReport } from './scroll-through.js';
import { SectionStore } from './section-store.js';
import { takeView } from './view-picture.js';

/**
 * Takes the picture requested by the options.
 * @param how.deadline ms by `monotonicNow`
 * @param how.scroll the result of scrollThrough; null if the page was not scrolled through
 * @throws CaptureError `render_incomplete` when the element is never visible, `invalid_request` for a selector that the
 * browser rejects, `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function takePicture(
  page: TimedPage,
  options: CaptureOptions,
  how: Pick<PictureOrder, 'deadline' | 'encodes'> & { scroll: ScrollReport | null },
): Promise<Picture> {
  const order: PictureOrder = { ...page, options, deadline: how.deadline, encodes: how.encodes };
  const { format } = options;
  if (format === 'pdf') return options.pdf === null ? takePdf(order, how.scroll) : takePagedPdf(order, options.pdf);
  const encoding = encodingOf(options, format);
  if (options.omitBackground) await clearBackground(order);
  if (options.selector !== null) return takeElement(order, options.selector, encoding);
  if (options.clip !== null) return takeClip(order, options.clip, encoding);
  if (how.scroll !== null && options.fullPage) return takeFullPage(order, how.scroll, encoding);
  return takeView(order, encoding);
}

/** Makes the areas transparent that the page itself does not paint. */
async function clearBackground({ session, deadline }: PictureOrder): Promise<void> {
  const color = { r: 0, g: 0, b: 0, a: 0 };
  await untilDeadline(session, deadline, () => session.cdp.send('Emulation.setDefaultBackgroundColorOverride', { color }));
}

/**
 * Captures a part of the page, anywhere in it, beyond the viewport. Areas outside the page are omitted.
 * @throws CaptureError `render_incomplete` when the page has no content there
 */
async function takeClip(order: PictureOrder, clip: ClipOption, encoding: Encoding): Promise<Picture> {
  const { session, options, deadline } = order;
  const begun = performance.now();
  await using store = await SectionStore.open(session.temporaryDir, encoding.transparent, order.debug);
  const page = boundedPage(session, deadline);
  await page.call('scrollers.expandAgain');
  const { density, limited } = fitDensity(clip, options.view.deviceScaleFactor, encoding.format);
  await setDensity(session, { view: options.view, density, deadline });
  const { pageHeight, viewHeight, zoom, scrollX } = await page.call('scroll.measure');
  const { cssContentSize } = await session.cdp.send('Page.getLayoutMetrics');
  const right = Math.min(clip.x + clip.width, Math.max(cssContentSize.width, options.view.width / zoom));
  const bottom = Math.min(clip.y + clip.height, Math.max(pageHeight, viewHeight));
  if (right - clip.x < 0.5 || bottom - clip.y < 0.5) throw outside(clip, { width: cssContentSize.width, height: pageHeight });
  const ratio = density * zoom;
  const taken = await takeBands(
    { session, store },
    {
      from: clip.y,
      to: bottom,
      columns: { left: clip.x, right },
      scrollX,
      zoom,
      ratio,
      lastStart: deadline - 1_000,
      deadline,
    },
  );
  const encoded = await encodeSections(order, store, { encoding, begun });
  return {
    ...encoded,
    diagnostics: {
      algorithm: 'native',
      sections: taken.count,
      deviceScaleFactor: density,
      scrollHeight: pageHeight,
      stoppedReason: !taken.whole ? 'time_limit' : limited ? 'format_limit' : 'viewport',
      truncated: !taken.whole || right < clip.x + clip.width - 0.5 || bottom < clip.y + clip.height - 0.5,
    },
  };
}

function outside(clip: ClipOption, page: { width: number; height: number }): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `\`clip\` begins at ${clip.x},${clip.y}, outside of the page, which is ${page.width} × ${page.height} CSS px.`,
    retriable: false,
    details: { check: 'clip', clip, page },
  });
}
