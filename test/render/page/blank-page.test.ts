import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { words } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { rig, serve } = await siteAndRig();

const TEXT = `<h1>Shop</h1><p>${words(40)}</p>`;
const FADE = '<style>@keyframes k{to{opacity:1}}body{opacity:0;animation:k 2s 60s forwards}</style>';
const HIDDEN = '<style>.async-hide{opacity:0!important}</style>';
const UNHIDE = `${HIDDEN}<script>const root = document.documentElement; root.className = 'async-hide'; setTimeout(() => root.className = '', 1500)</script>`;
const LATER = `<div id="root"></div><script>addEventListener('load', () => setTimeout(() => { root.innerHTML = '${TEXT}' }, 2000))</script>`;
const sheetOf = (colour: string) => `<div id="sheet" style="position:fixed;inset:0;z-index:99;background:${colour}"></div>`;
const READ_ALOUD = '<span style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)">Loading…</span>';
const UNCOVER = "<script>addEventListener('load', () => setTimeout(() => sheet.remove(), 1000))</script>";
const BLANK = { code: 'render_incomplete', details: { check: 'blank', seen: 'nothing' } };

describe.concurrent('a page that is white at first', () => {
  it.each([
    ['which a script uncovers', TEXT, UNHIDE],
    ['which a timer fills', LATER, ''],
    ['which fades in long after', TEXT, FADE],
  ])('%s is awaited', async (_what, body, head) => {
    const wish = { fail_if_content_missing: ['Shop'] };
    expect((await rig.capture(serve(body, head), wish)).width).toBe(800);
  });
});

describe.concurrent('a page below a white sheet', () => {
  /** The darkest shade on the first view. */
  async function darkest(body: string, wish: Record<string, unknown> = {}): Promise<number | undefined> {
    const { content } = await rig.capture(serve(body), wish);
    const { channels } = await sharp(await sharp(content).extract({ left: 0, top: 0, width: 800, height: 600 }).toBuffer()).stats();
    return channels[0]?.min;
  }

  it.each([
    ['white', sheetOf('#fff'), {}],
    ['nearly white', sheetOf('#fafcff'), {}],
    ['with words for screen readers', sheetOf('#fff').replace('></div>', `>${READ_ALOUD}</div>`), {}],
    ['and locks the page', `${sheetOf('#fff')}<style>:has(#sheet){overflow:hidden}body{height:3000px}</style>`, { full_page: true }],
  ])('is awaited (%s)', async (_what, sheet, wish) => {
    expect(await darkest(TEXT + sheet + UNCOVER, wish)).toBeLessThan(100);
  });

  it.each([
    [
      'has begun to fade',
      `${sheetOf('#fff')}<style>@keyframes k{to{opacity:0}}#sheet{animation:k 9s 9s forwards}</style><script>1</script>`,
    ],
    ['shows text', `${sheetOf('#fff').replace('></div>', '><p>Sign in</p></div>')}<script>1</script>`],
  ])('is captured at once when the sheet %s', async (_what, sheet) => {
    const began = Date.now();
    expect(await darkest(TEXT + sheet)).toBeLessThan(100);
    expect(Date.now() - began).toBeLessThan(4_000);
  });

  it('fails after a while when the sheet stays', async () => {
    const white = { code: 'render_incomplete', details: { check: 'blank', seen: 'white' } };
    const began = Date.now();
    expect(await rig.failure(serve(`${TEXT}${sheetOf('#fff')}<script>1</script>`), { timeout: 2_000 })).toMatchObject(white);
    expect(Date.now() - began).toBeGreaterThan(1_900);
  });
});

describe.concurrent('a page below a white sheet that stays, as a PDF', () => {
  const pdf = { format: 'pdf', timeout: 2_000 };

  it.each([
    ['of the view is told', TEXT],
    ['with nothing below it is told', ''],
  ])('%s', async (_what, text) => {
    expect(await rig.failure(serve(`${text}${sheetOf('#fff')}<script>1</script>`), pdf)).toMatchObject(BLANK);
  });

  it('of the whole page shows content further down', async () => {
    const url = serve(`${TEXT}${sheetOf('#fff')}<style>body{height:3000px}</style><script>1</script>`);
    expect((await rig.capture(url, { ...pdf, full_page: true })).content.byteLength).toBeGreaterThan(1_000);
  });
});

