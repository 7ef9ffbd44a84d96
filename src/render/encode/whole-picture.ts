/**
 * Pictures that are turned, have a palette or are BMPs. Unlike others, they are encoded from pixels that are all in memory: sharp
 * writes no PNG with a given palette, and neither writes nor reads BMPs.
 */

import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import type { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions, ImageFormat, ResizeOption } from '../../contract/capture-request.js';
import { WHOLE_PICTURE_MAX_PIXELS } from '../../contract/limits.js';
import { type PaletteOption, paletteColors } from '../../contract/palette.js';
import { invalidRequest } from '../../contract/submission.js';
import { type Matrix3x3, type Sharp, sharp } from '../../sharp.js';

interface Raw {
  data: Buffer;
  info: { width: number; height: number; channels: 1 | 2 | 3 | 4 };
}

type WholeOptions = Pick<CaptureOptions, 'resize' | 'rotate' | 'palette'>;

/**
 * The pixels of a picture.
 * @param size of the picture before it is resized
 * @throws CaptureError `invalid_request` for more than WHOLE_PICTURE_MAX_PIXELS
 */
export async function wholePicture(image: Sharp, size: Size, options: WholeOptions): Promise<Raw> {
  const { width, height } = sizeAfter(size, options.resize);
  if (width * height > WHOLE_PICTURE_MAX_PIXELS) throw tooLarge({ width, height }, options);
  return await image.raw().toBuffer({ resolveWithObject: true });
}

export async function isAllWhitePixels({ data, info }: Raw, least: number): Promise<boolean> {
  const rowBytes = data.length / info.height;
  let isWhite = true;
  await eachRow(info, (y) => {
    for (let at = y * rowBytes; at < (y + 1) * rowBytes; at++) if ((data[at] ?? 0) < least) isWhite = false;
    return isWhite;
  });
  return isWhite;
}

/** Turns it, clockwise. */
export function turned({ data, info }: Raw, { rotate }: WholeOptions): Sharp {
  const image = sharp(data, { raw: info, limitInputPixels: false });
  return rotate === null ? image : image.rotate(rotate);
}

/** @param image without alpha */
export async function encodeBmp(image: Sharp): Promise<Written> {
  const { data, info } = await image.recomb(SWAP_RED_AND_BLUE).raw().toBuffer({ resolveWithObject: true });
  const size = sizeOf(info);
  return { content: await trueColorBmp({ data, ...size }), ...size };
}

/** @param image without alpha */
export async function encodePalette(image: Sharp, palette: PaletteOption, format: ImageFormat): Promise<Written> {
  const colors = paletteColors(palette);
  // A gray has one value, so that the error of a color does not add up where no gray can make up for it.
  const isGray = colors.every(([red, ...others]) => others.every((value) => value === red));
  const { data, info } = await (isGray ? image.toColorspace('b-w') : image).raw().toBuffer({ resolveWithObject: true });
  const size = sizeOf(info);
  const values = isGray ? colors.map((color) => color.slice(0, 1)) : colors;
  const indexed = { indexes: await dithered({ data, ...size }, values, palette.dither), palette: colors, ...size };
  return { content: await (format === 'bmp' ? indexedBmp(indexed) : indexedPng(indexed)), ...size };
}

export interface Size {
  width: number;
  height: number;
}

interface Written extends Size {
  content: Buffer;
}

function sizeOf({ width, height }: Size): Size {
  return { width, height };
}

/** The size that `scaledDown` of encode.ts makes. */
function sizeAfter({ width, height }: Size, resize: ResizeOption | null): Size {
  if (resize === null) return { width, height };
  const box = { width: Math.min(width, resize.width ?? width), height: Math.min(height, resize.height ?? height) };
  const isBox = resize.fit !== 'inside' && resize.width !== null && resize.height !== null;
  const scale = Math.min(box.width / width, box.height / height);
  return isBox ? box : { width: width * scale, height: height * scale };
}

function tooLarge({ width, height }: Size, { palette, rotate }: WholeOptions): CaptureError {
  const path = palette !== null ? 'palette' : rotate !== null ? 'rotate' : 'format';
  const message = `is possible for a picture of at most ${WHOLE_PICTURE_MAX_PIXELS / 1e6} million pixels${path === 'format' ? ' if it is bmp' : ''}, and this one has ${Math.ceil((width * height) / 1e6)} million. \`resize\`, \`max_height\` or a lower \`viewport.deviceScaleFactor\` may help.`;
  return invalidRequest([{ path, message }]);
}

