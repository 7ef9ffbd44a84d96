import { Readable } from 'node:stream';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import type { OpenArtifact } from '../../src/artifacts/artifacts.js';
import { Thumbnails } from '../../src/capture/thumbnails.js';
import { defaultOptions } from '../../src/contract/capture-request.js';
import type { PaletteOption } from '../../src/contract/palette.js';
import { builtFile } from '../../src/package-files.js';
import { encodeStrips, encodingOf } from '../../src/render/encode/encode.js';
import { EncodeQueue } from '../../src/render/memory.js';

const NAME = `${'a'.repeat(32)}.webp`;
const PICTURE = await sharp({ create: { width: 640, height: 360, channels: 3, background: '#0a0' } })
  .webp()
  .toBuffer();

/** Pictures by name, how often one was read, and how much memory was reserved. */
function aGallery(reserve: ((bytes: number) => Promise<Disposable>) | null = null) {
  const files = new Map<string, Buffer | 'deleted'>([[NAME, PICTURE]]);
  const reads: string[] = [];
  const openPicture = async (name: string): Promise<OpenArtifact | 'deleted' | null> => {
    const content = files.get(name) ?? null;
    if (content === null || content === 'deleted') return content;
    const read = async () => {
      reads.push(name);
      return Readable.from([content], { objectMode: false });
    };
    return { bytes: content.length, modifiedAt: 0, read, lend: () => null, link: null };
  };
  return {
    files,
    reads,
    thumbnails: new Thumbnails({
      openPicture,
      encodes: new EncodeQueue(builtFile('picture-thread.js')),
      reserveMemory: () => reserve,
    }),
  };
}

test('a thumbnail is made once, also for those who ask at the same time', async () => {
  const { reads, thumbnails } = aGallery();
  const [one, other] = await Promise.all([thumbnails.of(NAME), thumbnails.of(NAME)]);
  expect((await sharp(one as Buffer).metadata()).width).toBe(320);
  expect(other).toEqual(one);
  expect(await thumbnails.of(NAME)).toEqual(one);
  expect(reads).toEqual([NAME]);
});

test('a deleted picture has none, although it was made before', async () => {
  const { files, thumbnails } = aGallery();
  expect(await thumbnails.of(NAME)).toBeInstanceOf(Buffer);
  files.set(NAME, 'deleted');
  expect(await thumbnails.of(NAME)).toBe('deleted');
  expect(await thumbnails.of(`${'b'.repeat(32)}.webp`)).toBeNull();
});

test('a PDF and a damaged picture are not shown, and a PDF is not read', async () => {
  const { files, reads, thumbnails } = aGallery();
  const [pdf, damaged] = [`${'c'.repeat(32)}.pdf`, `${'d'.repeat(32)}.webp`];
  files.set(pdf, Buffer.from('%PDF')).set(damaged, PICTURE.subarray(0, 60));
  expect([await thumbnails.of(pdf), await thumbnails.of(damaged)]).toEqual(['not shown', 'not shown']);
  expect(reads).toEqual([damaged]);
});

test('a BMP has one', async () => {
  const { files, thumbnails } = aGallery();
  const [trueColor, twoColors] = [`${'e'.repeat(32)}.bmp`, `${'f'.repeat(32)}.bmp`];
  const png = await sharp(PICTURE).png().toBuffer();
  const asBmp = async (palette: PaletteOption | null) => {
    const strips = { pngs: [png], width: 640, height: 360 };
    return (await encodeStrips(strips, { ...encodingOf(defaultOptions(), 'bmp'), palette })).content;
  };
  files
    .set(trueColor, await asBmp(null))
    .set(twoColors, await asBmp({ colors: ['#000000', '#00aa00'], dither: 'none' }));
  for (const name of [trueColor, twoColors]) {
    const thumbnail = sharp((await thumbnails.of(name)) as Buffer);
    expect(await thumbnail.metadata()).toMatchObject({ format: 'webp', width: 320, height: 180 });
    const [red, green] = (await thumbnail.stats()).channels.map(({ mean }) => mean);
    expect([red, green], name).toEqual([expect.closeTo(0, -1), expect.closeTo(170, -1)]);
  }
});

test('memory is reserved for the decoded picture, and without it the thumbnail is made later', async () => {
  const reserved: number[] = [];
  let isFree = false;
  const { thumbnails } = aGallery(async (bytes) => {
    if (!isFree) throw new Error('no memory');
    reserved.push(bytes);
    return { [Symbol.dispose]: () => void reserved.pop() };
  });
  expect(await thumbnails.of(NAME)).toBe('busy');
  isFree = true;
  expect(await thumbnails.of(NAME)).toBeInstanceOf(Buffer);
  expect(reserved).toEqual([]);
});
