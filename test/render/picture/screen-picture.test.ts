import sharp, { type Sharp } from 'sharp';
import { describe, expect, it, test } from 'vitest';
import { defaultOptions } from '../../../src/contract/capture-request.js';
import type { PaletteOption } from '../../../src/contract/palette.js';
import { type Encoding, encodeStrips, encodingOf } from '../../../src/render/encode/encode.js';
import {
  dithered,
  indexedBmp,
  indexedPng,
  isAllWhitePixels,
  trueColorBmp,
  withoutBmp,
} from '../../../src/render/encode/whole-picture.js';
import { finalShot } from '../../../src/render/picture/region-picture.js';

const PNG = encodingOf(defaultOptions(), 'png');
const RED = [255, 0, 0];
const GREEN = [0, 255, 0];
const BLUE = [0, 0, 255];
const WHITE = [255, 255, 255];
/** A list of 256 colors, which contains white. */
const MANY = Array.from({ length: 256 }, (_, index) => `#${(0xffffff - index * 12_345).toString(16).padStart(6, '0')}`);

function palette(colors: PaletteOption['colors'], dither: PaletteOption['dither'] = 'floyd_steinberg'): PaletteOption {
  return { colors, dither };
}

/** A picture of these pixels: grays, or red, green and blue. */
async function pixelsAsPng(rows: number[][] | number[][][]): Promise<Encodable> {
  const width = rows[0]?.length ?? 0;
  const data = Buffer.from(rows.flat().flatMap((pixel) => (typeof pixel === 'number' ? [pixel, pixel, pixel] : pixel)));
  return await asPng(sharp(data, { raw: { width, height: rows.length, channels: 3 } }));
}

async function plain(width: number, height: number, background: string): Promise<Encodable> {
  return await asPng(sharp({ create: { width, height, channels: 3, background } }));
}

type Encodable = Awaited<ReturnType<typeof asPng>>;

async function asPng(image: Sharp) {
  const { data, info } = await image.png().toBuffer({ resolveWithObject: true });
  return { pngs: [data], width: info.width, height: info.height };
}

/** The rows of a decoded picture, as red, green and blue. */
async function rowsOf(content: Buffer): Promise<number[][][]> {
  const { data, info } = await sharp(await withoutBmp(content))
    .toColorspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const pixel = (at: number) => [...data.subarray(at * 3, at * 3 + 3)];
  return Array.from({ length: info.height }, (_, y) =>
    Array.from({ length: info.width }, (_, x) => pixel(y * info.width + x)),
  );
}

async function encoded(picture: Encodable, encoding: Partial<Encoding>): Promise<Buffer> {
  return (await encodeStrips(picture, { ...PNG, ...encoding })).content;
}

/** Gray values of the first row. */
async function firstRow(picture: Encodable, encoding: Partial<Encoding>): Promise<number[]> {
  const [row = []] = await rowsOf(await encoded(picture, encoding));
  return row.map(([red = -1]) => red);
}

async function meanOf(content: Buffer): Promise<number> {
  const { channels } = await sharp(content).stats();
  return channels[0]?.mean ?? -1;
}

describe('the colors of a palette', () => {
  it('are grays by brightness, so that a green is lighter than a blue', async () => {
    expect(await firstRow(await pixelsAsPng([[GREEN, BLUE]]), { palette: palette(2, 'none') })).toEqual([255, 0]);
  });

  it.each([
    [2, [0, 255]],
    [4, [0, 85, 170, 255]],
    [16, Array.from({ length: 16 }, (_, index) => index * 17)],
    [256, Array.from({ length: 256 }, (_, index) => index)],
  ] as const)('are %d grays, evenly spread from black to white', async (colors, grays) => {
    const ramp = await pixelsAsPng([Array.from({ length: 256 }, (_, index) => index)]);
    const row = await firstRow(ramp, { palette: palette(colors, 'none') });
    expect([...new Set(row)]).toEqual(grays);
  });

  it('are those of 7-color e-paper', async () => {
    const seven = [[0, 0, 0], WHITE, GREEN, BLUE, RED, [255, 255, 0], [255, 128, 0]];
    const shades = seven.map((color) => color.map((value) => Math.min(250, value + 20)));
    expect(await rowsOf(await encoded(await pixelsAsPng([shades]), { palette: palette(7, 'none') }))).toEqual([seven]);
  });

  it.each(['none', 'floyd_steinberg', 'atkinson'] as const)('stay what they are with dither %s', async (dither) => {
    const colors = [...MANY.slice(0, 30), '#ffffff', '#000000'].filter(
      (color, index, all) => all.indexOf(color) === index,
    );
    const pixels = colors.map((color) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)));
    const picture = await pixelsAsPng([pixels, pixels.toReversed(), pixels]);
    expect(await rowsOf(await encoded(picture, { palette: palette(colors, dither) }))).toEqual([
      pixels,
      pixels.toReversed(),
      pixels,
    ]);
  });
});

