/**
 * Trial "heaviest": the largest legal body of every endpoint, one after the other and four at once, beside a meter of the server's event
 * loop. No turn of the loop takes longer than 50 ms, and no work is left 1 s after the client of a request or its capture has gone.
 *
 * Sabotage that turns it red: let `readLargeJson` of http/large-json call readRequestJson for every body, or `encodeAside` of
 * render/encode/encode call encodeStrips for every picture.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { COMPATIBLE_APIS } from '../../src/contract/compatible-apis.js';
import { ROUTES } from '../../src/http/app.js';
import { compatibleRoutes } from '../../src/http/compatible-apis/routes.js';
import { PLACES } from '../../src/http/console/console.js';
import { sharp } from '../../src/sharp.js';
import { buildProgram } from '../fixtures/build-program.js';
import { interlacedPng, progressiveJpeg, textBomb } from '../fixtures/hostile-pictures.js';
import { rawPdf } from '../pdf/raw-pdf.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';
import { type TrialResult, tally, until } from './trial-result.js';

const TURN_MAX_MS = 50;
const LEFT_AFTER_MS = 1_000;
/** The share of one processor that a server without work may take. */
const REST_SHARE = 0.4;
const ANSWER_MS = 240_000;
const BODY_BYTES = 262_144;

/** A request that is as large as it may be. */
interface Heavy {
  told: string;
  path?: string;
  headers?: Record<string, string>;
  /** Made for each request, since some can be sent once only. */
  body?(): string | Uint8Array | FormData;
}

/**
 * @param onlyShort leaves out captures that take long, and sends nothing at once
 * @param only a regular expression that the told names match
 */
