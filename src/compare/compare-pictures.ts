/** The pixel diff of two screenshots: compares them in one pass over rows, so that memory is bounded by the two decoded pictures. */

import { diff } from '@blazediff/core';
import { CaptureError } from '../contract/capture-error.js';
import type { Box, Comparison, ComparisonOptions } from '../contract/comparison.js';
import { sharp } from '../sharp.js';
import { type Changes, changedRegions } from './changed-regions.js';
import { CANVAS_MAX_PIXELS, drawDifferences, type Pixels } from './draw-differences.js';
import { markEvenChanges } from './even-changes.js';
import { decodable, type PictureHead, readHead } from './given-picture.js';

/** Each picture is decoded whole, with four bytes per pixel. */
export const COMPARED_MAX_PIXELS = 50_000_000;
/** Rows that are compared at once. */
const STRIP_ROWS = 256;
/** Antialiasing of a pixel is judged by the two pixels around it. */
const MARGIN_ROWS = 2;
/** The color in which the library marks a changed pixel, as it is read by `Uint32Array` on a little-endian machine. */
const MARK = { rgb: [255, 0, 0] as [number, number, number], word: 0xff0000ff };
/** The time for decoding one picture, which takes about a second on a fast machine. */
const DECODE_SECONDS = 20;

/**
 * Compares two pictures. Areas that only one of them has count as changed.
 * @returns the comparison, with a picture of the differences unless there are none or none is asked for
 * @throws CaptureError `invalid_request` if one of them is not a picture, or too large
 */
export async function comparePictures(
  before: Buffer,
  after: Buffer,
  options: ComparisonOptions,
): Promise<Comparison & { picture: Buffer | null }> {
  const sizes = readSizes(before, after);
  const { before: beforeSize, after: afterSize } = sizes;
  if (before.equals(after)) return { same: true, share: 0, pixels: 0, regions: [], ...sizes, picture: null };
  const old = await decode(before, readSide(before, 'before'), 'before');
  const current = await decode(after, readSide(after, 'after'), 'after');
  const changes = compareSharedArea(old, current, options);
  const shared = changes.width * changes.height;
  const outside = area(beforeSize) + area(afterSize) - 2 * shared;
  const pixels = count(changes.changed) + outside;
  const regions = [...changedRegions(changes), ...outsideRegions(sizes)];
  const result = { same: pixels === 0, share: pixels / (shared + outside), pixels, regions, ...sizes };
  const draws = pixels > 0 && options.picture !== 'none';
  return {
    ...result,
    picture: draws ? await drawDifferences({ before: old, after: current, changes, regions }, options.picture) : null,
  };
}

type Sizes = Pick<Comparison, 'before' | 'after'>;

/**
 * Reads the sizes of two pictures, in a time that does not depend on them.
 * @throws CaptureError `invalid_request` if one of them is not a picture, or too large
 */
export function readSizes(before: Buffer, after: Buffer): Sizes {
  const sizeOf = ({ width, height }: PictureHead) => ({ width, height });
  return { before: sizeOf(readSide(before, 'before')), after: sizeOf(readSide(after, 'after')) };
}

/** The memory in bytes that a comparison of pictures of these sizes takes at most, besides the encoded pictures. */
export function memoryOf({ before, after }: Sizes): number {
  return 5 * (area(before) + area(after)) + 3 * CANVAS_MAX_PIXELS;
}

/** Reads the first bytes of a picture. @throws CaptureError `invalid_request` if it is not one, or too large */
export function readSide(content: Buffer, side: 'before' | 'after'): PictureHead {
  const head = readHead(content);
  if (head === null) throw invalid(side, 'must be a picture: png, jpeg, webp, gif, avif');
  if (area(head) > COMPARED_MAX_PIXELS)
    throw invalid(side, `must have at most ${COMPARED_MAX_PIXELS / 1e6} million pixels`);
  return head;
}

function invalid(side: 'before' | 'after', message: string, cause?: unknown): CaptureError {
  const details = { issues: [{ path: side, message }] };
  return new CaptureError({ code: 'invalid_request', message: `\`${side}\` ${message}.`, details, cause });
}

