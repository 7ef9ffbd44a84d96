/** Carries out the scenarios of the `.feature` files of a checkout of Gotenberg against servers of this project. */

import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { opt, PROJECT, sleep, startDns, startProduct, tempDir } from './world.mjs';

const co = process.argv[2];
const only = new RegExp(opt('--only', '.'), 'i');
const featRe = new RegExp(
  opt(
    '--feature',
    '^(chromium_.*|pdfengines_(merge|split|flatten|convert|metadata|encrypt|embed|rotate|bookmarks)|health|version|root|output_filename|webhook|debug|prometheus_metrics)$',
  ),
);
const WORKERS = Number(opt('--workers', '2'));
const out = opt('--json', '');
const root = path.join(co, 'test/integration');
const sharp = createRequire(path.join(PROJECT, 'package.json'))('sharp');

// ---- Gherkin ----
function parse(file) {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  const scenarios = [];
  let cur,
    step,
    tags = [];
  for (let i = 0; i < lines.length; i++) {
    const t = lines[i].trim();
    if (!t || t.startsWith('#')) continue;
    if (t.startsWith('@')) {
      tags.push(...t.split(/\s+/));
      continue;
    }
    if (t.startsWith('Feature:')) {
      tags = [];
      continue;
    }
    let m;
    m = /^Scenario:\s*(.*)$/.exec(t);
    if (m) {
      cur = { name: m[1], tags, steps: [], file: path.basename(file, '.feature'), line: i + 1 };
      tags = [];
      scenarios.push(cur);
      continue;
    }
    m = /^(Given|When|Then|And|But)\s+(.*)$/.exec(t);
    if (m) {
      step = { text: m[2], line: i + 1 };
      cur.steps.push(step);
      continue;
    }
    if (t.startsWith('|')) {
      step.table ??= [];
      step.table.push(
        t
          .slice(1, t.lastIndexOf('|'))
          .split(/(?<!\\)\|/)
          .map((c) => c.trim().replace(/\\([n|\\])/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))),
      );
      continue;
    }
    if (t.startsWith('"""')) {
      const indent = lines[i].indexOf('"""');
      const doc = [];
      for (i++; !lines[i].trim().startsWith('"""'); i++)
        doc.push(lines[i].slice(Math.min(indent, lines[i].length - lines[i].trimStart().length)));
      step.doc = doc.join('\n').replace(/\\"\\"\\"/g, '"""');
    }
  }
  return scenarios;
}