export async function run({
  onlyShort = 0,
  only = '',
}: {
  onlyShort?: number | string;
  only?: number | string;
}): Promise<TrialResult> {
  using dir = aTrialDir();
  await using meter = await buildProgram(new URL('loop-meter.ts', import.meta.url));
  const turns = join(dir.dataDir, 'turns');
  writeFileSync(turns, '');
  const env = { STILLFRAME_COMPATIBLE_APIS: COMPATIBLE_APIS.join(), STILLFRAME_CONSOLE: 'loopback', LOOP_METER: turns };
  await using server = startServerProcess({ ...dir, preload: meter.file, env });
  const door = await server.door();
  const problems: string[] = [];
  const statuses: string[] = [];
  const slow = new Map<string, number>();
  let visitor = await signIn(door.url, dir.dataDir);
  const isShort = Boolean(onlyShort);
  const made = await heaviest(isShort);

  /** Batches that have been sent: rendering all of their captures would take an hour. */
  const batches: { body: string; headers: Record<string, string> }[] = [];
  const cancelBatches = async () => {
    const url = `${door.url}/v1/batches`;
    for (const { body, headers } of batches.splice(0)) {
      // A request whose client has gone may have been accepted: its repetition returns the batch.
      const answer = await fetch(url, { method: 'POST', body, headers });
      const { data } = (await answer.json()) as { data?: { id: string } };
      if (data !== undefined) await fetch(`${url}/${data.id}`, { method: 'DELETE', headers });
    }
  };
  const send = async (route: Endpoint, heavy: Heavy, signal = AbortSignal.timeout(ANSWER_MS)): Promise<number> => {
    const isConsole = route.path.startsWith('/console');
    const type = route.path.startsWith('/console') ? 'application/x-www-form-urlencoded' : 'application/json';
    const given = heavy.body?.();
    const body = isConsole && given !== undefined ? `token=${visitor.token}&${String(given)}` : given;
    const headers = {
      ...(isConsole
        ? { cookie: visitor.cookie, origin: door.url, 'sec-fetch-site': 'same-origin' }
        : { authorization: `Bearer ${door.key}` }),
      ...(body instanceof FormData ? {} : { 'content-type': type }),
      ...heavy.headers,
      ...(route.path === '/v1/batches' ? { 'idempotency-key': randomUUID() } : {}),
    };
    if (route.path === '/v1/batches') batches.push({ body: String(body), headers: headers as Record<string, string> });
    const init = {
      method: route.method,
      headers,
      signal,
      redirect: 'manual' as const,
      ...(body === undefined ? {} : { body: body as BodyInit }),
    };
    const answer = await fetch(`${door.url}${heavy.path ?? route.path}`, init);
    await answer.arrayBuffer();
    return answer.status;
  };
  const judge = async (told: string, work: () => Promise<number[]>) => {
    let longest = await measure(told, work);
    // What a body causes happens each time; a collection of garbage does not.
    for (let again = 0; again < 2 && longest > TURN_MAX_MS; again++)
      longest = Math.min(longest, await measure(told, work));
    slow.set(told, longest);
    if (longest > TURN_MAX_MS) problems.push(`${told}: a turn of ${longest} ms`);
  };
  const measure = async (told: string, work: () => Promise<number[]>) => {
    const from = readFileSync(turns, 'utf8').length;
    const answers = await work().catch((error: Error) => {
      if (error.name !== 'AbortError') problems.push(`${told}: no answer: ${error.message}`);
      return [];
    });
    statuses.push(...answers.map(String));
    if (answers.some((status) => status >= 500 && status !== 503 && status !== 504))
      problems.push(`${told}: ${answers.join()}`);
    await cancelBatches();
    await until(async () => (await queueOf(door)) === 0, ANSWER_MS, 50);
    const share =
      isShort && !told.includes('/v1/') ? 0 : await pause(LEFT_AFTER_MS).then(() => shareOfProcessor(server.pid));
    if (share > REST_SHARE)
      problems.push(`${told}: ${Math.round(share * 100)} % of a processor ${LEFT_AFTER_MS} ms after its end`);
    const longest = Math.max(
      0,
      ...readFileSync(turns, 'utf8')
        .slice(from)
        .split('\n')
        .map((line) => Number(line.split(' ')[1] ?? 0)),
    );
    if (process.env.HEAVIEST_LOG !== undefined)
      appendFileSync(process.env.HEAVIEST_LOG, `${told}: ${answers.join()} ${longest} ms, ${share.toFixed(2)}\n`);
    return longest;
  };

  for (const endpoint of endpoints()) {
    const bodies = heavyOf(endpoint, made);
    if (bodies === null) problems.push(`${nameOf(endpoint)} has no heaviest body`);
    for (const heavy of bodies ?? []) {
      const told = `${nameOf(endpoint)}, ${heavy.told}`;
      if (!new RegExp(String(only)).test(told)) continue;
      // A form may have ended the session.
      if (endpoint.path.startsWith('/console')) visitor = await signIn(door.url, dir.dataDir);
      await judge(told, async () => [await send(endpoint, heavy)]);
      if (isShort || endpoint.method === 'GET') continue;
      await judge(`${told}, four at once`, () => Promise.all([1, 2, 3, 4].map(() => send(endpoint, heavy))));
      await judge(`${told}, given up`, async () => [
        await send(endpoint, heavy, AbortSignal.timeout(300)).catch(() => 0),
      ]);
    }
  }
  const longest = [...slow].sort(([, a], [, b]) => b - a).slice(0, 3);
  return {
    figures: {
      requests: slow.size,
      answers: tally(statuses.sort()),
      longest_turns: longest.map(([told, ms]) => `${told} ${ms} ms`).join('; '),
    },
    problems,
  };
}

export interface Endpoint {
  method: string;
  path: string;
}

const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;

/** All endpoints of a server that serves everything. */
export function endpoints(): Endpoint[] {
  const console = Object.entries(PLACES).flatMap(([path, steps]) =>
    Object.keys(steps).map((method) => ({ method, path: `/console/${path}` })),
  );
  return [...ROUTES, ...compatibleRoutes(COMPATIBLE_APIS), ...console];
}

type Bodies = Record<string, Heavy[]>;

