import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issueKey } from '../../../src/account/issue-key.js';
import { SCOPES, type Scope } from '../../../src/contract/api-key.js';
import { CaptureError } from '../../../src/contract/capture-error.js';
import type { JobSnapshot } from '../../../src/contract/job.js';
import { FORM_FIELDS } from '../../../src/http/console/form-fields.js';
import { parse } from '../../contract/parsing.js';
import { aCapture, aCompletedJob, aDelivery, aFailedJob, aJob, limitsOf } from '../fake-services.js';
import { aConsole, type TestConsole, type Visitor } from './a-console.js';

const HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>';

/** A key of the account `default`. */
async function aKey(it: TestConsole, label = 'pictures', scopes: readonly Scope[] = SCOPES) {
  const key = await issueKey(it.store, { accountName: 'default', label, scopes, now: Date.now() });
  if (key === null) throw new Error('no account');
  return key;
}

let it: TestConsole;
let visitor: Visitor;
let key: Awaited<ReturnType<typeof aKey>>;
beforeEach(async () => {
  it = await aConsole();
  visitor = await it.signIn();
  key = await aKey(it);
});
afterEach(() => it[Symbol.asyncDispose]());

/** The switches of a new form that are on. */
const ON = Object.fromEntries(
  FORM_FIELDS.filter(({ defaultValue }) => defaultValue === true).map(({ name }) => [name, 'on']),
);

/** Sends the form of a capture as it is at first, but for these fields. */
const take = (fields: Record<string, string | string[]> = {}, headers = {}) =>
  visitor.post('/console/capture', { ...ON, key: key.id, url: 'https://example.com/', ...fields }, headers);

