import sharp from 'sharp';
import { expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { blotOf } from './blots.js';
import { take } from './take.js';

const browser = await browserOfFile();
const RED = [255, 0, 0] as const;

/** The number of separate red blocks in the column at the middle of a picture, and their heights in px. */
async function redBlocks(content: Uint8Array): Promise<number[]> {
  const { width, height } = await sharp(content).metadata();
  const column = { left: Math.floor(width / 2) - 200, top: 0, width: 1, height };
  const data = await sharp(content).removeAlpha().extract(column).raw().toBuffer();
  const heights: number[] = [];
  let run = 0;
  for (let y = 0; y <= height; y++) {
    const isRed = y < height && data[y * 3] === 255 && data[y * 3 + 1] === 0 && data[y * 3 + 2] === 0;
    if (isRed) run++;
    else if (run > 0) {
      heights.push(run);
      run = 0;
    }
  }
  return heights;
}

const toggled = (script: string, size = 240) => `<!doctype html>
  <style>body{margin:0}section{padding:110px 0;background:#eee}.r{height:${size}px;width:500px;margin:auto;background:red;opacity:0;transition:opacity .5s}.r.in{opacity:1}</style>
  ${'<section><div class=r>words</div></section>'.repeat(8)}<script>${script}</script>`;
const whileInView = (options: string) =>
  `o=new IntersectionObserver(es=>es.forEach(e=>e.target.classList.toggle('in',e.isIntersecting)),${options});document.querySelectorAll('.r').forEach(e=>o.observe(e))`;

it.each([
  ['a full page', 8, { full_page: true }],
  ['a native full page', 8, { full_page: true, full_page_algorithm: 'native' }],
  ['a clip', 5, { clip: { x: 0, y: 1_380, width: 1_280, height: 2_300 } }],
  ['the picture of a high element', 8, { selector: 'body' }],
])('blocks that hide again outside the view are in %s', async (_what, blocks, wire) => {
  const { content, diagnostics, lacksContent } = await take(browser, toggled(whileInView('{}')), {
    viewport: { width: 1_280, height: 720 },
    ...wire,
  });
  expect((await redBlocks(content)).map((height) => Math.abs(height - 480) <= 2)).toEqual(Array(blocks).fill(true));
  expect(diagnostics).toMatchObject({ truncated: false });
  expect(lacksContent ?? false).toBe(false);
});

it('a clip that begins in a hidden block begins with that block, however late it is', async () => {
  const html = `${toggled(whileInView('{}'), 640)}<div style="height:9000px"></div>`;
  const clip = { x: 0, y: 1_000, width: 1_280, height: 12_000 };
  const view = { viewport: { width: 1_280, height: 720, deviceScaleFactor: 3 } };
  // The time that the encoding of so many pixels is expected to take exceeds this.
  const { content, diagnostics } = await take(browser, html, { ...view, clip }, { pictureMs: 3_900 });
  const [first = 0] = await redBlocks(content);
  expect(first).toBeGreaterThan(0);
  expect(diagnostics).toMatchObject({ stoppedReason: 'time_limit', truncated: true });
});

it.each([['by_sections'], ['native']])(
  'blocks that slide away again outside the view are in their places: %s',
  async (full_page_algorithm) => {
    // As `slide-up`, `slide-down` and `slide-left` of aos: opaque, and moved by their own size.
    const html = `<!doctype html><style>body{margin:0;overflow-x:hidden}.r{width:500px;margin:120px auto;height:260px;background:red;transition:transform .4s;transform:translateY(100%)}
      .r:nth-of-type(3n){transform:translateX(100%)}.r:nth-of-type(3n+5){transform:translateY(-100%)}.r.in{transform:none}</style>${'<div class=r>words</div>'.repeat(9)}
      <script>const toggle = () => { for (const one of document.querySelectorAll('.r')) one.classList.toggle('in', scrollY + innerHeight - 120 > one.offsetTop) }; addEventListener('scroll', toggle); toggle()</script>`;
    const { content, diagnostics } = await take(browser, html, { full_page: true, full_page_algorithm });
    expect(await redBlocks(content)).toEqual(Array(9).fill(260));
    expect(diagnostics).toMatchObject({ truncated: false });
  },
);

it('a button that is pinned in a page of one box that clips it is shown once', async () => {
  const html = `<!doctype html><style>body{margin:0}main{height:3000px;clip-path:polygon(0 0,100% 0,100% 100%,0 100%)}i{position:fixed;top:250px;height:100px;width:100px;background:red}</style>
    <main><i></i></main><script>onscroll = () => {}</script>`;
  const { content } = await take(browser, html, { full_page: true });
  expect(await blotOf(content, RED)).toMatchObject({ top: 250, pixels: 100 * 100 });
});

it.each(['body', 'main'])('a page whose %s changes its colors while it is scrolled has one color', async (box) => {
  const html = `<!doctype html><style>body{margin:0}${box}{background:#fff}.dark{background:red;color:#fff}section{height:400px}</style><main>${'<section><h2>title</h2><p>words</p></section>'.repeat(7)}</main>
    <script>addEventListener('scroll', () => document.querySelector('${box}').classList.toggle('dark', scrollY > 300 && scrollY < 1700))</script>`;
  const { content, diagnostics } = await take(browser, html, { full_page: true });
  expect(await blotOf(content, RED)).toMatchObject({ pixels: 0 });
  expect(diagnostics).toMatchObject({ truncated: false });
});

it('a carousel that turns by itself shows one quote as a whole, and lacks nothing', async () => {
  const colors = ['255,0,0', '0,0,255', '0,128,0'];
  const quote = (rgb: string, at: number) =>
    `<p style="position:absolute;inset:${60 + at * 40}px 50px 20px;margin:0;background:rgb(${rgb})">Quote</p>`;
  const html = `<!doctype html><style>body{margin:0;height:1600px}#all{position:absolute;top:300px;left:50px;width:500px;height:300px;background:#eee}#dots{position:absolute;top:620px;left:100px}#dots i{display:inline-block;width:20px;height:4px;margin:5px;background:#000;opacity:.5}</style><div id=all>${colors.map(quote).join('')}</div><div id=dots>${'<i></i>'.repeat(9)}</div>
    <script>let turns = 0; const turn = () => { for (const [at, one] of [...all.children].entries()) one.hidden = at !== turns % 3; for (const [at, one] of [...dots.children].entries()) one.style.opacity = at === turns % 9 ? 1 : .5; turns++ }; turn(); addEventListener('scroll', turn)</script>`;
  const view = { viewport: { width: 600, height: 600, deviceScaleFactor: 1 } };
  const { content, diagnostics, lacksContent } = await take(browser, html, { ...view, full_page: true });
  const blots = await Promise.all(
    colors.map((rgb) => blotOf(content, rgb.split(',').map(Number) as [number, number, number])),
  );
  const [shown, ...others] = blots.filter(({ pixels }) => pixels > 0);
  expect({ bottom: (shown?.top ?? 0) + (shown?.height ?? 0), others }).toEqual({ bottom: 580, others: [] });
  expect({ lacksContent, truncated: diagnostics.truncated }).toEqual({ lacksContent: false, truncated: false });
});

it.each([
  ['with words', 'Slide'],
  ['of backgrounds alone', ''],
])('a carousel %s that is wholly in view at one stop alone shows one slide', async (_what, word) => {
  const colors = Array.from({ length: 12 }, (_, at): [number, number, number] => [20 * at, 0, 255 - 20 * at]);
  const slides = colors.map((rgb, at) => `<p style="background:rgb(${rgb})">${word && `${word} ${at}`}</p>`).join('');
  const html = `<!doctype html><style>body{margin:0;height:2000px}#all{position:absolute;top:650px;width:500px;height:500px}p{margin:0;height:100%}
      #dots{position:absolute;top:1100px;left:100px}#dots i{display:inline-block;width:20px;height:20px;background:#111;opacity:.5}#dots .now{opacity:1}</style>
    <div id=all>${slides}</div><div id=dots>${'<i></i>'.repeat(12)}</div>
    <script>let turns = 0; const turn = () => { for (const one of [all, dots]) for (const [at, each] of [...one.children].entries()) { if (one === dots) each.className = at === turns % 12 ? 'now' : ''; else each.hidden = at !== turns % 12 } turns++ }; turn(); addEventListener('scroll', turn)</script>`;
  const view = { viewport: { width: 600, height: 600, deviceScaleFactor: 1 } };
  const { content, diagnostics, lacksContent } = await take(browser, html, { ...view, full_page: true });
  const blots = await Promise.all(colors.map((rgb) => blotOf(content, rgb)));
  expect(blots.filter(({ pixels }) => pixels > 0)).toMatchObject([{ top: 650, height: 500 }]);
  expect(await blotOf(content, [17, 17, 17])).toMatchObject({ pixels: 20 * 20 });
  expect({ lacksContent, truncated: diagnostics.truncated }).toEqual({ lacksContent: false, truncated: false });
});

it.each([
  [
    'drawn only in view, and have a placeholder elsewhere',
    `<style>.row{height:90px}.none{height:80px;background:#ddd}.drawn{height:80px;width:600px;background:red}</style>${'<div class=row></div>'.repeat(30)}
      <script>const draw = () => { for (const row of document.querySelectorAll('.row')) { const { top } = row.getBoundingClientRect(), near = top > -100 && top < innerHeight + 100;
        if (row.near !== near) row.innerHTML = (row.near = near) ? '<div class=drawn>Row</div>' : '<div class=none></div>' } }; draw(); addEventListener('scroll', draw)</script>`,
    Array(30).fill(80),
  ],
  [
    'colored in view, between others that always are',
    `<style>p{height:200px;width:600px;margin:0 0 50px;background:red}.r{background:#fff;transition:background .2s}.r.in{background:red}</style>${'<p>Plain</p><p class=r>Shown</p>'.repeat(6)}
      <script>const seen = new IntersectionObserver((all) => all.forEach((one) => one.target.classList.toggle('in', one.isIntersecting))); document.querySelectorAll('.r').forEach((one) => seen.observe(one))</script>`,
    Array(12).fill(200),
  ],
])('a list has all its blocks that are %s', async (_how, html, heights) => {
  const { content, diagnostics } = await take(browser, `<!doctype html>${html}`, { full_page: true });
  expect(await redBlocks(content)).toEqual(heights);
  expect(diagnostics).toMatchObject({ truncated: false });
});

it('blocks are captured where each of them was visible best, by any way of showing and hiding', async () => {
  const kinds = [
    'half',
    'whole',
    'middle',
    'blurred',
    'aside',
    'slow',
    'drawn',
    'shadow',
    'colored',
    'masked',
    'painted',
    'chart',
  ];
  const html = `<!doctype html><style>body{margin:0;overflow-x:hidden}section{padding:110px 0;background:#eee}.r{height:640px;width:500px;margin:auto;background:red}
    .half,.whole,.middle,.slow{opacity:0}.blurred{filter:blur(40px)}.aside{transform:translateX(-200vw)}.r.drawn{background:none}
    .r.colored{background:#eee}.r.colored.in{background:red}.masked{mask:linear-gradient(#000,#000) 0 0/0 0 no-repeat}.masked.in{mask-size:100% 100%}.r.painted{display:block;background:none}
    .half.in,.whole.in,.middle.in{opacity:1}.blurred.in{filter:none}.in .aside{transform:none}.drawn.in::before{content:'';display:block;height:100%;background:red}</style>
    ${kinds.map((kind) => (kind === 'painted' ? '<section><canvas class="r painted" width=500 height=640></canvas></section>' : kind === 'chart' ? '<section class=chart style="height:640px"></section>' : `<section><div class="r ${kind}"></div></section>`)).join('')}
    <script>const of = (kind) => document.querySelector('.' + kind);
      const watch = (one, threshold, show) => new IntersectionObserver((all) => show(all.at(-1).intersectionRatio >= threshold), { threshold }).observe(one);
      const toggle = (one) => (isIn) => one.classList.toggle('in', isIn);
      for (const [kind, threshold] of [['half', .5], ['whole', 1], ['blurred', .5], ['drawn', .5], ['colored', .5], ['masked', .5]]) watch(of(kind), threshold, toggle(of(kind)));
      watch(of('aside').parentNode, .5, toggle(of('aside').parentNode));
      let since = 0; const fade = () => { const share = Math.min(1, (performance.now() - since) / 600); of('slow').style.opacity = share; if (share < 1 && since > 0) requestAnimationFrame(fade) };
      watch(of('slow'), .2, (isIn) => { since = isIn ? performance.now() : 0; isIn ? fade() : of('slow').style.opacity = 0 });
      const shadow = of('shadow').attachShadow({ mode: 'open' }); of('shadow').style.background = 'none';
      shadow.innerHTML = '<style>i{display:block;height:640px;background:red;opacity:0;transition:opacity .5s}.in{opacity:1}</style><i></i>';
      watch(of('shadow'), .5, toggle(shadow.lastChild));
      const pen = of('painted').getContext('2d'); pen.fillStyle = 'red'; watch(of('painted'), .5, (isIn) => isIn ? pen.fillRect(0, 0, 500, 640) : pen.clearRect(0, 0, 500, 640));
      let chart; watch(of('chart'), .5, (isIn) => { if (!isIn) return chart?.getContext('2d').clearRect(0, 0, 500, 640);
        chart ??= of('chart').appendChild(Object.assign(document.createElement('canvas'), { width: 500, height: 640, style: 'display:block;margin:auto' }));
        const pen = chart.getContext('2d'); pen.fillStyle = 'red'; pen.fillRect(0, 0, 500, 640) });
      addEventListener('scroll', () => { const { top, bottom } = of('middle').getBoundingClientRect(); toggle(of('middle'))(Math.abs(top + bottom - innerHeight) < 100) });
    </script>`;
  const { content, diagnostics } = await take(browser, html, {
    full_page: true,
    viewport: { width: 1_280, height: 720, deviceScaleFactor: 1 },
  });
  expect(await redBlocks(content)).toEqual(kinds.map(() => 640));
  expect(diagnostics.truncated).toBe(false);
});

it('rows that exist only in view are in a full page', async () => {
  const html = `<!doctype html><style>body{margin:0}#list{position:relative;height:6000px}i{position:absolute;left:0;width:800px;height:50px;background:red;border-bottom:1px solid #fff;box-sizing:border-box}</style><div id=list></div>
    <script>const draw = () => { const from = Math.max(0, Math.floor(scrollY / 50) - 1), to = Math.min(120, from + 16);
      list.innerHTML = Array.from({ length: to - from }, (_, at) => '<i style="top:' + (from + at) * 50 + 'px">row ' + (from + at) + '</i>').join('') };
      draw(); addEventListener('scroll', draw);</script>`;
  const { content, diagnostics } = await take(browser, html, { full_page: true });
  expect((await blotOf(content, RED)).height).toBe(5_999);
  const data = await sharp(content)
    .removeAlpha()
    .extract({ left: 700, top: 0, width: 1, height: 6_000 })
    .raw()
    .toBuffer();
  const whites = Array.from({ length: 6_000 }, (_, y) => data[y * 3 + 1]).filter((green) => green === 255).length;
  expect(whites).toBe(120);
  expect(diagnostics.truncated).toBe(false);
});

it('sections of a scrolling main element, each as high as the view, are each there once', async () => {
  const colors = ['#f00', '#0f0', '#00f', '#ff0'];
  const html = `<!doctype html><style>body{margin:0}main{height:100vh;overflow-y:scroll}section{height:100vh}</style>
    <main>${colors.map((color) => `<section style="background:${color}">A few words</section>`).join('')}</main>`;
  const { content, height } = await take(browser, html, { full_page: true });
  expect(height).toBe(4 * 600);
  for (const [index, color] of (
    [
      [255, 0, 0],
      [0, 255, 0],
      [0, 0, 255],
      [255, 255, 0],
    ] as const
  ).entries())
    expect(await blotOf(content, color)).toMatchObject({ top: index * 600, height: 600 });
});

/** Each panel is shown while the page is scrolled, in a pinned box of the view's size. */
const PANELS = `<!doctype html><style>body{margin:0}.w{height:2400px}.s{position:sticky;top:0;height:600px;overflow:hidden}.t{display:flex;width:400%;height:100%}.t div{flex:1;color:#fff}</style>
  <div style="height:200px"></div><div class=w><div class=s><div class=t>${['#f00', '#0f0', '#00f', '#ff0'].map((color) => `<div style="background:${color}">words of ${color}</div>`).join('')}</div></div></div>
  <script>const w = document.querySelector('.w'), t = document.querySelector('.t');
    const move = () => { t.style.transform = 'translateX(' + -75 * Math.max(0, Math.min(1, (scrollY - 200) / 1800)) + '%)' }; addEventListener('scroll', move); move()</script>`;

it.each([['by_sections'], ['native']])(
  'panels that move through a pinned box are each there once: %s',
  async (full_page_algorithm) => {
    const { content, diagnostics } = await take(browser, PANELS, { full_page: true, full_page_algorithm });
    for (const [index, color] of ([RED, [0, 255, 0], [0, 0, 255], [255, 255, 0]] as const).entries())
      expect(await blotOf(content, color)).toMatchObject({ left: 0, top: 200 + index * 600, width: 800, height: 600 });
    expect(diagnostics.truncated).toBe(false);
  },
);

it('a panel that is pinned by a script is shown to its end', async () => {
  // As ScrollTrigger of gsap does with `pin: true`.
  const html = `<!doctype html><style>body{margin:0}div{height:600px}#p{width:100%;background:red;font-size:40px}</style><div></div><div style="height:1700px"><div id=p>words <b id=n>0</b></div></div><div></div>
    <script>const place = () => { const into = Math.max(0, Math.min(1100, scrollY - 600)); n.textContent = into; n.style.marginLeft = into / 5 + 'px';
      p.style.cssText = scrollY >= 600 && scrollY < 1700 ? 'position:fixed;top:0' : 'transform:translateY(' + into + 'px)' }; addEventListener('scroll', place); place()</script>`;
  const { content } = await take(browser, html, { full_page: true });
  expect(await blotOf(content, RED)).toMatchObject({ top: 600, height: 1_700 });
});

// As parallax.js and skrollr do: the pictures are fixed behind the page, and move with the gaps through which they are seen.
const COLORS = [RED, [0, 0, 255], [0, 255, 0]] as const;
const movedAlong = (
  outside: string,
) => `<!doctype html><style>body{margin:0;font:30px sans-serif}p{margin:0;height:500px;background:#fff}.g{height:400px}.g.low{height:150px}
  .m{position:fixed;z-index:-1;top:0;left:0;width:100%;overflow:hidden}i{position:absolute;inset:-200px 0}</style>
  <p>One</p><div class=g></div><p>Two</p><div class=g></div><p>Three</p><div class="g low"></div><p>Four</p><p>Five</p>
  ${COLORS.map((rgb) => `<div class=m><i style="background:rgb(${rgb})"></i></div>`).join('')}
  <script>const gaps = [...document.querySelectorAll('.g')], pictures = [...document.querySelectorAll('.m')];
    const place = () => gaps.forEach((gap, at) => { const { top, bottom, height } = gap.getBoundingClientRect();
      pictures[at].style.cssText = 'visibility:' + (bottom > 0 && top < innerHeight ? 'visible' : '${outside}') + ';height:' + height + 'px;transform:translate3d(0,' + Math.round(top) + 'px,0)';
      pictures[at].firstChild.style.transform = 'translateY(' + (top - 200) / 9 + 'px)' });
    addEventListener('scroll', place); place()</script>`;

it.each([
  ['by_sections', 'hidden'],
  ['native', 'hidden'],
  ['by_sections', 'visible'],
])(
  'pictures that scripts move along with the gaps of a page are in their gaps: %s, %s outside the view',
  async (full_page_algorithm, outside) => {
    const { content, diagnostics } = await take(browser, movedAlong(outside), { full_page: true, full_page_algorithm });
    for (const [index, color] of COLORS.entries())
      expect(await blotOf(content, color)).toMatchObject({
        left: 0,
        top: 500 + index * 900,
        width: 800,
        height: index === 2 ? 150 : 400,
      });
    expect(diagnostics.truncated).toBe(false);
  },
);

it('pictures that scripts move along with a page are missing on paper, which is reported', async () => {
  const { diagnostics, lacksContent } = await take(browser, movedAlong('hidden'), {
    format: 'pdf',
    pdf: { paper: 'a4' },
  });
  expect(diagnostics.truncated).toBe(true);
  expect(lacksContent).toBe(true);
});

it('panels that move through a pinned box are missing on paper, which is reported', async () => {
  const { diagnostics, lacksContent } = await take(browser, PANELS, { format: 'pdf', pdf: { paper: 'a4' } });
  expect(diagnostics.truncated).toBe(true);
  expect(lacksContent).toBe(true);
});

it.each([
  ['the view', '{threshold:1}'],
  ['the middle of the view', "{rootMargin:'-49% 0px -49% 0px'}"],
])('an element that is visible only in %s is captured', async (_where, options) => {
  const { content } = await take(browser, toggled(whileInView(options)), {
    selector: 'section:nth-of-type(5) .r',
    reduce_motion: false,
  });
  expect(await blotOf(content, RED)).toMatchObject({ width: 500, height: 240 });
});

it('a full page is not scrolled to parts that scrolling cannot show: those of a pinned box, of a hidden menu, or out of sight in a scroller', async () => {
  const item = (height: number) => `<a style="display:block;width:200px;height:${height}px;background:#ccc"></a>`;
  const html = `<!doctype html><style>body{margin:0;height:2160px}</style>
    <div id=n style="height:40px;background:red;width:0"></div>
    <nav style="position:fixed;left:0;top:200px">${item(60)}</nav>
    <div style="position:absolute;top:1000px;visibility:hidden;background:#ccc">${item(60).repeat(5)}</div>
    <div style="position:absolute;top:1800px;height:100px;overflow:auto"><p style="height:300px"></p>${item(60)}</div>
    <script>const seen = new Set(); addEventListener('scroll', () => { seen.add(scrollY); n.style.width = seen.size * 10 + 'px' })</script>`;
  const { content } = await take(browser, html, { full_page: true, viewport: { width: 1_280, height: 720 } });
  // Each half view but the first, the middle of the menu, and the top.
  expect((await blotOf(content, RED)).width).toBe((4 + 1 + 1) * 20);
});

it.each([
  ['only by blocks that are moved aside until they are scrolled to, is not cut', '', undefined],
  ['by a box of its own, too, is cut', '<div style="width:1400px;height:10px"></div>', { pageWidth: 1_400 }],
  ['by text, too, is cut', `<pre style="width:100px">${'words '.repeat(400)}</pre>`, { side: 'right' }],
  ['by a moved block that is too wide in its place, too, is cut', '<p style="width:1600px"></p>', { pageWidth: 1_600 }],
])('a page that is wider than its picture %s', async (_how, box, cut) => {
  const html = `<!doctype html><style>body{margin:0}p{height:300px;margin:0 0 300px;background:red;opacity:0;transform:translateX(100px);transition:.5s}.in{opacity:1;transform:none}</style>
    ${'<p>words</p>'.repeat(5)}${box}
    <script>const o = new IntersectionObserver((all) => all.forEach((one) => one.target.classList.toggle('in', one.isIntersecting))); document.querySelectorAll('p').forEach((p) => o.observe(p))</script>`;
  const picture = await take(browser, html, { full_page: true, viewport: { width: 1_280, height: 720 } });
  expect((await redBlocks(picture.content)).slice(0, 5)).toEqual(Array(5).fill(600));
  if (cut === undefined) expect(picture.cut).toBeUndefined();
  else expect(picture.cut).toMatchObject(cut);
});

it.each([
  [
    'beside a wrapper that hides what is beside it',
    `<div style="overflow-x:hidden">${'<section><div class=w><div class=r></div></div></section>'.repeat(4)}</div>`,
    '.r{height:600px;transform:translateX(150%)}.in .r{opacity:1;transform:none}',
    [".w', { threshold: 1 }"],
    [600, 600, 600, 600],
  ],
  [
    'in a card that is revealed, each at its own time',
    '<section></section><div class=card><div class=r></div><div class=r></div><div class=r></div><div class=r></div></div><section></section>',
    '.card{height:700px;background:#cde;opacity:0}.r{height:100px;margin-bottom:80px}',
    [".card', { threshold: 1 }", ".r', { rootMargin: '-48% 0px -48% 0px' }"],
    [100, 100, 100, 100],
  ],
])(
  'parts that show only while they are well in view are captured %s',
  async (_where, body, style, observed, heights) => {
    const html = `<!doctype html><style>body{margin:0}section{padding:265px 0}.r{background:red;opacity:0}${style}.in{opacity:1;transform:none}</style>${body}
    <script>for (const observe of [${observed.map((one) => `['${one}]`).join()}]) {
      const o = new IntersectionObserver((all) => all.forEach((one) => one.isIntersecting && one.target.classList.add('in')), observe[1]);
      document.querySelectorAll(observe[0]).forEach((one) => o.observe(one)) }</script>`;
    const viewport = { width: 1_280, height: 720, deviceScaleFactor: 1 };
    const { content } = await take(browser, html, { full_page: true, viewport });
    expect(await redBlocks(content)).toEqual(heights);
  },
);

it('blocks above the box without a height that holds them are in a full page of a long document', async () => {
  const block = (top: number) => `<div style="position:absolute;top:${top + 900}px"><p></p></div>`;
  const html = `<!doctype html><style>body{margin:0;height:5000px}p{position:absolute;top:-900px;margin:0;width:1280px;height:120px;background:red;opacity:0}p.in{opacity:1}</style>
    ${[1_140, 2_340, 3_540].map(block).join('')}<section hidden>${'<i></i>'.repeat(3_100)}</section>
    <script>addEventListener('scroll', () => { for (const p of document.querySelectorAll('p')) {
      const { top, bottom } = p.getBoundingClientRect();
      p.className = top < innerHeight && bottom > 0 ? 'in' : '';
    } })</script>`;
  const viewport = { width: 1_280, height: 800, deviceScaleFactor: 1 };
  const { content } = await take(browser, html, { full_page: true, viewport });
  expect(await redBlocks(content)).toEqual([120, 120, 120]);
});