// ---- the server of scenario/server.go ----
async function startSite(port) {
  const s = {
    reset(workdir) {
      s.workdir = workdir;
      s.req = undefined;
      s.body = undefined;
      s.event = undefined;
      s.hits = [];
      s.done = new Promise((r) => (s.resolve = r));
    },
  };
  s.reset();
  const server = http.createServer(async (req, res) => {
    const chunks = [];
    for await (const c of req) chunks.push(c);
    const body = Buffer.concat(chunks);
    const p = decodeURIComponent(req.url.split('?')[0]);
    s.hits.push({ method: req.method, url: req.url, headers: req.headers });
    const note = () => {
      s.req = req;
      s.body = body;
    };
    if (p === '/webhook/events') {
      s.event = body;
      return res.end('OK');
    }
    if (p === '/webhook/error' && ['POST', 'PATCH', 'PUT'].includes(req.method)) {
      note();
      res.end('OK');
      return s.resolve();
    }
    if (p === '/webhook' && ['POST', 'PATCH', 'PUT'].includes(req.method)) {
      note();
      const cd = req.headers['content-disposition'] ?? '';
      const fn = filename(cd) ?? crypto.randomUUID() + (/zip/.test(req.headers['content-type']) ? '.zip' : '.pdf');
      const dir = path.join(s.workdir, req.headers['gotenberg-trace'] ?? 'no-trace');
      fs.mkdirSync(dir, { recursive: true });
      fs.writeFileSync(path.join(dir, path.basename(fn)), body);
      res.end('OK');
      return s.resolve(cd ? undefined : new Error('no Content-Disposition header'));
    }
    let m;
    m = /^\/html\/(.*)$/.exec(p);
    if (m) {
      note();
      const f = path.join(root, m[1]);
      if (!fs.existsSync(f)) {
        res.statusCode = 500;
        return res.end('open file');
      }
      res.setHeader('content-type', 'text/html; charset=UTF-8');
      return res.end(fs.readFileSync(f));
    }
    m = /^\/static\/(.*)$/.exec(p);
    if (m) {
      note();
      let f = path.join(root, m[1]);
      if (p.includes('teststore')) f = path.join(s.workdir, req.headers['gotenberg-trace'] ?? '', path.basename(p));
      if (!fs.existsSync(f)) {
        res.statusCode = 404;
        return res.end();
      }
      res.setHeader('content-disposition', `attachment; filename="${path.basename(f)}"`);
      return res.end(fs.readFileSync(f));
    }
    if (p === '/redirect-to-private') {
      note();
      res.writeHead(302, { location: 'http://127.0.0.1:9999/redirected' });
      return res.end();
    }
    res.writeHead(404, { 'content-type': 'application/json' });
    res.end('{"message":"Not Found"}');
  });
  server.listen(port, '127.0.0.2');
  await once(server, 'listening');
  s.port = server.address().port;
  s.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return s;
}
function filename(cd) {
  let m = /filename\*=UTF-8''([^;]+)/i.exec(cd);
  if (m) return decodeURIComponent(m[1]);
  m = /filename="((?:[^"\\]|\\.)*)"/.exec(cd);
  if (m) return m[1].replace(/\\(.)/g, '$1');
  m = /filename=([^;]+)/.exec(cd);
  return m ? m[1].trim() : undefined;
}
const sh = (cmd, a) => {
  const r = spawnSync(cmd, a, { encoding: 'utf8', timeout: 60000 });
  return r.stdout + r.stderr;
};

// ---- which environment of the container has which counterpart here ----
function envOf(rows) {
  const e = Object.fromEntries((rows ?? []).map((r) => [r[0], r[1] ?? '']));
  if (e.API_ROOT_PATH) return { skip: 'API_ROOT_PATH: a setting of Gotenberg' };
  if (e.API_ENABLE_OIDC_AUTH) return { skip: 'OIDC: a setting of Gotenberg' };
  if (e.CHROMIUM_DISABLE_ROUTES) return { skip: 'CHROMIUM_DISABLE_ROUTES: a setting of Gotenberg' };
  if (e.CHROMIUM_DISABLE_JAVASCRIPT) return { skip: 'CHROMIUM_DISABLE_JAVASCRIPT: a setting of Gotenberg' };
  if (e.WEBHOOK_ENABLE_SYNC_MODE) return { skip: 'WEBHOOK_ENABLE_SYNC_MODE: a setting of Gotenberg' };
  if (Object.keys(e).some((k) => /^PROMETHEUS/.test(k))) return { skip: 'PROMETHEUS_*: a setting of Gotenberg' };
  if (e.TZ || e.GOTENBERG_BUILD_DEBUG_DATA) return { skip: 'setting of Gotenberg' };
  if (/file:/.test(e.CHROMIUM_ALLOW_LIST ?? '') || /file:|\^http/.test(e.CHROMIUM_DENY_LIST ?? ''))
    return { skip: 'CHROMIUM_ALLOW_LIST/DENY_LIST regular expressions: a setting of Gotenberg' };
  if (e.API_ENABLE_BASIC_AUTH) return { server: 'auth' };
  if (e.CHROMIUM_DENY_PRIVATE_IPS && !e.CHROMIUM_ALLOW_LIST) return { server: 'strict' };
  return { server: 'default' };
}
const REFUSED =
  /^(pdfa|pdfua|merge|splitMode|splitSpan|splitUnify|flatten|userPassword|ownerPassword|embeds|embedsMetadata|metadata|watermark.*|stamp.*|rotate.*|downloadFrom|bookmarks.*|allow[A-Z].*|facturx.*|facturX.*|optimize.*|image(Quality|Resolution).*|autoIndexBookmarks)$/;

