import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { type Blot, blotOf } from './blots.js';
import { imagesOf, joinedImages, pageSizes } from './pdf-pages.js';
import { PINNED, pinnedPage } from './pinned-page.js';
import { judgeRows, rowsPage } from './rows.js';
import { take } from './take.js';

const browser = await browserOfFile();

describe.concurrent('a picture of the view', () => {
  it.each(['png', 'webp', 'avif'])(
    "has the view's size at its density, as %s, read from the encoded bytes",
    async (format) => {
      const picture = await take(browser, rowsPage(3_000), {
        format,
        viewport: { width: 400, height: 300, deviceScaleFactor: 2 },
      });
      expect(await sharp(picture.content).metadata()).toMatchObject({
        format: format === 'avif' ? 'heif' : format,
        width: 800,
        height: 600,
      });
      expect(await judgeRows(picture.content, { ratio: 2, tolerance: format === 'png' ? 0 : 40 })).toMatchObject({
        wrong: 0,
      });
      expect(picture).toMatchObject({ width: 800, height: 600 });
      const end = { scrollHeight: 3_000, stoppedReason: 'viewport', truncated: false };
      expect(picture.diagnostics).toEqual({ algorithm: 'native', sections: 1, deviceScaleFactor: 2, ...end });
    },
  );

  it.each(['jpeg', 'webp', 'avif'])('is smaller at a lower quality (%s)', async (format) => {
    const [low, high] = await Promise.all([10, 90].map((quality) => take(browser, pinnedPage(), { format, quality })));
    expect(low?.content.length).toBeLessThan((high?.content.length ?? 0) * 0.9);
  });
});

