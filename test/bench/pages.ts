import type { Site } from '../fixtures/site/site.js';

const WORDS =
  'harbour lantern meadow orchard copper granite willow ember saddle thimble canvas beacon furrow kettle pebble timber anchor'.split(
    ' ',
  );
const text = (count: number, seed: number) =>
  Array.from({ length: count }, (_, i) => WORDS[(i * 7 + seed) % WORDS.length]).join(' ');

const head = (title: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/bench/style.css">`;

function article(): string {
  const sections = Array.from(
    { length: 30 },
    (_, i) =>
      `<h2>Section ${i}</h2><p>${text(120, i)} <a href="#${i}">note</a></p>${i % 5 === 0 ? `<img src="/image/320x200/3366${10 + i}.png" width="320" height="200" alt="">` : ''}`,
  );
  return `${head('An article')}</head><body><nav>${text(12, 3)}</nav><main><h1>An article</h1>${sections.join('')}</main></body></html>`;
}

/** A page that a script builds from JSON, in several tasks, as applications do. */
function scripted(): string {
  return `${head('A scripted page')}</head><body><main id="m">Loading…</main><script src="/bench/app.js"></script></body></html>`;
}

const APP = `const m = document.getElementById('m');
const list = async (n) => (await fetch('/bench/data.json?' + n)).json();
(async () => { m.textContent = ''; for (let n = 0; n < 5; n++) { const rows = await list(n); for (const row of rows) { const p = document.createElement('article');
p.innerHTML = '<h2>' + row.title + '</h2><p>' + row.body + '</p>'; m.append(p); let x = 0; for (let i = 0; i < 40000; i++) x += Math.sqrt(i); p.dataset.x = x; } } })();`;

const STYLE =
  'body{font:16px/1.55 Georgia,serif;margin:0;color:#222}main{max-width:52em;margin:auto;padding:1em}nav{background:#234;color:#fff;padding:1em}h2{border-bottom:1px solid #ccc}';

/** A page of one view without scripts. */
export const INVOICE = `${head('An invoice')}<style>table{width:100%;border-collapse:collapse}td{border-bottom:1px solid #ccc;padding:6px}</style></head><body><h1>Invoice 1</h1><table>${Array.from(
  { length: 24 },
  (_, i) => `<tr><td>${i}</td><td>${text(4, i)}</td><td>${i * 3}.00</td></tr>`,
).join('')}</table></body></html>`;

export interface BenchPage {
  type: string;
  body: string | Uint8Array;
}

/** The pages of the benchmarks and what they ask for, by path. */
export const BENCH_PAGES: Record<string, BenchPage> = {
  '/bench/article': { type: 'text/html; charset=utf-8', body: article() },
  '/bench/scripted': { type: 'text/html; charset=utf-8', body: scripted() },
  '/bench/app.js': { type: 'text/javascript', body: APP },
  '/bench/style.css': { type: 'text/css', body: STYLE },
  '/bench/data.json': {
    type: 'application/json',
    body: JSON.stringify(Array.from({ length: 12 }, (_, i) => ({ title: `Row ${i}`, body: text(60, i) }))),
  },
};

/** Serves them. */
export function addBenchPages(site: Pick<Site, 'route'>): void {
  for (const [path, { type, body }] of Object.entries(BENCH_PAGES)) {
    site.route(path, (_request, response) => response.writeHead(200, { 'content-type': type }).end(body));
  }
}
