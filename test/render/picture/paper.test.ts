import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { editPdf } from '../../../src/pdf/edit-pdf.js';
import { browserOfFile } from './a-page-session.js';
import { printedTexts } from './pdf-pages.js';
import { take } from './take.js';

const browser = await browserOfFile();

/** The words of a PDF, read by poppler. */
function words(content: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'stillframe-words-'));
  const file = join(folder, 'page.pdf');
  writeFileSync(file, content);
  try {
    return execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const print = (html: string, pdf: Record<string, unknown> = {}) =>
  take(browser, html, { format: 'pdf', pdf: { paper: 'a4', ...pdf } });

it('parts that hide again outside the view are printed', async () => {
  const html = `<!doctype html><style>section{padding:110px 0}.r{height:240px;visibility:hidden}.r.in{visibility:visible}</style>
    ${Array.from({ length: 8 }, (_, at) => `<section><div class=r>word${at}</div><b></b></section>`).join('')}
    <script>document.querySelectorAll('b').forEach((b,at)=>new IntersectionObserver(([e])=>{b.textContent=e.isIntersecting?'number'+at:'none'}).observe(b));
    o=new IntersectionObserver(es=>es.forEach(e=>e.target.classList.toggle('in',e.isIntersecting)));document.querySelectorAll('.r').forEach(e=>o.observe(e))</script>`;
  const { content, diagnostics } = await print(html);
  const seen = words(content);
  for (let at = 0; at < 8; at++) expect(seen).toMatch(new RegExp(`word${at}\\s+number${at}`));
  expect(diagnostics.truncated).toBe(false);
});

it.each(['<h3>title</h3>', '<header><h3>title</h3></header>', '<div><div><h3>title</h3></div></div>'])(
  'a heading is on the sheet of what follows it: %s',
  async (title) => {
    const html = `<!doctype html><style>body,h3,p{margin:0}.banner{height:1050px}h3{height:24px}p{height:226px;break-inside:avoid}</style>
    <div class=banner>above</div><section>${title}<p>words</p></section>`;
    const pages = (await printedTexts((await print(html)).content)).map((texts) => texts.map(({ text }) => text));
    expect(pages).toEqual([['above'], ['title', 'words']]);
  },
);

it('rows of cards that end with headings are broken between sheets', async () => {
  const row = (at: number) =>
    `<div class=row><div><p></p><h3>title${at}</h3></div><div><p></p><h3>beside</h3></div></div>`;
  const html = `<!doctype html><style>body,h3,p{margin:0}.banner{height:200px}.row{display:flex}.row div{flex:1}h3{height:24px}p{height:226px;break-inside:avoid}</style>
    <div class=banner></div>${[0, 1, 2, 3].map(row).join('')}`;
  const { content } = await print(html);
  const titles = (await printedTexts(content)).map(
    (texts) => texts.filter(({ text }) => text.startsWith('title')).length,
  );
  expect(titles).toEqual([3, 1]);
});

it('a page that narrow views arrange otherwise, by a transition, is printed at the scale of the paper', async () => {
  const html = `<!doctype html><style>body{margin:0}main{transition:margin .2s;margin-left:0}p{width:700px}@media(min-width:1000px){main{margin-left:300px}}</style><main><p>words</p></main>
    <script>addEventListener('resize', () => {})</script>`;
  const { content, fitted } = await take(browser, html, {
    viewport: { width: 1280, height: 720 },
    format: 'pdf',
    pdf: { paper: 'a4' },
  });
  const [[first] = []] = await printedTexts(content);
  expect({ text: first?.text, left: first?.left, fitted }).toEqual({ text: 'words', left: 0, fitted: undefined });
});

/** Four slides, of which the window of the carousel shows two, with names and stars. It turns whenever the page is back at its top. */
const carousel = (turn: string) => `<!doctype html>
  <style>body{margin:0;padding:1500px 0}#window{overflow:hidden;height:200px}#stage{display:flex}.slide{flex:none;height:200px}.slide[hidden]{display:none}i{display:block;width:20px;height:20px;background:gold}</style>
  <div id=window><div id=stage>${[0, 1, 2, 3].map((at) => `<div class=slide><p class=name>slide${at}</p><i></i></div>`).join('')}</div></div>
  <script>let first = 0; const slides = [...stage.children], turn = () => { const half = innerWidth / 2; for (const slide of slides) slide.style.width = half + 'px'; ${turn} };
  turn(); addEventListener('resize', turn); addEventListener('scroll', () => { if (scrollY === 0) { first = 1; turn(); } })</script>`;

it.each([
  ['slides', "stage.style.transform = 'translateX(' + -first * half + 'px)'"],
  ['changes its slides', 'slides.forEach((slide, at) => { slide.hidden = at < first * 2 || at > first * 2 + 1 })'],
])(
  'a carousel that %s while it is out of view is printed as its scripts have arranged it for the paper',
  async (_how, turn) => {
    const { content, diagnostics, lacksContent } = await print(carousel(turn));
    const names = (await printedTexts(content)).flat().filter(({ text }) => text.startsWith('slide'));
    const lefts = names.map(({ left }) => Math.round(left)).sort((a, b) => a - b);
    const half = ((210 / 25.4) * 72) / 2;
    expect({ lefts, lacksContent, truncated: diagnostics.truncated }).toEqual({
      lefts: [0, Math.round(half)],
      lacksContent: false,
      truncated: false,
    });
  },
);

it.each([
  ['at their places', "'position:absolute;left:0;top:' + at * 50 + 'px'", ''],
  ['in the flow', "''", "list.style.paddingTop = from * 50 + 'px'; list.style.paddingBottom = (120 - to) * 50 + 'px';"],
])('rows that exist only in view are printed in their order: %s', async (_how, style, pad) => {
  const html = `<!doctype html><style>body{margin:0}#list{position:relative;height:6000px;box-sizing:border-box}i{display:block;height:50px}</style><div id=list></div>
    <script>const draw = () => { const from = Math.max(0, Math.floor(scrollY / 50) - 1), to = Math.min(120, from + 16); ${pad}
      list.innerHTML = ''; for (let at = from; at < to; at++) { const row = document.createElement('i'); row.style.cssText = ${style}; row.textContent = 'row' + String(at).padStart(3, '0'); list.append(row); } };
      draw(); addEventListener('scroll', draw);</script>`;
  const { content, diagnostics } = await print(html);
  expect(words(content).match(/row\d{3}/g)).toEqual(
    Array.from({ length: 120 }, (_, at) => `row${String(at).padStart(3, '0')}`),
  );
  expect(diagnostics.truncated).toBe(false);
});

it('a carousel that turns while only a part of it is in view is printed with one slide', async () => {
  const slides = ['one', 'two', 'three', 'four', 'five'].map((name) => `<p>${name}</p>`).join('');
  const html = `<!doctype html><style>body{margin:0;height:1600px}#all{padding-top:720px}p{height:380px;margin:0}</style><div id=all>${slides}</div>
    <script>let turns = 0; const turn = () => { for (const [at, one] of [...all.children].entries()) one.hidden = at !== turns % 5; turns++ }; turn(); addEventListener('scroll', turn)</script>`;
  const { content, diagnostics } = await print(html);
  expect(words(content).match(/one|two|three|four|five/g)).toHaveLength(1);
  expect(diagnostics.truncated).toBe(false);
});

const charts = (
  end: string,
  policy = '',
) => `<!doctype html>${policy}<style>body{margin:0}div{height:300px;margin-bottom:500px}</style>${'<div></div>'.repeat(4)}
    <script>document.querySelectorAll('div').forEach((box) => new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) { if (box.firstChild) { box.firstChild.width = 0; ${end} } return; }
      box.replaceChildren(Object.assign(document.createElement('canvas'), { width: 300, height: 300 }));
      const pen = box.firstChild.getContext('2d'); pen.fillStyle = 'red'; pen.fillRect(0, 0, 150, 300);
    }).observe(box))</script>`;

it.each([
  ['removed', 'box.replaceChildren()'],
  ['cleared', 'box.firstChild.width = 300'],
])('charts that are %s when they leave the view are printed', async (_how, end) => {
  const { content, diagnostics } = await print(charts(end), { single_page: true });
  const colorAt = await colorsOf(content);
  for (let at = 0; at < 4; at++)
    expect([100, 200].map((left) => colorAt(left, at * 800 + 150))).toEqual([
      [255, 0, 0],
      [255, 255, 255],
    ]);
  expect(diagnostics.truncated).toBe(false);
});

it('a page whose policy forbids our images of its charts is printed without those that it has cleared, which is reported', async () => {
  const policy = `<meta http-equiv="Content-Security-Policy" content="img-src 'self'">`;
  const { diagnostics } = await print(charts('box.firstChild.width = 300', policy), { single_page: true });
  expect(diagnostics.truncated).toBe(true);
});

it('scripts that prepare a page for print are run', async () => {
  const html = `<!doctype html><details><summary>more</summary><p>opened</p></details><p id=a>screen</p><p id=b></p><div id=c style="width:100%"></div><p id=d></p>
    <script>addEventListener('beforeprint', () => { document.querySelector('details').open = true });
      matchMedia('print').addEventListener('change', (event) => { if (event.matches) b.textContent = 'medium' });
      new ResizeObserver(([entry]) => { d.textContent = 'width' + Math.round(entry.contentRect.width) }).observe(c);</script>
    <style>body{margin:0}@media print{#a{display:none}}</style>`;
  const seen = words((await print(html, { margin: { left: '10mm', right: '10mm' } })).content);
  expect(seen).toContain('opened');
  expect(seen).toContain('medium');
  expect(seen).not.toContain('screen');
  expect(seen).toContain(`width${Math.round(((210 - 20) / 25.4) * 96)}`);
});

it.each([
  // As in Bootstrap 4. Media queries are told of A4 all the same.
  ['that has a size of its own', '@page{size:a3}', Math.round((297 / 25.4) * 96)],
  ['that is wider than the paper', 'b{display:block;width:1000px}', 1_000],
])('a script draws for the width and the columns of a page %s', async (_page, rule, width) => {
  const html = `<!doctype html><b>wide</b><div id=c></div><p id=d></p><style>body{margin:0}${rule}.many{display:none}@media(min-width:900px){.many{display:block}.one{display:none}}</style>
    <script>new ResizeObserver(([entry]) => {
      const columns = matchMedia('(min-width:900px)').matches ? 'many' : 'one';
      d.innerHTML = '<span class=' + columns + '>' + columns + Math.round(entry.contentRect.width) + '</span>';
    }).observe(c);</script>`;
  expect(words((await print(html)).content)).toContain(`one${width}`);
});

it.each([
  // Its charts would be drawn for the wrong width otherwise.
  ['keeps a width of its own', '@page{size:a3}html{min-width:1900px}', 1_900],
  ['has a size of its own that is smaller', '@page{size:a5}', Math.round((148 / 25.4) * 96)],
])('a script draws for the width of a page that %s', async (_page, rule, width) => {
  const html = `<!doctype html><style>body{margin:0}${rule}</style><div id=c></div><p id=d></p>
    <script>new ResizeObserver(([entry]) => { d.textContent = 'width' + Math.round(entry.contentRect.width) }).observe(c)</script>`;
  expect(words((await print(html)).content)).toContain(`width${width}`);
});

it('a page of its own size that is also wider than the paper is printed on one', async () => {
  const rules =
    '@page{size:a3}body{margin:0;min-width:992px}b{display:block;height:900px}@media(min-width:900px){b{height:100px}}';
  const { content } = await print(`<!doctype html><style>${rules}</style><b>first</b><b>last</b>`, {
    single_page: true,
  });
  expect((await editPdf({ content, edits: {} })).pages).toBe(1);
  expect(words(content).match(/\w+/g)).toEqual(['first', 'last']);
});

it('a page of its own size is not shrunk for what is pinned to its right edge', async () => {
  const html = `<!doctype html><style>@page{size:a3}body{margin:0;height:3000px}nav,p{position:fixed;top:0;right:0;width:40px;height:40px;background:rgb(1,2,3)}p{position:static;width:500px}</style>
    <nav>menu</nav><p>words</p><script>addEventListener('scroll', () => {})</script>`;
  const colorAt = await colorsOf((await print(html)).content);
  // A3 on A4, in CSS px of A4: the right half of the 500 px, and beyond.
  expect([340, 370].map((left) => colorAt(left, 15))).toEqual([
    [1, 2, 3],
    [255, 255, 255],
  ]);
});

it('a page without scripts is printed without being scrolled through', async () => {
  const { content, scroll } = await print(`<!doctype html>${'<p>words of an article</p>'.repeat(200)}`);
  expect(scroll).toMatchObject({ steps: 0, stoppedReason: 'end_of_page' });
  expect((await editPdf({ content, edits: {} })).pages).toBeGreaterThan(3);
});

it('what the browser prints otherwise than it shows it is printed as it is shown, and text stays text', async () => {
  const paint = (color: string) =>
    `const gl = document.querySelector('canvas').getContext('webgl'); gl.clearColor(${color}, 1); gl.clear(gl.COLOR_BUFFER_BIT);`;
  const ring =
    'padding:20px;background:#00f;mask:conic-gradient(#000 0 0) content-box exclude,conic-gradient(#000 0 0)';
  const html = `<!doctype html><style>body{margin:0}div,canvas,iframe{position:absolute;left:0;width:300px;height:100px;box-sizing:border-box;border:0}
      #ring::after{content:'';position:absolute;inset:0;${ring}}</style><p style="margin:0;height:1500px">above</p>
    <div style="top:1500px;opacity:.5"><canvas width=300 height=100></canvas><div style="left:150px;background:#fff8">over</div></div>
    <iframe style="top:1610px" srcdoc="<style>body{margin:0}</style><canvas></canvas><script>${paint('0,1,0')}</script>"></iframe>
    <div style="top:1770px;background:#f00"><div style="left:100px;width:100px;backdrop-filter:invert(1)">glass</div>
      <div style="left:150px;width:50px;background:#fff8">front</div></div>
    <div style="top:1880px;${ring}"></div><div id=ring style="top:1990px">ringed</div>
    <div style="top:2100px;width:200px;background:#ff0;filter:drop-shadow(50px 0 0 #f0f)">shadowed</div>
    <div style="top:2210px;background:#f00;filter:invert(1)">filtered</div>
    <script>${paint('1,0,0')}</script>`;
  const { content } = await print(html, { single_page: true });
  expect(words(content).match(/\w+/g)).toEqual(['above', 'over', 'glass', 'front', 'ringed', 'shadowed', 'filtered']);
  const shown: [left: number, top: number, color: number[]][] = [
    [75, 1560, [255, 128, 128]],
    [225, 1560, [255, 190, 190]],
    [75, 1660, [0, 255, 0]],
    [50, 1830, [255, 0, 0]],
    [125, 1830, [0, 255, 255]],
    [175, 1830, [136, 255, 255]],
    [10, 1930, [0, 0, 255]],
    [150, 1930, [255, 255, 255]],
    [10, 2040, [0, 0, 255]],
    [150, 2040, [255, 255, 255]],
    [150, 2150, [255, 255, 0]],
    [225, 2150, [255, 0, 255]],
    [225, 2260, [0, 255, 255]],
  ];
  const colorAt = await colorsOf(content);
  for (const [left, top, color] of shown) {
    const near = color.map((value) => expect.closeTo(value, -1.2));
    expect({ left, top, color: colorAt(left, top) }).toEqual({ left, top, color: near });
  }
});

/** The colors of the first page of a PDF, drawn by poppler, by CSS px. */
async function colorsOf(content: Uint8Array): Promise<(left: number, top: number) => number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'stillframe-drawn-'));
  writeFileSync(join(folder, 'page.pdf'), content);
  try {
    const png = execFileSync('pdftoppm', ['-r', '96', '-png', '-l', '1', join(folder, 'page.pdf')], {
      maxBuffer: 50_000_000,
    });
    const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return (left, top) => [...data.subarray((top * info.width + left) * 3, (top * info.width + left) * 3 + 3)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('a scrolling box of two columns that is printed as one of lower rows lacks nothing', async () => {
  const html = `<!doctype html><style>html,body{margin:0;height:100%}main{height:100%;overflow:auto;display:flex;flex-wrap:wrap;align-content:start}
    p{margin:0;width:100%;height:800px;background:#eee}@media print{p{height:300px}}@media(min-width:1000px){p{width:50%}}</style>
    <main>${Array.from({ length: 10 }, (_, at) => `<p>word${at}</p>`).join('')}</main><script>addEventListener('scroll', () => {}, true)</script>`;
  const { content, diagnostics, lacksContent } = await take(browser, html, {
    viewport: { width: 1280, height: 720 },
    format: 'pdf',
    pdf: { paper: 'a4' },
  });
  expect((await printedTexts(content)).flat().map(({ text }) => text)).toEqual(
    Array.from({ length: 10 }, (_, at) => `word${at}`),
  );
  expect({ lacksContent, truncated: diagnostics.truncated }).toEqual({ lacksContent: false, truncated: false });
});

it('a filtered element that ends with the page, at a part of a px of its picture, is printed', async () => {
  const html = `<!doctype html><style>body{margin:0}p{margin:0;height:1105px}div{height:202px;background:#08f;filter:sepia(1)}</style><p>words</p><div>end</div>`;
  const { content } = await take(browser, html, {
    viewport: { width: 1280, height: 720 },
    format: 'pdf',
    pdf: { paper: 'a4', margin: '5mm' },
  });
  expect((await printedTexts(content)).flat().map(({ text }) => text)).toEqual(['words', 'end']);
});

it.each([
  ['above the view', 'top:-80px'],
  ['below the view', 'bottom:-80px'],
  ['moved above the view', 'top:0;transform:translateY(-110%)'],
])('what is fixed %s is on no sheet', async (_where, style) => {
  const html = `<!doctype html><style>body{margin:0}div,b{position:fixed;left:0;height:60px}p{height:900px;margin:0}</style>
    <div style="${style}"><span>closed</span></div><b style="top:20px">header</b><b style="top:1000px">footer</b><p>one</p><p>two</p><p>three</p>`;
  for (const options of [{ pdf: { paper: 'a4' } }, {}]) {
    const { content } = await take(browser, html, { format: 'pdf', ...options });
    expect(words(content)).not.toContain('closed');
    expect(words(content)).toContain('header');
  }
  expect(words((await print(html)).content).match(/footer/g)).toHaveLength(3);
});

/** A page of several sheets with bars, which scripts may change. */
const barred = (
  css: string,
) => `<!doctype html><style>body{margin:0;padding:60px 0;font:20px/30px sans-serif}main{position:relative;margin-left:200px}p{margin:0}
    header,footer,nav,b{position:fixed}header{top:0;left:0;right:0;height:60px;background:#eee}footer{bottom:0;left:0;right:0;height:60px;background:#ddd}
    nav{top:60px;bottom:0;left:0;width:150px}b{top:40%;left:50%}${css}</style>
  <header>header</header><nav><a href="#">chapters</a></nav><main></main><footer>footer</footer><b>watermark</b>
  <script>document.querySelector('main').innerHTML = Array.from({ length: 100 }, (_, at) => '<p>line' + at + '</p>').join('')</script>`;

it('bars that would cover the content of each sheet are printed once', async () => {
  const pages = await printedTexts((await print(barred(''))).content);
  const sheetsOf = (word: string) =>
    pages.flatMap((texts, sheet) => (texts.some(({ text }) => text === word) ? [sheet] : []));
  expect(
    Object.fromEntries(['header', 'chapters', 'footer', 'watermark'].map((word) => [word, sheetsOf(word)])),
  ).toEqual({
    header: [0],
    chapters: [0],
    footer: [pages.length - 1],
    watermark: pages.map((_, sheet) => sheet),
  });
  const last = pages.at(-1) ?? [];
  const topOf = (word: string) => last.find(({ text }) => text === word)?.top ?? 0;
  expect(topOf('footer')).toBeGreaterThan(topOf('line99'));
});

it.each([
  '@page{margin:80px 0}',
  'header,footer,nav{display:none}@media print{header,footer,nav{display:block}}',
  '</style><table><thead><tr><td height=60></thead></table><style>',
])('bars of a page that is made for paper are on each sheet: %s', async (css) => {
  const { content } = await print(barred(css));
  expect(words(content).match(/header/g)).toHaveLength((await printedTexts(content)).length);
});

it('bars of a document of the request are on each sheet', async () => {
  const own = { url: undefined, html: '<p>that of the page below</p>' };
  const { content } = await take(browser, barred(''), { format: 'pdf', pdf: { paper: 'a4' }, ...own });
  expect(words(content).match(/footer/g)).toHaveLength((await printedTexts(content)).length);
});

it.each([
  ['a table in a box', '<div style="overflow-x:auto"><table><tr><td>A<td>B<td>C<td>end</table></div>'],
  [
    'a table in a box with a scroll bar of its own',
    '<div style="overflow:hidden"><table><tr><td>A<td>B<td>C<td>end</table><i class="ps__rail-x"></i></div>',
  ],
  [
    'a table in a box that only narrow views scroll',
    '<style>@media(max-width:799px){div{overflow-x:auto}}</style><div><table><tr><td>A<td>B<td>C<td>end</table></div>',
  ],
  ['a table that scrolls itself', '<table style="display:block;overflow:auto"><tr><td>A<td>B<td>C<td>end</table>'],
  ['code', `<pre style="overflow-x:auto">${'word '.repeat(14)}end</pre>`],
  ['code of long lines', `<pre><code style="display:block;overflow:auto">${'word '.repeat(100)}end</code></pre>`],
])('%s that is wider than the paper is not cut off', async (_what, wide) => {
  const html = `<!doctype html><style>body{margin:0 20px;font:20px/1.5 monospace}td{min-width:240px}</style>${wide}<p>after</p>`;
  const [texts = []] = await printedTexts((await print(html)).content);
  const width = (210 / 25.4) * 72;
  const end = texts.find(({ text }) => text.endsWith('end'));
  expect(end === undefined ? width : end.left + end.text.length * end.size * 0.6).toBeLessThan(width);
  expect(texts.find(({ text }) => text === 'after')?.size).toBeCloseTo(15);
});