/** No part of the hostile text has become markup. */
function expectInert(text: string): void {
  expect(text).not.toMatch(/<script>alert|<img src=x|href="javascript:/);
}

/** Jobs that the store has. */
function storeJobs(...jobs: JobSnapshot[]): void {
  it.services.store.findJob = async (id) => jobs.find((job) => job.id === id) ?? null;
}

describe('the form of a capture', () => {
  test('left alone, is the request without options', async () => {
    const { text } = await visitor.get('/console/capture?url=https%3A%2F%2Fexample.com%2F');
    expect(text).toContain('value="https://example.com/"');
    const checked = [...text.matchAll(/checked="" id="[^"]+" name="([^"]+)"/g)].map(([, name]) => name);
    expect(checked).toEqual(expect.arrayContaining(Object.keys(ON)));
    expect(checked).toHaveLength(Object.keys(ON).length);
    const taken = await take({ url: 'example.com' });
    expect(taken.status).toBe(200);
    const [sent] = it.services.submitted;
    expect(sent?.context).toMatchObject({
      principal: { keyId: key.id, accountId: key.accountId },
      idempotencyKey: null,
    });
    expect(sent?.submission).toMatchObject({ mode: 'sync', cacheTtl: 3600, webhook: null });
    expect(sent?.submission.options).toMatchObject({
      url: 'https://example.com/',
      blockAds: true,
      fullPage: false,
      pdf: null,
    });
    expect(taken.text).toContain('-d &#39;{ &quot;url&quot;: &quot;example.com&quot; }&#39;');
    expect(taken.text).toContain('<img src="pictures/abcdefghijklmnopqrstuvwxyz012345.webp"');
  });

  test('becomes a request with values of their types, and the same as curl', async () => {
    const fields = {
      key: key.id,
      url: "https://example.com/?q='",
      full_page: 'on',
      'viewport.width': '800',
      hide_selectors: '.a\r\n\r\n #b ',
      headers: 'X-One: 1\r\nX-Two: a:b',
      tolerate: ['target_error', 'render_incomplete'],
      cookies: '[{"name": "a", "value": "b"}]',
      'resize.width': '640',
      format: 'png',
      rotate: '90',
      'palette.colors': '#000000, #ffffff',
      'proxy.server': 'http://proxy.example.com:3128',
      'proxy.password': 'the proxy password',
      custom_css: 'a {}\r\nb {}',
    };
    const { block_chats: _, sync: __, ...on } = ON;
    const taken = await visitor.post('/console/capture', { ...on, ...fields });
    expect(taken.status).toBe(200);
    expect(it.services.submitted[0]?.submission.options).toMatchObject({
      fullPage: true,
      blockAds: true,
      blockChats: false,
      hideSelectors: ['.a', '#b'],
      customCss: 'a {}\nb {}',
      view: { width: 800, height: 720 },
      headers: { 'x-one': '1', 'x-two': 'a:b' },
      resize: { width: 640, fit: 'inside' },
      rotate: 90,
      palette: { colors: ['#000000', '#ffffff'], dither: 'floyd_steinberg' },
      tolerate: ['target_error', 'render_incomplete'],
      proxy: { password: 'the proxy password' },
    });
    const line = unescaped(/<code id="curl">([\s\S]*?)<\/code>/.exec(taken.text)?.[1] ?? '');
    const body = JSON.parse((/-d '([\s\S]*)'$/.exec(line)?.[1] ?? '').replaceAll("'\\''", "'"));
    expect(body).toMatchObject({
      url: "https://example.com/?q='",
      viewport: { width: 800 },
      block_chats: false,
      sync: false,
    });
    expect(body.proxy).toEqual({ server: 'http://proxy.example.com:3128', password: '…' });
    expect(taken.text).not.toContain('the proxy password');
    expect(line).toContain('"Authorization: Bearer $STILLFRAME_KEY"');
  });

  test('shows every problem at its field, in the words of the API', async () => {
    const wrong = {
      url: 'ftp://example.com',
      quality: '900',
      cookies: '{',
      'clip.x': 'left',
      headers: 'no colon',
      timezone: HOSTILE,
    };
    const { status, text } = await take(wrong);
    expect(status).toBe(400);
    expect(it.services.submitted).toEqual([]);
    for (const name of ['url', 'quality', 'cookies', 'clip-x', 'headers', 'timezone']) {
      expect(text, name).toContain(`<a href="#f-${name}">`);
      expect(text, name).toMatch(new RegExp(`id="f-${name}"[^>]*aria-invalid="true"`));
      expect(text, name).toContain(`id="e-f-${name}"`);
    }
    expect(text).toContain('must be at most 100, not 900');
    expect(text).toContain('value="900"');
    expectInert(text);
  });

  test.each([
    ['deeper', '['.repeat(50_000) + ']'.repeat(50_000)],
    ['longer', `[${'1,'.repeat(5_000)}1]`],
  ])('refuses JSON that is %s than a request may be', async (_, cookies) => {
    const { status, text } = await take({ cookies });
    expect(status).toBe(400);
    expect(text).toMatch(/id="e-f-cookies">must be an array/);
    expect(it.services.submitted).toEqual([]);
  });

  test('is refused with a revoked key, a key without the scope, or none', async () => {
    const [revoked, reader] = [await aKey(it, 'revoked'), await aKey(it, 'reader', ['jobs:read'])];
    await it.store.revokeKey(revoked.id, Date.now());
    for (const id of [revoked.id, '']) {
      expect(await take({ key: id })).toMatchObject({
        status: 400,
        text: expect.stringContaining('must be a key that has not been revoked'),
      });
    }
    expect(await take({ key: reader.id })).toMatchObject({
      status: 403,
      text: expect.stringContaining('lacks the scope'),
    });
    expect(it.services.submitted).toEqual([]);
  });

  test("prints a PDF on paper, the API's default if the form names none", async () => {
    const { status, text } = await take({ format: 'pdf' });
    expect([status, unescaped(text)]).toEqual([200, expect.stringContaining('"paper": "letter"')]);
  });

  test('is limited as the key is', async () => {
    it.services.limits = limitsOf({ submissions: 1 });
    expect((await take()).status).toBe(200);
    const refused = await take();
    expect(refused).toMatchObject({ status: 429, text: expect.stringContaining('exceeded its rate limit') });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });

  test('shows a failure, which can be tried again with its options, and what may be followed while it runs', async () => {
    it.services.submit = async () => aFailedJob();
    const { text } = await take({ url: 'https://example.com/?id=5', full_page: 'on' });
    expect(text).toMatch(/The target answered 500\.[\s\S]*href="..\/docs\/errors#target_error"/);
    expect(text).toContain('<button type="submit" form="capture">Try again</button>');
    expect(text).toContain('value="https://example.com/?id=5"');
    expect(text).toMatch(/checked="" id="f-full_page"/);
    const waiting = aJob({ state: 'active', progress: 40 });
    it.services.submit = async () => waiting;
    expect((await take()).text).toContain(`data-live="job?id=${waiting.id}&amp;form=1"`);
    it.services.submit = () =>
      Promise.reject(new CaptureError({ code: 'quota_exceeded', message: 'No credits left.' }));
    expect(await take()).toMatchObject({ status: 429, text: expect.stringContaining('No credits left.') });
  });
});

describe('the capture page', () => {
  test('is filled in by a link, but not with what links must not have', async () => {
    const shown = { format: 'pdf', 'pdf.paper': 'a4', full_page: 'on', block_ads: 'off' };
    const query = new URLSearchParams({ ...shown, html: HOSTILE, custom_js: HOSTILE });
    const { text } = await visitor.get(`/console/capture?${query}&viewport.width=${encodeURIComponent(HOSTILE)}`);
    expect(text).toMatch(/<option value="pdf" selected/);
    expect(text).toMatch(/checked="" id="f-full_page"/);
    expect(text).not.toMatch(/checked="" id="f-block_ads"/);
    expect(text).toMatch(/checked="" id="f-block_trackers"/);
    expect(text).toContain('value="a4"');
    for (const name of ['html', 'custom_js'])
      expect(text).toMatch(new RegExp(`<textarea[^>]* name="${name}"[^>]*></textarea>`));
    expectInert(text);
  });

  test('offers presets whose options are valid requests', async () => {
    const { text } = await visitor.get('/console/capture');
    const presets = [...text.matchAll(/data-preset="[^"]*" href="capture\?([^"]+)"/g)].map(([, query = '']) =>
      unescaped(query),
    );
    expect(presets).toHaveLength(5);
    for (const preset of presets) {
      const fields = { ...ON, ...Object.fromEntries(new URLSearchParams(preset)), url: 'https://example.com' };
      const shown = await visitor.post('/console/snippets', fields);
      expect([shown.status, /id="snippet-problem"[^>]*>([^<]*)</.exec(shown.text)?.[1]], preset).toEqual([200, '']);
    }
  });

  test('writes the request as code without capturing, and says what is wrong with it', async () => {
    const { text } = await visitor.post('/console/snippets', {
      ...ON,
      url: 'ftp://example.com',
      timezone: HOSTILE,
      snippet: 'python',
    });
    expect(text).toMatch(/id="snippet-problem"[^>]*><code>url<\/code> must be an http or https URL/);
    expect(text).toMatch(/value="python" checked/);
    expectInert(text);
    expect(it.services.submitted).toEqual([]);
    expect((await visitor.post('/console/snippets', { ...ON })).text).toMatch(/id="snippet-problem"[^>]*><\/p>/);
  });

  test('previews the view, small and as webp, charged to the chosen key', async () => {
    const fields = {
      key: key.id,
      url: 'https://example.com/',
      device: 'pixel_8',
      hide_selectors: '.ad',
      full_page: 'on',
      max_height: '4000',
      format: 'pdf',
      'pdf.paper': 'a4',
      'upload.url': 'https://example.com/put',
      cache_ttl: '0',
      'animate.duration': '2000',
      steps: '[{"action": "click", "selector": "#send"}]',
      'webhook.url': 'https://example.com/hook',
      'webhook.secret': 's'.repeat(16),
    };
    const { status, text } = await visitor.post('/console/preview', { ...ON, ...fields });
    expect(status).toBe(200);
    expect(text).toContain(`<img src="pictures/${aCapture().artifact}"`);
    const [{ submission, context } = { submission: null, context: null }] = it.services.submitted;
    expect(context).toMatchObject({ principal: { keyId: key.id }, idempotencyKey: null });
    expect(submission).toMatchObject({ mode: 'sync', cacheTtl: 3600, webhook: null });
    const without = { fullPage: false, pdf: null, upload: null, steps: [], animate: null };
    expect(submission?.options).toMatchObject({
      ...without,
      format: 'webp',
      resize: { width: 640 },
      hideSelectors: ['.ad'],
    });
  });
});

describe('comparing', () => {
  /** Two jobs of other keys, with pictures. */
  function twoJobs() {
    const artifact = `${'e'.repeat(32)}.webp`;
    const [before, after] = [aCompletedJob({ keyId: 'key_1' }, { artifact }), aCompletedJob({ keyId: 'key_2' })];
    storeJobs(before, after);
    return { before, after, artifact };
  }

  test('two jobs are shown on top of each other before anything is compared', async () => {
    const { before, after, artifact } = twoJobs();
    it.services.comparisons.compare = async () => Promise.reject(new Error('compared'));
    const { status, text } = await visitor.get(`/console/compare?before=${before.id}&after=${after.id}`);
    expect(status).toBe(200);
    expect(text).toContain(`<img src="pictures/${artifact}" alt="The earlier capture"`);
    expect(text).toContain(`<img src="pictures/${aCapture().artifact}" alt="The later capture"`);
    const { text: hostile } = await visitor.get(
      `/console/compare?before=${encodeURIComponent(HOSTILE)}&after=${after.id}`,
    );
    expect(hostile).not.toContain('The earlier capture');
    expectInert(hostile);
  });

  test('jobs of any key are compared, with the pictures and what has changed', async () => {
    const { before, after, artifact } = twoJobs();
    const size = { width: 800, height: 600 };
    const asked: unknown[] = [];
    it.services.comparisons.compare = async (order) => {
      asked.push(order.before, order.after);
      const regions = Array.from({ length: 12 }, (_, i) => ({ x: i, y: 0, width: 8, height: 8 }));
      const comparison = { same: false, share: 0.00001, pixels: 5, regions, before: size, after: size };
      return { comparison, artifact: `${'d'.repeat(32)}.webp` };
    };
    const fields = { key: key.id, before: before.id, after: ` ${after.id} `, picture: 'overlay' };
    const { status, text } = await visitor.post('/console/compare', fields);
    expect(status).toBe(200);
    expect(asked).toEqual([
      { kind: 'artifact', name: artifact },
      { kind: 'artifact', name: aCapture().artifact },
    ]);
    expect(text).toContain('Less than 0.01 % of the pixels have changed');
    expect(text).toContain(`<img src="pictures/${'d'.repeat(32)}.webp" alt="What has changed"`);
    expect(text).toContain('data-slider');
    expect(text.match(/8 × 8 px/g)).toHaveLength(10);
  });
});

describe('jobs', () => {
  test('are listed for all keys, and by state and key', async () => {
    const key = await aKey(it, HOSTILE);
    const asked: unknown[] = [];
    const done = aCompletedJob({ keyId: key.id }, { url: `https://example.com/${HOSTILE}` });
    const page = { jobs: [aJob({ state: 'active', progress: 30 }), done, aFailedJob()], next: 7 };
    const list = async (wish: object) => {
      asked.push(wish);
      return page;
    };
    Object.assign(it.services.store, {
      listAllJobs: list,
      listJobs: (keyId: string, wish: object) => list({ ...wish, keyId }),
    });
    const { text } = await visitor.get('/console/jobs?state=&key=');
    for (const shown of ['active 30 %', 'target_error', 'jobs?cursor=Nw']) expect(text).toContain(shown);
    expectInert(text);
    await visitor.get(`/console/jobs?state=failed&key=${key.id}&cursor=Nw&limit=5`);
    expect(asked).toEqual([
      { state: null, limit: 20, before: null, found: { address: '', keyId: null } },
      { state: 'failed', keyId: key.id, limit: 5, before: 7 },
    ]);
    expect((await visitor.get('/console/jobs?state=odd')).status).toBe(400);
  });

  test('are found by a part of their address, of all keys or of one', async () => {
    const key = await aKey(it, 'one');
    const asked: unknown[] = [];
    it.services.store.listAllJobs = async ({ found }) => {
      asked.push(found);
      return { jobs: [], next: 7 };
    };
    const { text } = await visitor.get(`/console/jobs?address=${encodeURIComponent(` ${HOSTILE}\0`)}`);
    expect(unescaped(text)).toContain(`href="jobs?${new URLSearchParams({ address: HOSTILE, cursor: 'Nw' })}"`);
    expectInert(text);
    await visitor.get(`/console/jobs?address=blog&key=${key.id}`);
    expect(asked).toEqual([
      { address: HOSTILE, keyId: null },
      { address: 'blog', keyId: key.id },
    ]);
  });

  test('with one picture, or one failure at one address, are shown once, and say when they are from the cache', async () => {
    const other = `${'o'.repeat(32)}.webp`;
    const [cached, taken] = [aCompletedJob({}, { cached: true }), aCompletedJob()];
    const failures = [1, 2, 3].map(() => aFailedJob({ url: 'https://example.com/down' }));
    const jobs = [cached, failures[0] ?? taken, aCompletedJob({}, { artifact: other }), taken, ...failures.slice(1)];
    it.services.store.listAllJobs = async () => ({ jobs, next: null });
    const { text } = await visitor.get('/console/jobs');
    expect(text.match(/class="card shot"/g)).toHaveLength(3);
    expect(text).toMatch(new RegExp(`from the cache[\\s\\S]*1 more like it[\\s\\S]*href="job\\?id=${taken.id}"`));
    expect(text).toContain('2 more like it');
  });

  test('a list without jobs leads to the first picture, or to the other jobs', async () => {
    expect((await visitor.get('/console/jobs')).text).toContain('<a href="capture">Take the first picture</a>');
    expect((await visitor.get('/console/jobs?state=failed')).text).toContain('<a href="jobs">Show all jobs</a>');
  });

  test('are shown as thumbnails, which only a session can load', async () => {
    const found: Record<string, Buffer | 'deleted' | 'busy' | 'not shown'> = {
      a: Buffer.from('webp'),
      b: 'deleted',
      c: 'busy',
    };
    Object.assign(it.services.console ?? {}, { thumbnail: async (name: string) => found[name[0] ?? ''] ?? null });
    const paper = aCompletedJob({}, { format: 'pdf', artifact: `${'p'.repeat(32)}.pdf` });
    const artifact = `${'n'.repeat(32)}.webp`;
    const [picture, banner] = [aCompletedJob(), aCompletedJob({}, { width: 1280, height: 90, artifact })];
    it.services.store.listAllJobs = async () => ({ jobs: [picture, paper, aFailedJob(), banner], next: null });
    const { text } = await visitor.get('/console/jobs');
    const image = `<img src="thumbnails/${aCapture().artifact}" alt="" loading="lazy" decoding="async"/>`;
    expect(text.split(image)).toHaveLength(2);
    expect(text).toContain('<span class="thumb part">');
    expect(text).toContain('<span class="thumb none pdf" aria-hidden="true">PDF</span>');
    expect(text).toContain('<span class="thumb none failed"');
    const at = (letter: string) => `/console/thumbnails/${letter.repeat(32)}.webp`;
    expect(await visitor.get(at('a'))).toMatchObject({
      status: 200,
      text: 'webp',
      headers: { 'content-type': 'image/webp' },
    });
    const gone = await visitor.get(at('b'));
    expect([gone.headers['content-type'], gone.headers['cache-control']]).toEqual([
      'image/svg+xml',
      'private, max-age=600',
    ]);
    expect(gone.text).toContain('Picture deleted');
    expect((await visitor.get(at('c'))).headers['cache-control']).toBe('no-store');
    for (const path of [at('d'), '/console/thumbnails/x', '/console/thumbnails/..%2fa'])
      expect((await visitor.get(path)).status).toBe(404);
    expect((await it.ask('GET', at('a'))).status).toBe(401);
  });

  test('a job is shown with the picture before it of the same address and width', async () => {
    const own = aCompletedJob();
    const artifact = `${'e'.repeat(32)}.webp`;
    const [same, query, narrow, earlier] = [
      aCompletedJob(),
      aCompletedJob({}, { artifact, url: 'https://example.com/?other' }),
      aCompletedJob({}, { artifact, width: 750 }),
      aCompletedJob({}, { artifact }),
    ];
    storeJobs(own);
    it.services.store.earlierPictures = async () => [same, query, narrow, earlier];
    const { text } = await visitor.get(`/console/job?id=${own.id}`);
    expect(text).toContain(`href="compare?before=${earlier.id}&amp;after=${own.id}"`);
    expect(text).toContain(`<img src="pictures/${artifact}" alt="The earlier capture"`);
    it.services.store.earlierPictures = async () => [same, query, narrow];
    expect((await visitor.get(`/console/job?id=${own.id}`)).text).not.toContain('Before and after');
  });

  test('a failed job shows what it was to capture, and can be tried again', async () => {
    const job = aFailedJob({ url: `https://example.com/a&b/${HOSTILE}` });
    const html = aFailedJob({ url: 'about:html' });
    storeJobs(job, html);
    it.services.store.listAllJobs = async () => ({ jobs: [job, html], next: null });
    const list = (await visitor.get('/console/jobs')).text;
    expect(unescaped(list)).toContain(
      `<a href="job?id=${job.id}" title="${job.url}">${job.url.replace('https://', '')}</a>`,
    );
    expect(list).toContain(`<a href="job?id=${html.id}" title="about:html">HTML document</a>`);
    const { text } = await visitor.get(`/console/job?id=${job.id}`);
    expect(unescaped(text)).toContain(`<h1>${job.url.replace('https://', '')}</h1>`);
    expect(unescaped(text)).toContain(`<dt>Page asked for</dt><dd>${job.url}</dd>`);
    expectInert(list + text);
    const again = /href="(capture\?url=[^"]+)">Try again</.exec(text)?.[1] ?? '';
    const form = (await visitor.get(`/console/${unescaped(again)}`)).text;
    expect(
      unescaped(/name="url"[^>]* value="([^"]*)"|value="([^"]*)"[^>]* name="url"/.exec(form)?.slice(1).join('') ?? ''),
    ).toBe(job.url);
    expect((await visitor.get(`/console/job?id=${html.id}`)).text).not.toContain('capture?url=');
  });

  test('a job shows its course in words, and no text of its page becomes markup', async () => {
    it.services.timingsOf = () => ({ queue: 1, navigate: 60, shoot: 40 });
    const box = { x: 0, y: 0, width: 1, height: 1 };
    const elements = [{ ref: 'e1-0000000-0000000', role: 'button', name: HOSTILE, box, selector: HOSTILE }];
    const inspection = { markdown: HOSTILE, accessibleTree: HOSTILE, elements };
    const job = aCompletedJob(
      { webhookUrl: 'https://example.com/hook' },
      { finalUrl: `javascript:${HOSTILE}`, inspection },
    );
    storeJobs(job);
    it.services.deliveries.set(job.id, aDelivery({ jobId: job.id, state: 'failed', lastError: HOSTILE }));
    const { text } = await visitor.get(`/console/job?id=${job.id}`);
    for (const shown of ['The picture is ready', 'Elements that can be acted on']) expect(text).toContain(shown);
    expect(text).toMatch(/Loading the page<\/th><td class="number">60 ms/);
    expect(text).toContain('2 attempts allowed, none needed again');
    expectInert(text);
    const etag = unescaped(/name="etag" value="([^"]+)"/.exec(text)?.[1] ?? '');
    const again = () => visitor.post('/console/redeliver', { id: job.id, etag });
    expect(await again()).toMatchObject({ status: 303, headers: { location: `job?id=${job.id}` } });
    expect(it.services.deliveries.get(job.id)).toMatchObject({ state: 'pending', generation: 2 });
    expect((await again()).status).toBe(409);
    for (const query of ['?id=job_unknown', '']) expect((await visitor.get(`/console/job${query}`)).status).toBe(404);
  });

  test('a job that has not ended shows the options of its request, but no private ones', async () => {
    const job = aJob({ state: 'active', progress: 40 });
    storeJobs(job);
    const shown = async (body: object) => {
      it.services.store.findOrders = async () => new Map([[job.id, parse(body).options]]);
      return (await visitor.get(`/console/job?id=${job.id}`)).text;
    };
    const proxy = { server: 'http://proxy.example.com', password: 'SECRET' };
    const secrets = {
      headers: { 'x-key': 'SECRET' },
      cookies: [{ name: 'a', value: 'SECRET' }],
      custom_js: '"SECRET"',
      proxy,
    };
    const text = await shown({
      url: 'https://example.com/page',
      full_page: true,
      hide_selectors: [HOSTILE],
      ...secrets,
    });
    expect(text).toContain('https://example.com/page');
    expect(text).toMatch(/Full page<\/dt><dd>true/);
    expect(text).toMatch(/Request headers<\/dt><dd>set, not shown/);
    expect(text).not.toContain('Block ads');
    const html = await shown({ html: '<p>SECRET</p>' });
    expect(html).toContain('about:html');
    expect(text + html).not.toContain('SECRET');
    expectInert(text);
  });

  test('pictures are served whole, to those with a session', async () => {
    const name = 'abcdefghijklmnopqrstuvwxyz012345.webp';
    it.services.files.set(name, Buffer.from('a picture'));
    const shown = await visitor.get(`/console/pictures/${name}`);
    expect(shown).toMatchObject({ status: 200, text: 'a picture', headers: { 'content-type': 'image/webp' } });
    expect(shown.headers['cache-control']).toContain('private');
    expect(shown.headers['content-security-policy']).toContain('sandbox');
    it.services.gone.add(name);
    expect((await visitor.get(`/console/pictures/${name}`)).status).toBe(410);
    expect((await visitor.get('/console/pictures/..%2fstillframe.db')).status).toBe(404);
  });
});