async function decode(content: Buffer, head: PictureHead, side: 'before' | 'after'): Promise<Pixels> {
  const { width, height } = head;
  const damaged = (cause?: unknown) => invalid(side, 'is damaged and cannot be decoded', cause);
  const picture = decodable(content, head);
  if (picture === null) throw damaged();
  const decoding = sharp(picture, { limitInputPixels: COMPARED_MAX_PIXELS }).timeout({ seconds: DECODE_SECONDS });
  try {
    const { data, info } = await decoding
      .toColorspace('srgb')
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    if (info.width === width && info.height === height && data.length === width * height * 4)
      return { width, height, data };
  } catch (cause) {
    throw damaged(cause);
  }
  throw damaged();
}

function compareSharedArea(before: Pixels, after: Pixels, options: ComparisonOptions): Changes {
  const width = Math.min(before.width, after.width);
  const height = Math.min(before.height, after.height);
  for (const box of options.mask) for (const picture of [before, after]) clear(picture, box);
  const changed = new Uint8Array(width * height);
  const marks = Buffer.alloc(width * (STRIP_ROWS + 2 * MARGIN_ROWS) * 4);
  for (let top = 0; top < height; top += STRIP_ROWS) {
    const bottom = Math.min(top + STRIP_ROWS, height);
    const rows = { from: Math.max(0, top - MARGIN_ROWS), to: Math.min(height, bottom + MARGIN_ROWS) };
    const strip = marks.subarray(0, width * (rows.to - rows.from) * 4).fill(0);
    const differing = diff(
      readRows(before, width, rows),
      readRows(after, width, rows),
      strip,
      width,
      rows.to - rows.from,
      {
        threshold: options.threshold,
        includeAA: !options.ignoreAntialiasing,
        diffMask: true,
        diffColor: MARK.rgb,
      },
    );
    if (differing > 0) copyMarks(strip, changed, { width, top, bottom, from: rows.from });
  }
  const changes = { width, height, changed };
  markEvenChanges(before, after, { changes, threshold: options.threshold });
  return changes;
}

/** The first `width` pixels of some rows, copied only if the picture is wider. */
function readRows({ width: full, data }: Pixels, width: number, { from, to }: { from: number; to: number }): Buffer {
  if (full === width) return data.subarray(from * width * 4, to * width * 4);
  const rows = Buffer.allocUnsafe(width * (to - from) * 4);
  for (let row = from; row < to; row++)
    data.copy(rows, (row - from) * width * 4, row * full * 4, (row * full + width) * 4);
  return rows;
}

function copyMarks(
  strip: Buffer,
  changed: Uint8Array,
  at: { width: number; top: number; bottom: number; from: number },
): void {
  const words = new Uint32Array(strip.buffer, strip.byteOffset, strip.length / 4);
  const skipped = (at.top - at.from) * at.width;
  const start = at.top * at.width;
  for (let index = 0; index < (at.bottom - at.top) * at.width; index++) {
    if (words[skipped + index] === MARK.word) changed[start + index] = 1;
  }
}

/** Makes an area transparent, so that it is the same in both pictures. */
function clear({ width, height, data }: Pixels, box: Box): void {
  const [left, right] = [Math.min(width, box.x), Math.min(width, box.x + box.width)];
  for (let row = box.y; row < Math.min(height, box.y + box.height); row++)
    data.fill(0, (row * width + left) * 4, (row * width + right) * 4);
}

/** The areas at the right and at the bottom that only one of the pictures has. */
function outsideRegions({ before, after }: Pick<Comparison, 'before' | 'after'>): Box[] {
  const [width, height] = [Math.max(before.width, after.width), Math.max(before.height, after.height)];
  const [sharedWidth, sharedHeight] = [Math.min(before.width, after.width), Math.min(before.height, after.height)];
  const right = { x: sharedWidth, y: 0, width: width - sharedWidth, height: sharedHeight };
  const bottom = { x: 0, y: sharedHeight, width, height: height - sharedHeight };
  return [right, bottom].filter((box) => area(box) > 0);
}

function area({ width, height }: { width: number; height: number }): number {
  return width * height;
}

function count(changed: Uint8Array): number {
  let sum = 0;
  for (let at = changed.indexOf(1); at !== -1; at = changed.indexOf(1, at + 1)) sum++;
  return sum;
}
