import { type Bounds, CELL_PX, type Changes, joinedCells, neighbors } from './changed-regions.js';
import type { Pixels } from './draw-differences.js';

/** A large area that changes evenly counts from this share of the difference from which a single pixel does. */
const SHARE_OF_THRESHOLD = 0.15;
/** The smallest such area, in cells: 64 × 64 px. */
const CELLS_MIN = 16;
/** The share of a cell's pixels that must have changed. Antialiasing concerns edges, and so fewer pixels. */
const CHANGED_MIN = 0.5;
/** The likeness that the changes of a cell's pixels must be, from 0 to 1. Those of noise cancel each other out. */
const ALIKE_MIN = 0.8;
/** The greatest difference of two colors, that of black and white. */
const DIFFERENCE_MAX = 35_215;

/**
 * Marks the changed pixels of large areas that change alike, as a background does, although by too little for a single pixel to
 * count: a person sees such an area.
 * @param threshold as for single pixels, 0 to 1
 */
export function markEvenChanges(
  before: Pixels,
  after: Pixels,
  { changes, threshold }: { changes: Changes; threshold: number },
): void {
  const { width, height, changed } = changes;
  const columns = Math.ceil(width / CELL_PX);
  const pair: Pair = {
    old: wordsOf(before),
    oldWidth: before.width,
    current: wordsOf(after),
    currentWidth: after.width,
  };
  const limit = DIFFERENCE_MAX * (threshold * SHARE_OF_THRESHOLD) ** 2;
  const boundsOf = (cell: number): Bounds => {
    const [left, top] = [(cell % columns) * CELL_PX, Math.floor(cell / columns) * CELL_PX];
    return { left, top, right: Math.min(left + CELL_PX, width), bottom: Math.min(top + CELL_PX, height) };
  };
  const even = new Set<number>();
  const cells = columns * Math.ceil(height / CELL_PX);
  for (let cell = 0; cell < cells; cell++) if (changesEvenly(pair, boundsOf(cell), limit)) even.add(cell);
  const marked = new Uint8Array(cells);
  for (const area of joinedCells(even, columns)) {
    if (area.length < CELLS_MIN) continue;
    // The cells around an area have its edges.
    for (const cell of area) for (const one of [cell, ...neighbors(cell, columns)]) marked[one] = 1;
  }
  for (let cell = marked.indexOf(1); cell !== -1; cell = marked.indexOf(1, cell + 1)) {
    const { left, top, right, bottom } = boundsOf(cell);
    for (let y = top; y < bottom; y++)
      for (let x = left; x < right; x++) if (differenceAt(pair, x, y) > limit) changed[y * width + x] = 1;
  }
}

/** The pixels of two pictures, as they are on a little-endian machine. */
interface Pair {
  old: Uint32Array;
  oldWidth: number;
  current: Uint32Array;
  currentWidth: number;
}

function wordsOf({ data }: Pixels): Uint32Array {
  return new Uint32Array(data.buffer, data.byteOffset, data.length / 4);
}

/** Looks at every second pixel of every second row, which is enough for an area. */
function changesEvenly(
  { old, oldWidth, current, currentWidth }: Pair,
  { left, top, right, bottom }: Bounds,
  limit: number,
): boolean {
  let looked = 0;
  let pixels = 0;
  let total = 0;
  let reds = 0;
  let greens = 0;
  let blues = 0;
  for (let y = top; y < bottom; y += 2) {
    for (let x = left; x < right; x += 2) {
      looked++;
      const from = old[y * oldWidth + x] as number;
      const to = current[y * currentWidth + x] as number;
      if (from === to) continue;
      const red = step(from, to, 0);
      const green = step(from, to, 8);
      const blue = step(from, to, 16);
      const difference = differenceOf(red, green, blue);
      if (difference <= limit) continue;
      pixels++;
      total += Math.sqrt(difference);
      reds += red;
      greens += green;
      blues += blue;
    }
  }
  return pixels >= looked * CHANGED_MIN && Math.sqrt(differenceOf(reds, greens, blues)) >= total * ALIKE_MIN;
}

function differenceAt({ old, oldWidth, current, currentWidth }: Pair, x: number, y: number): number {
  const from = old[y * oldWidth + x] as number;
  const to = current[y * currentWidth + x] as number;
  return from === to ? 0 : differenceOf(step(from, to, 0), step(from, to, 8), step(from, to, 16));
}

function step(from: number, to: number, shift: number): number {
  return onWhite(to, shift) - onWhite(from, shift);
}

function onWhite(pixel: number, shift: number): number {
  const alpha = pixel >>> 24;
  const value = (pixel >>> shift) & 255;
  return alpha === 255 ? value : 255 + ((value - 255) * alpha) / 255;
}

/** The squared distance of two colors in YIQ, as @blazediff/core has it for single pixels. */
function differenceOf(red: number, green: number, blue: number): number {
  const y = 0.299 * red + 0.587 * green + 0.114 * blue;
  const i = 0.596 * red - 0.274 * green - 0.322 * blue;
  const q = 0.211 * red - 0.523 * green + 0.311 * blue;
  return 0.5053 * y * y + 0.299 * i * i + 0.1957 * q * q;
}
