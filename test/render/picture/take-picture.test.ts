import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { CaptureError } from '../../../src/contract/capture-error.js';
import { browserOfFile } from './a-page-session.js';
import { blotOf } from './blots.js';
import { imagesOf, joinedImages, pageSizes } from './pdf-pages.js';
import { PINNED, pinnedPage } from './pinned-page.js';
import { judgeRows, rowsPage } from './rows.js';
import { take } from './take.js';

const browser = await browserOfFile();

describe.concurrent('a picture of the view', () => {
  it.each(['png', 'webp'])("has the view's size at its density, as %s, read from the encoded bytes", async (format) => {
    const picture = await take(browser, rowsPage(3_000), { format, viewport: { width: 400, height: 300, deviceScaleFactor: 2 } });
    expect(await sharp(picture.content).metadata()).toMatchObject({ format, width: 800, height: 600 });
    expect(await judgeRows(picture.content, { ratio: 2, tolerance: format === 'png' ? 0 : 40 })).toMatchObject({ wrong: 0 });
    expect(picture).toMatchObject({ width: 800, height: 600 });
    const end = { scrollHeight: 3_000, stoppedReason: 'viewport', truncated: false };
    expect(picture.diagnostics).toEqual({ algorithm: 'native', sections: 1, deviceScaleFactor: 2, ...end });
  });

  it.each(['jpeg', 'webp'])('is smaller at a lower quality (%s)', async (format) => {
    const [low, high] = await Promise.all([10, 90].map((quality) => take(browser, pinnedPage(), { format, quality })));
    expect(low?.content.length).toBeLessThan((high?.content.length ?? 0) * 0.9);
  });
});