/** Pixels of one or three bytes, row by row from the top. */
interface Pixels extends Size {
  data: Uint8Array;
}

/** The share of a pixel's error that each neighbor gets: to the right, down, share. */
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
 * Finds the palette's color for each pixel, and spreads its error over the next pixels, in alternating directions. Lets the
 * server do other work in between.
 * @param palette the values of each color, as many as a pixel has
 * @returns a byte for each pixel: the place of its color in the palette
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
    row(data.subarray(at * channels, (at + width) * channels), indexes.subarray(at, at + width), {
      errors,
      forward: y % 2 === 0,
    });
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
  return (
    pixels: Uint8Array,
    indexes: Uint8Array,
    { errors, forward }: { errors: Float32Array[]; forward: boolean },
  ) => {
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

/** @returns finds the place of the nearest color by the bytes of a pixel in one number, and remembers it */
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

/** Pixels after which others get a turn: about 1 ms, or 6 ms if many colors are new to a dithered picture. Four pictures may take turns. */
const TURN_PIXELS = 8_000;

/**
 * Goes through the rows of a picture from the top, and lets the server do other work in between.
 * @param visit stops it by returning false
 */
async function eachRow(
  { width, height }: { width: number; height: number },
  visit: (y: number) => unknown,
): Promise<void> {
  for (let y = 0, turn = 0; y < height; y++, turn += width) {
    if (visit(y) === false) return;
    if (turn < TURN_PIXELS) continue;
    turn = 0;
    await setImmediate();
  }
}

/** A picture with a palette. */
interface Indexed extends Size {
  /** A byte for each pixel: the place of its color in the palette. */
  indexes: Uint8Array;
  /** Red, green and blue, 0–255, of 2 to 256 colors. */
  palette: readonly number[][];
}

/** The file with the fewest bits per pixel. Grays that a PNG of that depth has anyway need no palette. */
export async function indexedPng({ indexes, width, height, palette }: Indexed): Promise<Buffer> {
  const bits = bitsFor(palette.length, [1, 2, 4, 8]);
  const most = 2 ** bits - 1;
  const isGray =
    palette.length === most + 1 &&
    palette.every((color, index) => color.every((value) => value * most === index * 255));
  const pack = (y: number, row: Buffer) => packRow(indexes.subarray(y * width, (y + 1) * width), bits, row);
  return await writePng({ width, height, bits, palette: isGray ? null : palette }, pack);
}

/** Rows from the bottom to the top, below a BITMAPINFOHEADER and a table with exactly the colors of the palette. */
export async function indexedBmp({ indexes, width, height, palette }: Indexed): Promise<Buffer> {
  const bits = bitsFor(palette.length, [1, 4, 8]);
  const { file, rowAt } = emptyBmp({ width, height, bits, colors: palette.length });
  for (const [index, color] of palette.entries()) file.set(color.toReversed(), BMP_TABLE + 4 * index);
  await eachRow({ width, height }, (y) =>
    packRow(indexes.subarray(y * width, (y + 1) * width), bits, file.subarray(rowAt(y))),
  );
  return file;
}

/** @param pixels three bytes each: blue, green, red */
export async function trueColorBmp({ data, width, height }: Pixels): Promise<Buffer> {
  const { file, rowAt } = emptyBmp({ width, height, bits: 24, colors: 0 });
  await eachRow({ width, height }, (y) => file.set(data.subarray(y * width * 3, (y + 1) * width * 3), rowAt(y)));
  return file;
}

/** The same picture in a format that sharp reads, if it is a BMP of this program; any other file as it is. */
export async function withoutBmp(file: Buffer): Promise<Buffer> {
  if (file.length < BMP_TABLE || file.toString('latin1', 0, 2) !== 'BM') return file;
  const [width, height, bits, colors] = [
    file.readInt32LE(18),
    file.readInt32LE(22),
    file.readUInt16LE(28),
    file.readUInt32LE(46),
  ];
  const { size, rowBytes, rowAt } = bmpLayout({ width, height, bits, colors });
  if (![1, 4, 8, 24].includes(bits) || width < 1 || height < 1 || colors > 256 || size !== file.length) return file;
  const copyRow = (y: number, row: Buffer) =>
    file.copy(row, 0, rowAt(y), Math.min(rowAt(y) + rowBytes, rowAt(y) + row.length));
  if (bits < 24) {
    const palette = Array.from({ length: colors }, (_, index) =>
      [...file.subarray(BMP_TABLE + 4 * index).subarray(0, 3)].reverse(),
    );
    return await writePng({ width, height, bits, palette }, copyRow);
  }
  const data = Buffer.alloc(width * height * 3);
  await eachRow({ width, height }, (y) => copyRow(y, data.subarray(y * width * 3, (y + 1) * width * 3)));
  const image = sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false }).recomb(SWAP_RED_AND_BLUE);
  return await image.png({ compressionLevel: 1 }).toBuffer();
}

