import sharp from 'sharp';

/** Where one colour is in a picture, px, and on how many pixels. */
export interface Blot {
  left: number;
  top: number;
  width: number;
  height: number;
  pixels: number;
  /** Of these, how many are not of its outermost rows and columns. */
  inner: number;
}

export async function blotOf(content: Uint8Array, colour: readonly [number, number, number]): Promise<Blot> {
  const { data, info } = await sharp(content, { limitInputPixels: false }).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  let [left, right, top, bottom] = [info.width, -1, info.height, -1];
  const found: number[] = [];
  for (let at = 0; at < data.length; at += 3) {
    if (data[at] !== colour[0] || data[at + 1] !== colour[1] || data[at + 2] !== colour[2]) continue;
    const pixel = at / 3;
    found.push(pixel);
    const x = pixel % info.width;
    const y = Math.floor(pixel / info.width);
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = y;
  }
  const isInner = (pixel: number): boolean => {
    const x = pixel % info.width;
    const y = Math.floor(pixel / info.width);
    return x > left && x < right && y > top && y < bottom;
  };
  return { left, top, width: right - left + 1, height: bottom - top + 1, pixels: found.length, inner: found.filter(isInner).length };
}
