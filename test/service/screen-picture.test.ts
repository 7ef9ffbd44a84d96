import sharp from 'sharp';
import { expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { startService } from '../fixtures/start-service.js';

const service = await ofFile(startService());

/** Red at the left, blue at the right, and a gray that no palette of few colors has. */
const PAGE = `<style>body{margin:0;display:flex;height:100vh}div{flex:1}</style>
<div style="background:#f00"></div><div style="background:#777"></div><div style="background:#00f"></div>`;
const BASE = { html: PAGE, viewport: { width: 600, height: 400, deviceScaleFactor: 1 }, cache_ttl: 0 };

it('a picture is turned and has only the colors of its palette', async () => {
  const answer = await service.post({ ...BASE, format: 'png', palette: { colors: 7 }, rotate: 90 });
  expect(answer.body.data).toMatchObject({
    format: 'png',
    width: 400,
    height: 600,
    cdn_url: expect.stringMatching(/\.png$/),
  });
  const picture = await service.picture(answer);
  expect(await sharp(picture).metadata()).toMatchObject({ width: 400, height: 600, bitsPerSample: 4 });
  const { data } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  const colors = new Set(Array.from({ length: data.length / 3 }, (_, at) => data.toString('hex', at * 3, at * 3 + 3)));
  const seven = ['000000', 'ffffff', '00ff00', '0000ff', 'ff0000', 'ffff00', 'ff8000'];
  expect([...colors].filter((color) => !seven.includes(color))).toEqual([]);
  expect(colors.size).toBeGreaterThan(2);
  expect([data.toString('hex', 0, 3), data.toString('hex', data.length - 3)]).toEqual(['ff0000', '0000ff']);
});

it('a browser shows the BMP of a page as the page itself', async () => {
  const palette = { colors: ['#ff0000', '#777777', '#0000ff'] };
  const bmp = await service.post({ ...BASE, format: 'bmp', palette });
  expect(bmp.body.data).toMatchObject({
    format: 'bmp',
    width: 600,
    height: 400,
    bytes: 120_066,
    cdn_url: expect.stringMatching(/\.bmp$/),
  });
  const html = `<body style="margin:0"><img src="data:image/bmp;base64,${(await service.picture(bmp)).toString('base64')}">`;
  const [shown, page] = await Promise.all(
    [html, PAGE].map(async (each) => {
      const png = await service.picture(await service.post({ ...BASE, html: each, format: 'png' }));
      return await sharp(png).removeAlpha().raw().toBuffer();
    }),
  );
  expect(page && shown?.equals(page)).toBe(true);
});

it('one load of a page has pictures for several screens, and a full page one as well', async () => {
  const answer = await service.post({
    ...BASE,
    html: `${PAGE}<style>body{height:2000px}</style>`,
    format: 'png',
    palette: { colors: 16 },
    captures: [
      { name: 'kindle', rotate: 270 },
      { name: 'trmnl', format: 'bmp', palette: { colors: 2 } },
      { name: 'page', full_page: true, resize: { width: 300 } },
    ],
  });
  const { captures } = answer.body.data;
  expect(
    captures.map(({ name, format, width, height }: Record<string, unknown>) => [name, format, width, height]),
  ).toEqual([
    ['kindle', 'png', 400, 600],
    ['trmnl', 'bmp', 600, 400],
    ['page', 'png', 300, 1_000],
  ]);
  const [kindle, , page] = await Promise.all(
    captures.map(async ({ cdn_url }: { cdn_url: string }) => Buffer.from(await (await fetch(cdn_url)).arrayBuffer())),
  );
  for (const picture of [kindle, page])
    expect(await sharp(picture).metadata()).toMatchObject({ space: 'b-w', bitsPerSample: 4 });
});
