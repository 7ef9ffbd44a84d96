/**
 * Trial "linear": long repeated text in every text field, form field, query and header of every interface. No turn of the event loop
 * may take longer than 50 ms, and no answer longer than 2 s.
 *
 * Sabotage that turns it red: remove the lookbehind of `waitForExpression` in http/compatible-apis/gotenberg-fields.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { issueKey } from '../../src/account/issue-key.js';
import { SCOPES } from '../../src/contract/api-key.js';
import * as browserless from '../../src/http/compatible-apis/browserless-fields.js';
import { fieldsOf } from '../../src/http/compatible-apis/gotenberg-fields.js';
import * as grafana from '../../src/http/compatible-apis/grafana.js';
import { FORM_FIELDS } from '../../src/http/console/form-fields.js';
import { bodyOf, HEAVY_UNITS, stringFields } from '../fixtures/string-fields.js';
import { aConsole } from '../http/console/a-console.js';
import { fakeServices, KEYS, serveApp, servicesWithApi, UPLOADS_DIR } from '../http/fake-services.js';
import { startStallMeter } from './stall-meter.js';
import { type TrialResult, tally } from './trial-result.js';

const STALL_LIMIT_MS = 50;
const ANSWER_LIMIT_MS = 2_000;
const TEXT_CHARS = 100_000;
/** The head of a request, with its address, has at most 16 KB. */
const HEAD_CHARS = 12_000;
const UNITS = [
  ...new Set([
    ...HEAVY_UNITS,
    '; ',
    '\t',
    '"',
    "'",
    '[',
    ']',
    '{',
    '}',
    ')',
    '<',
    '>',
    '-',
    '.',
    '\\',
    '\\n',
    '&',
    '=',
    ':',
  ]),
];
const SOURCES = ['src/http', 'src/account'];

type Answer = { status: number };
interface Case {
  name: string;
  /** Sends the text in a field. */
  send(text: string): Promise<Answer>;
  chars: number;
}

/**
 * @param every one of so many cases is tried
 * @param only a regular expression that the names of fields match
 */
export async function run({ every = 1, only = '' }: { every?: number; only?: number | string }): Promise<TrialResult> {
  using _uploads = { [Symbol.dispose]: () => rmSync(UPLOADS_DIR, { recursive: true, force: true }) };
  await using api = await serveApp(fakeServices());
  await using gotenberg = await serveApp(servicesWithApi('gotenberg'));
  await using browser = await serveApp(servicesWithApi('browserless'));
  await using renderer = await serveApp(servicesWithApi('grafana'));
  await using console = await aConsole();
  const cases = [
    ...apiCases(api.url),
    ...gotenbergCases(gotenberg.url),
    ...fileCases(api.url, gotenberg.url),
    ...browserlessCases(browser.url),
    ...queryCases(`${renderer.url}/render`, Object.keys(grafana.FIELDS)),
    ...headerCases([
      `${api.url}/v1/screenshot`,
      `${gotenberg.url}/forms/chromium/convert/url`,
      `${browser.url}/pdf`,
      `${renderer.url}/render`,
    ]),
    ...(await consoleCases(console)),
  ];
  const problems: string[] = [];
  const statuses: string[] = [];
  let [longestMs, slowestMs] = [0, 0];
  const wanted = cases.filter(({ name }) => new RegExp(String(only)).test(name));
  const tried = wanted.flatMap((one) => UNITS.map((unit) => ({ ...one, unit }))).filter((_, at) => at % every === 0);
  for (const { name, send, chars, unit } of tried) {
    const text = `${unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars - 1)}x`;
    let seen = await measure(() => send(text));
    // What the text causes happens each time; a collection of garbage does not.
    for (let again = 0; again < 2 && isSlow(seen); again++) {
      const next = await measure(() => send(text));
      seen = { status: next.status, stallMs: Math.min(seen.stallMs, next.stallMs), ms: Math.min(seen.ms, next.ms) };
    }
    const { status, stallMs, ms } = seen;
    statuses.push(String(status));
    longestMs = Math.max(longestMs, stallMs);
    slowestMs = Math.max(slowestMs, ms);
    const told = `${name} with ${JSON.stringify(unit.slice(0, 9))}`;
    if (stallMs > STALL_LIMIT_MS) problems.push(`the event loop stood still for ${Math.round(stallMs)} ms: ${told}`);
    if (ms > ANSWER_LIMIT_MS) problems.push(`answered after ${Math.round(ms)} ms: ${told}`);
    if (status >= 500) problems.push(`status ${status}: ${told}`);
  }
  const figures = { fields: wanted.length, requests: tried.length, answers: tally(statuses.sort()) };
  return { figures: { ...figures, stall_ms: Math.round(longestMs), slowest_ms: Math.round(slowestMs) }, problems };
}

interface Measured {
  status: number;
  /** The longest turn of the event loop. */
  stallMs: number;
  ms: number;
}

