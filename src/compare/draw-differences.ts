import type { Box, ComparisonOptions } from '../contract/comparison.js';
import { sharp } from '../sharp.js';
import type { Changes } from './changed-regions.js';

/** A decoded picture with four bytes per pixel. */
export interface Pixels {
  width: number;
  height: number;
  data: Buffer;
}

interface Differences {
  before: Pixels;
  after: Pixels;
  changes: Changes;
  regions: readonly Box[];
}

type Color = readonly [red: number, green: number, blue: number];

const CHANGED: Color = [214, 0, 60];
const OUTLINE: Color = [0, 90, 220];
/** Background of areas that a picture does not have. */
const EMPTY = 230;
/** The share of the unchanged picture that remains visible in an overlay. */
const FADED = 0.25;
const OUTLINE_PX = 2;
/** px between a region and its outline, and between two pictures side by side. */
const GAP_PX = { outline: 4, pictures: 24 };
/** A picture of the differences has at most this many pixels before it is encoded. */
export const CANVAS_MAX_PIXELS = 50_000_000;
/** The webp format allows no more. */
const SIDE_MAX_PX = 16_383;
const QUALITY = 85;

/**
 * Draws what has changed.
 * @returns webp: `overlay` is the later picture, pale, with changed pixels in red; `side_by_side` is both pictures with the changed regions
 * outlined. A picture that is too large is scaled down.
 */
export async function drawDifferences(differences: Differences, form: ComparisonOptions['picture']): Promise<Buffer> {
  const canvas = form === 'overlay' ? drawOverlay(differences) : drawSideBySide(differences);
  return await sharp(canvas.data, { raw: { width: canvas.width, height: canvas.height, channels: 3 } })
    .resize({ width: SIDE_MAX_PX, height: SIDE_MAX_PX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: QUALITY, effort: 1 })
    .toBuffer();
}

/** A picture with three bytes per pixel. One with too many pixels is drawn with every second, third … pixel of each row and column. */
class Canvas {
  readonly width: number;
  readonly height: number;
  readonly data: Buffer;
  readonly #step: number;

  /** @param width of the pictures, as `height` */
  constructor(width: number, height: number) {
    this.#step = Math.max(1, Math.ceil(Math.sqrt((width * height) / CANVAS_MAX_PIXELS)));
    this.width = Math.ceil(width / this.#step);
    this.height = Math.ceil(height / this.#step);
    this.data = Buffer.alloc(this.width * this.height * 3, EMPTY);
  }

  /** Draws a picture on white. @param visible 0 for white, 1 for its own colors */
  picture({ width, height, data }: Pixels, left: number, visible: number): void {
    const step = this.#step;
    for (let row = 0; row < height; row += step) {
      let to = this.#at(left, row);
      for (let from = row * width * 4; from < (row + 1) * width * 4; from += 4 * step, to += 3) {
        const alpha = ((data[from + 3] ?? 0) / 255) * visible;
        for (let channel = 0; channel < 3; channel++)
          this.data[to + channel] = 255 - (255 - (data[from + channel] ?? 0)) * alpha;
      }
    }
  }

  /** Colors one pixel. */
  mark(x: number, y: number, color: Color): void {
    this.data.set(color, this.#at(x, y));
  }

  fill(box: Box, [red, green, blue]: Color): void {
    const scaled = (px: number) => Math.floor(px / this.#step);
    const [left, right] = [Math.max(0, scaled(box.x)), Math.min(this.width, scaled(box.x + box.width - 1) + 1)];
    const [top, bottom] = [Math.max(0, scaled(box.y)), Math.min(this.height, scaled(box.y + box.height - 1) + 1)];
    for (let row = top; row < bottom; row++) {
      for (let at = (row * this.width + left) * 3; at < (row * this.width + right) * 3; at += 3) {
        this.data[at] = red;
        this.data[at + 1] = green;
        this.data[at + 2] = blue;
      }
    }
  }

  outline(box: Box): void {
    const far = GAP_PX.outline + OUTLINE_PX;
    const [x, y, width, height] = [box.x - far, box.y - far, box.width + 2 * far, box.height + 2 * far];
    this.fill({ x, y, width, height: OUTLINE_PX }, OUTLINE);
    this.fill({ x, y: y + height - OUTLINE_PX, width, height: OUTLINE_PX }, OUTLINE);
    this.fill({ x, y, width: OUTLINE_PX, height }, OUTLINE);
    this.fill({ x: x + width - OUTLINE_PX, y, width: OUTLINE_PX, height }, OUTLINE);
  }

  /** The index of a pixel of the pictures. */
  #at(x: number, y: number): number {
    return (Math.floor(y / this.#step) * this.width + Math.floor(x / this.#step)) * 3;
  }
}

function drawOverlay({ before, after, changes, regions }: Differences): Canvas {
  const canvas = new Canvas(Math.max(before.width, after.width), Math.max(before.height, after.height));
  canvas.picture(after, 0, FADED);
  const { width, changed } = changes;
  for (let at = changed.indexOf(1); at !== -1; at = changed.indexOf(1, at + 1)) {
    canvas.mark(at % width, Math.floor(at / width), CHANGED);
  }
  for (const region of regions) canvas.outline(region);
  return canvas;
}

function drawSideBySide({ before, after, regions }: Differences): Canvas {
  const shift = Math.max(before.width, after.width) + GAP_PX.pictures;
  const canvas = new Canvas(shift + after.width, Math.max(before.height, after.height));
  for (const [picture, left] of [
    [before, 0],
    [after, shift],
  ] as const) {
    canvas.picture(picture, left, 1);
    for (const region of regions) canvas.outline({ ...region, x: region.x + left });
  }
  return canvas;
}