describe('dithering', () => {
  it('spreads the error of Floyd and Steinberg to the right in one row, and to the left in the next', async () => {
    // First row: 100 is black, and 7/16 of it make the next pixel 143.75, which is white. Second row, from the right: 9 is black, and so is
    // the pixel beside it with 85, of which 7/16 make the first one 148.
    const picture = await pixelsAsPng([
      [100, 100, 100],
      [100, 100, 0],
    ]);
    const rows = await rowsOf(await encoded(picture, { palette: palette(2) }));
    expect(rows.map((row) => row.map(([red]) => red))).toEqual([
      [0, 255, 0],
      [255, 0, 0],
    ]);
  });

  it.each([20, 64, 128, 200, 250])('keeps the brightness of gray %d with Floyd and Steinberg', async (gray) => {
    const content = await encoded(await plain(200, 200, `rgb(${gray}, ${gray}, ${gray})`), { palette: palette(2) });
    expect(Math.abs((await meanOf(content)) - gray)).toBeLessThan(3);
  });

  it('leaves the lightest grays white with Atkinson', async () => {
    const light = await plain(100, 100, '#fafafa');
    expect(await meanOf(await encoded(light, { palette: palette(2, 'atkinson') }))).toBe(255);
    expect(await meanOf(await encoded(light, { palette: palette(2) }))).toBeLessThan(252);
    const gray = await meanOf(await encoded(await plain(100, 100, '#808080'), { palette: palette(2, 'atkinson') }));
    expect(Math.abs(gray - 128)).toBeLessThan(4);
  });
});