describe('keys', () => {
  test('are created with a secret that is shown once, and revoked', async () => {
    const made = await visitor.post('/console/keys', { label: HOSTILE, account: 'default', scope: 'jobs:read' });
    const secret = /<code id="secret">(sf_live_\w+)<\/code>/.exec(made.text)?.[1] ?? '';
    expectInert(made.text);
    const key = (await it.store.listKeys()).find(({ label }) => label === HOSTILE);
    expect(key).toMatchObject({ accountName: 'default', scopes: ['jobs:read'], revokedAt: null });
    const list = (await visitor.get('/console/keys')).text;
    expect(list).not.toContain(secret);
    expect(list).toContain(secret.slice(0, 16));
    await it.store.setLinksLimit(key?.id ?? '', 500);
    expect((await visitor.get('/console/keys')).text).toContain('Links: 0 of 500 credits this month');
    expect(await visitor.post('/console/revoke-key', { id: key?.id ?? '' })).toMatchObject({ status: 303 });
    expect((await it.store.findKey(key?.id ?? ''))?.revokedAt).not.toBeNull();
    await visitor.post('/console/keys', { label: 'website', account: 'default', scope: 'links' });
    expect((await it.store.listKeys()).find(({ label }) => label === 'website')?.scopes).toEqual(['links']);
    expect((await visitor.post('/console/revoke-key', { id: secret })).status).toBe(400);
    expect((await visitor.post('/console/revoke-key', { id: 'key_00000000000000000000000000' })).status).toBe(404);
  });

  test('are listed 50 at a time', async () => {
    for (let i = 0; i < 50; i++) await aKey(it, `number ${i}`);
    const first = (await visitor.get('/console/keys')).text;
    const second = (await visitor.get(`/console/${/href="(keys\?after=[^"]+)"/.exec(first)?.[1]}`)).text;
    const labels = (text: string) => [
      ...new Set([...text.matchAll(/>(number \d+|pictures)</g)].map(([, label]) => label)),
    ];
    expect([labels(first).length, new Set([...labels(first), ...labels(second)]).size, labels(second).length]).toEqual([
      50, 51, 1,
    ]);
  });

  test.each([
    [{ label: ' ', account: 'default', scope: 'jobs:read' }, 'must be 1 to 100 characters'],
    [{ label: 'x'.repeat(101), account: 'default', scope: 'jobs:read' }, 'must be 1 to 100 characters'],
    [{ label: 'a\u001b[2J', account: 'default', scope: 'jobs:read' }, 'must be 1 to 100 characters'],
    [{ label: 'a', account: 'default', scope: 'everything' }, 'must have at least one'],
    [{ label: 'a', account: 'nobody', scope: 'jobs:read' }, 'must be an account that exists'],
  ])('are not created from %j', async (fields, said) => {
    expect(await visitor.post('/console/keys', fields)).toMatchObject({
      status: 400,
      text: expect.stringContaining(said),
    });
    expect(await it.store.listKeys()).toHaveLength(1);
  });
});