describe.concurrent('a picture of an element', () => {
  it('is the whole first visible match, even if it is taller than the view, and nothing pinned covers it', async () => {
    const bar = '<div style="position:fixed;top:0;left:0;width:300px;height:40px;background:rgb(1,2,3)"></div>';
    const html = `<style>body{margin:0}</style>${bar}<p class=a hidden></p><div style="height:334px"></div><div class=a style="width:200px;margin-left:50px">${rowsPage(2_000)}</div><div class=a>second</div>`;
    const picture = await take(browser, html, { selector: '.a', viewport: { width: 400, height: 600, deviceScaleFactor: 1.5 } });
    expect(await judgeRows(picture.content, { ratio: 1.5, tolerance: 0 })).toMatchObject({ width: 300, height: 3_000, wrong: 0 });
    expect((await blotOf(picture.content, [1, 2, 3])).pixels).toBe(0);
    expect(picture.diagnostics).toMatchObject({ algorithm: 'element', stoppedReason: 'element', truncated: false, deviceScaleFactor: 1.5 });
  });

  it('has pinned elements inside it once, even if it takes several sections', async () => {
    const { content } = await take(browser, pinnedPage(1_000), { selector: 'body' });
    for (const [name, top] of Object.entries({ fixedTop: 0, shadowFixed: 60, stickyTop: 640, stickyInSection: 680, fixedBottom: 2_580 })) {
      expect(await blotOf(content, PINNED[name as keyof typeof PINNED]), name).toMatchObject({ top, pixels: 2_400 });
    }
  });

  it('is complete when it is wider than the view', async () => {
    const html = '<body style="margin:0"><div id=wide style="width:1500px;height:50px;background:rgb(1,2,3)"></div>';
    const { content, width } = await take(browser, html, { selector: '#wide' });
    expect(width).toBe(1_500);
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ width: 1_500, height: 50, pixels: 75_000 });
  });

  it.each([
    { page: 'wider than the view', style: '', left: 700, width: 140 },
    { page: 'wider than the view, where that cannot be seen', style: 'html{overflow-x:hidden}', left: 710, width: 120 },
    { page: 'written from right to left', style: 'html{direction:rtl}', left: -80, width: 140 },
  ])('is padded within the page, which is $page', async ({ style, left, width }) => {
    const html = `<!doctype html><style>body{margin:0}${style}</style><div style="width:1000px;height:9px"></div><b style="position:absolute;top:50px;left:${left}px;width:80px;height:40px;background:rgb(1,2,3)"></b>`;
    const { content } = await take(browser, html, { selector: 'b', padding: 30, wait_for_idle: false });
    expect(await sharp(content).metadata()).toMatchObject({ width, height: 100 });
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ left: 30, top: 30, width: 80, height: 40, pixels: 3_200 });
  });

  it("is the part that the page shows of it when some of it is before the page's origin, and not an element that is completely there", async () => {
    const at = (left: number) =>
      `<div class=a style="position:absolute;left:${left}px;top:-20px;width:100px;height:50px;background:rgb(1,2,3)"></div>`;
    const { content, width, height } = await take(browser, `${at(-9_999)}${at(-40)}`, { selector: '.a' });
    expect({ width, height }).toEqual({ width: 60, height: 30 });
    expect((await blotOf(content, [1, 2, 3])).pixels).toBe(1_800);
  });

  it('is scrolled to inside a box that shows another part, even if it is in the view', async () => {
    const slide = (id: string, colour: string) => `<div id=${id} style="flex:none;width:300px;height:100px;background:${colour}"></div>`;
    const html = `<div style="display:flex;width:300px;overflow:hidden">${slide('one', 'red')}${slide('two', 'rgb(1,2,3)')}</div>`;
    expect(await blotOf((await take(browser, html, { selector: '#two' })).content, [1, 2, 3])).toMatchObject({ pixels: 30_000 });
  });

  it.each([
    ['a closed panel', '<div style="height:0;overflow:hidden">BOX</div>'],
    [
      'a slide of a carousel that is past',
      `<div style="width:300px;overflow:hidden"><div style="transform:translateX(-300px)">BOX</div></div>`,
    ],
    ['clipped to nothing', '<div style="position:absolute;left:300px;clip:rect(1px,1px,1px,1px)">BOX</div>'],
    ['clipped away along its path', '<div style="clip-path:inset(0 0 100%)">BOX</div>'],
    ['a dot for screen readers', '<div class=a style="width:1px;height:1px;overflow:hidden"></div>'],
  ])('is not a clipped match while another is visible: %s', async (_what, hidden) => {
    const box = (colour: string) => `<div class=a style="width:200px;height:100px;background:${colour}"></div>`;
    const html = `<p>text</p>${hidden.replace('BOX', box('red'))}${box('rgb(1,2,3)')}`;
    expect(await blotOf((await take(browser, html, { selector: '.a' })).content, [1, 2, 3])).toMatchObject({ pixels: 20_000 });
  });

  it.each([
    ['a thin rule', 'height:1px', 'BOX'],
    ['lower in a scroller', 'height:40px', '<div style="height:90px;overflow:auto"><p style="height:900px"></p>BOX</div>'],
    ['hung out of the box that clips', 'height:40px;position:absolute;top:200px', '<div style="height:0;overflow:hidden">BOX</div>'],
    ['in an inline element', 'height:40px', '<span style="overflow:hidden">BOX</span>'],
    ['partly clipped', 'height:40px', '<div style="height:10px;overflow:hidden">BOX</div>'],
  ])('is the first visible match, even if it is %s', async (_what, style, around) => {
    const box = `<div class=a style="width:200px;background:rgb(1,2,3);${style}"></div>`;
    const html = `<p>text</p>${around.replace('BOX', box)}<div class=a style="height:9px">other</div>`;
    const { width, content } = await take(browser, html, { selector: '.a' });
    expect(width).toBe(200);
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ left: 0, top: 0, width: 200 });
  });

  const block = (rules: string) => `<div style="width:200px;height:100px;background:rgb(1,2,3);${rules}"></div>`;

  it.each([
    ['in the flow', `<div class=a style="display:contents">${block('')}${block('')}</div>`],
    ['in a slot', `<x-a class=a style="display:contents">${block('')}${block('')}</x-a>`],
    ['floating', `<div class=a>${block('float:left;clear:left')}${block('float:left;clear:left')}</div>`],
    ['overflowing', `<div class=a style="height:0">${block('')}<div style="height:0">${block('')}</div></div>`],
    ['fixed', `<div class=a><div style="position:fixed;top:50px;left:50px">${block('')}${block('')}</div></div>`],
    [
      'beside what is not seen',
      `<div class=a style="display:contents">${block('opacity:0')}${block('position:absolute;left:-9999px')}${block('position:fixed')}${block('')}${block('')}</div>`,
    ],
  ])('is the content when the element has no box of its own, or an empty one: %s', async (_where, html) => {
    const shadow = `<script>for (const x of document.querySelectorAll('x-a')) x.attachShadow({ mode: 'open' }).innerHTML = '<slot></slot>'</script>`;
    const { content, width, height } = await take(browser, `<p>text</p>${html}${shadow}<p class=a style="margin-left:300px">other</p>`, {
      selector: '.a',
    });
    expect({ width, height }).toEqual({ width: 200, height: 200 });
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ pixels: 40_000 });
  });

  it('is found in a scroller, in a shadow tree, and when it is pinned itself', async () => {
    const html = `<body style="margin:0"><div style="height:200px;overflow:auto">${'<p style="height:100px">x</p>'.repeat(20)}<div id=deep style="height:40px;background:rgb(1,2,3)"></div></div>
      <x-a></x-a><div id=pinned style="position:fixed;bottom:0;width:70px;height:30px;background:rgb(7,8,9)"></div>
      <script>document.querySelector('x-a').attachShadow({mode:'open'}).innerHTML='<b id=inner style="display:block;height:20px;background:rgb(4,5,6)"></b>'</script>`;
    const seen = async (selector: string, colour: [number, number, number]) =>
      await blotOf((await take(browser, html, { selector })).content, colour);
    expect(await seen('#deep', [1, 2, 3])).toMatchObject({ height: 40, left: 0, top: 0 });
    expect(await seen('#inner', [4, 5, 6])).toMatchObject({ height: 20, width: 800 });
    expect(await seen('#pinned', [7, 8, 9])).toMatchObject({ pixels: 2_100 });
  });

  it.each([
    { waits: 250, height: 200 },
    { waits: 150, height: 2_400 },
  ])('has the images that wait $waits ms for a pause in scrolling: $height px', async ({ waits, height }) => {
    const seen = 'data:image/gif;base64,R0lGODlhAQABAPAAAAECAwAAACwAAAAAAQABAAACAkQBADs=';
    const html = `<style>body{margin:0}img{display:block;width:100%;height:200px}</style><div style="height:3000px"></div>
      <section>${`<img data-src="${seen}">`.repeat(height / 200)}</section><div style="height:3000px"></div><script>let timer;
      const fill = () => { for (const image of document.images) if (Math.abs(image.getBoundingClientRect().top + 100 - innerHeight / 2) < innerHeight / 2) image.src = image.dataset.src };
      addEventListener('scroll', () => { clearTimeout(timer); timer = setTimeout(fill, ${waits}) })</script>`;
    const { content } = await take(browser, html, { selector: 'section' });
    expect((await blotOf(content, [1, 2, 3])).pixels).toBe(height * 800);
  });

  it.each([
    ['#none', 'render_incomplete', { check: 'selector', seen: 'not_found', matches: 0 }],
    ['#hidden', 'render_incomplete', { check: 'selector', seen: 'not_visible', matches: 1 }],
    ['#closed', 'render_incomplete', { check: 'selector', seen: 'not_visible', matches: 1 }],
    ['#seen-through', 'render_incomplete', { check: 'selector', seen: 'not_visible', matches: 1 }],
    ['p[', 'invalid_request', { issues: [{ path: 'selector' }] }],
  ])('fails for %s with %s', async (selector, code, details) => {
    const closed = '<div id=closed style="height:0;overflow:hidden"><p>x</p></div>';
    const seenThrough = '<div style="opacity:0"><div id=seen-through style="display:contents">x<b>y</b></div></div>';
    const failure = take(browser, `<p id=hidden style="visibility:hidden">x</p>${closed}${seenThrough}`, { selector });
    await expect(failure).rejects.toThrow(CaptureError);
    await expect(failure).rejects.toMatchObject({ code, details });
  });
});