class NA extends Error {}
// Differences that docs/coming-from.md says, and routes that the compatible API does not claim. A scenario that fails at one of these lines only is skipped, with the reason.
const DOCUMENTED = [
  [
    /^(root|debug|prometheus_metrics)$/,
    /./,
    'a route that the compatible API does not claim (/, /favicon.ico, /debug, /prometheus/metrics)',
  ],
  [/^health$/, /^GET \/health$/, 'documented: only Chromium is reported'],
  [/^version$/, /Basic Auth/, 'documented: /version without a key'],
  [/./, /\(Single Page\)/, 'documented: a single page has all of its content (there, page breaks stay)'],
  [
    /./,
    /localStorage leaks without clearing/,
    'here, storage never leaks (the scenario with CHROMIUM_CLEAR_STORAGE passes)',
  ],
  [
    /./,
    /Fail On Resource HTTP Status Codes/,
    'needs https://gethttpstatus.com, or /favicon.ico, which the browser here does not ask for',
  ],
  [/./, /Custom HTTP Headers/, 'documented: extraHttpHeaders with a scope, or for HTML, is refused'],
  [/^pdfengines_/, /\(Webhook\)/, 'documented: Gotenberg-Webhook-Url is refused for PDF engines'],
  [/^pdfengines_/, /Routes Disabled/, 'PDFENGINES_DISABLE_ROUTES: a setting of Gotenberg'],
  [/./, /Download From/, 'documented: downloadFrom is refused'],
];