/** A GET has nothing but its query; a POST must be in the table. */
function heavyOf(endpoint: Endpoint, made: Bodies): Heavy[] | null {
  const { method, path } = endpoint;
  const known = path.replace(/^\/(chromium|chrome)(?=\/)/, '').replace(/(.)\/$/, '$1');
  const here = path
    .replace(/:(\w+)/g, (_, name: string) => (name === 'id' ? `job_${'0'.repeat(26)}` : 'x'.repeat(60)))
    .replace('*', 'x');
  if (method === 'GET') return [{ told: 'a long query', path: `${here}?${'a=%20&'.repeat(1_500)}` }];
  // Of equal routes, the first stands for all.
  if (known !== path && made[known] !== undefined) return [];
  return (
    (made[known] ?? (path.startsWith('/console/') ? made['/console'] : undefined))?.map((heavy) => ({
      ...heavy,
      path: here,
    })) ?? null
  );
}

const NOISE = `<!doctype html><body style="margin:0"><canvas id=c></canvas><script>
const [w, h] = [innerWidth, Number(location.hash.slice(1)) || innerHeight]; c.width = w; c.height = h; c.style.display = 'block';
const context = c.getContext('2d'); const image = context.createImageData(w, h); let seed = 1;
const paint = () => { const words = new Uint32Array(image.data.buffer); for (let i = 0; i < words.length; i++) { seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5; words[i] = seed | 0xff000000; } context.putImageData(image, 0, 0); };
paint(); if (ANIMATED) setInterval(paint, 20);
</script>`;
const noise = (isAnimated: boolean) => NOISE.replace('ANIMATED', String(isAnimated));
const WATCH_PATHS = ['', '/run', '/unsubscribe', '/runs/:run/approve', '/runs/:run/redeliver'];
const LARGE_VIEW = { width: 3_000, height: 2_160, deviceScaleFactor: 1 };