describe('the server does other work', () => {
  const size = { width: 1_000, height: 1_000 };
  const white = new Uint8Array(3_000_000).fill(255);
  const indexed = { indexes: new Uint8Array(1_000_000).fill(1), palette: [[0, 0, 0], WHITE], ...size };
  const gray = { data: new Uint8Array(1_000_000).fill(128), ...size };
  it.each<[string, () => Promise<unknown>]>([
    ['a picture is dithered', () => dithered(gray, [[0], [255]], 'floyd_steinberg')],
    ['a PNG is packed', () => indexedPng(indexed)],
    ['a BMP is packed', () => indexedBmp(indexed)],
    ['a BMP of all colors is written', () => trueColorBmp({ data: white, ...size })],
    [
      'a picture is searched for content',
      () => isAllWhitePixels({ data: Buffer.from(white), info: { ...size, channels: 3 } }, 250),
    ],
  ])('while %s', async (_, work) => {
    let [turns, ended] = [0, false];
    const other = (async () => {
      for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    await work();
    ended = true;
    await other;
    expect(turns).toBeGreaterThan(100);
  });
});

describe('a file with a palette', () => {
  it.each([
    [2, 'b-w', 1],
    [4, 'b-w', 2],
    [16, 'b-w', 4],
    [256, 'b-w', 8],
    [['#000000', '#ffffff'], 'b-w', 1],
    [7, 'srgb', 4],
    [['#ffffff', '#000000'], 'srgb', 1],
    [['#000000', '#ffffff', '#ff0000'], 'srgb', 2],
    [MANY, 'srgb', 8],
  ] as const)('is a PNG of the least depth: %j', async (colors, space, bitsPerSample) => {
    const content = await encoded(await plain(21, 13, '#808080'), {
      palette: palette(colors as PaletteOption['colors']),
    });
    expect(await sharp(content).metadata()).toMatchObject({
      format: 'png',
      width: 21,
      height: 13,
      space,
      bitsPerSample,
    });
  });

  it.each([
    [2, 1, 2],
    [4, 4, 4],
    [7, 4, 7],
    [16, 4, 16],
    [MANY, 8, 256],
    [null, 24, 0],
  ])('is a BMP with as many bits as it needs: %j', async (colors, bits, count) => {
    const noise = Buffer.from(
      Array.from({ length: 21 * 13 * 3 }, (_, index) => (index * 7_919 + (index % 13) * 104_729) % 256),
    );
    const picture = await asPng(sharp(noise, { raw: { width: 21, height: 13, channels: 3 } }));
    const chosen = colors === null ? null : palette(colors as PaletteOption['colors']);
    const bmp = await encoded(picture, { format: 'bmp', palette: chosen });
    const rowBytes = Math.ceil((21 * bits) / 32) * 4;
    expect(bmp.toString('latin1', 0, 2)).toBe('BM');
    const head = [bmp.length, 54 + 4 * count, 40, 21, 13, 0, rowBytes * 13, count];
    expect([2, 10, 14, 18, 22, 30, 34, 46].map((at) => bmp.readUInt32LE(at))).toEqual(head);
    expect([bmp.readUInt16LE(26), bmp.readUInt16LE(28), bmp.length]).toEqual([1, bits, 54 + 4 * count + rowBytes * 13]);
    expect(bmpRows(bmp)).toEqual(await rowsOf(await encoded(picture, { palette: chosen })));
    expect(await rowsOf(bmp)).toEqual(bmpRows(bmp));
  });

  it('is the BMP that TRMNL shows', async () => {
    const bmp = await encoded(await plain(800, 480, '#fff'), { format: 'bmp', palette: palette(2) });
    // The firmware requires this offset, size, depth, bytes of pixels, number of colors, and black before white.
    expect([10, 18, 22, 34, 46].map((at) => bmp.readUInt32LE(at))).toEqual([62, 800, 480, 48_000, 2]);
    expect([bmp.length, bmp.readUInt16LE(28), bmp.toString('hex', 54, 62)]).toEqual([48_062, 1, '00000000ffffff00']);
    expect(bmp.subarray(62).every((byte) => byte === 0xff)).toBe(true);
  });

  it('has the seven colors in the order of the controllers', async () => {
    const bmp = await encoded(await plain(8, 8, '#fff'), { format: 'bmp', palette: palette(7) });
    const table = Array.from({ length: 7 }, (_, index) => bmp.toString('hex', 54 + 4 * index, 57 + 4 * index));
    expect(table).toEqual(['000000', 'ffffff', '00ff00', 'ff0000', '0000ff', '00ffff', '0080ff']);
  });
});

describe('a turned picture', () => {
  const COLORS: Record<string, number[]> = { R: RED, G: GREEN, B: BLUE, W: WHITE };
  const rows = (letters: string) => letters.split(' ').map((row) => [...row].map((letter) => COLORS[letter] ?? []));

  it.each([
    [null, 'RG BW'],
    [90, 'BR WG'],
    [180, 'WB GR'],
    [270, 'GW RB'],
  ] as const)('is turned clockwise by %s', async (rotate, expected) => {
    for (const format of ['png', 'bmp'] as const) {
      for (const chosen of [null, palette(7)]) {
        const turned = await encoded(await pixelsAsPng(rows('RG BW')), { format, rotate, palette: chosen });
        expect(await rowsOf(turned)).toEqual(rows(expected));
      }
    }
  });

  it('is joined from its parts and resized before', async () => {
    const [top] = (await plain(300, 200, '#f00')).pngs;
    const [bottom] = (await plain(300, 200, '#00f')).pngs;
    const strips = { pngs: [top ?? '', bottom ?? ''], width: 300, height: 390 };
    const resize = { width: 100, height: null, fit: 'inside' } as const;
    const { content, width, height } = await encodeStrips(strips, { ...PNG, resize, rotate: 90 });
    expect([width, height]).toEqual([130, 100]);
    const [row = []] = await rowsOf(content);
    expect([row[0], row.at(-1)]).toEqual([BLUE, RED]);
    expect(await sharp(content).metadata()).toMatchObject({ width, height });
  });

  it('keeps its transparent parts', async () => {
    const picture = await asPng(
      sharp({ create: { width: 4, height: 2, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } }),
    );
    const content = await encoded(picture, { rotate: 90, transparent: true });
    expect(await sharp(content).metadata()).toMatchObject({ width: 2, height: 4, hasAlpha: true });
  });
});

test('the browser makes no picture that is turned, has a palette or is a BMP', () => {
  const others: Partial<Encoding>[] = [{}, { rotate: 90 }, { palette: palette(2) }, { format: 'bmp' }];
  expect(others.map((other) => finalShot({ ...PNG, ...other }))).toEqual([{ format: 'png' }, null, null, null]);
});

test('a picture is judged as white before it gets its palette', async () => {
  const wasWhite = async (background: string, encoding: Partial<Encoding>) =>
    (await encodeStrips(await plain(30, 20, background), { ...PNG, ...encoding })).wasWhite;
  const dark = palette(['#000000', '#ff0000']);
  expect(await wasWhite('#fff', { palette: dark })).toBe(true);
  expect(await wasWhite('#fff', { format: 'bmp' })).toBe(true);
  expect(await wasWhite('#ffffe0', { palette: palette(2, 'none') })).toBe(false);
  // Thin content, which the smaller picture lacks.
  const thin = await pixelsAsPng(
    Array.from({ length: 400 }, (_, y) => Array.from({ length: 400 }, (_, x) => (x + y === 0 ? 0 : 255))),
  );
  const resize = { width: 10, height: null, fit: 'inside' } as const;
  expect((await encodeStrips(thin, { ...PNG, resize, palette: palette(2) })).wasWhite).toBe(false);
});

test('a picture that is too large for it is refused by the name of the option, and its size after resizing counts', async () => {
  const large = { ...(await plain(10, 10, '#fff')), width: 5_000, height: 5_001 };
  const refused = (encoding: Partial<Encoding>, path: string) =>
    expect(encoded(large, encoding)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { issues: [{ path }] },
    });
  await refused({ palette: palette(2) }, 'palette');
  await refused({ rotate: 90 }, 'rotate');
  await refused({ format: 'bmp' }, 'format');
  const high = { ...large, height: 9_000 };
  const cover = { width: 5_000, height: 5_001, fit: 'cover' } as const;
  await expect(encoded(high, { format: 'bmp', resize: cover })).rejects.toMatchObject({ code: 'invalid_request' });
  const resize = { width: 80, height: null, fit: 'inside' } as const;
  const content = await encoded(await plain(5_000, 5_001, '#fff'), { palette: palette(2), resize });
  expect(await sharp(content).metadata()).toMatchObject({ width: 80, height: 80 });
});

test('a file that is no BMP of this program is left as it is', async () => {
  const bmp = await encoded(await plain(10, 10, '#fff'), { format: 'bmp', palette: palette(2) });
  const cut = bmp.subarray(0, -1);
  const wide = Buffer.from(bmp);
  wide.writeUInt32LE(1_000_000, 18);
  for (const other of [cut, wide, Buffer.from('BM'), (await plain(3, 3, '#fff')).pngs[0] ?? Buffer.alloc(0)]) {
    expect(await withoutBmp(other)).toBe(other);
  }
});

/** Reads a BMP by its definition: rows from the bottom, padded to four bytes, of table indexes or of blue, green and red. */
function bmpRows(bmp: Buffer): number[][][] {
  const [start, width, height, bits] = [
    bmp.readUInt32LE(10),
    bmp.readUInt32LE(18),
    bmp.readUInt32LE(22),
    bmp.readUInt16LE(28),
  ];
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  const colorAt = (at: number) => [bmp[at + 2] ?? 0, bmp[at + 1] ?? 0, bmp[at] ?? 0];
  return Array.from({ length: height }, (_, y) => {
    const row = start + (height - 1 - y) * rowBytes;
    const binary = [...bmp.subarray(row, row + rowBytes)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
    return Array.from({ length: width }, (_, x) =>
      bits === 24 ? colorAt(row + 3 * x) : colorAt(54 + 4 * Number.parseInt(binary.slice(x * bits, (x + 1) * bits), 2)),
    );
  });
}