const isSlow = ({ stallMs, ms }: Measured) => stallMs > STALL_LIMIT_MS || ms > ANSWER_LIMIT_MS;

async function measure(send: () => Promise<Answer>): Promise<Measured> {
  const stalls = startStallMeter();
  const startedAt = performance.now();
  const { status } = await send();
  const ms = performance.now() - startedAt;
  // The meter tells a turn when the next one begins.
  await new Promise((resolve) => setTimeout(resolve, 10));
  stalls.stop();
  return { status, stallMs: stalls.longestMs(), ms };
}

const AUTHORIZATION = { authorization: `Bearer ${KEYS.full}` };

async function post(url: string, body: BodyInit, headers: Record<string, string> = {}): Promise<Answer> {
  return await drained(await fetch(url, { method: 'POST', headers: { ...AUTHORIZATION, ...headers }, body }));
}

async function drained(answer: Response): Promise<Answer> {
  await answer.arrayBuffer();
  return answer;
}

const postJson = (url: string, body: unknown) =>
  post(url, JSON.stringify(body), { 'content-type': 'application/json' });

function apiCases(url: string): Case[] {
  const fields = stringFields();
  const inForms = new Set(fields.map(({ path }) => path[0] ?? ''));
  return [
    ...fields.map(({ path }) => ({
      name: `POST /v1/screenshot ${path.join('.')}`,
      send: (text: string) =>
        postJson(`${url}/v1/screenshot`, { url: 'example.com', ...(bodyOf(path, text) as object) }),
      chars: TEXT_CHARS,
    })),
    ...[...inForms].map((field) => ({
      name: `POST /v1/screenshot form ${field}`,
      send: (text: string) => post(`${url}/v1/screenshot`, formOf({ [field]: text }, 'page.html')),
      chars: TEXT_CHARS,
    })),
    ...queryCases(`${url}/v1/render`, [...inForms, 'key', 'expires', 'signature']),
    ...queryCases(`${url}/v1/jobs`, ['state', 'cursor', 'limit']),
    ...['first', 'second'].map((field) => ({
      name: `POST /v1/compare ${field}`,
      send: (text: string) => postJson(`${url}/v1/compare`, { first: 'x', second: 'x', [field]: text }),
      chars: TEXT_CHARS,
    })),
    {
      name: 'POST /mcp',
      send: (text: string) => postJson(`${url}/mcp`, { jsonrpc: '2.0', id: text, method: text }),
      chars: TEXT_CHARS,
    },
  ];
}

function gotenbergCases(url: string): Case[] {
  return (['convert', 'screenshot'] as const).flatMap((output) =>
    (['url', 'html', 'markdown'] as const).flatMap((source) =>
      Object.keys(fieldsOf(output, source)).map((field) => ({
        name: `/forms/chromium/${output}/${source} ${field}`,
        send: (text: string) =>
          post(
            `${url}/forms/chromium/${output}/${source}`,
            formOf(
              { ...(source === 'url' ? { url: 'https://example.com/' } : {}), [field]: text },
              source === 'url' ? null : 'index.html',
            ),
          ),
        chars: TEXT_CHARS,
      })),
    ),
  );
}

/** The contents of files, and their names. */
function fileCases(api: string, gotenberg: string): Case[] {
  const places: [url: string, name: string, others: Record<string, string>][] = [
    [`${api}/v1/screenshot`, 'page.html', {}],
    [`${api}/v1/screenshot`, 'style.css', { 'page.html': 'x' }],
    [`${gotenberg}/forms/chromium/convert/html`, 'index.html', {}],
    [`${gotenberg}/forms/chromium/convert/html`, 'header.html', { 'index.html': 'x' }],
    [`${gotenberg}/forms/chromium/convert/markdown`, 'index.html', { 'a.md': 'x' }],
    [`${gotenberg}/forms/chromium/convert/markdown`, 'a.md', { 'index.html': '{{ toHTML "a.md" }}' }],
  ];
  const form = (files: Record<string, string>) => {
    const data = new FormData();
    for (const [name, content] of Object.entries(files)) data.append('files', new Blob([content]), name);
    return data;
  };
  return places.flatMap(([url, name, others]) => [
    {
      name: `${new URL(url).pathname} file ${name}`,
      send: (text: string) => post(url, form({ ...others, [name]: text })),
      chars: TEXT_CHARS,
    },
    {
      name: `${new URL(url).pathname} name of a file beside ${name}`,
      send: (text: string) => post(url, form({ ...others, [name]: 'x', [text]: 'x' })),
      chars: HEAD_CHARS,
    },
  ]);
}