describe.concurrent('a page that stays white', () => {
  const hidden = `<div style="opacity:0">${TEXT}</div>`;

  it.each([
    ['when its only frame is inside an SVG', '<svg width="0"><iframe></iframe></svg>'],
    ['even when it contains text that nothing uncovers', `${hidden}<script>globalThis.idle = true</script>`],
    ['when a script leaves it empty', '<script>globalThis.idle = true</script>'],
  ])('fails as blank within its budget, %s', async (_what, body) => {
    const began = Date.now();
    expect(await rig.failure(serve(body), { timeout: 2_000 })).toMatchObject(BLANK);
    expect(Date.now() - began).toBeGreaterThan(1_900);
    expect(Date.now() - began).toBeLessThan(4_000);
  });

  it.each([
    ['white', `${hidden}<script type="application/ld+json">{}</script>`],
    ['covered', TEXT + sheetOf('#fff')],
  ])('fails soon when it runs no script (%s)', async (_what, body) => {
    const began = Date.now();
    expect(await rig.failure(serve(body))).toMatchObject({ code: 'render_incomplete', details: { check: 'blank' } });
    expect(Date.now() - began).toBeLessThan(4_900);
  });
});

describe.concurrent('one colour all over the view', () => {
  const full = 'margin:0;position:fixed;inset:0;width:100vw;height:100vh';
  const drawn = (colour: string) =>
    `<canvas style="${full}"></canvas><script>const c = document.querySelector('canvas'), d = c.getContext('2d'); d.fillStyle = '${colour}'; d.fillRect(0, 0, c.width, c.height)</script>`;
  const crash = "<script>throw new TypeError('Cannot read properties of undefined')</script>";

  it.each([
    ['white, drawn on a canvas', drawn('#fff'), ''],
    ['drawn on a canvas in the colour of the page', drawn('#111'), '<style>body{background:#111}</style>'],
    ['of a frame', `<iframe style="border:0;${full}" srcdoc="<body style='background:teal'>"></iframe>`, ''],
    ['of a box', `<div style="${full};background:teal"></div>`, ''],
    ['of a shape', `<svg style="${full}"><rect width="9999" height="9999" fill="teal"/></svg>`, ''],
    ['of the page, a light one', '', '<style>body{background:#aee}</style>'],
    ['of the page, a dark one', '', '<style>body{background:#123}</style>'],
  ])('%s is content', async (_what, body, head) => {
    const began = Date.now();
    expect((await rig.capture(serve(body, head))).width).toBe(800);
    expect(Date.now() - began).toBeLessThan(4_900);
  });

  it.each([
    ['#111', '<div id="root"></div>', '<style>html{background:#111}</style>'],
    ['#111, in wide gamut notation', '<div id="app"></div>', '<style>body{background:color(srgb 0.0667 0.0667 0.0667)}</style>'],
    ['#f5f5f5, on the empty root', '<div id="root"></div>', '<style>#root{min-height:100vh;background:#f5f5f5}body{margin:0}</style>'],
    [
      '#111, below a canvas that nothing was drawn on',
      `<div id="root"><canvas style="${full}"></canvas></div>`,
      '<style>body{background:#111}</style>',
    ],
  ])('of an application that crashed is blank (%s)', async (_what, body, head) => {
    expect(await rig.failure(serve(body + crash, head), { timeout: 2_000 })).toMatchObject(BLANK);
  });

  it.each([
    ['nearly white', '#f5f5f5'],
    ['nearly black', '#111'],
  ])('of an empty page is blank when it is %s', async (_what, colour) => {
    expect(await rig.failure(serve('', `<style>body{background:${colour}}</style>`))).toMatchObject(BLANK);
  });

  it('is awaited on a page that a script fills later', async () => {
    const later = `<script>addEventListener('load', () => setTimeout(() => { document.body.innerHTML = '${TEXT}' }, 1500))</script>`;
    const wish = { fail_if_content_missing: ['Shop'], real_time: true };
    expect((await rig.capture(serve(later, '<style>body{background:teal}</style>'), wish)).width).toBe(800);
  });

  it('is content on a page that has its text further down', async () => {
    const url = serve(`<main style="padding-top:3000px">${TEXT}</main>`, '<style>body{background:#111;color:#eee}</style>');
    expect((await rig.capture(url)).width).toBe(800);
  });
});

describe.concurrent('a page that hides itself until a script loads, which never happens', () => {
  it.each([
    ['visibility', '<style>body{visibility:hidden!important}</style><script src="/none"></script>'],
    ['opacity', "<style>.async-hide{opacity:0!important}</style><script>document.documentElement.className = 'async-hide'</script>"],
  ])('is shown if it is hidden by its %s', async (_how, head) => {
    const { content } = await rig.capture(serve(TEXT, head), { timeout: 2_000, fail_if_content_missing: ['Shop'] });
    expect((await sharp(content).stats()).channels[0]?.min).toBeLessThan(100);
  });
});
