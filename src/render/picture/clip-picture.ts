import { CaptureError } from '../../contract/capture-error.js';
import type { ClipOption } from '../../contract/extension-options.js';
import { takeBands } from './bands.js';
import { boundedPage } from './bounded-page.js';
import type { Encoding } from './encode.js';
import { encodeSections } from './encode-sections.js';
import { fitDensity } from './fit-density.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder } from './picture.js';
import { SectionStore } from './section-store.js';

/**
 * A part of the page, wherever it lies, by the browser's own capture beyond the viewport. What lies beyond the page is left out.
 *
 * @throws CaptureError `render_incomplete` when the page has nothing there
 */
export async function takeClip(order: PictureOrder, clip: ClipOption, encoding: Encoding): Promise<Picture> {
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