describe.concurrent('a picture of an element', () => {
  it('is the whole first visible match, even if it is taller than the view, and nothing pinned covers it', async () => {
    const bar = '<div style="position:fixed;top:0;left:0;width:300px;height:40px;background:rgb(1,2,3)"></div>';
    const html = `<style>body{margin:0}</style>${bar}<p class=a hidden></p><div style="height:334px"></div><div class=a style="width:200px;margin-left:50px">${rowsPage(2_000)}</div><div class=a>second</div>`;
    const picture = await take(browser, html, {
      selector: '.a',
      viewport: { width: 400, height: 600, deviceScaleFactor: 1.5 },
    });
    expect(await judgeRows(picture.content, { ratio: 1.5, tolerance: 0 })).toMatchObject({
      width: 300,
      height: 3_000,
      wrong: 0,
    });
    expect((await blotOf(picture.content, [1, 2, 3])).pixels).toBe(0);
    expect(picture.diagnostics).toMatchObject({
      algorithm: 'element',
      stoppedReason: 'element',
      truncated: false,
      deviceScaleFactor: 1.5,
    });
  });

  it('has pinned elements inside it once, even if it takes several sections', async () => {
    const { content } = await take(browser, pinnedPage(1_000), { selector: 'body' });
    const tops = { fixedTop: 0, shadowFixed: 60, stickyTop: 640, stickyInSection: 680, fixedBottom: 2_580 } as const;
    for (const [name, top] of Object.entries(tops) as [keyof typeof tops, number][])
      expect(await blotOf(content, PINNED[name]), name).toMatchObject({ top, pixels: 2_400 });
  });

  it('is all matches together with what is between them, whether they are in the view or pinned, with padding', async () => {
    const box = (style: string) => `<div class=a style="position:absolute;background:rgb(1,2,3);${style}"></div>`;
    const html = `<style>body{margin:0;height:2400px}</style>${box('left:60px;top:80px;width:50px;height:20px')}
      ${box('left:200px;top:1900px;width:70px;height:30px')}${box('display:none')}
      ${box('position:fixed;right:0;top:0;width:9px;height:9px;background:red').replace('class=a', 'class=b')}`;
    const picture = await take(browser, html, { selector_union: '.a', padding: 10 });
    const wanted = { left: 10, top: 10, right: 220, bottom: 1_860, pixels: 3_100 };
    expect([picture.width, picture.height]).toEqual([230, 1_870]);
    const blot = await blotOf(picture.content, [1, 2, 3]);
    expect([blot.left, blot.top, blot.pixels]).toEqual([wanted.left, wanted.top, wanted.pixels]);
    expect((await blotOf(picture.content, [255, 0, 0])).pixels).toBe(0);
    await expect(take(browser, html, { selector_union: '.none' })).rejects.toMatchObject({
      code: 'render_incomplete',
      message: expect.stringContaining('`selector_union`'),
    });
  });

  it('is what the expression, or the function, of the request returns in the world of the page', async () => {
    const html = `<script>var wanted = 'two'</script><p>one</p>${'<p style="width:120px;height:34px;margin:900px 0">two</p>'.repeat(2)}`;
    const find = '[...document.querySelectorAll("p")].find((one) => one.textContent === wanted)';
    for (const code of [find, `() => ${find}`, `async () => { await 1; return ${find} }`]) {
      const { width, height, diagnostics } = await take(browser, html, { selector_function: code });
      expect([width, height, diagnostics.algorithm]).toEqual([120, 34, 'element']);
    }
    const failure = (code: string) => take(browser, html, { selector_function: code }).catch((error: unknown) => error);
    expect(await failure('null')).toMatchObject({
      code: 'render_incomplete',
      message: expect.stringContaining('`selector_function`'),
    });
    expect(await failure('wanted.none.none')).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('threw TypeError'),
    });
    expect(await failure('const')).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('is not a JavaScript expression'),
    });
  });

  const mark = (style: string, attributes = 'class=a') =>
    `<div ${attributes} style="background:rgb(1,2,3);${style}"></div>`;
  const block = (rules: string) => mark(`width:200px;height:100px;${rules}`, '');
  const near = (style: string, left: number) =>
    `<!doctype html><style>body{margin:0}${style}</style><div style="width:1000px;height:9px"></div>${mark(`position:absolute;top:50px;left:${left}px;width:80px;height:40px`)}`;
  const PADDED = { padding: 30, wait_for_idle: false };
  const padding = (width: number) => ({
    width,
    height: 100,
    blot: { left: 30, top: 30, width: 80, height: 40, pixels: 3_200 },
  });

  const outside = (left: number) => mark(`position:absolute;left:${left}px;top:-20px;width:100px;height:50px`);
  const slide = (attributes: string, color: string) =>
    `<div ${attributes} style="flex:none;width:300px;height:100px;background:${color}"></div>`;
  const slides = `<div style="display:flex;width:300px;overflow:hidden">${slide('', 'red')}${slide('class=a', 'rgb(1,2,3)')}</div>`;

  /** A match that is not seen, before one that is. */
  const precededBy = (hidden: string) =>
    `<p>text</p>${hidden.replace('BOX', '<div class=a style="width:200px;height:100px;background:red"></div>')}${mark('width:200px;height:100px')}`;
  const second = { width: 200, height: 100, blot: { pixels: 20_000 } };
  const carousel = '<div style="width:300px;overflow:hidden"><div style="transform:translateX(-300px)">BOX</div></div>';
  const dot = '<div class=a style="width:1px;height:1px;overflow:hidden"></div>';

  /** A match that is seen, before another. */
  const firstOf = (style: string, around: string) =>
    `<p>text</p>${around.replace('BOX', mark(`width:200px;${style}`))}<div class=a style="height:9px">other</div>`;
  const first = { width: 200, blot: { left: 0, top: 0, width: 200 } };
  const scroller = '<div style="height:90px;overflow:auto"><p style="height:900px"></p>BOX</div>';
  const hung = 'height:40px;position:absolute;top:200px';

  /** An element without a box of its own, or with an empty one, before another. */
  const boxless = (html: string) =>
    `<p>text</p>${html}<script>for (const x of document.querySelectorAll('x-a')) x.attachShadow({ mode: 'open' }).innerHTML = '<slot></slot>'</script><p class=a style="margin-left:300px">other</p>`;
  const both = { width: 200, height: 200, blot: { pixels: 40_000 } };
  const two = block('') + block('');
  const transparent = block('opacity:0') + block('position:absolute;left:-9999px') + block('position:fixed');
  const overflowing = `<div class=a style="height:0">${block('')}<div style="height:0">${block('')}</div></div>`;
  const floating = `<div class=a>${block('float:left;clear:left').repeat(2)}</div>`;

  const deep = `<body style="margin:0"><div style="height:200px;overflow:auto">${'<p style="height:100px">x</p>'.repeat(20)}${mark('height:40px')}</div>`;
  const inShadow = `<body style="margin:0"><x-b></x-b><script>document.querySelector('x-b').attachShadow({ mode: 'open' }).innerHTML = '${mark('height:20px')}'</script>`;
  const awaited = (waits: number, images: number) =>
    `<style>body{margin:0}img{display:block;width:100%;height:200px}</style><div style="height:3000px"></div>
      <section class=a>${'<img data-src="data:image/gif;base64,R0lGODlhAQABAPAAAAECAwAAACwAAAAAAQABAAACAkQBADs=">'.repeat(images)}</section><div style="height:3000px"></div><script>let timer;
      const fill = () => { for (const image of document.images) if (Math.abs(image.getBoundingClientRect().top + 100 - innerHeight / 2) < innerHeight / 2) image.src = image.dataset.src };
      addEventListener('scroll', () => { clearTimeout(timer); timer = setTimeout(fill, ${waits}) })</script>`;

  it.each<[string, string, { width?: number; height?: number; blot: Partial<Blot> }, object?]>([
    [
      'is complete when it is wider than the view',
      mark('width:1500px;height:50px'),
      { width: 1_500, blot: { pixels: 75_000 } },
    ],
    ['is padded within a page that is wider than the view', near('', 700), padding(140), PADDED],
    ['is padded within a page whose width cannot be seen', near('html{overflow-x:hidden}', 710), padding(120), PADDED],
    ['is padded within a page from right to left', near('html{direction:rtl}', -80), padding(140), PADDED],
    [
      "is the part of it after the page's origin",
      outside(-9_999) + outside(-40),
      { width: 60, height: 30, blot: { pixels: 1_800 } },
    ],
    [
      'is scrolled to inside a box that shows another part, even if it is in the view',
      slides,
      { blot: { pixels: 30_000 } },
    ],
    ['is not a match in a closed panel', precededBy('<div style="height:0;overflow:hidden">BOX</div>'), second],
    ['is not a slide of a carousel that is past', precededBy(carousel), second],
    [
      'is not clipped to nothing',
      precededBy('<div style="position:absolute;left:300px;clip:rect(1px,1px,1px,1px)">BOX</div>'),
      second,
    ],
    ['is not clipped away along its path', precededBy('<div style="clip-path:inset(0 0 100%)">BOX</div>'), second],
    ['is not a dot for screen readers', precededBy(dot), second],
    ['is the first visible match, even if it is a thin rule', firstOf('height:1px', 'BOX'), first],
    ['is the first visible match, even if it is lower in a scroller', firstOf('height:40px', scroller), first],
    [
      'is a match hung out of the box that clips',
      firstOf(hung, '<div style="height:0;overflow:hidden">BOX</div>'),
      first,
    ],
    ['is a match in an inline element', firstOf('height:40px', '<span style="overflow:hidden">BOX</span>'), first],
    [
      'is a match that is partly clipped',
      firstOf('height:40px', '<div style="height:10px;overflow:hidden">BOX</div>'),
      first,
    ],
    ['is the content of an element without a box', boxless(`<div class=a style="display:contents">${two}</div>`), both],
    ['is the content of a slot', boxless(`<x-a class=a style="display:contents">${two}</x-a>`), both],
    ['is the floating content of an empty box', boxless(floating), both],
    ['is the content that overflows an empty box', boxless(overflowing), both],
    [
      'is the fixed content of an empty box',
      boxless(`<div class=a><div style="position:fixed;top:50px;left:50px">${two}</div></div>`),
      both,
    ],
    [
      'is the content that is seen of several',
      boxless(`<div class=a style="display:contents">${transparent}${two}</div>`),
      both,
    ],
    ['is found in a scroller', deep, { height: 40, blot: { height: 40, left: 0, top: 0 } }],
    ['is found in a shadow tree', inShadow, { width: 800, height: 20, blot: { height: 20, width: 800 } }],
    [
      'is found when it is pinned itself',
      mark('position:fixed;bottom:0;width:70px;height:30px'),
      { blot: { pixels: 2_100 } },
    ],
    ['has the image that waits 250 ms for a pause in scrolling', awaited(250, 1), { blot: { pixels: 200 * 800 } }],
    ['has the images that wait 150 ms for a pause in scrolling', awaited(150, 12), { blot: { pixels: 2_400 * 800 } }],
  ])('%s', async (_title, html, { blot, ...size }, wish = {}) => {
    const { content, ...picture } = await take(browser, html, { selector: '.a', ...wish });
    expect(picture).toMatchObject(size);
    expect(await blotOf(content, [1, 2, 3])).toMatchObject(blot);
  });

  const unseen = { check: 'selector', seen: 'not_visible', matches: 1 };
  it.each([
    ['#none', 'render_incomplete', { ...unseen, seen: 'not_found', matches: 0 }],
    ['#hidden', 'render_incomplete', unseen],
    ['#closed', 'render_incomplete', unseen],
    ['#seen-through', 'render_incomplete', unseen],
    ['p[', 'invalid_request', { issues: [{ path: 'selector' }] }],
  ])('fails for %s with %s', async (selector, code, details) => {
    const closed = '<div id=closed style="height:0;overflow:hidden"><p>x</p></div>';
    const seenThrough = '<div style="opacity:0"><div id=seen-through style="display:contents">x<b>y</b></div></div>';
    const failure = take(browser, `<p id=hidden style="visibility:hidden">x</p>${closed}${seenThrough}`, { selector });
    await expect(failure).rejects.toMatchObject({ name: 'CaptureError', code, details });
  });
});

