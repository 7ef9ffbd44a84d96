import sharp from 'sharp';
import type { Blurs } from '../in-page/blurs.js';
import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import { type BoundedPage, within } from './bounded-page.js';
import { ALIGN_WITHIN_PX, bestAligned, type EdgedBand, SECTION_MS } from './section-edges.js';
import { type PixelSize, pngSize, SHOT_MAX_PIXELS, SHOT_MAX_ROWS, shoot } from './shoot.js';
import { shootView } from './view-shot.js';

/** Time to capture and cut 10 million pixels beyond the view, with blurs, at the slowest. */
const MS_PER_PIXEL = 2_500 / 10_000_000;
/** Limit for a page that draws no frames. */
const NO_FRAME_MS = 500;

export interface SectionShot extends EdgedBand {
  /** The page's own: below 1 on phones for pages made for desktops. */
  zoom: number;
  /** ms by `monotonicNow`. */
  deadline: number;
}

/**
 * The current view. At densities other than 1, the browser draws a backdrop filter in the wrong place if the view begins within it:
 * such a view is cut out of a capture that begins above the filter, if one capture holds that and there is time for it.
 *
 * @param how.y where the view begins, CSS px of the page
 * @param how.spans of what has a backdrop filter
 */
export async function shootSection(
  tools: { session: PageSession; page: BoundedPage },
  plan: SectionShot,
  how: { y: number; spans: Blurs['spans'] },
): Promise<Buffer> {
  const { session } = tools;
  const png = await shootView(session, plan);
  const above = lackingAbove(plan, how);
  if (above === 0) return png;
  const size = pngSize(png);
  const rows = Math.round(above * plan.ratio) + size.height;
  const left = Math.ceil((plan.to - how.y) / plan.viewHeight) * SECTION_MS;
  if (rows > SHOT_MAX_ROWS || rows * size.width > SHOT_MAX_PIXELS) return png;
  if (monotonicNow() + left + rows * size.width * MS_PER_PIXEL > plan.lastStart) return png;
  // The capture with a misplaced filter is better than none.
  return (await cutOut(tools, plan, { above, size }).catch(() => session.lost.throwIfAborted())) ?? png;
}

/** CSS px above the view from which a capture must begin; 0 when it may begin with the view. */
function lackingAbove({ ratio }: SectionShot, { y, spans }: { y: number; spans: Blurs['spans'] }): number {
  const tops = spans.filter(({ top, bottom }) => top < y && bottom > y).map(({ top }) => top);
  if (ratio === 1 || tops.length === 0) return 0;
  const least = Math.ceil(y - Math.min(...tops));
  // No picture begins above the page.
  return Math.min(bestAligned(least, least + ALIGN_WITHIN_PX, ratio), y);
}

async function cutOut(
  { session, page }: { session: PageSession; page: BoundedPage },
  plan: SectionShot,
  { above, size }: { above: number; size: PixelSize },
): Promise<Buffer | null> {
  // After a capture of the view, a frame is pending: another capture before that frame lacks parts of what is redrawn.
  await page.call('frames.passFrames', 2, NO_FRAME_MS);
  const metrics = await within(session, plan.deadline, () => session.cdp.send('Page.getLayoutMetrics'));
  const { cssVisualViewport: view, cssLayoutViewport: layout } = metrics;
  const beyond = {
    // The browser counts from the leftmost column, which a page written from right to left does not begin at.
    x: layout.pageX + view.offsetX,
    y: view.pageY - above,
    width: view.clientWidth,
    height: view.clientHeight + above,
    scale: plan.zoom,
  };
  const larger = await shoot(session, plan.deadline, { format: 'png', fast: true, beyond });
  const { width, height } = pngSize(larger);
  if (width < size.width || height < size.height) return null;
  const top = Math.min(Math.round(above * plan.ratio), height - size.height);
  return await sharp(larger, { limitInputPixels: false })
    .extract({ left: 0, top, ...size })
    .png({ compressionLevel: 1 })
    .toBuffer();
}