async function heaviest(isShort: boolean): Promise<Bodies> {
  const json = (value: unknown) => () => JSON.stringify(value);
  const filled = (head: string, unit: string, tail: string, bytes: number) => () =>
    head + unit.repeat(Math.floor((bytes - head.length - tail.length) / unit.length)) + tail;
  const palette = {
    colors: Array.from({ length: 256 }, (_, at) => `#${((at * 65_537 * 31) & 0xffffff).toString(16).padStart(6, '0')}`),
  };
  const capture = (fields: object) => json({ cache_ttl: 0, viewport: LARGE_VIEW, html: noise(false), ...fields });
  const small = {
    told: 'the largest body of a capture',
    body: filled('{"html":"', '<p>\\u0061&amp; ', '"}', BODY_BYTES),
  };
  const values = {
    told: 'as many values as possible',
    body: filled('{"html":"<p>a","block_requests":["a', '","a', '"]}', 10_000),
  };
  const captures: Heavy[] = [
    { told: 'a palette of 256 colors for noise', body: capture({ format: 'png', palette }) },
    { told: 'a bmp of noise', body: capture({ format: 'bmp', rotate: 90 }) },
    {
      told: 'noise of the largest view as png',
      body: capture({ format: 'png', viewport: { ...LARGE_VIEW, width: 3_840, deviceScaleFactor: 2 } }),
    },
    {
      told: 'animated noise',
      body: capture({ format: 'webp', html: noise(true), animate: { duration: 5_000, fps: 20 } }),
    },
    { told: 'a page with the most files', body: () => filesForm() },
  ];
  const raw = Buffer.alloc(1_630 * 1_630 * 3);
  for (let at = 0, seed = 7; at < raw.length; at++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    raw[at] = seed >>> 24;
  }
  const noisy = await sharp(raw, { raw: { width: 1_630, height: 1_630, channels: 3 } })
    .png()
    .toBuffer();
  const tiny = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const side = isShort ? 2_000 : 7_000;
  const pictures = {
    interlaced: interlacedPng(side),
    scans: progressiveJpeg(side, 100),
    bomb: textBomb(tiny, isShort ? 50 : 800),
    noisy,
  };
  const given = (before: Buffer, after: Buffer, picture = 'side_by_side') =>
    json({ before: before.toString('base64'), after: after.toString('base64'), picture, threshold: 0 });
  const comparisons: Heavy[] = [
    { told: 'noise', body: given(noisy, await sharp(noisy).negate().jpeg({ quality: 100 }).toBuffer()) },
    { told: 'the most pixels', body: given(pictures.interlaced, pictures.scans) },
    { told: 'texts of 7 MB', body: given(pictures.bomb, tiny) },
    { told: 'escapes', body: filled('{"before":"', 'a\\n', '","after":"a"}', 21_900_000) },
    { told: 'no picture', body: filled('{"before":"', 'a!', '","after":"a"}', 21_900_000) },
  ];
  const bodyBytes = isShort ? 20_000_000 : 49_900_000;
  const html: Heavy[] = [
    { told: 'HTML of 50 MB', body: filled('{"html":"<p>', 'word ', '"}', bodyBytes) },
    { told: 'HTML of 50 MB in escapes', body: filled('{"html":"<p>', '\\u0061\\n', '"}', bodyBytes) },
    { told: 'a field of 50 MB that there is not', body: filled('{"none":"', 'a\\n', '"}', bodyBytes) },
  ];
  const form =
    (files: Record<string, string>, fields: Record<string, string> = {}) =>
    () => {
      const data = new FormData();
      for (const [name, value] of Object.entries(fields)) data.append(name, value);
      for (const [name, content] of Object.entries(files)) data.append('files', new Blob([content]), name);
      return data;
    };
  const headers = JSON.stringify(Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`x-${at}`, 'a'])));
  const cookies = JSON.stringify(
    Array.from({ length: 4_000 }, (_, at) => ({ name: `n${at}`, value: 'a', domain: 'a.example' })),
  );
  const markdown = { 'index.html': '{{ toHTML "a.md" }}', 'a.md': '*a **b '.repeat(149_000) };
  const gotenberg = (files: Record<string, string>, fields: Record<string, string> = {}): Heavy[] => [
    { told: 'the largest form', body: form(files, fields) },
    { told: 'thousands of headers', body: form(files, { ...fields, extraHttpHeaders: headers }) },
    { told: 'thousands of cookies', body: form(files, { ...fields, cookies }) },
  ];
  const page = { 'index.html': `<p>${'word '.repeat(isShort ? 100_000 : 9_000_000)}` };
  const target = { url: 'http://127.0.0.2:9/' };
  const plain = { told: 'a body of 256 KiB', body: filled('{"a":"', 'a', '"}', BODY_BYTES) };
  const pages = manyPages(isShort ? 200 : 4_900);
  const pdfForm = (fields: Record<string, string>, pdf: Buffer) => () => {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields)) data.append(name, value);
    data.append('files', new Blob([new Uint8Array(pdf)]), 'a.pdf');
    return data;
  };
  const templateForm = (page: string) => () => {
    const data = new FormData();
    data.append('files', new Blob([page]), 'index.html');
    data.append('files', new Blob([randomBytes(9_900_000)]), 'font.woff2');
    return data;
  };
  const long = isShort ? captures.slice(0, 1) : captures;
  return {
    '/v1/screenshot': [small, values, ...long],
    '/v1/compare': comparisons,
    '/v1/batches': [
      {
        told: 'a thousand captures',
        body: () =>
          JSON.stringify({
            requests: Array.from({ length: 1_000 }, (_, at) => ({ html: `<p>${'word '.repeat(800)}${at}` })),
          }),
      },
    ],
    ...Object.fromEntries(
      [
        '/v1/jobs/:id',
        '/v1/batches/:id',
        '/v1/jobs/:id/webhook/redeliver',
        '/v1/watches',
        ...WATCH_PATHS.map((path) => `/v1/watches/:id${path}`),
      ].map((path) => [path, [plain]]),
    ),
    '/mcp': [
      {
        told: 'the largest message',
        headers: { accept: 'application/json, text/event-stream' },
        body: filled(
          '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"capture_page","arguments":{"url":"',
          '\\n',
          '"}}}',
          BODY_BYTES,
        ),
      },
    ],
    ...Object.fromEntries(['/screenshot', '/pdf', '/content'].map((path) => [path, html])),
    ...Object.fromEntries(['/function', '/download', '/scrape', '/performance'].map((path) => [path, [plain]])),
    ...Object.fromEntries(
      ['convert', 'screenshot'].flatMap((output) => [
        [`/forms/chromium/${output}/url`, gotenberg({}, target)],
        [`/forms/chromium/${output}/html`, gotenberg(page)],
        [`/forms/chromium/${output}/markdown`, gotenberg(markdown)],
      ]),
    ),
    '/forms/*': [{ told: 'the largest form', body: form(page) }],
    '/v1/templates/:name': [
      { told: 'the largest template', body: templateForm('<h1>a</h1>') },
      { told: 'a template that is a bomb', body: templateForm('{% for i in (1..99999) %}{{ i }}{% endfor %}') },
    ],
    '/v1/pdf': [
      { told: 'a PDF of thousands of pages', body: pdfForm({ request: '{"flatten":true}' }, pages) },
      { told: 'a damaged PDF', body: pdfForm({ request: '{"merge":true}' }, pages.subarray(9, -99)) },
    ],
    ...Object.fromEntries(
      Object.entries(ENGINE_FIELDS).map(([path, fields]) => [
        `/forms/pdfengines/${path}`,
        [{ told: 'a PDF of thousands of pages', body: pdfForm(fields, pages) }],
      ]),
    ),
    '/console': [
      { told: 'the largest form', body: filled('url=', '%0A', '', 990_000) },
      { told: 'the most fields', body: filled('a=', '%20&a=', '', 5_900) },
    ],
  };
}

