import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { refuseWhite } from '../../../src/render/picture/check-picture.js';
import { words } from '../../fixtures/site/answer.js';
import { siteAndRig, type Wish } from './capture-rig.js';

const { rig, serve } = await siteAndRig();

const TEXT = `<h1>Shop</h1><p>${words(40)}</p>`;
/** Makes a page one with scripts, whose content is awaited. */
const SCRIPT = '<script>1</script>';
const FADE = '<style>@keyframes k{to{opacity:1}}body{opacity:0;animation:k 2s 60s forwards}</style>';
const HIDDEN = '<style>.async-hide{opacity:0!important}</style>';
const HIDE = "document.documentElement.className = 'async-hide'";
const UNHIDE = `${HIDDEN}<script>${HIDE}; setTimeout(() => document.documentElement.className = '', 1500)</script>`;
const LATER = `<div id="root"></div><script>addEventListener('load', () => setTimeout(() => { root.innerHTML = '${TEXT}' }, 2000))</script>`;
const sheet = (color: string, inside = '') =>
  `<div id="sheet" style="position:fixed;inset:0;z-index:99;background:${color}">${inside}</div>`;
const READ_ALOUD =
  '<span style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)">Loading…</span>';
const UNCOVER = "<script>addEventListener('load', () => setTimeout(() => sheet.remove(), 1000))</script>";
const LOCKED = '<style>:has(#sheet){overflow:hidden}body{height:3000px}</style>';
const FADING = '<style>@keyframes k{to{opacity:0}}#sheet{animation:k 9s 9s forwards}</style>';
const TRANSPARENT = `<div style="opacity:0">${TEXT}</div>`;
const FULL = 'margin:0;position:fixed;inset:0;width:100vw;height:100vh';
const drawn = (color: string) =>
  `<canvas style="${FULL}"></canvas><script>const c = document.querySelector('canvas'), d = c.getContext('2d'); d.fillStyle = '${color}'; d.fillRect(0, 0, c.width, c.height)</script>`;
const body = (style: string) => `<style>body{${style}}</style>`;

/** Captures a page, which must take fewer ms than so many. @returns the darkest shade of its first view */
async function darkest(
  page: [body: string, head?: string],
  wish: Wish,
  withinMs = 30_000,
): Promise<number | undefined> {
  const began = Date.now();
  const { content } = await rig.capture(serve(...page), wish);
  expect(Date.now() - began).toBeLessThan(withinMs);
  const { channels } = await sharp(
    await sharp(content).extract({ left: 0, top: 0, width: 800, height: 600 }).toBuffer(),
  ).stats();
  return channels[0]?.min;
}

describe.concurrent('a page that is white at first', () => {
  it.each<[what: string, body: string, head?: string, wish?: Wish]>([
    ['which a script uncovers', TEXT, UNHIDE],
    ['which a timer fills', LATER],
    ['which fades in long after', TEXT, FADE],
    ['of another color, which a script fills later', LATER, body('background:teal'), { real_time: true }],
    ['below a white sheet', TEXT + sheet('#fff') + UNCOVER],
    ['below a sheet that is nearly white', TEXT + sheet('#fafcff') + UNCOVER],
    ['below a white sheet with words for screen readers', TEXT + sheet('#fff', READ_ALOUD) + UNCOVER],
    ['below a white sheet that locks the page', TEXT + sheet('#fff') + LOCKED + UNCOVER, '', { full_page: true }],
  ])('%s, is awaited', async (_what, content, head, wish) => {
    expect(await darkest([content, head], { ...wish, fail_if_content_missing: ['Shop'] })).toBeLessThan(100);
  });

  it.each([
    ['its sheet has begun to fade', sheet('#fff') + FADING],
    ['its sheet shows text', sheet('#fff', '<p>Sign in</p>')],
  ])('is captured at once when %s', async (_what, over) => {
    expect(await darkest([TEXT + over + SCRIPT], {}, 4_000)).toBeLessThan(100);
  });

  it.each([
    ['visibility', '<style>body{visibility:hidden!important}</style><script src="/none"></script>'],
    ['opacity', `${HIDDEN}<script>${HIDE}</script>`],
  ])('is shown if it is hidden by its %s until a script loads, which never happens', async (_how, head) => {
    expect(await darkest([TEXT, head], { timeout: 2_000, fail_if_content_missing: ['Shop'] })).toBeLessThan(100);
  });
});

