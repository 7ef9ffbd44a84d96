/**
 * The requests and expectations of the acceptance tests of Grafana's image renderer, by hand, with a stand-in for Grafana. Sizes are compared
 * with those of the pictures and PDFs in a checkout of the renderer.
 */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { PROJECT, startDns, startProduct, tempDir } from './world.mjs';

const co = process.argv[2];
const fx = path.join(co, 'tests/acceptance/fixtures');
const sharp = createRequire(path.join(PROJECT, 'package.json'))('sharp');
const tmp = tempDir('ps-gr-');
const dash = (long, _q) =>
  `<!doctype html><html><head><title>Prometheus</title><style>body{margin:0;background:#181b1f;color:#ccc;font:14px sans-serif}.panel{height:300px;margin:8px;background:#22252b;border:1px solid #333;page-break-inside:avoid}</style></head><body><div id="tz"></div>${Array.from({ length: long ? 23 : 2 }, (_, i) => `<div class="panel"><h2>Panel ${i + 1}</h2><span class="t"></span></div>`).join('')}<script>document.getElementById('tz').textContent='tz '+Intl.DateTimeFormat().resolvedOptions().timeZone+' lang '+navigator.language+' cookie '+document.cookie</script></body></html>`;
const hits = [];
const site = http
  .createServer((q, r) => {
    hits.push({ url: q.url, headers: q.headers });
    if (q.url.startsWith('/slow')) return;
    r.setHeader('content-type', 'text/html');
    r.end(dash(/very-long/.test(q.url)));
  })
  .listen(0, '127.0.0.2');
await once(site, 'listening');
const port = site.address().port;
const G = `http://grafana:${port}`;
const dns = await startDns((n) => (n === 'grafana' ? ['127.0.0.2'] : undefined));
const env = {
  STILLFRAME_COMPATIBLE_APIS: 'grafana',
  STILLFRAME_DNS_SERVERS: `127.0.0.1:${dns.port}`,
  STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2,grafana',
};
const keyed = await startProduct({ env, compatibleApisKey: false });
const open = await startProduct({ env });
const results = [];
async function get(p, { token = '-', server = open, headers = {} } = {}) {
  const t = Date.now();
  const r = await fetch(server.base + p, {
    headers: { ...(token === null ? {} : { 'x-auth-token': token }), ...headers },
    signal: AbortSignal.timeout(120000),
  });
  const b = Buffer.from(await r.arrayBuffer());
  return {
    status: r.status,
    type: r.headers.get('content-type'),
    body: b,
    ms: Date.now() - t,
    text: /text|json/.test(r.headers.get('content-type') ?? '') ? b.toString().slice(0, 200) : '',
  };
}
const render = (url, params = {}, opts) =>
  get(`/render?${new URLSearchParams({ url, renderKey: 'key', domain: 'grafana', ...params })}`, opts);
async function test(name, fn) {
  const r = { name };
  try {
    const note = await fn();
    r.status = 'passed';
    r.note = note;
  } catch (e) {
    r.status = e.skip ? 'skipped' : 'failed';
    r.error = e.message.slice(0, 400);
  }
  results.push(r);
  console.log(`${r.status.padEnd(8)} ${name}${r.error ? `  -> ${r.error}` : ''}${r.note ? `  (${r.note})` : ''}`);
}
const eq = (a, b, what) => {
  if (JSON.stringify(a) !== JSON.stringify(b))
    throw new Error(`${what}: expected ${JSON.stringify(b)}, got ${JSON.stringify(a)}`);
};
const ok = (r, s = 200) => {
  if (r.status !== s) throw new Error(`status ${r.status}, expected ${s}: ${r.text}`);
};
const size = async (b) => {
  const m = await sharp(b, { limitInputPixels: false }).metadata();
  return [m.width, m.height];
};
const pdf = (b) => {
  const f = path.join(tmp, 'x.pdf');
  fs.writeFileSync(f, b);
  const t = spawnSync('pdfinfo', [f], { encoding: 'utf8' }).stdout;
  const m = /Page size:\s+([\d.]+) x ([\d.]+)/.exec(t);
  if (!m) throw new Error('not a PDF');
  return {
    pages: +/Pages:\s+(\d+)/.exec(t)[1],
    size: [+m[1], +m[2]],
    text: spawnSync('pdftotext', [f, '-'], { encoding: 'utf8' }).stdout,
  };
};
const fixPdf = (n) => pdf(fs.readFileSync(path.join(fx, n)));
const fixPng = (n) => size(fs.readFileSync(path.join(fx, n)));
const near = (a, b, what) => {
  if (Math.abs(a[0] - b[0]) > 1.5 || Math.abs(a[1] - b[1]) > 1.5) throw new Error(`${what}: expected ${b}, got ${a}`);
};
const D = (id, q = '') => `${G}/d/${id}?render=1&from=1699333200000&to=1699344000000&kiosk=true${q}`;
const P = D('provisioned-prom-testing'),
  L = D('very-long-prometheus-dashboard'),
  SOLO = `${P.replace('/d/', '/d-solo/')}&panelId=1`;

