import sharp from 'sharp';
import { expect, test } from 'vitest';
import { makeThumbnail, thumbnailMemory } from '../../../src/render/encode/thumbnail.js';

/** Red at the top, blue below. */
async function aPicture(width: number, height: number, format: 'png' | 'jpeg' | 'webp'): Promise<Buffer> {
  const top = { create: { width, height: Math.ceil(height / 20), channels: 3 as const, background: '#f00' } };
  const canvas = sharp({ create: { width, height, channels: 3, background: '#00f' } }).composite([
    { input: top, top: 0, left: 0 },
  ]);
  return await canvas.toFormat(format, { effort: 1 }).toBuffer();
}

test.each([
  { name: 'a view', from: [1280, 720], to: [320, 180] },
  { name: 'the top of a long page', from: [1280, 8000], to: [320, 180] },
  { name: 'a banner', from: [1280, 100], to: [320, 25] },
  { name: 'a small element in its own size', from: [100, 40], to: [100, 40] },
  { name: 'a line', from: [2000, 1], to: [320, 1] },
] as const)('a thumbnail shows $name', async ({ from: [width, height], to }) => {
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const made = await makeThumbnail(await aPicture(width, height, format));
    const found = await sharp(made).metadata();
    expect([found.format, found.width, found.height], format).toEqual(['webp', ...to]);
  }
});

test('the top of a long page is in its thumbnail', async () => {
  const { data } = await sharp(await makeThumbnail(await aPicture(1280, 8000, 'png')))
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(data[0]).toBeGreaterThan(200);
  expect(data[2]).toBeLessThan(60);
});

test('memory is that of the decoder, and what is too large or damaged has no thumbnail', async () => {
  expect(await thumbnailMemory(await aPicture(1000, 500, 'webp'))).toBe(2_000_000);
  expect(await thumbnailMemory(await aPicture(1000, 500, 'png'))).toBe(16_000_000);
  expect(await thumbnailMemory(await aPicture(8_000, 6_300, 'webp'))).toBeNull();
  expect(await thumbnailMemory(Buffer.from('no picture'))).toBeNull();
  await expect(makeThumbnail((await aPicture(300, 300, 'png')).subarray(0, 200))).rejects.toThrow();
});
