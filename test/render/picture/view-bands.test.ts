import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { blotOf } from './blots.js';
import { take } from './take.js';

const browser = await browserOfFile();
const VIEW = { width: 1_280, height: 720, deviceScaleFactor: 1 };
const RED = [255, 0, 0] as [number, number, number];

/** Its box moves in from the left where the view is at least 992 px wide. */
const WIDE_ONLY = `<!doctype html><style>body{margin:0}#a{margin-left:-225px;background:red;height:200px;width:400px}
  @media(min-width:992px){#a{margin-left:0;transition:margin .15s}}</style><div id=a></div><div style="height:1500px"></div>`;
/** Its box is there only in wide views, and then fades in. */
const WIDE_ENTRY = `<!doctype html><style>body{margin:0}#a{background:red;height:200px;width:400px;display:none}
  @media(min-width:992px){#a{display:block;animation:in 1s both}}@keyframes in{from{opacity:0}}</style><div id=a></div><div style="height:1500px"></div>`;
const WAYS = [
  ['full page by sections', { full_page: true }],
  ['native full page', { full_page: true, full_page_algorithm: 'native' }],
  ['element', { selector: '#a' }],
  ['clip', { clip: { x: 0, y: 0, width: 400, height: 900 } }],
] as const;

describe('the layout of a page is not changed by its picture', () => {
  it.each(WAYS)('of which a breakpoint moves a box: %s', async (_way, wire) => {
    const { content } = await take(browser, WIDE_ONLY, { viewport: VIEW, reduce_motion: false, ...wire });
    expect(await blotOf(content, RED)).toMatchObject({ left: 0, top: 0, width: 400, height: 200, pixels: 80_000 });
  });

  it.each(WAYS.slice(0, 2))('of which small views lack a box that fades in: %s', async (_way, wire) => {
    const { content } = await take(browser, WIDE_ENTRY, { viewport: VIEW, reduce_motion: false, ...wire });
    expect(await blotOf(content, RED)).toMatchObject({ width: 400, height: 200, pixels: 80_000 });
  });

  it.each(WAYS)('as the page observes it: %s', async (_way, wire) => {
    const styles =
      '<style>#b{transition:all .1s}@media(max-width:900px){#b{color:#fff;font-size:40px;animation:in 1s}}</style><p id=b>text</p>';
    const events: string[] = [];
    await take(
      browser,
      WIDE_ONLY + styles,
      { viewport: VIEW, ...wire },
      { onEvents: (names) => events.push(...names) },
    );
    expect(events).toEqual([]);
  });
});

describe('a page that is wider or zoomed', () => {
  it('is joined from columns where one view is too narrow', async () => {
    const html = `<!doctype html><style>body{margin:0}div{position:absolute;height:900px;width:700px}</style>
      <div style="left:0;background:#f00"></div><div style="left:700px;background:#0f0"></div><div style="left:1400px;background:#00f"></div>`;
    const { content } = await take(browser, html, {
      full_page: true,
      full_width: true,
      viewport: { width: 800, height: 600, deviceScaleFactor: 1.5 },
    });
    const of = (color: [number, number, number]) => blotOf(content, color);
    expect(await of([255, 0, 0])).toMatchObject({
      left: 0,
      top: 0,
      width: 1_050,
      height: 1_350,
      pixels: 1_050 * 1_350,
    });
    expect(await of([0, 255, 0])).toMatchObject({ left: 1_050, width: 1_050, pixels: 1_050 * 1_350 });
    expect(await of([0, 0, 255])).toMatchObject({ left: 2_100, width: 1_050, pixels: 1_050 * 1_350 });
  });

  const phone = { width: 320, height: 480, deviceScaleFactor: 1, isMobile: true, hasTouch: true };
  const desktop = `<!doctype html><style>body{margin:0;height:2703px;background:#fff}#a{position:absolute;left:100px;top:50px;width:50px;height:50px;background:red}</style><div id=a></div>`;
  it.each([
    ['clip', { clip: { x: 60, y: 20, width: 100, height: 150 } }, { width: 100, height: 150 }],
    ['element', { selector: '#a' }, { width: 50, height: 50 }],
    ['full page', { full_page: true }, { width: 980, height: 2_703 }],
  ])('has its own CSS px on a phone that shows a page for desktops: %s', async (_way, wire, size) => {
    const { content } = await take(browser, desktop, { viewport: phone, ...wire });
    expect(await sharp(content).metadata()).toMatchObject(size);
    expect(await blotOf(content, RED)).toMatchObject({ width: 50, height: 50, pixels: 2_500 });
  });
});

it.each([
  [1, { width: 41, height: 21 }, { left: 0, top: 0, width: 41, height: 21 }],
  [2, { width: 82, height: 42 }, { left: 0, top: 0, width: 82, height: 42 }],
])('an element between whole px has all of its borders at density %s', async (deviceScaleFactor, size, border) => {
  const style =
    'position:absolute;left:20.3px;top:10.3px;width:38.4px;height:18.4px;border:1px solid red;background:#00f';
  const html = `<!doctype html><style>body{margin:0}#a{${style}}</style><div id=a></div>`;
  const { content } = await take(browser, html, { selector: '#a', viewport: { ...VIEW, deviceScaleFactor } });
  expect(await sharp(content).metadata()).toMatchObject(size);
  expect(await blotOf(content, RED)).toMatchObject(border);
});

it.each([
  ['snaps while it scrolls', 'html{scroll-snap-type:y mandatory}section{scroll-snap-align:start}'],
  ['cannot be scrolled', 'html{position:fixed;inset:0;overflow:hidden}'],
])('an element that is higher than the view of a page that %s is whole', async (_how, style) => {
  const html = `<!doctype html><style>body{margin:0}section{height:700px}#a{height:1500px;width:300px;background:red}${style}</style><section>above</section><div id=a></div><section>below</section>`;
  const { content } = await take(browser, html, { selector: '#a', viewport: VIEW });
  expect(await blotOf(content, RED)).toMatchObject({ top: 0, width: 300, height: 1_500, pixels: 450_000 });
});
