import sharp from 'sharp';
import type { Stage } from '../stage.js';
import { type Band, boxesHold } from './in-page-boxes.js';
import { passFrames } from './in-page-frames.js';
import { type PageHand, within } from './page-hand.js';
import { ALIGN_WITHIN_PX, bestAligned, type EdgedBand, SECTION_MS } from './section-edges.js';
import { type PixelSize, pngSize, SHOT_MAX_PIXELS, SHOT_MAX_ROWS, shoot } from './shoot.js';

/** Each section may take half as long again as those before it. */
const SLOWER = 1.5;
/** Capturing and cutting 10 million pixels beyond the view, blurs among them, slow. */
const MS_PER_PIXEL = 2_500 / 10_000_000;
/** For all that is captured beyond the view: of high panels that change with the scrolling each section takes longer than the one before. */
const MOST_MS = 30_000;
/** A page may draw no frames. */
const NO_FRAME_MS = 500;
/** How many views a capture goes on below the one that is needed, before that has served once. */
const FIRST_VIEWS_AHEAD = 3;
/** So often a capture that went on may have been of no use. */
const MOST_MISSES = 2;

export interface ShotPlan extends EdgedBand {
  /** The page's own: below 1 on phones for pages made for desktops. */
  zoom: number;
  /** CSS px of the page from one section to the next. */
  step: number;
  /** Unix ms. */
  deadline: number;
}

interface View {
  /** CSS px of the page: its top edge, and the row after its last. */
  y: number;
  bottom: number;
  /** px of its picture. */
  size: PixelSize;
  /** CSS px of the page: the highest top edge of what has a backdrop filter and begins above the view. */
  filterTop: number;
}

/**
 * Captures views as they stand. At densities other than 1 the browser draws a backdrop filter in a wrong place when the view begins within
 * it: such a view is cut out of a capture that begins above the filter, where one capture holds that, and where it leaves time for all
 * other sections. The capture goes on below, and serves the sections to come as long as the page shows the same there. The page hears of it
 * as of a new size of its window, which is as it was.
 */
export class SectionShots {
  readonly #began = Date.now();
  #count = 0;
  /** Of the time since then. */
  #beyondMs = 0;
  #msPerPixel = MS_PER_PIXEL;
  /** The last that went on below its view. */
  #kept: (Band & { png: Buffer }) | null = null;
  #keptMs = 0;
  #viewsAhead = FIRST_VIEWS_AHEAD;
  #misses = 0;

  /** @param spans of what has a backdrop filter */
  constructor(
    private readonly tools: { stage: Stage; hand: PageHand },
    private readonly plan: ShotPlan,
    private readonly spans: Band[],
  ) {}

  /** @param y where the view begins, CSS px of the page */
  async take(y: number): Promise<Buffer> {
    const { stage } = this.tools;
    const png = await shoot(stage, this.plan.deadline, { format: 'png', fast: true });
    this.#count++;
    const tops = this.spans.filter(({ top, bottom }) => top < y && y < bottom).map(({ top }) => top);
    if (this.plan.ratio === 1 || tops.length === 0) {
      this.#kept = null;
      return png;
    }
    const view = { y, bottom: y + this.plan.viewHeight, size: pngSize(png), filterTop: Math.max(0, Math.min(...tops)) };
    const from = Date.now();
    // What has been captured is better than nothing.
    const cut = await this.#cutOut(view).catch(() => stage.lost.throwIfAborted());
    this.#beyondMs += Date.now() - from;
    return cut ?? png;
  }

  async #cutOut(view: View): Promise<Buffer | null> {
    const { y, bottom, filterTop } = view;
    const kept = this.#kept;
    const reaches = kept !== null && kept.top <= filterTop && bottom <= kept.bottom + 0.5;
    if (!reaches) return await this.#cutAnew(view, { goesOn: this.#misses < MOST_MISSES });
    if (!this.#hasTime(view, this.#keptMs)) return null;
    const from = Date.now();
    if (await this.tools.hand.run(boxesHold, { top: y, bottom })) {
      const cut = await this.#cut(kept, view);
      this.#keptMs = Date.now() - from;
      this.#viewsAhead = Number.POSITIVE_INFINITY;
      return cut;
    }
    this.#misses++;
    this.#viewsAhead = FIRST_VIEWS_AHEAD;
    return await this.#cutAnew(view, { goesOn: false });
  }

