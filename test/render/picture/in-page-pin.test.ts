import { expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { type Blot, blotOf } from './blots.js';
import { take } from './take.js';

const browser = await browserOfFile();

const ROWS =
  '<div style="height:100px;background:rgb(240,240,240)"></div><div style="height:100px;background:rgb(225,225,225)"></div>'.repeat(
    10,
  );
const PINNED = [200, 0, 0] as const;
const BAR = [0, 0, 200] as const;
const BACKDROP = [0, 200, 0] as const;
const box = (rules: string) => `style="width:80px;height:40px;background:rgb(${PINNED});${rules}"`;
const pinned = (rules: string) => box(`position:fixed;${rules}`);
const sticky = (rules: string) => box(`position:sticky;${rules}`);
const bar = `<b style="position:fixed;bottom:0;left:300px;width:80px;height:40px;background:rgb(${BAR})"></b>`;
const cover = (rules: string, content = '') =>
  `<div ${pinned(`inset:0;width:auto;height:auto;${rules}`)}>${content}</div>`;
/** Below the first half of the rows, a box with its own scrolling. */
const scrolled = (rules: string, content: string, by: string) =>
  `${ROWS.slice(0, ROWS.length / 2)}<div id="box" style="${rules}">${content}</div>${ROWS}<script>box.scrollTo(${by})</script>`;
const inTree = (html: string) =>
  `<x-a><b>text</b></x-a><script>customElements.define('x-a', class extends HTMLElement {});document.querySelector('x-a').attachShadow({ mode: 'open' }).innerHTML = '${html}'</script>`;
const before = (of: string, edges: string) =>
  `<style>${of}::before{content:'';position:fixed;background:rgb(${PINNED});width:80px;height:40px;${edges}}</style>`;

const narrow = `<main style="position:relative;z-index:1;width:200px;margin:auto">${ROWS}</main>`;
const contained = (rules: string) =>
  `${ROWS}<div style="height:300px;${rules}"><b ${pinned('top:20px')}></b></div>${ROWS}`;
const footer = (height: number) =>
  `<main style="position:relative;z-index:1;margin-bottom:${height}px">${ROWS}</main><footer ${pinned(`bottom:0;height:${height}px`)}></footer>`;
const form = (rules: string) => `<form ${box(`margin:0;${rules}`)}><input name="style" hidden></form>${ROWS}`;
const show = `<script>document.querySelector('dialog').showModal()</script>`;
const dialog = `<dialog ${pinned('top:90px;margin:0;border:0;padding:0;outline:0')}></dialog>${show}`;
const onceAt = (top: number) => ({ top, height: 40, pixels: 3_200 });
const throughout = { top: 0, height: 2_000, pixels: 600 * 2_000 };

const inlineBox = `<x-app style="transform:translateZ(0)"><b ${pinned('top:0')}></b>${ROWS}</x-app>`;
const column = scrolled(
  'overflow-x:auto;width:400px',
  `<div style="width:3000px"><div ${sticky('left:0')}></div></div>`,
  '700,0',
);
const log = scrolled(
  'overflow:auto;height:200px',
  `<div ${sticky('top:0')}></div><div style="height:2000px"></div>`,
  '0,9999',
);
const clipped = `<style>body{overflow-x:hidden}</style><div style="height:100px"></div><div ${sticky('top:0')}></div>${ROWS}`;
const white =
  '<div style="position:absolute;z-index:3;top:200px;left:300px;width:200px;height:200px;background:#fff"></div>';
const empty = '<p style="position:absolute;margin:0;left:0;top:0;width:800px;height:100px"></p>';
const wrapped = `${ROWS}<div style="position:fixed;top:0;width:0;height:0">${bar}</div>`;
const header = `${ROWS}<div ${pinned('top:0')}>${bar}</div>`;
const upwards = (rules: string) => `${ROWS}<div ${pinned(`bottom:0;left:0;height:100%;${rules}`)}>text</div>`;
const beside = (rules: string) => `<main style="${rules}">${ROWS}<div style="height:500px"></div></main>`;
const rest = before('main', 'inset:0;z-index:-1;width:auto;height:auto');
const first = { top: 0, height: 600, pixels: 800 * 600 };

it.concurrent.each<[string, string, Partial<Blot>, Parameters<typeof blotOf>[1]?]>([
  [
    'a fixed element under a root with a filter appears once',
    `<html style="filter:contrast(1)"><b ${pinned('top:0')}></b>${ROWS}`,
    onceAt(0),
  ],
  ['a fixed element in a transformed inline box appears once', inlineBox, onceAt(0)],
  [
    'a dialog in the top layer appears once, whatever contains it',
    `<div style="transform:translateZ(0)">${ROWS}${dialog}</div>`,
    onceAt(90),
  ],
  ['a fixed element stays in the box that contains it by a filter', contained('filter:contrast(1)'), onceAt(2_020)],
  ['a fixed element stays in the box that contains it in 3D', contained('transform-style:preserve-3d'), onceAt(2_020)],
  ['a fixed element stays in the box that is laid out in view', contained('content-visibility:auto'), onceAt(2_020)],
  ['a sticky element keeps its position in a box scrolled sideways', column, { left: 0, ...onceAt(1_000) }],
  ['a sticky element keeps its position in a box scrolled down', log, onceAt(1_000)],
  [
    'a sticky element is in the flow when the page scrolls it, even if the body clips wide content',
    clipped,
    onceAt(100),
  ],
  ['a footer that content reveals is complete at the end', footer(400), { top: 2_000, height: 400, pixels: 80 * 400 }],
  [
    'a footer as high as the view that content reveals is complete',
    footer(600),
    { top: 2_000, height: 600, pixels: 80 * 600 },
  ],
  ['a wide element that extends up over the content is at the top', upwards('width:100%'), { top: 0, height: 600 }],
  ['a narrow element that extends up over the content is at the top', upwards(''), { top: 0, height: 600 }],
  ['a bar in a fixed wrapper without size is at the end', wrapped, onceAt(1_960), BAR],
  ['a bar at the bottom edge in a fixed header is at the end', header, onceAt(1_960), BAR],
  ['a fixed header with a bar at the bottom edge is at the top', header, onceAt(0)],
  ['a bar stays with the fixed element that it overlaps', ROWS + cover('', `text${bar}`), onceAt(560), BAR],
  [
    'a fixed form with a field named like a property appears once',
    form('position:fixed;bottom:0'),
    { height: 40, pixels: 3_200 },
  ],
  [
    'a sticky form with a field named like a property appears once',
    form('position:sticky;top:0'),
    { height: 40, pixels: 3_200 },
  ],
  [
    'an element that covers the view is behind every section if the content is above it',
    cover('z-index:0') + narrow,
    throughout,
  ],
  [
    'an element above the content is in the first section only',
    cover('z-index:2') + ROWS + white,
    { ...first, pixels: 800 * 600 - 200 * 200 },
  ],
  [
    'an element in a shadow tree above the content is in the first section only',
    narrow + inTree(cover('z-index:2', empty)),
    first,
  ],
  [
    'an element in a shadow tree is behind every section if the content is above it',
    narrow + inTree(cover('z-index:0')),
    throughout,
  ],
  ['a fixed pseudo-element at the top appears once', before('body', 'left:0;top:0') + ROWS, onceAt(0)],
  ['a fixed pseudo-element at the bottom appears once', before('body', 'left:0;bottom:10px') + ROWS, onceAt(1_950)],
  ['a fixed pseudo-element that covers the view is unchanged', rest + beside(''), { top: 2_000, pixels: 800 * 500 }],
  [
    'a fixed pseudo-element that scrolls along is unchanged',
    before('main', 'top:0') + beside('transform:translateZ(0)'),
    onceAt(0),
  ],
])('%s', async (_title, html, seen, color = PINNED) => {
  const { content } = await take(browser, `<!doctype html><style>body{margin:0}</style>${html}`, { full_page: true });
  expect(await blotOf(content, color)).toMatchObject(seen);
});

it.concurrent('the backdrop of a modal dialog does not cover an element below it, and stays around one inside', async () => {
  const html = `<!doctype html><style>::backdrop{background:rgb(${BACKDROP})}dialog{border:0;border-radius:40px}</style>
    <p style="width:80px;height:40px;background:rgb(${PINNED})"></p><dialog>text</dialog>${show}`;
  const under = await take(browser, html, { selector: 'p' });
  expect(await blotOf(under.content, PINNED)).toMatchObject(onceAt(0));
  const inside = await take(browser, html, { selector: 'dialog' });
  expect((await blotOf(inside.content, BACKDROP)).pixels).toBeGreaterThan(100);
});