await test('liveness: GET / is 200', async () => ok(await get('/', { token: null })));
for (const [n, t] of [
  ['no token', null],
  ['empty token', ''],
  ['whitespace token', ' \t'],
  ['wrong token', 'wrong'],
])
  await test(`auth: ${n} is 401`, async () =>
    ok(await get(`/render?url=${encodeURIComponent(G)}`, { token: t, server: keyed }), 401));
await test('auth: the key as token is 200', async () =>
  ok(await render(P, { encoding: 'png' }, { token: keyed.key, server: keyed })));
for (const u of ['file:///etc/passwd', 'chrome://version', 'ftp://localhost:21/', 'socket://localhost:8081/'])
  await test(`rejected URL ${u} is 403`, async () => ok(await get(`/render?url=${u}`), 403));
await test('no url is 400', async () => ok(await get('/render'), 400));
await test('empty url is 400', async () => ok(await get('/render?url='), 400));
await test('/render of own root as png', async () => {
  const r = await get(`/render?url=${encodeURIComponent(`${G}/`)}&encoding=png`);
  ok(r);
  eq(r.type, 'image/png', 'type');
  return await size(r.body);
});
await test('/render of own root as pdf', async () => {
  const r = await get(`/render?url=${encodeURIComponent(`${G}/`)}&encoding=pdf`);
  ok(r);
  if (pdf(r.body).pages < 1) throw new Error('no pages');
});
await test('timeout on a page that never answers is a 408', async () =>
  ok(await render(`${G}/slow`, { encoding: 'png', timeout: '3' }), 408));
await test('png 2000x800', async () => {
  const r = await render(P, { encoding: 'png', width: 2000, height: 800 });
  ok(r);
  eq(await size(r.body), await fixPng('render-prometheus-set-width-height.png'), 'size');
});
await test('png 1x1 has the least size of the renderer', async () => {
  const r = await render(P, { encoding: 'png', width: 1, height: 1 });
  ok(r);
  eq(await size(r.body), await fixPng('render-prometheus-very-low-width-height.png'), 'size');
});
await test('d-solo png', async () => {
  const r = await render(SOLO, { encoding: 'png', width: 2000, height: 800 });
  ok(r);
  eq(await size(r.body), await fixPng('render-prometheus-dsolo.png'), 'size');
});
await test('d-solo png 1x1', async () => {
  const r = await render(SOLO, { encoding: 'png', width: 1, height: 1 });
  ok(r);
  eq(await size(r.body), await fixPng('render-prometheus-dsolo-very-low-width-height.png'), 'size');
});
for (const s of ['0.75'])
  await test(`d-solo png deviceScaleFactor=${s}`, async () => {
    const r = await render(SOLO, { encoding: 'png', width: 2000, height: 800, deviceScaleFactor: s });
    ok(r);
    eq(await size(r.body), await fixPng(`render-prometheus-dsolo-scaled-${s}.png`), 'size');
  });
