import sharp from 'sharp';
import type { Stage } from '../stage.js';
import type { Blurs } from './in-page-blur.js';
import { type Band, boxesHold } from './in-page-boxes.js';
import { type PageHand, within } from './page-hand.js';
import { ALIGN_WITHIN_PX, bestAligned, type EdgedBand, SECTION_MS } from './section-edges.js';
import { type PixelSize, pngSize, SHOT_MAX_ROWS, shoot } from './shoot.js';

/** Each section may take half as long again as those before it. */
const SLOWER = 1.5;
/** Capturing and cutting 10 million pixels beyond the view, blurs among them, slow. */
const MS_PER_PIXEL = 1_500 / 10_000_000;
/** For all that is captured beyond the view: of high panels that change with the scrolling each section takes longer than the one before. */
const MOST_MS = 30_000;

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
 * it: such a view is cut out of a capture that begins above the filter, where that leaves time for all other sections. The capture goes on
 * to the filter's end, and serves the sections to come as long as the page shows the same there. The page hears of it as of a new size of
 * its window, which is as it was.
 */
export class SectionShots {
  readonly #began = Date.now();
  #count = 0;
  /** Of the time since then. */
  #beyondMs = 0;
  #msPerPixel = MS_PER_PIXEL;
  #kept: (Band & { png: Buffer }) | null = null;
  /** Whether what has been captured ahead has served so far. */
  #serves = true;

  /** @param spans of what has a backdrop filter */
  constructor(
    private readonly tools: { stage: Stage; hand: PageHand },
    private readonly plan: ShotPlan,
    private readonly spans: Blurs['spans'],
  ) {}

  /** @param y where the view begins, CSS px of the page */
  async take(y: number): Promise<Buffer> {
    const { stage } = this.tools;
    const png = await shoot(stage, this.plan.deadline, { format: 'png', fast: true });
    this.#count++;
    const top = this.#topFor(y);
    if (top === y) return png;
    const from = Date.now();
    // What has been captured is better than nothing.
    const cut = await this.#cutOut({ y, top }, pngSize(png)).catch(() => stage.lost.throwIfAborted());
    this.#beyondMs += Date.now() - from;
    return cut ?? png;
  }

  /** CSS px of the page at which a capture must begin: the view's own top edge, or higher. */
  #topFor(y: number): number {
    const { ratio } = this.plan;
    const tops = this.spans.filter(({ top, bottom }) => top < y && y < bottom).map(({ top }) => top);
    if (ratio === 1 || tops.length === 0) return y;
    const least = Math.ceil(y - Math.min(...tops));
    // No picture begins above the page.
    return y - Math.min(bestAligned(least, least + ALIGN_WITHIN_PX, ratio), y);
  }

  async #cutOut(view: { y: number; top: number }, size: PixelSize): Promise<Buffer | null> {
    const { y, top } = view;
    const { hand } = this.tools;
    const bottom = y + this.plan.viewHeight;
    if (this.#kept !== null && this.#covers(this.#kept, { top, bottom }, y)) {
      this.#serves = await hand.run(boxesHold, { top: y, bottom });
      if (this.#serves) return await this.#cut(this.#kept, y, size);
    }
    this.#kept = null;
    const band = [this.#ahead(view), bottom].map((end) => ({ top, bottom: end })).find((each) => this.#hasTime(y, each, size));
    if (band === undefined) return null;
    const isAhead = band.bottom > bottom;
    if (isAhead) await hand.run(boxesHold, null);
    const captured = { ...band, png: await this.#capture(y, band, size) };
    if (isAhead) this.#kept = captured;
    return await this.#cut(captured, y, size);
  }

  #covers(kept: Band, { top, bottom }: Band, y: number): boolean {
    const row = (y - kept.top) * this.plan.ratio;
    return kept.top <= top && bottom <= kept.bottom + 0.5 && Math.abs(row - Math.round(row)) < 0.01;
  }

  /** To where the sections to come have use for what this one captures, CSS px of the page. */
  #ahead({ y, top }: { y: number; top: number }): number {
    const { to, viewHeight, ratio } = this.plan;
    const bottom = y + viewHeight;
    if (!this.#serves) return bottom;
    const ends = this.spans.filter((span) => span.top < bottom && span.bottom > bottom).map((span) => span.bottom + viewHeight);
    return Math.max(bottom, Math.min(to, Math.floor(top + SHOT_MAX_ROWS / ratio), Math.max(bottom, ...ends)));
  }

  #hasTime(y: number, band: Band, { width }: PixelSize): boolean {
    const { to, step, viewHeight, lastStart, ratio } = this.plan;
    const rows = Math.ceil((band.bottom - band.top) * ratio);
    const ms = rows * width * this.#msPerPixel;
    if (rows > SHOT_MAX_ROWS || this.#beyondMs + ms > MOST_MS) return false;
    const sectionMs = Math.max(SECTION_MS, ((Date.now() - this.#began - this.#beyondMs) / this.#count) * SLOWER);
    const left = Math.max(0, Math.ceil((to - y - viewHeight) / step));
    return Date.now() + left * sectionMs + ms < lastStart;
  }

  /** @param y where the view begins now, CSS px of the page as the band's are */
  async #capture(y: number, band: Band, { width }: PixelSize): Promise<Buffer> {
    const { stage } = this.tools;
    const { deadline, zoom, ratio, viewHeight } = this.plan;
    const from = Date.now();
    const metrics = await within(stage, deadline, () => stage.cdp.send('Page.getLayoutMetrics'));
    const { cssVisualViewport: view, cssLayoutViewport: layout } = metrics;
    const beyond = {
      // The browser counts from the leftmost column, which a page written from right to left does not begin at.
      x: layout.pageX + view.offsetX,
      y: view.pageY - (y - band.top),
      width: view.clientWidth,
      height: band.bottom - band.top - viewHeight + view.clientHeight,
      scale: zoom,
    };
    const png = await shoot(stage, deadline, { format: 'png', fast: true, beyond });
    this.#msPerPixel = Math.max(this.#msPerPixel, (Date.now() - from) / ((band.bottom - band.top) * ratio * width));
    return png;
  }

  async #cut({ png, top }: Band & { png: Buffer }, y: number, size: PixelSize): Promise<Buffer | null> {
    const { width, height } = pngSize(png);
    if (width < size.width || height < size.height) return null;
    const from = Math.min(Math.round((y - top) * this.plan.ratio), height - size.height);
    return await sharp(png, { limitInputPixels: false })
      .extract({ left: 0, top: from, ...size })
      .png({ compressionLevel: 1 })
      .toBuffer();
  }
}
