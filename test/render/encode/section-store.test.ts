import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { defaultOptions } from '../../../src/contract/capture-request.js';
import { encodeStrips, encodingOf, SectionStore } from '../../../src/render/encode/encode.js';

const WIDTH = 4;
const PNG = encodingOf(defaultOptions(), 'png');

/** Rows of these shades of gray. */
function strip(shades: number[]): Promise<Buffer> {
  const pixels = Buffer.from(shades.flatMap((shade) => new Array<number>(WIDTH * 3).fill(shade)));
  return sharp(pixels, { raw: { width: WIDTH, height: shades.length, channels: 3 } })
    .png()
    .toBuffer();
}

/** Strips with the shades 0, 1, 2, … from top to bottom, of so many rows each. */
async function keep(
  store: SectionStore,
  heights: number[],
  order: 'top first' | 'bottom first' = 'top first',
): Promise<Buffer[]> {
  let next = 0;
  const pngs = await Promise.all(heights.map((rows) => strip(Array.from({ length: rows }, () => next++))));
  const parts = pngs.map((png, at) => ({
    png,
    top: heights.slice(0, at).reduce((sum, rows) => sum + rows, 0),
    count: heights[at] ?? 0,
  }));
  for (const { png, ...rows } of order === 'top first' ? parts : parts.reverse()) store.add(png, rows);
  return pngs;
}

const HEIGHTS = [[9], [9, 9, 9], [9, 9, 4], [9, 4, 9], [9, 4, 2, 9, 9, 1], [4, 9], [4, 9, 2]];

it.each(HEIGHTS.flatMap((heights) => [['top first', heights] as const, ['bottom first', heights] as const]))(
  'rows of parts that arrive %s are joined in order: %j',
  async (order, heights) => {
    await using store = await SectionStore.open(tmpdir(), false);
    await keep(store, heights, order);
    const strips = await store.strips();
    const { content } = await encodeStrips(strips, PNG);
    const column = await sharp(content)
      .extract({ left: 0, top: 0, width: 1, height: strips.height })
      .grayscale()
      .raw()
      .toBuffer();
    expect([...column]).toEqual(Array.from(column, (_, at) => at));
    expect(column.length).toBe(heights.reduce((sum, rows) => sum + rows, 0));
  },
);

it('rows below ones that never arrive are not in the picture', async () => {
  await using store = await SectionStore.open(tmpdir(), false);
  for (const top of [0, 6, 9]) store.add(await strip([top, top, top]), { top, count: 3 });
  expect(await store.strips()).toMatchObject({ height: 3 });
});

it.each([
  [255, true],
  [240, false],
])('a resized picture of strips is as white as they are: %i', async (shade, wasWhite) => {
  const pngs = await Promise.all([
    strip(new Array<number>(90).fill(255)),
    strip([...new Array<number>(89).fill(255), shade]),
  ]);
  const resize = { width: null, height: 1, fit: 'contain' as const };
  for (const rotate of [null, 90] as const)
    expect(await encodeStrips({ pngs, width: WIDTH, height: 180 }, { ...PNG, resize, rotate })).toMatchObject({
      wasWhite,
    });
});

it('a directory that is not writable is reported as a temporary server error', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'stillframe-test-'));
  const failure = {
    code: 'internal_error',
    status: 503,
    retriable: true,
    message: expect.stringContaining('data directory'),
  };
  await using store = await SectionStore.open(join(parent, 'temporary'), false);
  await rm(parent, { recursive: true });
  await keep(store, [9, 9]);
  await expect(store.strips()).rejects.toMatchObject(failure);
  await expect(SectionStore.open(join(parent, 'temporary'), false)).rejects.toMatchObject(failure);
});
