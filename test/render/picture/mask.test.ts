import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { blotOf } from './blots.js';
import { take } from './take.js';

const browser = await browserOfFile();

const PINK = [255, 0, 255] as const;
const SECRET = [1, 2, 3] as const;
const secret = (style: string, attributes = 'class=secret') => `<div ${attributes} style="background:rgb(${SECRET});${style}"></div>`;
const page = (body: string) => `<!doctype html><style>body{margin:0}</style>${body}`;
const BOX = secret('position:absolute;left:40px;top:60px;width:200px;height:30px');

describe.concurrent('a mask', () => {
  it.each([
    ['the view', {}, { left: 40, top: 60, width: 200, height: 30 }],
    [
      'the view at a density of 1.5',
      { viewport: { width: 800, height: 600, deviceScaleFactor: 1.5 } },
      { left: 60, top: 90, width: 300, height: 45 },
    ],
    ['a clip', { clip: { x: 20, y: 50, width: 100, height: 100 } }, { left: 20, top: 10, width: 80, height: 30 }],
    ['an element', { selector: '#holder' }, { left: 30, top: 40, width: 200, height: 30 }],
    ['a full page', { full_page: true }, { left: 40, top: 60, width: 200, height: 30 }],
    ['a full page at once', { full_page: true, full_page_algorithm: 'native' }, { left: 40, top: 60, width: 200, height: 30 }],
  ])('covers the box, and nothing else, in %s', async (_name, wish, blot) => {
    const html = page(
      `<div id=holder style="position:absolute;left:10px;top:20px;width:400px;height:200px"></div>${BOX}<div style="height:2000px">`,
    );
    const { content } = await take(browser, html, { mask: ['.secret'], ...wish });
    expect(await blotOf(content, PINK)).toMatchObject({ ...blot, pixels: blot.width * blot.height });
    expect(await blotOf(content, SECRET)).toMatchObject({ pixels: 0 });
  });

  it.each(['png', 'jpeg', 'webp'])('has its colour in %s', async (format) => {
    const { content } = await take(browser, page(BOX), { mask: ['.secret'], mask_color: 'White', format });
    const darkest = await sharp(content).extract({ left: 41, top: 61, width: 198, height: 28 }).removeAlpha().raw().toBuffer();
    expect(Math.min(...darkest)).toBeGreaterThan(250);
  });

  it('is opaque where the page is transparent', async () => {
    const { content } = await take(browser, page(BOX), { mask: ['.secret'], omit_background: true });
    const { data } = await sharp(content).extract({ left: 40, top: 59, width: 1, height: 2 }).raw().toBuffer({ resolveWithObject: true });
    expect([...data]).toEqual([0, 0, 0, 0, ...PINK, 255]);
  });

  it.each([['a dialog', '<dialog id=top style="margin:0;left:0;top:0;width:500px;height:300px"></dialog>', 'top.showModal()']])(
    'is above %s, and covers what is inside of it',
    async (_name, top, show) => {
      const inside = secret('position:absolute;left:300px;top:200px;width:50px;height:20px');
      const html = page(
        `${BOX}${top}<script>const top0 = document.getElementById('top'); top0.innerHTML = '${inside}'; ${show.replace('top.', 'top0.')}</script>`,
      );
      const { content } = await take(browser, html, { mask: ['.secret'] });
      expect(await blotOf(content, SECRET)).toMatchObject({ pixels: 0 });
      expect((await blotOf(content, PINK)).pixels).toBe(200 * 30 + 50 * 20);
    },
  );

  it('covers rows of a virtualised list in a full page', async () => {
    const html = page(`<div id=list style="position:relative;height:6000px"></div><script>
      const draw = () => { let rows = ''; const first = Math.max(0, Math.floor(scrollY / 100) - 1);
        for (let row = first; row < Math.min(60, first + 9); row++) rows += '<p class="' + (row % 10 ? 'plain' : 'secret') + '" style="margin:0;position:absolute;left:0;width:300px;height:100px;top:' + row * 100 + 'px;background:rgb(' + (row % 10 ? '9,9,9' : '1,2,3') + ')"></p>';
        list.innerHTML = rows };
      addEventListener('scroll', draw); draw()</script>`);
    const { content, diagnostics } = await take(browser, html, { mask: ['.secret'], full_page: true });
    expect(diagnostics.sections).toBeGreaterThan(1);
    expect(await blotOf(content, SECRET)).toMatchObject({ pixels: 0 });
    expect((await blotOf(content, PINK)).pixels).toBe(6 * 300 * 100);
  });

  it('covers the pinned header of a full page once', async () => {
    const html = page(
      `<header class=secret style="position:fixed;top:0;left:0;width:100%;height:50px;background:rgb(${SECRET})">Header</header><div style="height:4000px">`,
    );
    const { content } = await take(browser, html, { mask: ['header'], full_page: true });
    expect(await blotOf(content, PINK)).toMatchObject({ top: 0, height: 50, pixels: 800 * 50 });
  });

  it('ends where a scrolling box or a frame ends, and leads into shadow trees and frames', async () => {
    const tall = secret('height:900px');
    const html = page(`<div style="width:100px;height:80px;overflow:auto">${tall}</div><x-a></x-a>
      <iframe srcdoc='<style>body{margin:0}</style>${tall}' style="position:absolute;left:200px;top:0;border:0;width:100px;height:70px"></iframe>
      <script>document.querySelector('x-a').attachShadow({ mode: 'open' }).innerHTML = '${secret('position:absolute;left:400px;top:0;width:10px;height:10px')}'</script>`);
    const { content } = await take(browser, html, { mask: ['.secret', 'x-a >>> .secret, iframe >>> .secret'] });
    expect(await blotOf(content, SECRET)).toMatchObject({ pixels: 0 });
    expect((await blotOf(content, PINK)).pixels).toBe(100 * 80 + 100 * 70 + 10 * 10);
  });

  it('covers the parts of an element without a box of its own, and ignores what is not shown', async () => {
    const html = page(`<div class=secret style="display:contents">${secret('width:50px;height:40px', '')}</div>
      <div class=secret style="height:0"><div style="float:left;width:60px;height:40px;background:rgb(${SECRET})"></div></div>
      ${secret('display:none')}${secret('opacity:0;width:90px;height:90px')}`);
    const { content } = await take(browser, html, { mask: ['.secret', '.absent'] });
    expect(await blotOf(content, SECRET)).toMatchObject({ pixels: 0 });
    expect((await blotOf(content, PINK)).pixels).toBe((50 + 60) * 40);
  });

  const small = 'width:50px;height:40px;margin:0';
  const plain = secret(small, '');
  it.each(
    Object.entries({
      'in a dialog, whatever is around that': `<div style="opacity:0"><dialog id=top style="padding:0;border:0">${secret(small)}</dialog></div><script>document.getElementById('top').showModal()</script>`,
      'that have no box, in a frame': `<iframe srcdoc='<div class=secret style="display:contents"><div style="display:contents">${plain}</div></div>'></iframe>`,
      'fixed beside others': `<div class=secret style="display:contents"><p style="margin:0;width:9px;height:9px">.</p>${secret(`${small};position:fixed;top:90px`, '')}</div>`,
      'that are lines of a drawing': `<svg style="position:absolute;top:0"><line class=secret y1=20 x2=50 y2=20 stroke="rgb(${SECRET})" stroke-width=40 /></svg>`,
      'on the border of a box that clips': `<fieldset style="overflow:hidden;border:30px solid #eee"><legend class=secret style="${small};background:rgb(${SECRET});padding:0"></legend></fieldset>`,
    }),
  )('covers elements %s', async (_name, body) => {
    const { content } = await take(browser, page(body), { mask: ['.secret', 'iframe >>> .secret'] });
    expect(await blotOf(content, SECRET)).toMatchObject({ pixels: 0 });
    expect((await blotOf(content, PINK)).pixels).toBeGreaterThanOrEqual(50 * 40);
  });

  it('covers whole pixels at edges between them', async () => {
    const html = page(secret('position:absolute;left:10.4px;top:10.4px;width:20.2px;height:20.2px'));
    const { content } = await take(browser, html, { mask: ['.secret'], clip: { x: 0.5, y: 0.5, width: 100, height: 100 } });
    const edges = await blotOf(content, PINK);
    const { data, info } = await sharp(content).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const outside = [...data].flatMap((level, at) => {
      const [x, y] = [Math.floor(at / 3) % info.width, Math.floor(at / 3 / info.width)];
      const isIn = x >= edges.left && x < edges.left + edges.width && y >= edges.top && y < edges.top + edges.height;
      return isIn ? [] : [level];
    });
    expect(Math.min(...outside)).toBe(255);
  });

  it('covers the pictures of a PDF', async () => {
    const masked = await take(browser, page(BOX), { mask: ['.secret'], format: 'pdf', full_page: true });
    const bare = await take(browser, page(''), { format: 'pdf', full_page: true });
    const pink = await take(browser, page(BOX.replace(`rgb(${SECRET})`, '#f0f')), { format: 'pdf', full_page: true });
    expect(masked.content.byteLength).toBe(pink.content.byteLength);
    expect(masked.content.byteLength).not.toBe(bare.content.byteLength);
  });

  it('is not limited by boxes outside of the picture', async () => {
    const html = page(
      `${BOX}<div style="height:700px"></div>${'<i class=secret style="float:left;width:2px;height:2px"></i>'.repeat(2_001)}`,
    );
    const { content } = await take(browser, html, { mask: ['.secret'] });
    expect((await blotOf(content, PINK)).pixels).toBe(200 * 30);
  });

  it('fails the capture if it has too many boxes, whatever is tolerated', async () => {
    const html = page(`${'<i style="float:left;width:2px;height:2px"></i>'.repeat(2_001)}`);
    await expect(take(browser, html, { mask: ['i'], tolerate: ['render_incomplete'] })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { issues: [{ path: 'mask' }] },
    });
  });

  it('fits a view that the page has scrolled', async () => {
    const html = page(`${BOX}<div style="height:3000px"></div><script>scrollTo(0, 45)</script>`);
    const { content } = await take(browser, html, { mask: ['.secret'] });
    expect(await blotOf(content, PINK)).toMatchObject({ left: 40, top: 15, pixels: 200 * 30 });
  });

  it('fits a phone that is zoomed out', async () => {
    const html = `<!doctype html><meta name=viewport content="width=1200"><style>body{margin:0}</style><div style="height:5000px">${BOX}</div>`;
    const viewport = { width: 400, height: 600, deviceScaleFactor: 1, isMobile: true };
    const { content } = await take(browser, html, { mask: ['.secret'], viewport });
    const { left, top, width, height } = await blotOf(content, PINK);
    expect([left, top, left + width, top + height]).toEqual([13, 20, 80, 30]);
  });
});