  async #cutAnew(view: View, how: { goesOn: boolean }): Promise<Buffer | null> {
    this.#kept = null;
    const top = this.#topFor(view);
    const ends = how.goesOn ? [this.#endFor(view, top), view.bottom] : [view.bottom];
    const bottom = ends.find((end) => this.#holds({ top, bottom: end }, view));
    if (bottom === undefined) return null;
    const goesOn = bottom > view.bottom && (await this.tools.hand.run(boxesHold, null));
    const band = { top, bottom: goesOn ? bottom : view.bottom };
    const captured = { ...band, png: await this.#capture(view, band) };
    if (goesOn) this.#kept = captured;
    return await this.#cut(captured, view);
  }

  /** CSS px of the page: at or a little above the filter's top edge, whole picture px above the view. */
  #topFor({ y, filterTop }: View): number {
    const least = Math.ceil(y - filterTop);
    // No picture begins above the page.
    return y - Math.min(bestAligned(least, least + ALIGN_WITHIN_PX, this.plan.ratio), y);
  }

  /** CSS px of the page: to where the sections to come have use for what this one captures. */
  #endFor({ bottom, size }: View, top: number): number {
    const { to, viewHeight, ratio } = this.plan;
    // The section that a filter ends in goes on below it.
    const ends = this.spans.filter((span) => span.top < bottom && span.bottom > bottom).map((span) => span.bottom + viewHeight);
    const most = top + Math.floor(mostRows(size) / ratio);
    return Math.max(bottom, Math.min(to, most, bottom + this.#viewsAhead * viewHeight, Math.max(0, ...ends)));
  }

  /** Whether one capture holds so much of the page, in the time that there is. */
  #holds(band: Band, view: View): boolean {
    const rows = Math.ceil((band.bottom - band.top) * this.plan.ratio);
    const ms = rows * view.size.width * this.#msPerPixel;
    return rows <= mostRows(view.size) && this.#beyondMs + ms <= MOST_MS && this.#hasTime(view, ms);
  }

  #hasTime({ bottom }: View, ms: number): boolean {
    const { to, step, lastStart } = this.plan;
    const sectionMs = Math.max(SECTION_MS, ((Date.now() - this.#began - this.#beyondMs) / this.#count) * SLOWER);
    const left = Math.max(0, Math.ceil((to - bottom) / step));
    return Date.now() + left * sectionMs + ms < lastStart;
  }

  async #capture({ y, size }: View, band: Band): Promise<Buffer> {
    const { stage, hand } = this.tools;
    const { deadline, zoom, ratio, viewHeight } = this.plan;
    // The view's own capture leaves the page as it was with a frame yet to come: one taken before that lacks parts of what has to be drawn anew.
    await hand.run(passFrames, { frames: 2, mostMs: NO_FRAME_MS });
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
    this.#msPerPixel = Math.max(this.#msPerPixel, (Date.now() - from) / ((band.bottom - band.top) * ratio * size.width));
    return png;
  }

  async #cut({ png, top }: Band & { png: Buffer }, { y, size }: View): Promise<Buffer | null> {
    const { width, height } = pngSize(png);
    if (width < size.width || height < size.height) return null;
    const from = Math.min(Math.round(y * this.plan.ratio) - Math.round(top * this.plan.ratio), height - size.height);
    return await sharp(png, { limitInputPixels: false })
      .extract({ left: 0, top: from, ...size })
      .png({ compressionLevel: 1 })
      .toBuffer();
  }
}

function mostRows({ width }: PixelSize): number {
  return Math.min(SHOT_MAX_ROWS, Math.floor(SHOT_MAX_PIXELS / width));
}