describe.concurrent('a PDF', () => {
  const sizes = async (content: Uint8Array) => (await pageSizes(content)).map(({ width, height }) => [width, height]);

  const views = (count: number) => Array.from({ length: count }, () => [800, 600]);

  const scroller = `<body style="margin:0"><main style="height:100vh;overflow:auto"><div style="height:1500px">x</div>end</main>`;
  const late = `<body style="margin:0"><div style="height:1300px"></div><p id=mark>late</p><script>
    new IntersectionObserver(([entry]) => { if (entry.isIntersecting) mark.style.height = '1200px' }).observe(mark)</script>`;

  it.each([
    ['as many pages as the document needs', pinnedPage(1_000), 5],
    ['one page for a short document', '<h1>Short</h1>', 1],
    ['the content of inner scrollers', scroller, 3],
    ['content that loads late', late, 5],
  ])('of the view has %s', async (_what, html, sections) => {
    const { content, diagnostics } = await take(browser, html, { format: 'pdf' });
    expect(await sizes(content)).toEqual(views(sections));
    const stoppedReason = sections === 1 ? 'viewport' : 'end_of_page';
    expect(diagnostics).toMatchObject({ algorithm: 'native', sections, stoppedReason, truncated: false });
  });

  it.each([
    ['of the view', {}, views(2)],
    ['of a whole page, by sections', { full_page: true, full_page_algorithm: 'by_sections' }, [[800, 1_200]]],
    ['of a whole page, native', { full_page: true, full_page_algorithm: 'native' }, [[800, 1_200]]],
  ])("%s is on the requested paper, despite the page's own rules", async (_what, wire, expected) => {
    const page = (rule: string) => `<style>${rule}body{margin:0;height:1200px;background:teal}</style><h1>Words</h1>`;
    const own = await take(browser, page('@page{size:A4 landscape;margin:5cm}'), { format: 'pdf', ...wire });
    const plain = await take(browser, page(''), { format: 'pdf', ...wire });
    expect(await sizes(own.content)).toEqual(expected);
    expect(own.content.length).toBe(plain.content.length);
  });

  const NARROW = { viewport: { width: 320, height: 2_000, deviceScaleFactor: 1 } };

  it('of a longer page, native, has as many pages as it needs', async () => {
    const picture = await take(browser, rowsPage(20_000), {
      ...NARROW,
      format: 'pdf',
      full_page: true,
      full_page_algorithm: 'native',
    });
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
