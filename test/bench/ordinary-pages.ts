import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import type { BenchPage } from './pages.js';

/** `git clone --depth 1 https://github.com/mozilla/readability node_modules/.cache/readability` brings it; it is not ours to keep here. */
const SAVED_ARTICLE = new URL(
  '../../node_modules/.cache/readability/test/test-pages/wikipedia-2/source.html',
  import.meta.url,
);

const WORDS =
  'river station copper window garden letter market bridge summer engine paper island morning forest kitchen north'.split(
    ' ',
  );
const text = (count: number, seed: number) =>
  Array.from({ length: count }, (_, i) => WORDS[(i * 5 + seed * 3) % WORDS.length]).join(' ');

const SHEETS = 6;
const SCRIPTS = 10;
const IMAGES = 40;
const MANY_ELEMENTS = 25_000;
const LONG_PX = 7_000;

const HTML = 'text/html; charset=utf-8';
const head = (title: string, more = '') =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,">${more}</head>`;

/** Pages as sites have them, and what they ask for, by path. */
export async function ordinaryPages(): Promise<{ pages: Record<string, BenchPage>; names: Record<string, string> }> {
  const saved = await readFile(SAVED_ARTICLE, 'utf8').catch(() => null);
  const pages = {
    ...(await sitePage()),
    '/elements': { type: HTML, body: manyElements() },
    '/long': { type: HTML, body: listensToScrolling() },
  };
  const names = {
    'a site page': '/site',
    '25,000 elements': '/elements',
    '7,000 px': '/long',
    'saved article': '/saved',
  };
  return { pages: saved === null ? pages : { ...pages, '/saved': { type: HTML, body: saved } }, names };
}

/** One with style sheets, scripts and images of its own host, as a shop's or a magazine's. */
async function sitePage(): Promise<Record<string, BenchPage>> {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
  const sheets = numbers(SHEETS).map((n) => `<link rel="stylesheet" href="/site/${n}.css">`);
  const scripts = numbers(SCRIPTS).map((n) => `<script ${n < 5 ? '' : 'defer '}src="/site/${n}.js"></script>`);
  const cards = numbers(IMAGES).map(
    (n) =>
      `<li class="card c${n % SHEETS}"><img src="/site/${n}.jpg" width="240" height="160" alt=""><h3>${text(4, n)}</h3><p>${text(30, n)}</p></li>`,
  );
  const body = `${head('A site', [...sheets, ...scripts].join(''))}<body><header><nav>${text(10, 1)}</nav></header><main><h1>A site</h1><ul>${cards.join('')}</ul></main><footer>${text(40, 2)}</footer></body></html>`;
  const pages: Record<string, BenchPage> = { '/site': { type: HTML, body } };
  for (const n of numbers(SHEETS)) pages[`/site/${n}.css`] = { type: 'text/css', body: sheet(n) };
  for (const n of numbers(SCRIPTS)) pages[`/site/${n}.js`] = { type: 'text/javascript', body: script(n) };
  for (const n of numbers(IMAGES)) pages[`/site/${n}.jpg`] = { type: 'image/jpeg', body: await photo(n) };
  return pages;
}

function sheet(n: number): string {
  const rules = Array.from(
    { length: 300 },
    (_, i) => `.s${n}-${i} .inner>p:nth-child(${i + 1}){margin:${i}px;color:#${100 + i}}`,
  );
  const own = `body{margin:0;font:16px/1.5 Georgia,serif}ul{display:grid;grid-template-columns:repeat(auto-fill,240px);gap:16px;list-style:none}.c${n}{border-top:4px solid #3${n}${n}}@media(max-width:${600 + n * 100}px){ul{gap:8px}}header{background:#123;color:#fff;padding:1em}`;
  return `${rules.join('\n')}${own}`;
}

/** Some work as it loads, and something done to the page once it is there. */
function script(n: number): string {
  return `(() => { const table = new Map(); for (let i = 0; i < 20000; i++) table.set('k' + i, Math.sqrt(i) + ${n});
addEventListener('DOMContentLoaded', () => { for (const card of document.querySelectorAll('.c${n % SHEETS}')) card.dataset.seen${n} = table.get('k7'); }); })();`;
}

function photo(n: number): Promise<Uint8Array> {
  const [width, height] = [480, 320];
  const shades = [37, 91, 53].map((of) => (n * of) % 256);
  const pixels = Buffer.alloc(width * height * 3);
  for (let at = 0; at < pixels.length; at++) {
    const [x, y] = [Math.floor(at / 3) % width, Math.floor(at / 3 / width)];
    pixels[at] = (shades[at % 3] ?? 0) + Math.hypot(x / width - 0.5, y / height - 0.5) * 120;
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg()
    .toBuffer();
}

function manyElements(): string {
  const row = (n: number) =>
    `<tr id="r${n}" class="row k${n % 40}"><td>${n}</td><td><b>${text(2, n)}</b></td><td><a href="/x/${n}">${text(1, n)}</a></td></tr>`;
  const rows = Array.from({ length: Math.ceil(MANY_ELEMENTS / 6) }, (_, n) => row(n));
  const style = '<style>td{border:1px solid #ddd;padding:2px 6px}@media(max-width:600px){td{padding:0}}</style>';
  return `${head('Many elements', style)}<body><h1>Many elements</h1><table>${rows.join('')}</table><script>document.title += '.'</script></body></html>`;
}

function listensToScrolling(): string {
  const part = (n: number) => `<section id="s${n}"><h2>Part ${n}</h2><p>${text(60, n)}</p></section>`;
  const style = `<style>body{margin:0;height:${LONG_PX}px}section{height:${LONG_PX / 10}px}nav{position:sticky;top:0;background:#fff}.on{font-weight:bold}</style>`;
  const listens = `addEventListener('scroll', () => { for (const part of document.querySelectorAll('section')) part.classList.toggle('on', part.getBoundingClientRect().top < innerHeight) }); dispatchEvent(new Event('scroll'));`;
  return `${head('A long page', style)}<body><nav>${text(8, 0)}</nav>${Array.from({ length: 10 }, (_, n) => part(n)).join('')}<script>${listens}</script></body></html>`;
}