function multipart(fields, files) {
  const b = `----ps${crypto.randomBytes(12).toString('hex')}`;
  const parts = [];
  for (const [n, v] of fields)
    parts.push(Buffer.from(`--${b}\r\nContent-Disposition: form-data; name="${n}"\r\n\r\n${v}\r\n`));
  for (const [n, f] of files) {
    const base = path.basename(f).replace(/\\/g, '\\\\').replace(/"/g, '\\"');
    parts.push(
      Buffer.from(
        `--${b}\r\nContent-Disposition: form-data; name="${n}"; filename="${base}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
      ),
      fs.readFileSync(f),
      Buffer.from('\r\n'),
    );
  }
  parts.push(Buffer.from(`--${b}--\r\n`));
  return { body: Buffer.concat(parts), type: `multipart/form-data; boundary=${b}` };
}
function request(method, url, headers, body) {
  return new Promise((res, rej) => {
    const u = new URL(url);
    const r = http.request(
      { host: u.hostname, port: u.port, path: u.pathname + u.search, method, headers, agent: false, timeout: 120000 },
      async (m) => {
        const c = [];
        for await (const x of m) c.push(x);
        res({ status: m.statusCode, headers: m.headers, body: Buffer.concat(c) });
      },
    );
    r.on('error', rej);
    r.on('timeout', () => r.destroy(new Error('timeout')));
    r.end(body);
  });
}
function cmp(exp, act, at = '') {
  if (exp === 'ignore') return;
  if (Array.isArray(exp)) {
    if (!Array.isArray(act) || act.length !== exp.length) throw new Error(`${at}: array`);
    for (const [i, e] of exp.entries()) cmp(e, act[i], `${at}/${i}`);
    return;
  }
  if (exp && typeof exp === 'object') {
    for (const k of Object.keys(exp)) {
      if (exp[k] === 'ignore') continue;
      if (!act || !(k in act)) throw new Error(`missing ${at}/${k}`);
      cmp(exp[k], act[k], `${at}/${k}`);
    }
    return;
  }
  if (exp !== act) throw new Error(`${at}: expected ${exp}, got ${act}`);
}

async function runScenario(sc, site, servers) {
  const w = { workdir: tempDir('ps-got-') };
  site.reset(w.workdir);
  const res = { file: sc.file, line: sc.line, name: sc.name, segments: [], status: 'passed' };
  let server = servers.default,
    seg = { request: '(before any request)', fails: [], na: [] };
  const dirFiles = () => {
    if (!w.store || !fs.existsSync(w.store)) throw new Error('no output directory');
    return fs.readdirSync(w.store);
  };
  const pdfs = () =>
    dirFiles()
      .filter((f) => /\.pdf$/i.test(f))
      .map((f) => path.join(w.store, f));
  const file = (name) => {
    if (name.startsWith('*_')) {
      const f = dirFiles().find((x) => x.includes(name.slice(2)));
      if (!f) throw new Error(`no file ${name}`);
      return path.join(w.store, f);
    }
    const f = path.join(w.workdir, w.trace ?? '', name);
    if (!fs.existsSync(f)) throw new Error(`file ${name} does not exist`);
    return f;
  };
  const hdr = (kind, n) =>
    kind === 'response'
      ? (w.resp.headers[n.toLowerCase()] ?? '')
      : site.req
        ? (site.req.headers[n.toLowerCase()] ?? '')
        : (() => {
            throw new Error(`no ${kind}`);
          })();
  const bodyOf = (kind) =>
    kind === 'response'
      ? w.resp.body
      : site.req
        ? site.body
        : (() => {
            throw new Error('no webhook request');
          })();
  const save = (r, dir) => {
    const fn = filename(r.headers['content-disposition'] ?? '');
    if (!fn) {
      if (r.headers['content-disposition']) throw new Error('no filename in Content-Disposition');
      return;
    }
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, path.basename(fn)), r.body);
    if (r.headers['content-type'] === 'application/zip')
      sh('unzip', ['-o', '-q', path.join(dir, path.basename(fn)), '-d', dir]);
  };
  const form = (table) => {
    const fields = [],
      files = [],
      headers = {};
    for (const [name, value, kind] of table) {
      if (kind === 'field')
        fields.push([
          name,
          ['downloadFrom', 'url', 'cookies'].includes(name) ? value.replaceAll('%d', site.port) : value,
        ]);
      else if (kind === 'file')
        files.push([
          name,
          value.includes('teststore') ? value.replace('teststore', w.store ?? 'none') : path.join(root, value),
        ]);
      else
        headers[name] = /^Gotenberg-Webhook-(Error-|Events-)?Url$/.test(name) ? value.replace('%d', site.port) : value;
    }
    return { fields, files, headers };
  };
  const ADAPT = { '/forms/pdfengines/flatten': '/forms/chromium/convert/html' };
  const post = async (endpoint, table) => {
    let ep = endpoint;
    const f = form(table);
    if (ADAPT[ep] && sc.file === 'webhook') {
      ep = ADAPT[ep];
      res.adapted = true;
      if (f.files.filter((x) => x[0] === 'files').length > 1) throw new NA('several output files: PDF engines only');
      f.files = [['files', path.join(root, 'testdata/page-1-html/index.html')]];
    } else if (/^\/forms\/(libreoffice|pdfengines\/(optimize|watermark|stamp|factur-x))/.test(ep))
      throw new NA('passed to an upstream Gotenberg');
    const { body, type } = multipart(f.fields, f.files);
    const r = await request(
      'POST',
      server.base + ep,
      { ...f.headers, 'content-type': type, 'content-length': body.length },
      body,
    );
    r.f = f;
    return r;
  };
  const T = [
    [
      /^I have a default Gotenberg container$/,
      () => {
        server = servers.default;
      },
    ],
    [
      /^I have a Gotenberg container with the following environment variable\(s\):$/,
      () => {
        server = servers[envOf(cur.table).server];
      },
    ],
    [
      /^I have a (webhook|static) server$/,
      () => {
        site.reset(w.workdir);
      },
    ],
    [
      /^I make a "(GET|HEAD)" request to Gotenberg at the "([^"]*)" endpoint(?: with the following header\(s\):)?$/,
      async (m, ep) => {
        w.resp = await request(m, server.base + ep, Object.fromEntries((cur.table ?? []).map((r) => [r[0], r[1]])));
      },
    ],
    [
      /^I make a "POST" request to Gotenberg at the "([^"]*)" endpoint with the following form data and header\(s\):$/,
      async (ep) => {
        const r = await post(ep, cur.table);
        w.resp = r;
        w.trace = r.headers['gotenberg-trace'] ?? '';
        w.store = path.join(w.workdir, w.trace);
        if (r.status === 200) save(r, w.store);
      },
    ],
    [
      /^I make (\d+) concurrent "POST" requests to Gotenberg at the "([^"]*)" endpoint with the following form data and header\(s\):$/,
      async (n, ep) => {
        w.many = await Promise.all(
          Array.from({ length: +n }, async () => {
            const r = await post(ep, cur.table);
            if (r.status === 200) save(r, path.join(w.workdir, r.headers['gotenberg-trace'] ?? ''));
            return r;
          }),
        );
      },
    ],
    [
      /^all concurrent response status codes should be (\d+)$/,
      (n) => {
        for (const r of w.many)
          if (r.status !== +n) throw new Error(`got ${r.status} ${r.body.toString().slice(0, 200)}`);
      },
    ],
    [
      /^all concurrent responses should have (\d+) PDF\(s\)$/,
      (n) => {
        const t = new Set(w.many.map((r) => r.headers['gotenberg-trace']));
        if (t.size !== w.many.length) throw new Error('traces not distinct');
        for (const r of w.many) {
          const c = fs
            .readdirSync(path.join(w.workdir, r.headers['gotenberg-trace']))
            .filter((f) => /\.pdf$/.test(f)).length;
          if (c !== +n) throw new Error(`${c} PDFs`);
        }
      },
    ],
    [
      /^I wait for the asynchronous request to the webhook$/,
      async () => {
        const e = await Promise.race([site.done, sleep(40000).then(() => new Error('no webhook in 40 s'))]);
        if (e) throw e;
        await sleep(50);
      },
    ],
    [
      /^the Gotenberg container (should|should NOT) log the following entries:$/,
      async (should) => {
        const row = cur.table.map((r) => r[0]).find((x) => /correlation_id/.test(x));
        if (!row) throw new NA('log entries of Gotenberg');
        const id = /"correlation_id":"(.*)"/.exec(row)[1];
        for (let i = 0; i < 6 && should === 'should' && !server.log().includes(id); i++) await sleep(300);
        if (should === 'should' && !server.log().includes(id))
          throw new NA(`log line with the trace ${id}: not in stillframe's log`);
      },
    ],
    [
      /^the response status code should be (\d+)$/,
      (n) => {
        if (w.resp.status !== +n)
          throw new Error(`status ${w.resp.status}, expected ${n}: ${w.resp.body.toString('utf8').slice(0, 500)}`);
      },
    ],
    [
      /^the (response|webhook request|file request|server request) header "([^"]*)" should be "([^"]*)"$/,
      (k, n, v) => {
        const a = hdr(k, n);
        if (a.toLowerCase() !== v.toLowerCase()) throw new Error(`${k} header ${n}: expected "${v}", got "${a}"`);
      },
    ],
    [
      /^the webhook request header "([^"]*)" should carry trace id "([^"]*)"$/,
      (n, v) => {
        const a = hdr('webhook request', n);
        if (a.split('-')[1] !== v) throw new Error(`webhook header ${n}: "${a}" does not carry ${v}`);
      },
    ],
    [
      /^the (response|webhook request|file request|server request) cookie "([^"]*)" should be "([^"]*)"$/,
      (k, n, v) => {
        const c = Object.fromEntries(
          hdr(k, 'cookie')
            .split(/;\s*/)
            .filter(Boolean)
            .map((x) => [x.slice(0, x.indexOf('=')), x.slice(x.indexOf('=') + 1)]),
        );
        if ((c[n] ?? '') !== v) throw new Error(`cookie ${n}: expected "${v}", got "${c[n] ?? ''}"`);
      },
    ],
    [
      /^the (response|webhook request) body should match string:$/,
      (k) => {
        const a = bodyOf(k).toString();
        if (cur.doc === '{version}' ? !/^\d+\.\d+/.test(a) : a !== cur.doc)
          throw Object.assign(
            new Error(`body: expected ${JSON.stringify(cur.doc)}, got ${JSON.stringify(a.slice(0, 1200))}`),
            {
              text: true,
            },
          );
      },
    ],
    [
      /^the (response|webhook request) body should contain string:$/,
      (k) => {
        const a = bodyOf(k).toString();
        if (!a.includes(cur.doc))
          throw Object.assign(
            new Error(`body: expected to contain ${JSON.stringify(cur.doc)}, got ${JSON.stringify(a.slice(0, 1200))}`),
            {
              text: true,
            },
          );
      },
    ],
    [
      /^the (response|webhook request) body should match JSON:$/,
      (k) => {
        cmp(JSON.parse(cur.doc.replaceAll('{version}', 'ignore')), JSON.parse(bodyOf(k).toString()));
      },
    ],
    [
      /^the webhook event should match JSON:$/,
      async () => {
        for (let i = 0; i < 50 && !site.event; i++) await sleep(100);
        if (!site.event) throw new Error('no webhook event');
        cmp(JSON.parse(cur.doc), JSON.parse(site.event));
      },
    ],
    [
      /^there should be (\d+) PDF\(s\) in the (response|webhook request)$/,
      (n) => {
        if (pdfs().length !== +n) throw new Error(`${pdfs().length} PDFs, expected ${n}`);
      },
    ],
    [
      /^there should be the following file\(s\) in the (response|webhook request):$/,
      () => {
        const have = dirFiles();
        for (const [e] of cur.table)
          if (!have.some((f) => (e.startsWith('*_') && f.includes(e.slice(2))) || f.toLowerCase() === e.toLowerCase()))
            throw new Error(`file ${e} not among ${have}`);
      },
    ],
    [
      /^the (?:response|webhook request) PDF\(s\) should be valid/,
      () => {
        throw new NA('verapdf is not here');
      },
    ],
    [
      /^the (?:response|webhook request) PDF\(s\) (should|should NOT) be flatten$/,
      () => {
        throw new NA('verapdf is not here');
      },
    ],
    [
      /^the (?:response|webhook request) PDF\(s\) (should|should NOT) be encrypted/,
      (s) => {
        for (const p of pdfs()) {
          const e = /Incorrect password/.test(sh('pdfinfo', [p]));
          if (e !== (s === 'should')) throw new Error(`encrypted: ${e}`);
        }
      },
    ],
    [
      /^the (?:response|webhook request) PDF\(s\) (should|should NOT) allow "([^"]*)"$/,
      () => {
        throw new NA('permissions');
      },
    ],
    [
      /^the (?:response|webhook request) PDF\(s\) (should|should NOT) have the "([^"]*)" file embedded$/,
      (s, n) => {
        for (const p of pdfs()) {
          const e = sh('pdfdetach', ['-list', p]).includes(n);
          if (e !== (s === 'should')) throw new Error(`embedded ${n}: ${e}`);
        }
      },
    ],
    [
      /^the (?:response|webhook request) PDF\(s\) should (have the .* with relationship|declare Factur-X)/,
      () => {
        throw new NA('verapdf is not here');
      },
    ],
    [
      /^the "([^"]*)" PDF should have (\d+) page\(s\)$/,
      (n, p) => {
        const a = /Pages:\s+(\d+)/.exec(sh('pdfinfo', [file(n)]))?.[1];
        if (a !== p) throw new Error(`${a} pages, expected ${p}`);
      },
    ],
    [
      /^the "([^"]*)" PDF (should|should NOT) be set to landscape orientation$/,
      (n, s) => {
        const m = /Page size:\s+([\d.]+) x ([\d.]+)/.exec(sh('pdfinfo', [file(n)]));
        const [x, y] = [+m[1], +m[2]];
        if (s === 'should' ? x < y : y < x) throw new Error(`page is ${x} x ${y}`);
      },
    ],
    [
      /^the "([^"]*)" PDF (should|should NOT) have a document outline$/,
      (n, s) => {
        const has =
          /"\/Outlines"|\/Outlines /.test(sh('qpdf', ['--json', '--json-key=qpdf', file(n)])) &&
          JSON.parse(spawnSync('qpdf', ['--json', '--json-key=outlines', file(n)], { encoding: 'utf8' }).stdout)
            .outlines.length > 0;
        if (has !== (s === 'should')) throw new Error(`outline: ${has}`);
      },
    ],
    [
      /^the "([^"]*)" PDF (should|should NOT) have the following content at page (\d+):$/,
      (n, s, p) => {
        const t = sh('pdftotext', ['-f', p, '-l', p, file(n), '-']);
        if (t.includes(cur.doc) !== (s === 'should'))
          throw new Error(`page ${p} ${s} have ${JSON.stringify(cur.doc)}; text is ${JSON.stringify(t.slice(0, 700))}`);
      },
    ],
    [
      /^the "([^"]*)" PDF (should|should NOT) have content matching "([^"]*)" at page (\d+)$/,
      (n, s, re, p) => {
        const t = sh('pdftotext', ['-f', p, '-l', p, file(n), '-']);
        if (new RegExp(re).test(t) !== (s === 'should'))
          throw new Error(`page ${p} ${s} match ${re}; text is ${JSON.stringify(t.slice(0, 700))}`);
      },
    ],
    [
      /^the "([^"]*)" PDF should have (\d+) image\(s\)$/,
      (n, c) => {
        const l = sh('pdfimages', ['-list', file(n)])
          .trim()
          .split('\n');
        const a = Math.max(0, l.length - 2);
        if (a !== +c) throw new Error(`${a} images, expected ${c}`);
      },
    ],
    [
      /^the "([^"]*)" image should be (\d+)x(\d+) pixels$/,
      async (n, x, y) => {
        const m = await sharp(file(n)).metadata();
        if (m.width !== +x || m.height !== +y) throw new Error(`${m.width}x${m.height}, expected ${x}x${y}`);
      },
    ],
    [
      /^the "([^"]*)" image pixel at (\d+),(\d+) should be "([^"]*)"$/,
      async (n, x, y, c) => {
        const { data, info } = await sharp(file(n)).removeAlpha().raw().toBuffer({ resolveWithObject: true });
        const o = (+y * info.width + +x) * info.channels;
        const g = `#${data.subarray(o, o + 3).toString('hex')}`;
        if (g !== c.toLowerCase()) throw new Error(`pixel ${g}, expected ${c}`);
      },
    ],
    [
      /^the "([^"]*)" file size should be (less|greater) than (\d+) KB$/,
      (n, c, k) => {
        const s = fs.statSync(file(n)).size;
        if (c === 'less' ? s >= k * 1024 : s <= k * 1024) throw new Error(`${s} bytes, expected ${c} than ${k} KB`);
      },
    ],
  ];
  let cur;
  const skip = sc.steps
    .filter((s) => /environment variable/.test(s.text))
    .map((s) => envOf(s.table).skip)
    .find(Boolean);
  if (skip) {
    res.status = 'skipped';
    res.why = skip;
    return res;
  }
  for (cur of sc.steps) {
    const t = T.find(([re]) => re.test(cur.text));
    if (/^I make /.test(cur.text)) {
      seg = { line: cur.line, request: cur.text, table: cur.table, fails: [], na: [] };
      res.segments.push(seg);
    }
    if (!t) {
      seg.na.push(`no definition: ${cur.text}`);
      continue;
    }
    if (seg.stop) {
      continue;
    }
    try {
      await t[1](...t[0].exec(cur.text).slice(1));
    } catch (e) {
      if (e instanceof NA) {
        seg.na.push(e.message);
        if (/^I make /.test(cur.text)) seg.stop = 'na';
      } else {
        seg.fails.push({ line: cur.line, step: cur.text, error: e.message, text: e.text });
        if (/^I make /.test(cur.text)) seg.stop = 'error';
      }
    }
    if (/status code should be/.test(cur.text) && seg.fails.length) {
      const body = w.resp?.body?.toString('utf8') ?? '';
      const names = (seg.table ?? []).map((r) => r[0]);
      const bad = names.filter((n) => REFUSED.test(n) || n === 'Gotenberg-Webhook-Events-Url');
      if (w.resp?.status === 400 && bad.some((n) => body.includes(n))) {
        seg.refused = `${bad.filter((n) => body.includes(n))}: ${body.slice(0, 160)}`;
        seg.stop = 'refused';
      }
    }
  }
  for (const g of res.segments)
    g.status = g.refused
      ? 'refused'
      : g.stop === 'na'
        ? 'na'
        : !g.fails.length
          ? 'passed'
          : g.fails.every((f) => f.text)
            ? 'text'
            : 'failed';
  const st = res.segments.map((g) => g.status);
  res.status = st.includes('failed')
    ? 'failed'
    : st.includes('text')
      ? 'text'
      : st.includes('refused')
        ? 'refused'
        : st.every((x) => x === 'na')
          ? 'skipped'
          : 'passed';
  if (res.status === 'failed' || res.status === 'text') {
    const d = DOCUMENTED.find(([f, n]) => f.test(sc.file) && n.test(sc.name));
    if (d) {
      res.status = 'differs';
      res.why = d[2];
    }
  }
  if (res.status === 'refused') res.why = res.segments.find((g) => g.refused).refused;
  if (res.status === 'skipped') res.why = res.segments.find((g) => g.na.length)?.na[0];
  fs.rmSync(w.workdir, { recursive: true, force: true });
  return res;
}

