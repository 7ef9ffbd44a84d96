import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { COMPARED_MAX_PIXELS, comparePictures } from '../../src/compare/compare-pictures.js';
import { CANVAS_MAX_PIXELS } from '../../src/compare/draw-differences.js';
import type { Box, ComparisonOptions } from '../../src/contract/comparison.js';

const DEFAULTS: ComparisonOptions = { threshold: 0.1, ignoreAntialiasing: true, mask: [], picture: 'none' };
const SIZE = { width: 400, height: 600 };

/** A white png with boxes in a color. */
function picture(boxes: Box[] = [], { size = SIZE, color = '#000' } = {}): Promise<Buffer> {
  const overlays = boxes.map(({ x, y, width, height }) => ({
    input: { create: { width, height, channels: 4 as const, background: color } },
    left: x,
    top: y,
  }));
  return sharp({ create: { ...size, channels: 3, background: '#fff' } })
    .composite(overlays)
    .png()
    .toBuffer();
}

describe('comparePictures', () => {
  it('finds no difference between a picture and the same picture in another encoding', async () => {
    const before = await picture([{ x: 10, y: 10, width: 50, height: 50 }]);
    const after = await sharp(before).webp({ lossless: true }).toBuffer();
    expect(await comparePictures(before, after, { ...DEFAULTS, picture: 'overlay' })).toEqual({
      same: true,
      share: 0,
      pixels: 0,
      regions: [],
      picture: null,
      before: SIZE,
      after: SIZE,
    });
  });

  it('counts the changed pixels and returns a box for each changed region, the largest first', async () => {
    const [small, large] = [
      { x: 20, y: 30, width: 8, height: 5 },
      { x: 200, y: 250, width: 90, height: 270 },
    ];
    const result = await comparePictures(await picture(), await picture([small, large]), DEFAULTS);
    expect(result).toMatchObject({ same: false, pixels: 8 * 5 + 90 * 270, regions: [large, small] });
    expect(result.share).toBeCloseTo((8 * 5 + 90 * 270) / (400 * 600), 10);
  });

  it('counts each changed pixel once where two strips of rows meet', async () => {
    const box = { x: 100, y: 250, width: 10, height: 20 };
    expect(await comparePictures(await picture(), await picture([box]), DEFAULTS)).toMatchObject({
      pixels: 200,
      regions: [box],
    });
  });

  it('counts an area that only one of the pictures has as changed', async () => {
    const taller = await picture([], { size: { width: 400, height: 650 } });
    const wider = await picture([], { size: { width: 450, height: 600 } });
    expect(await comparePictures(await picture(), taller, DEFAULTS)).toMatchObject({
      same: false,
      pixels: 400 * 50,
      share: 50 / 650,
      regions: [{ x: 0, y: 600, width: 400, height: 50 }],
    });
    expect(await comparePictures(wider, await picture(), DEFAULTS)).toMatchObject({
      pixels: 50 * 600,
      regions: [{ x: 400, y: 0, width: 50, height: 600 }],
    });
  });

  it('does not compare what a mask covers', async () => {
    const changed = { x: 100, y: 100, width: 40, height: 40 };
    const result = async (mask: Box[]) =>
      comparePictures(await picture(), await picture([changed]), { ...DEFAULTS, mask });
    expect(await result([{ x: 90, y: 90, width: 60, height: 5_000 }])).toMatchObject({ same: true, pixels: 0 });
    expect(await result([{ x: 90, y: 90, width: 30, height: 60 }])).toMatchObject({ pixels: 20 * 40 });
  });

  it('ignores a difference of color below the threshold in a small area', async () => {
    const after = await picture([{ x: 0, y: 0, width: 40, height: 40 }], { color: '#f8f8f8' });
    expect(await comparePictures(await picture(), after, DEFAULTS)).toMatchObject({ same: true });
    expect(await comparePictures(await picture(), after, { ...DEFAULTS, threshold: 0 })).toMatchObject({
      pixels: 1_600,
    });
  });

  it('counts a large area that changes its color a little, with its edges, unless the threshold is high', async () => {
    const area = { x: 70, y: 203, width: 150, height: 190 };
    const after = await picture([area], { color: '#f5f5f5' });
    expect(await comparePictures(await picture(), after, DEFAULTS)).toMatchObject({
      same: false,
      pixels: 150 * 190,
      regions: [area],
    });
    expect(await comparePictures(await picture(), after, { ...DEFAULTS, threshold: 0.5 })).toMatchObject({
      same: true,
    });
  });

  /** Lines of strokes with soft edges, as those of letters. */
  const lines = (background: readonly [number, number, number], move = 0) => {
    const data = Buffer.alloc(SIZE.width * SIZE.height * 3);
    for (let y = 0, at = 0; y < SIZE.height; y++)
      for (let x = 0; x < SIZE.width; x++) {
        const fromStroke = Math.abs(((x - move + 7) % 7) - 3.5);
        const ink = y % 19 < 11 ? Math.min(1, Math.max(0, 1.4 - fromStroke)) : 0;
        for (const channel of background) data[at++] = Math.round(channel * (1 - ink));
      }
    return sharp(data, { raw: { ...SIZE, channels: 3 } })
      .png()
      .toBuffer();
  };

  it('counts the background of a page of text that changes a little, and not the antialiasing of its text', async () => {
    const before = await lines([255, 255, 255]);
    const { share, regions } = await comparePictures(before, await lines([244, 246, 250]), DEFAULTS);
    expect(share).toBeGreaterThan(0.7);
    expect(regions).toEqual([{ x: 0, y: 0, ...SIZE }]);
    const moved = await lines([255, 255, 255], 0.1);
    expect(await comparePictures(before, moved, { ...DEFAULTS, threshold: 0 })).toMatchObject({ same: false });
    expect(await comparePictures(before, moved, DEFAULTS)).toMatchObject({ same: true });
  });

  it('ignores noise, such as that of lossy formats', async () => {
    const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 };
    const photo = await sharp({ create: { ...SIZE, channels: 3, background: '#808080', noise } })
      .blur(3)
      .png()
      .toBuffer();
    const again = await sharp(photo).jpeg({ quality: 85 }).toBuffer();
    expect(await comparePictures(photo, again, { ...DEFAULTS, threshold: 0.02 })).toMatchObject({ same: false });
    expect(await comparePictures(photo, again, DEFAULTS)).toMatchObject({ same: true });
  });

  it('ignores antialiasing unless the request includes it', async () => {
    /** A line of 2 px that falls by 60 px, with smooth edges. */
    const line = async (top: number) => {
      const pixels = Buffer.alloc(SIZE.width * SIZE.height, 255);
      for (let at = 0; at < pixels.length; at++) {
        const distance = Math.abs(Math.floor(at / SIZE.width) - top - ((at % SIZE.width) * 60) / SIZE.width);
        pixels[at] = 255 * Math.min(1, Math.max(0, distance - 0.5));
      }
      return await sharp(pixels, { raw: { ...SIZE, channels: 1 } })
        .png()
        .toBuffer();
    };
    const [before, after] = [await line(100), await line(100.3)];
    const lenient = await comparePictures(before, after, DEFAULTS);
    const strict = await comparePictures(before, after, { ...DEFAULTS, ignoreAntialiasing: false });
    expect(strict.pixels).toBeGreaterThan(2 * lenient.pixels);
  });

  it.each([
    ['overlay', 400],
    ['side_by_side', 824],
  ] as const)('draws the differences as %s', async (form, width) => {
    const box = { x: 100, y: 100, width: 40, height: 40 };
    const { picture: drawn } = await comparePictures(await picture(), await picture([box]), {
      ...DEFAULTS,
      picture: form,
    });
    const { data, info } = await sharp(drawn as Buffer)
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(info).toMatchObject({ width, height: 600 });
    const at = (x: number, y: number) => [...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3)];
    const inside = at(form === 'overlay' ? 120 : 424 + 120, 120);
    expect(inside[0]).toBeGreaterThan(form === 'overlay' ? 180 : -1);
    expect(inside[1]).toBeLessThan(60);
    expect(at(10, 10).every((channel) => channel > 240)).toBe(true);
    // The outline is blue.
    const [red = 0, , blue = 0] = at(form === 'overlay' ? 95 : 424 + 95, 120);
    expect(blue - red).toBeGreaterThan(60);
  });

  it('refuses what is not a picture, or too large', async () => {
    const valid = await picture();
    const pixels = Math.ceil(Math.sqrt(COMPARED_MAX_PIXELS)) + 1;
    const large = await picture([], { size: { width: pixels, height: pixels } });
    await expect(comparePictures(Buffer.from('%PDF-1.7'), valid, DEFAULTS)).rejects.toThrow(
      '`before` must be a picture',
    );
    await expect(comparePictures(valid, large, DEFAULTS)).rejects.toThrow(
      '`after` must have at most 50 million pixels',
    );
    await expect(comparePictures(valid, valid.subarray(0, 60), DEFAULTS)).rejects.toThrow(
      /`after` must be a picture|damaged/,
    );
  });

  it.each(['overlay', 'side_by_side'] as const)('draws pictures of very different shapes smaller: %s', async (form) => {
    const wide = await picture([], { size: { width: 12_000, height: 10 } });
    const tall = await picture([], { size: { width: 10, height: 12_000 } });
    const { picture: drawn, regions } = await comparePictures(wide, tall, { ...DEFAULTS, picture: form });
    const { width = 0, height = 0 } = await sharp(drawn as Buffer).metadata();
    expect(width * height).toBeLessThanOrEqual(CANVAS_MAX_PIXELS * 1.01);
    expect(width).toBeGreaterThan(5_000);
    expect(regions).toHaveLength(2);
  });
});