await test('dashboard png deviceScaleFactor=4 (the default greatest since 2026-08)', async () => {
  const r = await render(P, { encoding: 'png', deviceScaleFactor: 4 });
  ok(r);
  eq(await size(r.body), [4000, 2000], 'size');
});
await test('csv', async () => {
  const r = await get(
    `/render/csv?${new URLSearchParams({ url: `${G}/d-csv/x`, encoding: 'csv', renderKey: 'key', domain: 'grafana' })}`,
  );
  if (r.status === 501) throw Object.assign(new Error('refused as documented: 501'), { skip: true });
  ok(r);
});
await test('no encoding is a PDF, A4 landscape', async () => {
  const r = await render(P);
  ok(r);
  near(pdf(r.body).size, fixPdf('render-prometheus-pdf.png.pdf').size, 'page');
});
for (const s of ['0.75', '2.00'])
  await test(`pdf deviceScaleFactor=${s}`, async () => {
    const r = await render(P, { encoding: 'pdf', deviceScaleFactor: s });
    ok(r);
    near(pdf(r.body).size, fixPdf(`render-prometheus-pdf-device-scale-factor-${s}.png.pdf`).size, 'page');
  });
for (const [l, h] of [
  ['us', 'en-US'],
  ['de', 'de-DE,de;q=0.9'],
])
  await test(`pdf with Accept-Language ${h}`, async () => {
    hits.length = 0;
    const r = await render(P, { encoding: 'pdf', width: 2000, height: 800 }, { headers: { 'accept-language': h } });
    ok(r);
    near(pdf(r.body).size, fixPdf(`render-prometheus-pdf-${l}-lang.png.pdf`).size, 'page');
    if (!hits.some((x) => (x.headers['accept-language'] ?? '').startsWith(h.slice(0, 2))))
      throw new Error(`header not sent: ${hits.map((x) => x.headers['accept-language'])}`);
  });
for (const p of ['letter', 'legal', 'tabloid', 'ledger', 'a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6'])
  await test(`pdf paper=${p} (in the url of Grafana)`, async () => {
    const r = await render(`${P}&pdf.format=${p}`, { encoding: 'pdf' });
    ok(r);
    near(pdf(r.body).size, fixPdf(`render-prometheus-pdf-${p}.pdf`).size, 'page');
  });
await test('pdf paper=a5 as a parameter of /render', async () => {
  const r = await render(P, { encoding: 'pdf', 'pdf.format': 'a5' });
  ok(r);
  near(pdf(r.body).size, [595.92, 420], 'page');
});
for (const b of [true, false])
  await test(`pdf printBackground=${b}`, async () => {
    const r = await render(`${P}&pdf.printBackground=${b}`, { encoding: 'pdf' });
    ok(r);
    const f = path.join(tmp, 'b.pdf');
    fs.writeFileSync(f, r.body);
    spawnSync('pdftoppm', ['-r', '30', '-png', '-singlefile', f, path.join(tmp, 'b')]);
    const { data } = await sharp(path.join(tmp, 'b.png')).raw().toBuffer({ resolveWithObject: true });
    let dark = 0;
    for (let i = 0; i < data.length; i += 3) if (data[i] < 100) dark++;
    const share = dark / (data.length / 3);
    if (b !== share > 0.3) throw new Error(`share of dark pixels ${share.toFixed(2)}`);
    return `dark ${share.toFixed(2)}`;
  });
let all;
await test('pdf of the long dashboard has many pages', async () => {
  const r = await render(L, { encoding: 'pdf' });
  ok(r);
  const d = pdf(r.body);
  all = d.pages;
  near(d.size, [842.88, 595.92], 'page');
  if (d.pages < 5) throw new Error(`${d.pages} pages`);
  if (!/Panel 23/.test(d.text)) throw new Error('last panel missing');
  return `${d.pages} pages`;
});
for (const b of [true, false])
  await test(`pdf.landscape=${b}`, async () => {
    const r = await render(`${L}&pdf.landscape=${b}`, { encoding: 'pdf' });
    ok(r);
    near(pdf(r.body).size, fixPdf(`render-very-long-prometheus-dashboard-pdf_landscape-${b}.png.pdf`).size, 'page');
  });