// ---- main ----
const scenarios = fs
  .readdirSync(path.join(root, 'features'))
  .filter((f) => featRe.test(f.replace('.feature', '')))
  .flatMap((f) => parse(path.join(root, 'features', f)))
  .filter((s) => only.test(`${s.file}:${s.name}:${s.line}`));
const dns = await startDns((n) => (n === 'host.docker.internal' ? ['127.0.0.2'] : undefined));
const sites = [];
for (let i = 0; i < WORKERS; i++) sites.push(await startSite(0));
const common = {
  STILLFRAME_COMPATIBLE_APIS: 'gotenberg',
  STILLFRAME_DNS_SERVERS: `127.0.0.1:${dns.port}`,
  STILLFRAME_WEBHOOK_ALLOW: sites.map((s) => `http://host.docker.internal:${s.port}`).join(','),
};
const servers = {
  default: await startProduct({ env: { ...common, STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2,host.docker.internal' } }),
  auth: await startProduct({
    env: { ...common, STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2,host.docker.internal' },
    compatibleApisKey: false,
  }),
  strict: await startProduct({ env: common }),
};
console.log(`${scenarios.length} scenarios; server ${servers.default.base}`);
const results = [];
const queue = [...scenarios];
const t0 = Date.now();
await Promise.all(
  sites.map(async (site) => {
    for (let sc = queue.shift(); sc !== undefined && Date.now() - t0 < 45 * 60e3; sc = queue.shift()) {
      const s0 = Date.now();
      let r;
      try {
        r = await runScenario(sc, site, servers);
      } catch (e) {
        r = {
          file: sc.file,
          line: sc.line,
          name: sc.name,
          status: 'failed',
          segments: [{ status: 'failed', fails: [{ error: `runner: ${e.stack}` }] }],
        };
      }
      r.ms = Date.now() - s0;
      results.push(r);
      console.log(
        `${r.status.padEnd(8)} ${r.file}:${r.line} ${r.name}${r.why ? `  [${r.why.slice(0, 120)}]` : ''} ${r.ms} ms`,
      );
      for (const g of r.segments ?? [])
        if (g.status === 'failed' || g.status === 'text')
          for (const f of g.fails)
            console.log(`    ${g.status} L${f.line ?? ''} ${f.step ?? ''} -> ${f.error.slice(0, 900)}`);
    }
  }),
);
for (const s of Object.values(servers)) await s.stop();
for (const s of sites) s.close();
dns.close();
results.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
if (out !== '') fs.writeFileSync(out, JSON.stringify(results, null, 1));
const n = (s) => results.filter((r) => r.status === s).length;
console.log(
  `refused as documented: ${n('refused')}; other error text only: ${n('text')}; documented differences and unclaimed routes: ${n('differs')}; not applicable: ${n('skipped')}`,
);
console.log(
  `${n('passed')} passed, ${n('failed') + n('text')} failed, ${n('skipped') + n('refused') + n('differs')} skipped`,
);
