import sharp from 'sharp';
import type { Stage } from '../stage.js';
import type { Blurs } from './in-page-blur.js';
import { within } from './page-hand.js';
import { ALIGN_WITHIN_PX, bestAligned, type EdgedBand, SECTION_MS } from './section-edges.js';
import { type PixelSize, pngSize, SHOT_MAX_ROWS, shoot } from './shoot.js';

/** Each section may take half as long again as those before it. */
const SLOWER = 1.5;
/** Capturing and cutting 10 million pixels beyond the view, blurs among them, slow. */
const MS_PER_PIXEL = 1_500 / 10_000_000;
/** Each section in a high panel takes longer than the one before: the panel is drawn from its beginning each time. */
const MOST_VIEWS_ABOVE = 2;

export interface ShotPlan extends EdgedBand {
  /** The page's own: below 1 on phones for pages made for desktops. */
  zoom: number;
  /** CSS px of the page from one section to the next. */
  step: number;
  /** Unix ms. */
  deadline: number;
}

/**
 * Captures views as they stand. At densities other than 1 the browser draws a backdrop filter in a wrong place when the view begins within
 * it: such a view is cut out of a capture that begins above it, at most two views higher, where that leaves time for all other sections.
 * The page hears of it as of a new size of its window, which is as it was.
 */
export class SectionShots {
  readonly #began = Date.now();
  #count = 0;
  /** Of the time since then. */
  #cutMs = 0;
  #msPerPixel = MS_PER_PIXEL;

  /** @param spans of what has a backdrop filter */
  constructor(
    private readonly stage: Stage,
    private readonly plan: ShotPlan,
    private readonly spans: Blurs['spans'],
  ) {}

  /** @param y where the view begins, CSS px of the page */
  async take(y: number): Promise<Buffer> {
    const { stage } = this;
    const png = await shoot(stage, this.plan.deadline, { format: 'png', fast: true });
    this.#count++;
    const above = this.#lackingAbove(y);
    const size = pngSize(png);
    const rows = Math.round(above * this.plan.ratio) + size.height;
    if (above === 0 || rows > SHOT_MAX_ROWS || !this.#hasTime(y, rows * size.width)) return png;
    const from = Date.now();
    // What has been captured is better than nothing.
    const cut = await this.#cutOut(above, size).catch(() => stage.lost.throwIfAborted());
    const took = Date.now() - from;
    this.#cutMs += took;
    this.#msPerPixel = Math.max(this.#msPerPixel, took / (rows * size.width));
    return cut ?? png;
  }

  #hasTime(y: number, pixels: number): boolean {
    const { to, step, viewHeight, lastStart } = this.plan;
    const sectionMs = Math.max(SECTION_MS, ((Date.now() - this.#began - this.#cutMs) / this.#count) * SLOWER);
    const left = Math.max(0, Math.ceil((to - y - viewHeight) / step));
    return Date.now() + left * sectionMs + pixels * this.#msPerPixel < lastStart;
  }

  /** CSS px above the view from which a capture must begin; 0 when it may begin with the view. */
  #lackingAbove(y: number): number {
    const { ratio, viewHeight } = this.plan;
    const highest = y - MOST_VIEWS_ABOVE * viewHeight;
    const tops = this.spans.filter(({ top, bottom }) => highest <= top && top < y && y < bottom).map(({ top }) => top);
    if (ratio === 1 || tops.length === 0) return 0;
    const least = Math.ceil(y - Math.min(...tops));
    // No picture begins above the page.
    return Math.min(bestAligned(least, least + ALIGN_WITHIN_PX, ratio), y);
  }

  async #cutOut(above: number, size: PixelSize): Promise<Buffer | null> {
    const { stage } = this;
    const { deadline, zoom, ratio } = this.plan;
    const metrics = await within(stage, deadline, () => stage.cdp.send('Page.getLayoutMetrics'));
    const { cssVisualViewport: view, cssLayoutViewport: layout } = metrics;
    const beyond = {
      // The browser counts from the leftmost column, which a page written from right to left does not begin at.
      x: layout.pageX + view.offsetX,
      y: view.pageY - above,
      width: view.clientWidth,
      height: view.clientHeight + above,
      scale: zoom,
    };
    const larger = await shoot(stage, deadline, { format: 'png', fast: true, beyond });
    const { width, height } = pngSize(larger);
    if (width < size.width || height < size.height) return null;
    const top = Math.min(Math.round(above * ratio), height - size.height);
    return await sharp(larger, { limitInputPixels: false })
      .extract({ left: 0, top, ...size })
      .png({ compressionLevel: 1 })
      .toBuffer();
  }
}