describe.concurrent('a PDF', () => {
  const sizes = async (content: Uint8Array) => (await pageSizes(content)).map(({ width, height }) => [width, height]);

  const views = (count: number) => Array.from({ length: count }, () => [800, 600]);

  it('of the view has as many pages of its size as the document needs', async () => {
    const short = await take(browser, '<h1>Short</h1>', { format: 'pdf' });
    expect(await sizes(short.content)).toEqual([[800, 600]]);
    expect(short.diagnostics).toMatchObject({ algorithm: 'native', sections: 1, stoppedReason: 'viewport', truncated: false });
    const long = await take(browser, pinnedPage(1_000), { format: 'pdf' });
    expect(await sizes(long.content)).toEqual(views(5));
    expect(long.diagnostics).toMatchObject({ algorithm: 'native', sections: 5, stoppedReason: 'end_of_page', truncated: false });
  });

  it('of the view includes the content of inner scrollers, and content that loads late', async () => {
    const scroller = `<body style="margin:0"><main style="height:100vh;overflow:auto"><div style="height:1500px">x</div>end</main>`;
    expect(await sizes((await take(browser, scroller, { format: 'pdf' })).content)).toHaveLength(3);
    const lazy = `<body style="margin:0"><div style="height:1300px"></div><script>
      new IntersectionObserver(([entry]) => { if (entry.isIntersecting) mark.style.height = '1200px' }).observe(document.body.appendChild(Object.assign(document.createElement('p'), { id: 'mark', textContent: 'late' })))</script>`;
    expect((await sizes((await take(browser, lazy, { format: 'pdf' })).content)).length).toBeGreaterThan(3);
  });

  it.each([
    ['of the view', {}, views(2)],
    ['of a whole page, by sections', { full_page: true, full_page_algorithm: 'by_sections' }, [[800, 1_200]]],
    ['of a whole page, native', { full_page: true, full_page_algorithm: 'native' }, [[800, 1_200]]],
  ])("%s is on the requested paper, whatever the page's own rules say", async (_what, wire, expected) => {
    const page = (rule: string) => `<style>${rule}body{margin:0;height:1200px;background:teal}</style><h1>Words</h1>`;
    const own = await take(browser, page('@page{size:A4 landscape;margin:5cm}'), { format: 'pdf', ...wire });
    const plain = await take(browser, page(''), { format: 'pdf', ...wire });
    expect(await sizes(own.content)).toEqual(expected);
    expect(own.content.length).toBe(plain.content.length);
  });

  const NARROW = { viewport: { width: 320, height: 2_000, deviceScaleFactor: 1 } };

  it('of a longer page, native, has as many pages as it needs', async () => {
    const picture = await take(browser, rowsPage(20_000), { ...NARROW, format: 'pdf', full_page: true, full_page_algorithm: 'native' });
    expect((await sizes(picture.content)).map(([, height]) => height)).toEqual([19_200, 19_200]);
  });

  it('of a whole page, by sections, has its rendered pixels, one image per page, row by row', async () => {
    const picture = await take(browser, rowsPage(20_000), { ...NARROW, format: 'pdf', full_page: true });
    expect((await sizes(picture.content)).map(([, height]) => height)).toEqual([19_200, 800]);
    const diagnostics = { algorithm: 'by_sections', scrollHeight: 20_000, truncated: false };
    expect(picture).toMatchObject({ width: 320, height: 19_200, diagnostics });
    const joined = await joinedImages(picture.content);
    expect(await imagesOf(picture.content)).toHaveLength(2);
    expect(await judgeRows(joined, { ratio: 1, tolerance: 24 })).toMatchObject({ height: 20_000, wrong: 0 });
  });
});
