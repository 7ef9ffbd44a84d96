import sharp, { type Sharp } from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions, ImageFormat, ResizeOption } from '../../contract/capture-request.js';
import { WHOLE_PICTURE_MAX_PIXELS } from '../../contract/limits.js';
import { type PaletteOption, paletteColors } from '../../contract/palette.js';
import { dithered } from './dither.js';
import { eachRow } from './each-row.js';
import { indexedBmp, indexedPng, SWAP_RED_AND_BLUE, trueColorBmp } from './indexed-file.js';

/** Pictures that are turned, have a palette or are BMPs. Unlike others, they are encoded from pixels that are all in memory. */

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
export async function wholePicture(image: Sharp, size: Size, { resize, ...how }: WholeOptions): Promise<Raw> {
  const { width, height } = sizeAfter(size, resize);
  if (width * height > WHOLE_PICTURE_MAX_PIXELS) throw tooLarge({ width, height }, how);
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
export function turned({ data, info }: Raw, { rotate }: Pick<WholeOptions, 'rotate'>): Sharp {
  const image = sharp(data, { raw: info, limitInputPixels: false });
  return rotate === null ? image : image.rotate(rotate);
}

/** @param image without alpha */
export async function encodeBmp(image: Sharp): Promise<Written> {
  const { data, info } = await image.recomb(SWAP_RED_AND_BLUE).raw().toBuffer({ resolveWithObject: true });
  return { content: await trueColorBmp({ data, ...sizeOf(info) }), ...sizeOf(info) };
}

/** @param image without alpha */
export async function encodePalette(image: Sharp, palette: PaletteOption, format: ImageFormat): Promise<Written> {
  const colors = paletteColors(palette);
  // A grey has one value, so that the error of a colour does not add up where no grey can make up for it.
  const isGrey = colors.every(([red, ...others]) => others.every((value) => value === red));
  const { data, info } = await (isGrey ? image.toColourspace('b-w') : image).raw().toBuffer({ resolveWithObject: true });
  const size = sizeOf(info);
  const values = isGrey ? colors.map((color) => color.slice(0, 1)) : colors;
  const indexed = { indexes: await dithered({ data, ...size }, values, palette.dither), palette: colors, ...size };
  return { content: await (format === 'bmp' ? indexedBmp(indexed) : indexedPng(indexed)), ...size };
}

interface Size {
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

function tooLarge({ width, height }: Size, { palette, rotate }: Pick<WholeOptions, 'palette' | 'rotate'>): CaptureError {
  const path = palette !== null ? 'palette' : rotate !== null ? 'rotate' : 'format';
  const message = `is possible for a picture of at most ${WHOLE_PICTURE_MAX_PIXELS / 1e6} million pixels${path === 'format' ? ' if it is bmp' : ''}, and this one has ${Math.ceil((width * height) / 1e6)} million. \`resize\`, \`max_height\` or a lower \`viewport.deviceScaleFactor\` may help.`;
  return new CaptureError({ code: 'invalid_request', message: `\`${path}\` ${message}`, details: { issues: [{ path, message }] } });
}