for (const [_n, s, c] of [
  ['single-page', '4', 1],
  ['all-pages', '', null],
  ['range-in-middle', '2-4', 3],
  ['first-3', '1-3', 3],
  ['1-and-3', '1, 3', 2],
])
  await test(`pdf.pageRanges "${s}"`, async () => {
    const r = await render(`${L}&pdf.pageRanges=${encodeURIComponent(s)}`, { encoding: 'pdf' });
    ok(r);
    eq(pdf(r.body).pages, c ?? all, 'pages');
  });
for (const b of [true, false])
  await test(`png full height landscape=${b}`, async () => {
    const r = await render(L, { encoding: 'png', height: '-1', landscape: b });
    ok(r);
    const s = await size(r.body);
    eq(s[0], 1000, 'width');
    if (s[1] < 6000) throw new Error(`height ${s[1]}`);
    return s.join('x');
  });
for (const id of ['geomap-panels', 'stat-panels', 'bar-chart-panels', 'gauge-panels'])
  await test(`png panels ${id} 1400x800`, async () => {
    const r = await render(D(id), { encoding: 'png', width: 1400, height: 800 });
    ok(r);
    eq(await size(r.body), [1400, 800], 'size');
  });
await test('timezone=Asia/Shanghai', async () => {
  const r = await render(P, { encoding: 'pdf', timezone: 'Asia/Shanghai' });
  ok(r);
  const t = pdf(r.body).text;
  if (!/tz Asia\/Shanghai/.test(t)) throw new Error(t.slice(0, 100));
});
await test('timezone=default (invalid) is not an error', async () =>
  ok(await render(P, { encoding: 'png', timezone: 'default', width: 1000, height: 800 })));
await test('renderKey cookie reaches Grafana', async () => {
  hits.length = 0;
  ok(await render(P, { encoding: 'png', renderKey: 'sekret' }));
  if (!hits.some((h) => /renderKey=sekret/.test(h.headers.cookie ?? '')))
    throw new Error(`no cookie: ${hits.map((h) => h.headers.cookie)}`);
});
await test('GET /render/version', async () => {
  const r = await get('/render/version', { token: null });
  ok(r);
  eq(r.type, 'application/json', 'type');
  return JSON.parse(r.body).version;
});
await test('GET /healthz is OK', async () => {
  const r = await get('/healthz', { token: null });
  ok(r);
  eq(r.body.toString(), 'OK', 'body');
});
await test('GET /version', async () => ok(await get('/version', { token: null })));
await test('GET /metrics has metrics', async () => ok(await get('/metrics', { token: null })));
// parse_test.go: timeouts
for (const [t, s] of [
  ['0', 200],
  ['10', 200],
  ['10s', 200],
  ['1m', 200],
  ['1h', 200],
  ['500ms', 200],
  ['9223372037', 400],
  ['abc', 400],
  ['-5s', 400],
  ['', 200],
  ['1.5s', 200],
  ['1m30s', 200],
])
  await test(`parseTimeout "${t}" is ${s}`, async () => {
    const r = await render(P, { encoding: 'png', timeout: t });
    if (t === '500ms' && r.status === 408) return '408: too slow here';
    ok(r, s);
  });
await test('width=invalid is 400', async () => ok(await render(P, { encoding: 'png', width: 'invalid' }), 400));
await test('encoding=invalid is 400', async () => ok(await render(P, { encoding: 'invalid' }), 400));
await test('encoding=PNG (upper case)', async () => ok(await render(P, { encoding: ' PNG ' })));
await test('pdf.format=invalid is 400', async () => ok(await render(P, { encoding: 'pdf', 'pdf.format': 'b17' }), 400));
await test('10 renders at once', async () => {
  const r = await Promise.all(Array.from({ length: 10 }, () => render(P, { encoding: 'png' })));
  const m = {};
  for (const x of r) m[x.status] = (m[x.status] ?? 0) + 1;
  eq(m, { 200: 10 }, 'statuses');
});
await keyed.stop();
await open.stop();
site.closeAllConnections();
site.close();
dns.close();
fs.rmSync(tmp, { recursive: true });
const n = (s) => results.filter((r) => r.status === s).length;
console.log(`${n('passed')} passed, ${n('failed')} failed, ${n('skipped')} skipped`);
process.exit(0);
