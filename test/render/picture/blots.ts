import sharp from 'sharp';

/** The bounding box of one color in a picture, in px, and its number of pixels. */
export interface Blot {
  left: number;
  top: number;
  width: number;
  height: number;
  pixels: number;
  /** The number of pixels outside the outermost rows and columns of the box. */
  inner: number;
}

/** Cache for pictures in which several colors are searched for. */
const samples = new WeakMap<Uint8Array, ReturnType<typeof decode>>();

export async function blotOf(content: Uint8Array, color: readonly [number, number, number]): Promise<Blot> {
  const { data, info } = await samplesOf(content);
  const [red, green, blue] = color;
  let [left, right, top, bottom, pixels] = [info.width, -1, info.height, -1, 0];
  for (let y = 0, at = 0; y < info.height; y++) {
    for (let x = 0; x < info.width; x++, at += 3) {
      if (data[at] !== red || data[at + 1] !== green || data[at + 2] !== blue) continue;
      pixels++;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      bottom = y;
    }
  }
  let inner = 0;
  for (let y = top + 1; y < bottom; y++) {
    for (let x = left + 1, at = (y * info.width + x) * 3; x < right; x++, at += 3) {
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) inner++;
    }
  }
  return { left, top, width: right - left + 1, height: bottom - top + 1, pixels, inner };
}

/** How much two pictures of one size differ per channel of a pixel: the greatest and the mean step, and the share of those that changed. */
export async function difference(
  one: Uint8Array,
  other: Uint8Array,
): Promise<{ most: number; mean: number; changed: number }> {
  const [{ data }, { data: others }] = await Promise.all([samplesOf(one), samplesOf(other)]);
  if (data.length !== others.length) throw new Error(`${data.length} and ${others.length} samples`);
  let [most, sum, changed] = [0, 0, 0];
  for (let at = 0; at < data.length; at++) {
    const step = Math.abs((data[at] ?? 0) - (others[at] ?? 0));
    if (step > most) most = step;
    if (step > 0) changed++;
    sum += step;
  }
  return { most, mean: sum / data.length, changed: changed / data.length };
}

/** The color of a pixel, as hex. */
export async function colorAt(content: Uint8Array, left: number, top: number): Promise<string> {
  return (await sharp(content).extract({ left, top, width: 1, height: 1 }).removeAlpha().raw().toBuffer()).toString(
    'hex',
  );
}

function samplesOf(content: Uint8Array): ReturnType<typeof decode> {
  const decoded = samples.get(content) ?? decode(content);
  samples.set(content, decoded);
  return decoded;
}

function decode(content: Uint8Array) {
  return sharp(content, { limitInputPixels: false }).removeAlpha().raw().toBuffer({ resolveWithObject: true });
}
