import sharp from 'sharp';
import { expect, it } from 'vitest';
import { refuseWhite } from '../../../src/render/page/check-page.js';

const notPainted = async () => false;

type Format = 'png' | 'jpeg' | 'webp';

/** White but for a dark square of 8 × 8 px at the lower right corner, or all over. */
async function aPicture({ width, height, format, mark }: { width: number; height: number; format: Format; mark: boolean }) {
  const white = sharp({ create: { width, height, channels: 3, background: '#fff' }, limitInputPixels: false });
  const square = { input: { create: { width: 8, height: 8, channels: 3 as const, background: '#333' } }, left: width - 8, top: height - 8 };
  const content = await white
    .composite(mark ? [square] : [])
    .toFormat(format, { quality: 90 })
    .toBuffer();
  return { content, width, height };
}

const EACH = [
  ...(['png', 'jpeg', 'webp'] as const).map((format) => ({ width: 1280, height: 720, format })),
  // Too large to be decoded as a whole.
  { width: 2560, height: 6_400, format: 'jpeg' as const },
];

it.each(EACH)('a white $format of $width × $height px counts as blank', async (size) => {
  await expect(refuseWhite(await aPicture({ ...size, mark: false }), notPainted)).rejects.toMatchObject({
    code: 'render_incomplete',
    details: { check: 'blank' },
  });
});

it.each(EACH)('one mark in the last corner counts as content ($format, $width × $height px)', async (size) => {
  await expect(refuseWhite(await aPicture({ ...size, mark: true }), notPainted)).resolves.toBeUndefined();
});

it('a white picture with an alpha channel counts as blank', async () => {
  const [width, height] = [600, 400];
  const white = sharp({ create: { width, height, channels: 4, background: '#fff' } });
  await expect(refuseWhite({ content: await white.png().toBuffer(), width, height }, notPainted)).rejects.toMatchObject({
    code: 'render_incomplete',
  });
});
