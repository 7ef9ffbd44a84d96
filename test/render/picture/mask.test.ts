import sharp from 'sharp';
import { expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { type Blot, blotOf } from './blots.js';
import { take } from './take.js';

const browser = await browserOfFile();

const PINK = [255, 0, 255] as const;
const SECRET = [1, 2, 3] as const;
const FULL_PAGE = { full_page: true };
const small = 'width:50px;height:40px;margin:0';
const secret = (style: string, attributes = 'class=secret') =>
  `<div ${attributes} style="background:rgb(${SECRET});${style}"></div>`;
const page = (body: string) => `<!doctype html><style>body{margin:0}</style>${body}`;
const BOX = secret('position:absolute;left:40px;top:60px;width:200px;height:30px');
const HOLDER = `<div id=holder style="position:absolute;left:10px;top:20px;width:400px;height:200px"></div>${BOX}<div style="height:2000px">`;
const PHONE = { viewport: { width: 400, height: 600, deviceScaleFactor: 1, isMobile: true } };

const boxAt = (left: number, top: number, width = 200, height = 30) => ({
  left,
  top,
  width,
  height,
  pixels: width * height,
});
const shown = (inside: string) =>
  `<dialog id=shown style="margin:0;left:0;top:0;width:500px;height:300px">${inside}</dialog><script>document.getElementById('shown').showModal()</script>`;
const overBox = BOX + shown(secret('position:absolute;left:300px;top:200px;width:50px;height:20px'));
const pinned = `<header class=secret style="position:fixed;top:0;left:0;width:100%;height:50px;background:rgb(${SECRET})">Header</header><div style="height:4000px">`;
const scrolled = `${BOX}<div style="height:3000px"></div><script>scrollTo(0, 45)</script>`;
const zoomedOut = `<meta name=viewport content="width=1200"><div style="height:5000px">${BOX}</div>`;
const farAway = `${BOX}<div style="height:700px"></div>${'<i class=secret style="float:left;width:2px;height:2px"></i>'.repeat(2_001)}`;
const virtualized = `<div id=list style="position:relative;height:6000px"></div><script>
  const draw = () => { let rows = ''; const first = Math.max(0, Math.floor(scrollY / 100) - 1);
    for (let row = first; row < Math.min(60, first + 9); row++) rows += '<p class="' + (row % 10 ? 'plain' : 'secret') + '" style="margin:0;position:absolute;left:0;width:300px;height:100px;top:' + row * 100 + 'px;background:rgb(' + (row % 10 ? '9,9,9' : '1,2,3') + ')"></p>';
    list.innerHTML = rows };
  addEventListener('scroll', draw); draw()</script>`;
const tall = secret('height:900px');
const within = `<div style="width:100px;height:80px;overflow:auto">${tall}</div><x-a></x-a>
  <iframe srcdoc='<style>body{margin:0}</style>${tall}' style="position:absolute;left:200px;top:0;border:0;width:100px;height:70px"></iframe>
  <script>document.querySelector('x-a').attachShadow({ mode: 'open' }).innerHTML = '${secret('position:absolute;left:400px;top:0;width:10px;height:10px')}'</script>`;
const boxless = `<div class=secret style="display:contents">${secret('width:50px;height:40px', '')}</div>
  <div class=secret style="height:0"><div style="float:left;width:60px;height:40px;background:rgb(${SECRET})"></div></div>
  ${secret('display:none')}${secret('opacity:0;width:90px;height:90px')}`;
const plain = secret(small, '');
const faint = `<div style="opacity:0"><dialog id=top style="padding:0;border:0">${secret(small)}</dialog></div><script>document.getElementById('top').showModal()</script>`;
const inFrame = `<iframe srcdoc='<div class=secret style="display:contents"><div style="display:contents">${plain}</div></div>'></iframe>`;
const fixed = `<div class=secret style="display:contents"><p style="margin:0;width:9px;height:9px">.</p>${secret(`${small};position:fixed;top:90px`, '')}</div>`;
const line = `<svg style="position:absolute;top:0"><line class=secret y1=20 x2=50 y2=20 stroke="rgb(${SECRET})" stroke-width=40 /></svg>`;
const legend = `<fieldset style="overflow:hidden;border:30px solid #eee"><legend class=secret style="${small};background:rgb(${SECRET});padding:0"></legend></fieldset>`;
const enough = { pixels: expect.toSatisfy((pixels: number) => pixels >= 50 * 40) };

it.concurrent.each<[string, string, object, Partial<Blot> | typeof enough]>([
  ['covers the box, and nothing else, in the view', HOLDER, {}, boxAt(40, 60)],
  [
    'is as dense as the view',
    HOLDER,
    { viewport: { width: 800, height: 600, deviceScaleFactor: 1.5 } },
    boxAt(60, 90, 300, 45),
  ],
  [
    'covers the box, and nothing else, in a clip',
    HOLDER,
    { clip: { x: 20, y: 50, width: 100, height: 100 } },
    boxAt(20, 10, 80),
  ],
  ['covers the box, and nothing else, in an element', HOLDER, { selector: '#holder' }, boxAt(30, 40)],
  ['covers the box, and nothing else, in a full page', HOLDER, FULL_PAGE, boxAt(40, 60)],
  [
    'covers the box, and nothing else, in a native full page',
    HOLDER,
    { ...FULL_PAGE, full_page_algorithm: 'native' },
    boxAt(40, 60),
  ],
  ['is above a dialog, and covers what is inside of it', overBox, {}, { pixels: 200 * 30 + 50 * 20 }],
  ['covers rows of a virtualized list in a full page', virtualized, FULL_PAGE, { pixels: 6 * 300 * 100 }],
  ['covers the pinned header of a full page once', pinned, FULL_PAGE, boxAt(0, 0, 800, 50)],
  [
    'ends where a box or frame ends, and leads into trees and frames',
    within,
    {},
    { pixels: 100 * 80 + 100 * 70 + 10 * 10 },
  ],
  [
    'covers the parts of an element without a box, and ignores what is not shown',
    boxless,
    {},
    { pixels: (50 + 60) * 40 },
  ],
  ['covers an element in a dialog, whatever is around that', faint, {}, enough],
  ['covers an element that has no box, in a frame', inFrame, {}, enough],
  ['covers an element fixed beside others', fixed, {}, enough],
  ['covers a line of a drawing', line, {}, enough],
  ['covers an element on the border of a box that clips', legend, {}, enough],
  ['is not limited by boxes outside of the picture', farAway, {}, { pixels: 200 * 30 }],
  ['fits a view that the page has scrolled', scrolled, {}, boxAt(40, 15)],
  ['fits a phone that is zoomed out', zoomedOut, PHONE, { left: 13, top: 20, width: 67, height: 10 }],
])('a mask %s', async (_title, body, wish, blot) => {
  const mask = ['.secret', 'x-a >>> .secret, iframe >>> .secret', '.absent'];
  const { content } = await take(browser, page(body), { mask, ...wish });
  expect(await blotOf(content, SECRET)).toMatchObject({ pixels: 0 });
  expect(await blotOf(content, PINK)).toMatchObject(blot);
});

it.concurrent.each(['png', 'jpeg', 'webp'])('a mask has its color in %s', async (format) => {
  const { content } = await take(browser, page(BOX), { mask: ['.secret'], mask_color: 'White', format });
  const darkest = await sharp(content)
    .extract({ left: 41, top: 61, width: 198, height: 28 })
    .removeAlpha()
    .raw()
    .toBuffer();
  expect(Math.min(...darkest)).toBeGreaterThan(250);
});

it.concurrent('a mask is opaque where the page is transparent', async () => {
  const { content } = await take(browser, page(BOX), { mask: ['.secret'], omit_background: true });
  const { data } = await sharp(content)
    .extract({ left: 40, top: 59, width: 1, height: 2 })
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect([...data]).toEqual([0, 0, 0, 0, ...PINK, 255]);
});

it.concurrent('a mask covers whole pixels at edges between them', async () => {
  const html = page(secret('position:absolute;left:10.4px;top:10.4px;width:20.2px;height:20.2px'));
  const { content } = await take(browser, html, {
    mask: ['.secret'],
    clip: { x: 0.5, y: 0.5, width: 100, height: 100 },
  });
  const { pixels, width, height } = await blotOf(content, PINK);
  expect(pixels).toBe(width * height);
  expect((await blotOf(content, [255, 255, 255])).pixels).toBe(100 * 100 - pixels);
});

it.concurrent('a mask covers the pictures of a PDF', async () => {
  const print = (body: string, wish = {}) => take(browser, page(body), { format: 'pdf', ...FULL_PAGE, ...wish });
  const pink = BOX.replace(`rgb(${SECRET})`, '#f0f');
  const [masked, bare, painted] = await Promise.all([print(BOX, { mask: ['.secret'] }), print(''), print(pink)]);
  expect(masked.content.byteLength).toBe(painted.content.byteLength);
  expect(masked.content.byteLength).not.toBe(bare.content.byteLength);
});

it.concurrent('a mask of too many boxes fails the capture, even with `tolerate`', async () => {
  const html = page(`${'<i style="float:left;width:2px;height:2px"></i>'.repeat(2_001)}`);
  await expect(take(browser, html, { mask: ['i'], tolerate: ['render_incomplete'] })).rejects.toMatchObject({
    code: 'invalid_request',
    details: { issues: [{ path: 'mask' }] },
  });
});
