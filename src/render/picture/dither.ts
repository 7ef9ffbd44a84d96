import type { PaletteOption } from '../../contract/palette.js';
import { eachRow } from './each-row.js';

/** Pixels of one or three bytes, row by row from the top. */
export interface Pixels {
  data: Uint8Array;
  width: number;
  height: number;
}

/** How much of a pixel's error its neighbours get: to the right, down, share. */
const KERNELS: Record<PaletteOption['dither'], readonly [right: number, down: number, share: number][]> = {
  floyd_steinberg: [
    [1, 0, 7 / 16],
    [-1, 1, 3 / 16],
    [0, 1, 5 / 16],
    [1, 1, 1 / 16],
  ],
  atkinson: [
    [1, 0, 1 / 8],
    [2, 0, 1 / 8],
    [-1, 1, 1 / 8],
    [0, 1, 1 / 8],
    [1, 1, 1 / 8],
    [0, 2, 1 / 8],
  ],
  none: [],
};
const MARGIN = 2;

/**
 * Finds the palette's colour for each pixel, and spreads its error over the next pixels, in alternating directions. Lets the
 * server do other work in between.
 * @param palette the values of each colour, as many as a pixel has
 * @returns a byte for each pixel: the place of its colour in the palette
 */
export async function dithered(
  { data, width, height }: Pixels,
  palette: readonly number[][],
  dither: PaletteOption['dither'],
): Promise<Uint8Array> {
  const channels = palette[0]?.length ?? 1;
  const indexes = new Uint8Array(width * height);
  const row = rowDitherer(palette, KERNELS[dither]);
  let errors = [0, 1, 2].map(() => new Float32Array((width + 2 * MARGIN) * channels));
  await eachRow({ width, height }, (y) => {
    const at = y * width;
    row(data.subarray(at * channels, (at + width) * channels), indexes.subarray(at, at + width), { errors, forward: y % 2 === 0 });
    const [done, ...next] = errors;
    errors = done === undefined ? next : [...next, done.fill(0)];
  });
  return indexes;
}

/** @returns dithers one row: `errors` are those of this row and of the next two */
function rowDitherer(palette: readonly number[][], kernel: (typeof KERNELS)['none']) {
  const channels = palette[0]?.length ?? 1;
  const colors = Uint8Array.from(palette.flat());
  const nearest = nearestIn(colors, channels);
  const downs = kernel.map(([, down]) => down);
  const shares = Float32Array.from(kernel.map(([, , share]) => share));
  return (pixels: Uint8Array, indexes: Uint8Array, { errors, forward }: { errors: Float32Array[]; forward: boolean }) => {
    const [own] = errors;
    if (own === undefined) return;
    const targets = downs.map((down) => errors[down] ?? own);
    const offsets = Int32Array.from(kernel.map(([right]) => (forward ? right : -right) * channels));
    const error = new Float32Array(channels);
    const width = indexes.length;
    for (let step = 0; step < width; step++) {
      const x = forward ? step : width - 1 - step;
      const at = (x + MARGIN) * channels;
      let key = 0;
      for (let channel = 0; channel < channels; channel++) {
        const wanted = Math.min(255, Math.max(0, (pixels[x * channels + channel] ?? 0) + (own[at + channel] ?? 0)));
        error[channel] = wanted;
        key = (key << 8) | Math.round(wanted);
      }
      const index = nearest(key);
      indexes[x] = index;
      for (let channel = 0; channel < channels; channel++)
        error[channel] = (error[channel] ?? 0) - (colors[index * channels + channel] ?? 0);
      for (let tap = 0; tap < shares.length; tap++) {
        const target = targets[tap] ?? own;
        const share = shares[tap] ?? 0;
        const place = at + (offsets[tap] ?? 0);
        for (let channel = 0; channel < channels; channel++) {
          target[place + channel] = (target[place + channel] ?? 0) + (error[channel] ?? 0) * share;
        }
      }
    }
  };
}

/** @returns finds the place of the nearest colour by the bytes of a pixel in one number, and remembers it */
function nearestIn(colors: Uint8Array, channels: number): (key: number) => number {
  // 33 MB for three channels, of which only the parts that are written take memory.
  const known = new Uint16Array(2 ** (8 * channels));
  return (key) => {
    const found = known[key] ?? 0;
    if (found > 0) return found - 1;
    let [best, least] = [0, Number.POSITIVE_INFINITY];
    for (let place = 0; place < colors.length / channels; place++) {
      let distance = 0;
      for (let channel = 0; channel < channels; channel++) {
        const difference = ((key >> (8 * (channels - 1 - channel))) & 255) - (colors[place * channels + channel] ?? 0);
        distance += difference * difference;
      }
      if (distance < least) [best, least] = [place, distance];
    }
    known[key] = best + 1;
    return best;
  };
}
