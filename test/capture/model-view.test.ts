import { Readable } from 'node:stream';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { ModelViews } from '../../src/capture/model-view.js';
import { builtFile } from '../../src/package-files.js';
import { encodeStrips } from '../../src/render/encode/encode.js';
import { EncodeQueue } from '../../src/render/memory.js';

test('a model is shown a BMP as well', async () => {
  const png = await sharp({ create: { width: 90, height: 50, channels: 3, background: '#ff0000' } })
    .png()
    .toBuffer();
  const encoding = { format: 'bmp', quality: 80, transparent: false, resize: null, rotate: null } as const;
  const palette = { colors: 7, dither: 'none' } as const;
  const { content } = await encodeStrips({ pngs: [png], width: 90, height: 50 }, { ...encoding, palette });
  const read = async () => Readable.from([content], { objectMode: false });
  const openPicture = async () => ({ bytes: content.length, modifiedAt: 0, read, lend: () => null, link: null });
  const views = new ModelViews({ openPicture, encodes: new EncodeQueue(builtFile('picture-thread.js')) });
  const { tiles } = await views.view('a.bmp', { from: 1, density: 1 });
  expect(tiles.map(({ top, bottom }) => [top, bottom])).toEqual([[0, 50]]);
  const { dominant } = await sharp(tiles[0]?.content).stats();
  expect(dominant.r).toBeGreaterThan(240);
});
