import sharp from 'sharp';
import type { Stage } from '../stage.js';
import type { Blurs } from './in-page-blur.js';
import { within } from './page-hand.js';
import { bestAligned, type EdgedBand } from './section-edges.js';
import { type PixelSize, pngSize, SHOT_MAX_ROWS, shoot } from './shoot.js';

/** How far above what it must show a capture may begin, to begin on a whole pixel, CSS px. */
const ALIGN_WITHIN_PX = 100;
/** A section as the view shows it, slow. */
const PLAIN_MS = 600;
/** Capturing and cutting 10 million pixels beyond the view, blurs among them, slow. */
const MS_PER_PIXEL = 1_500 / 10_000_000;
/** Each section in a high panel takes longer than the one before: the panel is drawn from its beginning each time. */
const MOST_VIEWS_ABOVE = 2;

export interface SectionShot extends EdgedBand {
  /** The page's own: below 1 on phones for pages made for desktops. */
  zoom: number;
  /** Unix ms. */
  deadline: number;
}

/**
 * The view as it stands. At densities other than 1 the browser draws a backdrop filter in a wrong place when the view begins within it: such a
 * view is cut out of a capture that begins above it, at most two views higher, if there is time for that.
 *
 * @param how.y where the view begins, CSS px of the page
 * @param how.spans of what has a backdrop filter
 */
export async function shootSection(stage: Stage, plan: SectionShot, how: { y: number; spans: Blurs['spans'] }): Promise<Buffer> {
  const png = await shoot(stage, plan.deadline, { format: 'png', fast: true });
  const above = lackingAbove(plan, how);
  if (above === 0) return png;
  const size = pngSize(png);
  const rows = Math.round(above * plan.ratio) + size.height;
  const left = Math.ceil((plan.to - how.y) / plan.viewHeight) * PLAIN_MS;
  if (rows > SHOT_MAX_ROWS || Date.now() + left + rows * size.width * MS_PER_PIXEL > plan.lastStart) return png;
  return (await cutOut(stage, plan, { above, size })) ?? png;
}

/** CSS px above the view from which a capture must begin; 0 when it may begin with the view. */
function lackingAbove({ ratio, viewHeight }: SectionShot, { y, spans }: { y: number; spans: Blurs['spans'] }): number {
  const highest = y - MOST_VIEWS_ABOVE * viewHeight;
  const tops = spans.filter(({ top, bottom }) => highest <= top && top < y && y < bottom).map(({ top }) => top);
  if (ratio === 1 || tops.length === 0) return 0;
  const least = Math.ceil(y - Math.min(...tops));
  // No picture begins above the page.
  return Math.min(bestAligned(least, least + ALIGN_WITHIN_PX, ratio), y);
}

async function cutOut(stage: Stage, plan: SectionShot, { above, size }: { above: number; size: PixelSize }): Promise<Buffer | null> {
  const { cssVisualViewport: view } = await within(stage, plan.deadline, () => stage.cdp.send('Page.getLayoutMetrics'));
  const beyond = {
    x: view.pageX,
    y: view.pageY - above,
    width: view.clientWidth,
    height: view.clientHeight + above,
    scale: plan.zoom,
  };
  const larger = await shoot(stage, plan.deadline, { format: 'png', fast: true, beyond });
  const { width, height } = pngSize(larger);
  if (width < size.width || height < size.height) return null;
  const top = Math.min(Math.round(above * plan.ratio), height - size.height);
  return await sharp(larger, { limitInputPixels: false })
    .extract({ left: 0, top, ...size })
    .png({ compressionLevel: 1 })
    .toBuffer();
}
