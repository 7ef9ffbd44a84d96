import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import sharp, { type Matrix3x3 } from 'sharp';
import { eachRow } from './each-row.js';

/** PNG files with a given palette, which sharp does not write, and BMP files, which it neither writes nor reads. */

/** A picture with a palette. */
export interface Indexed {
  /** A byte for each pixel: the place of its colour in the palette. */
  indexes: Uint8Array;
  width: number;
  height: number;
  /** Red, green and blue, 0–255, of 2 to 256 colours. */
  palette: readonly number[][];
}

/** The file with the fewest bits per pixel. Greys that a PNG of that depth has anyway need no palette. */
export async function indexedPng({ indexes, width, height, palette }: Indexed): Promise<Buffer> {
  const bits = bitsFor(palette.length, [1, 2, 4, 8]);
  const most = 2 ** bits - 1;
  const isGrey = palette.length === most + 1 && palette.every((color, index) => color.every((value) => value * most === index * 255));
  const pack = (y: number, row: Buffer) => packRow(indexes.subarray(y * width, (y + 1) * width), bits, row);
  return await writePng({ width, height, bits, palette: isGrey ? null : palette }, pack);
}

/** Rows from the bottom to the top, below a BITMAPINFOHEADER and a table with exactly the colours of the palette. */
export async function indexedBmp({ indexes, width, height, palette }: Indexed): Promise<Buffer> {
  const bits = bitsFor(palette.length, [1, 4, 8]);
  const { file, rowAt } = emptyBmp({ width, height, bits, colors: palette.length });
  for (const [index, color] of palette.entries()) file.set(color.toReversed(), BMP_TABLE + 4 * index);
  await eachRow({ width, height }, (y) => packRow(indexes.subarray(y * width, (y + 1) * width), bits, file.subarray(rowAt(y))));
  return file;
}

/** @param pixels three bytes each: blue, green, red */
export async function trueColorBmp({ data, width, height }: { data: Uint8Array; width: number; height: number }): Promise<Buffer> {
  const { file, rowAt } = emptyBmp({ width, height, bits: 24, colors: 0 });
  await eachRow({ width, height }, (y) => file.set(data.subarray(y * width * 3, (y + 1) * width * 3), rowAt(y)));
  return file;
}

/** The same picture in a format that sharp reads, if it is a BMP of this program; any other file as it is. */
export async function withoutBmp(file: Buffer): Promise<Buffer> {
  if (file.length < BMP_TABLE || file.toString('latin1', 0, 2) !== 'BM') return file;
  const [width, height, bits, colors] = [file.readInt32LE(18), file.readInt32LE(22), file.readUInt16LE(28), file.readUInt32LE(46)];
  const { size, rowBytes, rowAt } = bmpLayout({ width, height, bits, colors });
  if (![1, 4, 8, 24].includes(bits) || width < 1 || height < 1 || colors > 256 || size !== file.length) return file;
  const copyRow = (y: number, row: Buffer) => file.copy(row, 0, rowAt(y), Math.min(rowAt(y) + rowBytes, rowAt(y) + row.length));
  if (bits < 24) {
    const palette = Array.from({ length: colors }, (_, index) => [...file.subarray(BMP_TABLE + 4 * index).subarray(0, 3)].reverse());
    return await writePng({ width, height, bits, palette }, copyRow);
  }
  const data = Buffer.alloc(width * height * 3);
  await eachRow({ width, height }, (y) => copyRow(y, data.subarray(y * width * 3, (y + 1) * width * 3)));
  const image = sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false }).recomb(SWAP_RED_AND_BLUE);
  return await image.png({ compressionLevel: 1 }).toBuffer();
}

/** For sharp's `recomb`. */
export const SWAP_RED_AND_BLUE: Matrix3x3 = [
  [0, 0, 1],
  [0, 1, 0],
  [1, 0, 0],
];

const compress = promisify(deflate);
const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const PNG_GREY = 0;
const PNG_INDEXED = 3;

interface PngHead {
  width: number;
  height: number;
  bits: number;
  /** Null for greys. */
  palette: readonly number[][] | null;
}

/** @param fill writes the packed pixels of a row */
async function writePng({ width, height, bits, palette }: PngHead, fill: (y: number, row: Buffer) => void): Promise<Buffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, palette === null ? PNG_GREY : PNG_INDEXED], 8);
  // The first byte of a row is its filter: none.
  const rowBytes = 1 + Math.ceil((width * bits) / 8);
  const rows = Buffer.alloc(rowBytes * height);
  await eachRow({ width, height }, (y) => fill(y, rows.subarray(y * rowBytes + 1, (y + 1) * rowBytes)));
  const colors = palette === null ? [] : [chunk('PLTE', Buffer.from(palette.flat()))];
  const chunks = [chunk('IHDR', header), ...colors, chunk('IDAT', await compress(rows)), chunk('IEND', Buffer.alloc(0))];
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
/** Where the table of colours begins. */
const BMP_TABLE = BMP_FILE_HEADER + 40;
/** 72 dpi, in pixels per metre. */
const BMP_DENSITY = 2_835;

interface BmpHead {
  width: number;
  height: number;
  bits: number;
  colors: number;
}

function bmpLayout({ width, height, bits, colors }: BmpHead) {
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  const start = BMP_TABLE + 4 * colors;
  return { size: start + rowBytes * height, start, rowBytes, rowAt: (y: number) => start + (height - 1 - y) * rowBytes };
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
