import sharp from 'sharp';

/** Where one colour is in a picture, px, and on how many pixels. */
export interface Blot {
  left: number;
  top: number;
  width: number;
  height: number;
  pixels: number;
}

export async function blotOf(content: Uint8Array, colour: readonly [number, number, number]): Promise<Blot> {
  const { data, info } = await sharp(content, { limitInputPixels: false }).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  let [left, right, top, bottom, pixels] = [info.width, -1, info.height, -1, 0];
  for (let at = 0; at < data.length; at += 3) {
    if (data[at] !== colour[0] || data[at + 1] !== colour[1] || data[at + 2] !== colour[2]) continue;
    const x = (at / 3) % info.width;
    const y = Math.floor(at / 3 / info.width);
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = y;
    pixels++;
  }
  return { left, top, width: right - left + 1, height: bottom - top + 1, pixels };
}