describe('signing secrets', () => {
  test('are created and replaced, shown once, and the previous one works as long as was chosen', async () => {
    key = await aKey(it, HOSTILE);
    const make = async (hours: string) => {
      const { status, text } = await visitor.post('/console/signing-secret', { id: key.id, hours });
      expect(status).toBe(200);
      expectInert(text);
      return /<code id="secret">(sf_sign_[\w-]+)<\/code>/.exec(text)?.[1];
    };
    const valid = (laterMs = 0) => it.store.signingSecrets(key.id, Date.now() + laterMs);
    const first = await make('0');
    expect(await valid()).toEqual([first]);
    const second = await make('24');
    expect(await valid()).toEqual([second, first]);
    expect(await valid(25 * 3_600_000)).toEqual([second]);
    const third = await make('0');
    expect(await valid()).toEqual([third]);
    expect((await visitor.get('/console/keys')).text).not.toContain('sf_sign_');
  });

  test('are not created for a key that is unknown or revoked, or for a time that is not offered', async () => {
    const statusOf = async (id: string, hours = '0') =>
      (await visitor.post('/console/signing-secret', { id, hours })).status;
    expect([
      await statusOf(key.id, '87600'),
      await statusOf('x'),
      await statusOf('key_00000000000000000000000000'),
    ]).toEqual([400, 400, 404]);
    await it.store.revokeKey(key.id, Date.now());
    expect(await statusOf(key.id)).toBe(404);
    expect(await it.store.signingSecrets(key.id, Date.now())).toEqual([]);
  });
});