/** Names of members of the objects that fields take. */
const MEMBERS = [
  ['url', 'content', 'selector', 'fn', 'path', 'event', 'args'],
  ['name', 'value', 'domain', 'username', 'password', 'type', 'waitUntil'],
  ['format', 'headerTemplate', 'footerTemplate', 'pageRanges', 'width', 'encoding', 'clip'],
];
/** A text, in a list, and as members of an object: what is not of the field's type is refused. */
const SHAPES = [
  (text: string) => text,
  (text: string) => [text],
  (text: string) => ({ [text]: text }),
  ...MEMBERS.map((names) => (text: string) => Object.fromEntries(names.map((name) => [name, text]))),
];

function browserlessCases(url: string): Case[] {
  return [
    ...(['screenshot', 'pdf', 'content'] as const).flatMap((endpoint) =>
      Object.keys(browserless.TABLES[endpoint]).flatMap((field) =>
        SHAPES.map((shape, nth) => ({
          name: `/${endpoint} ${field} (${nth})`,
          send: (text: string) => postJson(`${url}/${endpoint}`, { url: 'https://example.com/', [field]: shape(text) }),
          chars: TEXT_CHARS / 4,
        })),
      ),
    ),
    ...queryCases(`${url}/pdf`, [...Object.keys(browserless.QUERY), '--proxy-server'], 'POST'),
  ];
}

function queryCases(url: string, fields: string[], method: 'GET' | 'POST' = 'GET'): Case[] {
  const body = method === 'POST' ? { body: '{"url":"https://example.com/"}' } : {};
  return fields.map((field) => ({
    name: `${new URL(url).pathname}?${field}`,
    // Percent-encoded text is up to nine times as long.
    send: async (text) => {
      const query = `${url}?url=https://example.com/&${encodeURIComponent(field)}=${encodeURIComponent(text).slice(0, HEAD_CHARS).replace(/%.?$/, '')}`;
      return drained(
        await fetch(query, { method, ...body, headers: { ...AUTHORIZATION, 'content-type': 'application/json' } }),
      );
    },
    chars: HEAD_CHARS,
  }));
}

/** The names of all headers that the server reads, by its sources. */
function readHeaders(): string[] {
  const sources = SOURCES.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8')),
  );
  const names = sources.flatMap((source) =>
    [...source.matchAll(/(?:header\(|headers\[|headerOf\(headers, )'([\w-]+)'|\bheaders\??\.([a-z]+)\b/g)].map(
      ([, one, other]) => one ?? other ?? '',
    ),
  );
  const unusable = new Set([
    'host',
    'content-length',
    'transfer-encoding',
    'upgrade',
    'keep-alive',
    'get',
    'set',
    'has',
    'append',
    'delete',
    'connection',
    'expect',
    'entries',
  ]);
  return [...new Set(names.map((name) => name.toLowerCase()))].filter((name) => !unusable.has(name));
}

function headerCases(urls: string[]): Case[] {
  return readHeaders().flatMap((name) =>
    urls.map((url) => ({
      name: `${new URL(url).pathname} header ${name}`,
      send: async (text: string) => {
        const value = text.replace(/[^\x20-\x7e\t]/g, ' ');
        const headers = { ...AUTHORIZATION, 'content-type': 'application/json', [name]: `x${value}` };
        const isRender = url.endsWith('/render');
        return drained(
          await fetch(url, { headers, ...(isRender ? {} : { method: 'POST', body: '{"url":"example.com"}' }) }),
        );
      },
      chars: HEAD_CHARS,
    })),
  );
}

/** The fields of forms that no table of the console lists. Wrong links to enter by would be counted as failed sign-ins. */
const CONSOLE_FORMS: Record<string, string[]> = {
  compare: ['before', 'after', 'picture', 'key'],
  redeliver: ['id', 'etag'],
  keys: ['label', 'account', 'scope'],
  'signing-secret': ['id', 'hours'],
  'revoke-key': ['id'],
  accounts: ['name', 'quota'],
  quota: ['name', 'quota'],
  queue: ['paused'],
};

async function consoleCases(it: Awaited<ReturnType<typeof aConsole>>): Promise<Case[]> {
  const visitor = await it.signIn();
  const key = await issueKey(it.store, { accountName: 'default', label: 'linear', scopes: SCOPES, now: Date.now() });
  const ofCaptures = Object.fromEntries(
    ['capture', 'snippets', 'preview'].map((path) => [path, FORM_FIELDS.map(({ name }) => name)]),
  );
  return Object.entries({
    ...ofCaptures,
    ...CONSOLE_FORMS,
    capture: [...(ofCaptures.capture ?? []), 'key', 'snippet'],
  }).flatMap(([path, fields]) =>
    fields.map((field) => ({
      name: `/console/${path} ${field}`,
      send: (text: string) =>
        visitor.post(`/console/${path}`, { key: key?.id ?? '', url: 'https://example.com/', [field]: text }),
      chars: TEXT_CHARS,
    })),
  );
}

function formOf(fields: Record<string, string>, file: string | null): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (file !== null) form.append('files', new Blob(['<h1>x</h1>']), file);
  return form;
}