describe.concurrent('a page that stays blank', () => {
  const pdf = { format: 'pdf' };

  it.each<[what: string, content: string, wish?: Wish, seen?: string]>([
    ['when its only frame is inside an SVG', '<svg width="0"><iframe></iframe></svg>'],
    ['even when it contains text that nothing uncovers', TRANSPARENT + SCRIPT],
    ['when a script leaves it empty', SCRIPT],
    ['below a sheet', TEXT + sheet('#fff') + SCRIPT, {}, 'white'],
    ['as a PDF of the view, below a sheet', TEXT + sheet('#fff') + SCRIPT, pdf],
    ['as a PDF with nothing below a sheet', sheet('#fff') + SCRIPT, pdf],
  ])('fails at the end of its budget, %s', async (_what, content, wish, seen = 'nothing') => {
    const began = Date.now();
    const error = await rig.failure(serve(content), { ...wish, timeout: 2_000 });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'blank', seen } });
    expect(Date.now() - began).toBeGreaterThan(1_900);
    expect(Date.now() - began).toBeLessThan(4_900);
  });

  it('as a PDF of the whole page shows content further down, below a sheet', async () => {
    const url = serve(`${TEXT}${sheet('#fff')}${body('height:3000px')}${SCRIPT}`);
    expect((await rig.capture(url, { ...pdf, full_page: true, timeout: 2_000 })).content.byteLength).toBeGreaterThan(
      1_000,
    );
  });

  it.each([
    ['white', `${TRANSPARENT}<script type="application/ld+json">{}</script>`, ''],
    ['covered', TEXT + sheet('#fff'), ''],
    ['nearly white', '', body('background:#f5f5f5')],
    ['nearly black', '', body('background:#111')],
  ])('fails soon when it runs no script: %s', async (_what, content, head) => {
    const began = Date.now();
    expect(await rig.failure(serve(content, head))).toMatchObject({
      code: 'render_incomplete',
      details: { check: 'blank' },
    });
    expect(Date.now() - began).toBeLessThan(4_900);
  });
});

describe.concurrent('one color all over the view', () => {
  it.each([
    ['white, drawn on a canvas', drawn('#fff'), ''],
    ['drawn on a canvas in the color of the page', drawn('#111'), body('background:#111')],
    ['of a frame', `<iframe style="border:0;${FULL}" srcdoc="<body style='background:teal'>"></iframe>`, ''],
    ['of a box', `<div style="${FULL};background:teal"></div>`, ''],
    ['of a shape', `<svg style="${FULL}"><rect width="9999" height="9999" fill="teal"/></svg>`, ''],
    ['of the page, a light one', '', body('background:#aee')],
    ['of the page, a dark one', '', body('background:#123')],
    [
      'of a page that has its text further down',
      `<main style="padding-top:3000px">${TEXT}</main>`,
      body('background:#111;color:#eee'),
    ],
  ])('%s is content', async (_what, content, head) => {
    expect(await darkest([content, head], {}, 4_900)).toBeDefined();
  });

  const CANVAS = `<div id="root"><canvas style="${FULL}"></canvas></div>`;
  it.each([
    ['#111', '<div id="root"></div>', '<style>html{background:#111}</style>'],
    ['#111, in wide gamut notation', '<div id="app"></div>', body('background:color(srgb 0.0667 0.0667 0.0667)')],
    [
      '#f5f5f5, on the empty root',
      '<div id="root"></div>',
      '<style>#root{min-height:100vh;background:#f5f5f5}body{margin:0}</style>',
    ],
    ['#111, below a canvas that nothing was drawn on', CANVAS, body('background:#111')],
  ])('of an application that crashed is blank (%s)', async (_what, content, head) => {
    const crash = "<script>throw new TypeError('Cannot read properties of undefined')</script>";
    const error = await rig.failure(serve(content + crash, head), { timeout: 2_000 });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'blank', seen: 'nothing' } });
  });
});

describe('a picture', () => {
  /** White but for a dark square of 8 × 8 px at the lower right corner, or all over. */
  async function judged(
    size: { width: number; height: number },
    format: 'png' | 'jpeg' | 'webp',
    isMarked: boolean,
    channels: 3 | 4 = 3,
  ) {
    const white = sharp({ create: { ...size, channels, background: '#fff' }, limitInputPixels: false });
    const mark = { create: { width: 8, height: 8, channels: 3 as const, background: '#333' } };
    const squares = isMarked ? [{ input: mark, left: size.width - 8, top: size.height - 8 }] : [];
    const content = await white.composite(squares).toFormat(format, { quality: 90 }).toBuffer();
    await refuseWhite({ content, ...size }, async () => false);
  }
  const white = { code: 'render_incomplete', details: { check: 'blank' } };

  it.each([
    ['png', 800, 600],
    ['jpeg', 800, 600],
    ['webp', 800, 600],
    // Too large to be decoded as a whole.
    ['jpeg', 2560, 6_400],
  ] as const)(
    'that is a white %s of %i × %i px counts as blank, and not with one mark in the last corner',
    async (format, width, height) => {
      await expect(judged({ width, height }, format, false)).rejects.toMatchObject(white);
      await judged({ width, height }, format, true);
    },
  );

  it('that is white counts as blank with an alpha channel too', async () => {
    await expect(judged({ width: 600, height: 400 }, 'png', false, 4)).rejects.toMatchObject(white);
  });
});
