import { createServer } from 'node:http';
import { readFileSync, existsSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { chromium } from 'playwright-core';
import { BENCH_PAGES } from './pages.js';
import { startServerProcess } from '../trials/server-process.js';
import { postCapture } from '../trials/call-api.js';
import { mkdtempSync } from 'node:fs';
const startServer = async (env: Record<string,string>) => { const server = startServerProcess({ dataDir: mkdtempSync('/tmp/me/tmp/bench-'), env: { MALLOC_ARENA_MAX: '2', STILLFRAME_LOG: 'info', ...env }, isSmall: false }); const { url, firstKey } = await server.ready; return { said: server.said, async post(body: Record<string, unknown>) { const t = performance.now(); const r = await fetch(url + '/v1/screenshot', { method: 'POST', headers: { authorization: `Bearer ${firstKey}`, 'content-type': 'application/json' }, body: JSON.stringify({ ...body, timeout: 60000 }) }); const answer = (await r.json()) as { data?: object; error?: object }; return { status: r.status, ms: performance.now() - t, timing: r.headers.get('server-timing'), data: (answer?.data ?? answer?.error ?? {}) as Record<string, unknown> }; }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }; };

const ROOTS: Record<string, string> = { lte: '/tmp/me/libs/node_modules/admin-lte', now: '/tmp/me/libs/node_modules/now-ui-kit', paper: '/tmp/me/libs/node_modules/paper-kit-2' };
const TYPES: Record<string, string> = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.png': 'image/png', '.jpg': 'image/jpeg', '.svg': 'image/svg+xml', '.woff2': 'font/woff2', '.woff': 'font/woff', '.ttf': 'font/ttf' };
const invoice = '<!doctype html><title>Invoice</title><style>body{font:14px sans-serif;margin:40px}table{width:100%;border-collapse:collapse}td{border-bottom:1px solid #ccc;padding:6px}</style><h1>Invoice 1</h1><table>' + Array.from({ length: 24 }, (_, i) => `<tr><td>${i}</td><td>Item ${i}</td><td>${i * 3}.00</td></tr>`).join('') + '</table>';
const web = createServer((q, s) => {
  const path = decodeURIComponent((q.url ?? '/').split('?')[0] ?? '/');
  const page = BENCH_PAGES[path];
  if (path === '/invoice') return s.writeHead(200, { 'content-type': 'text/html' }).end(invoice);
  if (page) return s.writeHead(200, { 'content-type': page.type }).end(page.body);
  const [, root = '', ...rest] = path.split('/');
  const file = join(ROOTS[root] ?? '/nonexistent', rest.join('/'));
  if (!existsSync(file) || !statSync(file).isFile()) return s.writeHead(404).end();
  s.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
}).listen(0, '127.0.0.2');
await new Promise((r) => web.once('listening', r));
const origin = `http://127.0.0.2:${(web.address() as { port: number }).port}`;
const PAGES = (process.env.PAGES ?? '/bench/article,/invoice,/lte/index.html,/paper/index.html,/now/index.html').split(',');
const N = Number(process.env.N ?? 5);
const env = { STILLFRAME_CONCURRENCY: '4', STILLFRAME_DNS_SERVERS: '127.0.0.1:1', STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2' };
const on = await startServer(env);
const off = process.env.OFF ? await startServer({ ...env, STILLFRAME_FRAMES: 'off' }) : null;
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ['--disable-background-networking', '--hide-scrollbars', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.*'], chromiumSandbox: false });
const bare = async (url: string, kind: string) => {
  const t = performance.now();
  const c = await browser.newContext({ viewport: { width: 1280, height: 720 }, deviceScaleFactor: kind === 'view' ? 2 : 1 });
  const p = await c.newPage();
  await p.goto(url, { waitUntil: 'load' });
  if (kind === 'pdf') await p.pdf({ format: 'A4', printBackground: true });
  else await p.screenshot({ fullPage: kind === 'full', type: 'png' });
  const ms = performance.now() - t;
  await c.close();
  return ms;
};
const med = (a: number[]) => a.sort((x, y) => x - y)[a.length >> 1] ?? 0;
const bodies: Record<string, object> = { view: { format: 'png', viewport: { width: 1280, height: 720, deviceScaleFactor: 2 } }, full: { format: 'png', full_page: true, viewport: { width: 1280, height: 720, deviceScaleFactor: 1 } }, pdf: { format: 'pdf', pdf: { paper: 'A4' } } };
for (const path of PAGES) for (const kind of (process.env.KINDS ?? 'view,full,pdf').split(',')) {
  const url = origin + path;
  const t: Record<string, number[]> = { bare: [], on: [], off: [] };
  let last: unknown;
  for (let i = 0; i <= N; i++) {
    const b = await bare(url, kind);
    const { ms, status, data, timing } = await on.post({ url, cache_ttl: 0, ...bodies[kind] });
    if (status !== 200) console.log(status, JSON.stringify(data).slice(0, 200));
    const o = off ? (await off.post({ url, cache_ttl: 0, ...bodies[kind] })).ms : 0;
    if (i > 0) { t.bare?.push(b); t.on?.push(ms); t.off?.push(o); }
    last = timing;
  }
  const [b, o, f] = [med(t.bare ?? []), med(t.on ?? []), med(t.off ?? [])];
  console.log(path, kind, 'bare', b.toFixed(0), 'on', o.toFixed(0), (o / b).toFixed(2), off ? `off ${f.toFixed(0)} ${(f / b).toFixed(2)}` : '', last);
}
await on[Symbol.asyncDispose]();
await off?.[Symbol.asyncDispose]();
await browser.close();
process.exit(0);