/** Gotenberg's routes for PDFs that are given, and fields of theirs. */
const ENGINE_FIELDS: Record<string, Record<string, string>> = {
  merge: {},
  split: { splitMode: 'intervals', splitSpan: '100' },
  flatten: {},
  convert: { pdfa: 'PDF/A-2b' },
  encrypt: { userPassword: 'a' },
  embed: {},
  rotate: { rotateAngle: '90' },
  'metadata/read': {},
  'metadata/write': { metadata: '{"Author":"a"}' },
  'bookmarks/read': {},
  'bookmarks/write': { bookmarks: '[]' },
};

function manyPages(count: number): Buffer {
  const numbers = Array.from({ length: count }, (_, at) => at + 3);
  const page = '<</Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Resources <<>>>>';
  return rawPdf({
    1: '<</Type /Catalog /Pages 2 0 R>>',
    2: `<</Type /Pages /Count ${count} /Kids [${numbers.map((number) => `${number} 0 R`).join(' ')}]>>`,
    ...Object.fromEntries(numbers.map((number) => [number, page])),
  });
}

function filesForm(): FormData {
  const data = new FormData();
  data.append('request', JSON.stringify({ cache_ttl: 0, viewport: LARGE_VIEW }));
  data.append('files', new Blob(['<p>a']), 'index.html');
  for (let at = 0; at < 199; at++) data.append('files', new Blob(['a'.repeat(250_000)]), `file-${at}.css`);
  return data;
}

/** A session of the console. */
export async function signIn(url: string, dataDir: string): Promise<{ cookie: string; token: string }> {
  const port = new URL(url).port;
  const { out } = await runCommand(['console', '--json', '--port', port, '--data-dir', dataDir]);
  const link = new URL(String((JSON.parse(out) as { url: string }).url));
  const headers = { origin: url, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
  const body = `link=${link.searchParams.get('token')}`;
  const entered = await fetch(`${url}/console/enter`, { method: 'POST', headers, body, redirect: 'manual' });
  const cookie = String(entered.headers.get('set-cookie')).split(';')[0] ?? '';
  const page = await (await fetch(`${url}/console/system`, { headers: { cookie } })).text();
  return { cookie, token: /name="token" value="([^"]+)"/.exec(page)?.[1] ?? '' };
}

async function queueOf({ url, key }: { url: string; key: string }): Promise<number> {
  const answer = await fetch(`${url}/v1/health`, { headers: { authorization: `Bearer ${key}` } });
  return ((await answer.json()) as { data: { queue: { total_pending: number } } }).data.queue.total_pending;
}

const TICKS_PER_MS = 0.1;
const MEASURED_MS = 500;

/** The time of all threads of a process on processors, as a share of the time that passes. */
async function shareOfProcessor(pid: number): Promise<number> {
  const spentMs = () => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_MS;
  };
  const before = spentMs();
  await pause(MEASURED_MS);
  return (spentMs() - before) / MEASURED_MS;
}