describe('accounts', () => {
  test('are created, and get and lose a quota', async () => {
    expect((await visitor.post('/console/accounts', { name: 'marketing' })).status).toBe(303);
    expect((await visitor.post('/console/quota', { name: 'marketing', quota: '500' })).status).toBe(303);
    expect(await it.store.findAccount('marketing')).toMatchObject({ quota: 500 });
    expect((await visitor.get('/console/accounts')).text).toContain('0 of 500 credits');
    await visitor.post('/console/quota', { name: 'marketing', quota: ' ' });
    expect(await it.store.findAccount('marketing')).toMatchObject({ quota: null });
    expect((await visitor.post('/console/quota', { name: 'marketing', quota: '-1' })).status).toBe(400);
    expect((await visitor.post('/console/quota', { name: 'nobody', quota: '1' })).status).toBe(404);
    const taken = await visitor.post('/console/accounts', { name: 'marketing' });
    expect(taken).toMatchObject({ status: 400, text: expect.stringContaining('is taken') });
    expectInert((await visitor.post('/console/accounts', { name: HOSTILE })).text);
  });
});

test('the system page shows the storage that is used, and the servers that run', async () => {
  it.services.store.storageUse = async () => ({ pictures: 12_345_000_000, database: 5_600_000, free: 1_200_000 });
  if (it.services.console !== undefined) it.services.console.maxStorageBytes = 20_000_000_000;
  const { text } = await visitor.get('/console/system');
  expect(text).toMatch(/host-1[\s\S]*1 of 4/);
  expect(text).toMatch(/Pictures<\/dt><dd>12\.3 GB</);
  expect(text).toMatch(/Database<\/dt><dd>5\.6 MB, 1\.2 MB of it unused</);
  expect(text).toMatch(/Limit<\/dt><dd>20\.0 GB</);
});

test('the system page draws the jobs of the last day by hour', async () => {
  it.services.store.recentJobs = async () => [
    { hour: 23, state: 'completed', shared: false, jobs: 30 },
    { hour: 23, state: 'completed', shared: true, jobs: 10 },
    { hour: 22, state: 'failed', shared: false, jobs: 4 },
  ];
  const { text } = await visitor.get('/console/system');
  for (const sum of ['30 taken', '10 from the cache', '4 failed']) expect(text).toContain(sum);
  expect(text.match(/height="90"/g)).toHaveLength(1);
  expect(text).toMatch(
    /<td data-name="taken" class="number">30<\/td><td data-name="from the cache" class="number">10<\/td>/,
  );
});

test('a bug is a page without its cause', async () => {
  it.services.health = () => Promise.reject(new Error('internal detail'));
  const answer = await visitor.get('/console/system');
  expect(answer.status).toBe(500);
  expect(answer.text).toContain('internal_error');
  expect(answer.text).not.toContain('internal detail');
});

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