/** For sharp's `recomb`. */
const SWAP_RED_AND_BLUE: Matrix3x3 = [
  [0, 0, 1],
  [0, 1, 0],
  [1, 0, 0],
];

const compress = promisify(deflate);
const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const PNG_GRAY = 0;
const PNG_INDEXED = 3;

interface PngHead extends Size {
  bits: number;
  /** Null for grays. */
  palette: readonly number[][] | null;
}

/** @param fill writes the packed pixels of a row */
async function writePng(
  { width, height, bits, palette }: PngHead,
  fill: (y: number, row: Buffer) => void,
): Promise<Buffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, palette === null ? PNG_GRAY : PNG_INDEXED], 8);
  // The first byte of a row is its filter: none.
  const rowBytes = 1 + Math.ceil((width * bits) / 8);
  const rows = Buffer.alloc(rowBytes * height);
  await eachRow({ width, height }, (y) => fill(y, rows.subarray(y * rowBytes + 1, (y + 1) * rowBytes)));
  const colors = palette === null ? [] : [chunk('PLTE', Buffer.from(palette.flat()))];
  const chunks = [
    chunk('IHDR', header),
    ...colors,
    chunk('IDAT', await compress(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([PNG_SIGNATURE, ...chunks]);
}

function chunk(type: string, content: Buffer): Buffer {
  const framed = Buffer.alloc(12 + content.length);
  framed.writeUInt32BE(content.length, 0);
  framed.write(type, 4, 'latin1');
  content.copy(framed, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, -4)), 8 + content.length);
  return framed;
}

const BMP_FILE_HEADER = 14;
/** The offset of the table of colors. */
const BMP_TABLE = BMP_FILE_HEADER + 40;
/** 72 dpi, in pixels per meter. */
const BMP_DENSITY = 2_835;

interface BmpHead extends Size {
  bits: number;
  colors: number;
}

function bmpLayout({ width, height, bits, colors }: BmpHead) {
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  const start = BMP_TABLE + 4 * colors;
  return {
    size: start + rowBytes * height,
    start,
    rowBytes,
    rowAt: (y: number) => start + (height - 1 - y) * rowBytes,
  };
}

function emptyBmp(head: BmpHead): { file: Buffer; rowAt: (y: number) => number } {
  const { size, start, rowBytes, rowAt } = bmpLayout(head);
  const file = Buffer.alloc(size);
  file.write('BM', 0, 'latin1');
  file.writeUInt32LE(size, 2);
  file.writeUInt32LE(start, 10);
  file.writeUInt32LE(BMP_TABLE - BMP_FILE_HEADER, 14);
  file.writeUInt32LE(head.width, 18);
  file.writeUInt32LE(head.height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(head.bits, 28);
  file.writeUInt32LE(rowBytes * head.height, 34);
  file.writeUInt32LE(BMP_DENSITY, 38);
  file.writeUInt32LE(BMP_DENSITY, 42);
  file.writeUInt32LE(head.colors, 46);
  return { file, rowAt };
}

function bitsFor(colors: number, depths: readonly number[]): number {
  return depths.find((bits) => colors <= 2 ** bits) ?? 8;
}

/** Packs pixels of 1, 2, 4 or 8 bits into bytes, the first in the highest bits. */
function packRow(indexes: Uint8Array, bits: number, target: Uint8Array): void {
  const perByte = 8 / bits;
  for (let x = 0; x < indexes.length; x++) {
    const byte = Math.floor(x / perByte);
    target[byte] = (target[byte] ?? 0) | ((indexes[x] ?? 0) << (8 - bits * ((x % perByte) + 1)));
  }
}
