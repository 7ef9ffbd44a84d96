/**
 * Runs the REST tests of a checkout of browserless, unchanged but for their types, against servers of this project: a stand-in for its package
 * has `Browserless.start()` choose a server, and `fetch('http://localhost:3000/…')` goes there. The sites of the tests are on loopback.
 */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { opt, PROJECT, sleep, startDns, startProduct, tempDir } from './world.mjs';

const require = createRequire(import.meta.url);
const ofProject = createRequire(path.join(PROJECT, 'package.json'));
const esbuild = ofProject('esbuild');
const chai = await import(pathToFileURL(ofProject.resolve('chai')).href);
const co = process.argv[2];
const only = new RegExp(opt('--only', '.'), 'i');
const routes = opt('--routes', 'chromium,chrome').split(',');
const suites = opt('--suites', 'screenshot,pdf,content,scrape,function,download,performance,json').split(',');
const out = opt('--json', '');

const certDir = tempDir('ps-cert-');
spawnSync(
  'openssl',
  [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${certDir}/k.pem`,
    '-out',
    `${certDir}/c.pem`,
    '-days',
    '2',
    '-subj',
    '/CN=self-signed.badssl.com',
  ],
  { stdio: 'ignore' },
);
const page = (_q, r) => {
  r.setHeader('content-type', 'text/html; charset=utf-8');
  r.end(
    '<!doctype html><title>one</title><h1>1.1.1.1</h1><p>The free app that makes your Internet faster. <a href="/x">link</a></p>',
  );
};
const site = http.createServer(page).listen(0, '127.0.0.2');
await once(site, 'listening');
const tls = https
  .createServer({ key: fs.readFileSync(`${certDir}/k.pem`), cert: fs.readFileSync(`${certDir}/c.pem`) }, page)
  .listen(0, '127.0.0.2');
await once(tls, 'listening');
const dns = await startDns((n) =>
  ['one.one.one.one', 'self-signed.badssl.com', 'cnn.com'].includes(n) ? ['127.0.0.2'] : undefined,
);
const common = {
  STILLFRAME_COMPATIBLE_APIS: 'browserless',
  STILLFRAME_DNS_SERVERS: `127.0.0.1:${dns.port}`,
  STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
  STILLFRAME_ALLOW_INSECURE_TLS: 'true',
};
const servers = {
  keyed: await startProduct({ env: common, compatibleApisKey: false }),
  open: await startProduct({ env: common, compatibleApisKey: true }),
};
const map = (s) =>
  s
    .replaceAll('https://one.one.one.one', `http://one.one.one.one:${site.address().port}`)
    .replaceAll('https://cnn.com', `http://cnn.com:${site.address().port}`)
    .replaceAll('https://self-signed.badssl.com', `https://self-signed.badssl.com:${tls.address().port}`);
let state, last;
class NA extends Error {}
class Config {
  setToken(t) {
    this.token = t;
  }
  setConcurrent(n) {
    this.concurrent = n;
  }
  setQueued(n) {
    this.queued = n;
  }
  setTimeout(n) {
    this.timeout = n;
  }
  setMaxPayloadSize(n) {
    this.payload = n;
  }
  setExternalAddress() {
    this.na = 'external address: a setting of browserless';
  }
  setAllowGET() {
    this.na = 'ALLOW_GET: a setting of browserless';
  }
  setAllowFileProtocol() {
    this.na = 'setting';
  }
  setCors() {
    this.na = 'CORS setting';
  }
  setCorsOrigin() {}
  async setDownloadsDir() {
    this.na = 'setting';
  }
  async setDataDir() {
    this.na = 'setting';
  }
  setHealthChecks() {
    this.na = 'setting';
  }
  setRoutes() {
    this.na = 'setting';
  }
  setStatic() {
    this.na = 'setting';
  }
  enableDebugger() {
    this.na = 'setting';
  }
  setMetricsJSONPath() {}
  setPort() {
    this.na = 'port: setting';
  }
  setHost() {
    this.na = 'setting';
  }
  getPort() {
    return 3000;
  }
  getTimeout() {
    return this.timeout ?? 30000;
  }
  getToken() {
    return this.token;
  }
  getExternalAddress() {
    return 'http://localhost:3000';
  }
  getServerAddress() {
    return 'http://localhost:3000';
  }
  getExternalWebSocketAddress() {
    return 'ws://localhost:3000';
  }
}
class Metrics {
  get() {
    throw new NA('metrics of browserless in the process');
  }
}
class Browserless {
  constructor({ config }) {
    this.config = config;
  }
  async start() {
    const c = this.config ?? {};
    if (c.na) throw new NA(c.na);
    if (c.concurrent === 0) throw new NA('concurrency 0: a setting of browserless');
    if (c.payload !== undefined) throw new NA('MAX_PAYLOAD_SIZE: a setting of browserless');
    state = { server: c.token ? servers.keyed : servers.open, token: c.token, timeout: c.timeout };
  }
  async stop() {}
}
const realFetch = globalThis.fetch;
async function door(url, init = {}) {
  const u = new URL(String(url));
  if (u.host !== 'localhost:3000') throw new NA(`fetch of ${u.host}`);
  let p = u.pathname + u.search;
  if (state.token) p = p.replace(new RegExp(`token=${state.token}(?=&|$)`), `token=${state.server.key}`);
  const i = { ...init };
  if (typeof i.body === 'string') i.body = map(i.body);
  const t0 = Date.now();
  const res = await realFetch(state.server.base + p, { signal: AbortSignal.timeout(90000), ...i });
  const c = res.clone();
  last = {
    method: i.method ?? 'GET',
    path: p.replace(/sk_[\w-]+|token=[^&]+/, (x) => (x.startsWith('token') ? 'token=KEY' : 'KEY')),
    body: i.body,
    status: res.status,
    type: res.headers.get('content-type'),
    ms: 0,
    text: undefined,
  };
  const buf = Buffer.from(await c.arrayBuffer());
  last.ms = Date.now() - t0;
  last.bytes = buf.length;
  last.text = /text|json|html/.test(last.type ?? '') ? buf.toString().slice(0, 400) : undefined;
  return res;
}
// ---- a small mocha ----
function collect(file) {
  const tests = [];
  const stack = [];
  const describe = (name, fn) => {
    stack.push({ name, before: [], beforeEach: [], after: [], afterEach: [] });
    fn.call({ timeout() {}, skip() {} });
    stack.pop();
  };
  const it = (name, fn) => tests.push({ name, fn, hooks: [...stack] });
  it.skip = () => {};
  describe.skip = () => {};
  const hook = (k) => (fn) => stack.at(-1)[k].push(fn);
  const js = esbuild.transformSync(fs.readFileSync(file, 'utf8'), {
    loader: 'ts',
    format: 'cjs',
    target: 'node20',
  }).code;
  const mod = { exports: {} };
  const req = (id) => {
    if (id === '@browserless.io/browserless')
      return new Proxy(
        { Browserless, Config, Metrics, sleep },
        {
          get: (t, k) =>
            k in t
              ? t[k]
              : k === '__esModule'
                ? true
                : () => {
                    throw new NA(`needs ${String(k)}`);
                  },
        },
      );
    if (id === 'chai') return chai;
    if (/^(node:|fs|path|os|url|crypto|child_process|net|http|events)/.test(id)) return require(id);
    return new Proxy(() => {}, {
      get: (_t, k) =>
        k === '__esModule'
          ? true
          : () => {
              throw new NA(`needs ${id}`);
            },
      construct() {
        throw new NA(`needs ${id}`);
      },
      apply() {
        throw new NA(`needs ${id}`);
      },
    });
  };
  new vm.Script(
    `(function(describe,it,before,after,beforeEach,afterEach,fetch,require,exports,module,__filename){${js.replaceAll('import_meta.url', '""')}\n})`,
    { filename: file },
  ).runInThisContext()(
    describe,
    it,
    hook('before'),
    hook('after'),
    hook('beforeEach'),
    hook('afterEach'),
    door,
    req,
    mod.exports,
    mod,
    file,
  );
  return tests;
}
const _DOC_REFUSED = /requestInterceptors|not supported|not served|No such|not here/i;
const results = [];
for (const route of routes)
  for (const suite of suites) {
    const file = path.join(co, 'src/routes', route, 'tests', `${suite}.spec.ts`);
    if (!fs.existsSync(file)) continue;
    for (const t of collect(file)) {
      const id = `${route}/${suite}: ${t.name}`;
      if (!only.test(id)) continue;
      const r = { id, file: path.relative(co, file) };
      last = undefined;
      try {
        for (const h of t.hooks) for (const f of h.beforeEach) await f.call({ timeout() {} });
        await Promise.race([
          t.fn.call({
            timeout() {},
            skip() {
              throw new NA('skipped by the suite');
            },
          }),
          sleep(90000).then(() => {
            throw new Error('90 s passed');
          }),
        ]);
        r.status = 'passed';
      } catch (e) {
        r.status = e instanceof NA ? 'skipped' : 'failed';
        r.error = e.message.slice(0, 500);
      }
      if (
        r.status === 'failed' &&
        last &&
        ((last.status === 400 && /requestInterceptors/.test(last.text ?? '')) ||
          ((last.status === 404 || last.status === 400) &&
            ['scrape', 'function', 'download', 'performance', 'json'].includes(suite)))
      ) {
        r.status = 'refused';
      }
      r.last = last;
      results.push(r);
      console.log(`${r.status.padEnd(8)} ${id}${r.error ? `  -> ${r.error}` : ''}`);
      if (r.status !== 'passed' && r.status !== 'skipped' && last)
        console.log(
          `      ${last.method} ${last.path} ${String(last.body ?? '').slice(0, 200)} => ${last.status} ${last.type} ${last.ms} ms ${last.text ?? `${last.bytes} bytes`}`,
        );
    }
  }
for (const s of Object.values(servers)) await s.stop();
site.closeAllConnections();
site.close();
tls.closeAllConnections();
tls.close();
dns.close();
fs.rmSync(certDir, { recursive: true });
if (out !== '') fs.writeFileSync(out, JSON.stringify(results, null, 1));
const n = (s) => results.filter((r) => r.status === s).length;
console.log(`refused as documented: ${n('refused')}; not applicable: ${n('skipped')}`);
console.log(`${n('passed')} passed, ${n('failed')} failed, ${n('skipped') + n('refused')} skipped`);
process.exit(0);
