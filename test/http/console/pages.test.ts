import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issueKey } from '../../../src/account/issue-key.js';
import { SCOPES, type Scope } from '../../../src/contract/api-key.js';
import { CaptureError } from '../../../src/contract/capture-error.js';
import { parseSubmission } from '../../../src/contract/submission.js';
import { FORM_FIELDS } from '../../../src/http/console/form-fields.js';
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
beforeEach(async () => {
  it = await aConsole();
  visitor = await it.signIn();
});
afterEach(() => it[Symbol.asyncDispose]());

/** The switches of a new form that are on. */
const ON = Object.fromEntries(FORM_FIELDS.filter(({ defaultValue }) => defaultValue === true).map(({ name }) => [name, 'on']));

describe('the form of a capture', () => {
  test('left alone, is the request without options', async () => {
    const key = await aKey(it);
    const { text } = await visitor.get('/console/capture?url=https%3A%2F%2Fexample.com%2F');
    expect(text).toContain('value="https://example.com/"');
    const checked = [...text.matchAll(/checked="" id="[^"]+" name="([^"]+)"/g)].map(([, name]) => name);
    expect(checked).toEqual(expect.arrayContaining(Object.keys(ON)));
    expect(checked).toHaveLength(Object.keys(ON).length);
    const taken = await visitor.post('/console/capture', { ...ON, key: key.id, url: 'example.com' });
    expect(taken.status).toBe(200);
    const [sent] = it.services.submitted;
    expect(sent?.context).toMatchObject({ principal: { keyId: key.id, accountId: key.accountId }, idempotencyKey: null });
    expect(sent?.submission).toMatchObject({ mode: 'sync', cacheTtl: 3600, webhook: null });
    expect(sent?.submission.options).toMatchObject({ url: 'https://example.com/', blockAds: true, fullPage: false, pdf: null });
    expect(taken.text).toContain('-d &#39;{ &quot;url&quot;: &quot;example.com&quot; }&#39;');
    expect(taken.text).toContain('<img src="pictures/abcdefghijklmnopqrstuvwxyz012345.webp"');
  });

  test('becomes a request with values of their types, and the same as curl', async () => {
    const key = await aKey(it);
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
      ...{ fullPage: true, blockAds: true, blockChats: false, hideSelectors: ['.a', '#b'], customCss: 'a {}\nb {}' },
      ...{ view: { width: 800, height: 720 }, headers: { 'x-one': '1', 'x-two': 'a:b' }, resize: { width: 640, fit: 'inside' } },
      ...{ rotate: 90, palette: { colors: ['#000000', '#ffffff'], dither: 'floyd_steinberg' } },
      ...{ tolerate: ['target_error', 'render_incomplete'], proxy: { password: 'the proxy password' } },
    });
    const line = unescaped(/<code id="curl">([\s\S]*?)<\/code>/.exec(taken.text)?.[1] ?? '');
    const body = JSON.parse((/-d '([\s\S]*)'$/.exec(line)?.[1] ?? '').replaceAll("'\\''", "'"));
    expect(body).toMatchObject({ url: "https://example.com/?q='", viewport: { width: 800 }, block_chats: false, sync: false });
    expect(body.proxy).toEqual({ server: 'http://proxy.example.com:3128', password: '…' });
    expect(taken.text).not.toContain('the proxy password');
    expect(line).toContain('"Authorization: Bearer $STILLFRAME_KEY"');
  });

  test('shows every problem at its field, as the API says it', async () => {
    const key = await aKey(it);
    const wrong = {
      key: key.id,
      url: 'ftp://example.com',
      quality: '900',
      cookies: '{',
      'clip.x': 'left',
      headers: 'no colon',
      timezone: HOSTILE,
    };
    const { status, text } = await visitor.post('/console/capture', wrong);
    expect(status).toBe(400);
    expect(it.services.submitted).toEqual([]);
    for (const name of ['url', 'quality', 'cookies', 'clip-x', 'headers', 'timezone']) {
      expect(text, name).toContain(`<a href="#f-${name}">`);
      expect(text, name).toMatch(new RegExp(`id="f-${name}"[^>]*aria-invalid="true"`));
      expect(text, name).toContain(`id="e-f-${name}"`);
    }
    expect(text).toContain('must be at most 100, not 900');
    expect(text).toContain('value="900"');
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('<img src=x');
  });

  test.each([
    ['deeper', '['.repeat(50_000) + ']'.repeat(50_000)],
    ['longer', `[${'1,'.repeat(5_000)}1]`],
  ])('refuses JSON that is %s than a request may be', async (_, cookies) => {
    const key = await aKey(it);
    const { status, text } = await visitor.post('/console/capture', { ...ON, key: key.id, url: 'example.com', cookies });
    expect(status).toBe(400);
    expect(text).toMatch(/id="e-f-cookies">must be an array/);
    expect(it.services.submitted).toEqual([]);
  });

  test.each([
    ['a revoked key', 400, 'must be a key that has not been revoked'],
    ['a key without the scope', 403, 'lacks the scope'],
    ['no key', 400, 'must be a key that has not been revoked'],
  ])('is refused with %s', async (which, status, said) => {
    const key = await aKey(it);
    const reader = await aKey(it, 'reader', ['jobs:read']);
    await aKey(it, 'other');
    if (which === 'a revoked key') await it.store.revokeKey(key.id, Date.now());
    const id = which === 'no key' ? '' : which === 'a revoked key' ? key.id : reader.id;
    const answer = await visitor.post('/console/capture', { ...ON, key: id, url: 'https://example.com' });
    expect([answer.status, it.services.submitted.length]).toEqual([status, 0]);
    expect(answer.text).toContain(said);
  });

  test('has the options that most pictures need beside the URL, and each field once', async () => {
    await aKey(it);
    const { text } = await (await it.signIn()).get('/console/capture');
    const first = /<div class="card">([\s\S]*?)<p role="status"/.exec(text)?.[1] ?? '';
    const names = [...first.matchAll(/ name="([^"]+)"/g)].map(([, name]) => name);
    expect(names).toEqual(['url', 'device', 'full_page', 'dark_mode', 'key']);
    for (const name of names) expect(text.split(` name="${name}"`), name).toHaveLength(2);
  });

  test("the paper of a PDF is that of the reader's language", async () => {
    const key = await aKey(it);
    const form = { ...ON, key: key.id, url: 'https://example.com/', format: 'pdf' };
    for (const [language, paper] of [
      ['de-DE,de;q=0.9', 'a4'],
      ['en-US', 'letter'],
      [`${'x'.repeat(4_000)},*`, 'a4'],
    ]) {
      const taken = await visitor.post('/console/capture', form, { 'accept-language': language ?? '' });
      expect(taken.status).toBe(200);
      expect(unescaped(taken.text)).toContain(`"paper": "${paper}"`);
    }
  });

  test('after a failure, is tried again with its options', async () => {
    const key = await aKey(it);
    it.services.submit = async () => aFailedJob();
    const { text } = await visitor.post('/console/capture', { ...ON, key: key.id, url: 'https://example.com/?id=5', full_page: 'on' });
    expect(text).toContain('<button type="submit" form="capture">Try again</button>');
    expect(text).toContain('value="https://example.com/?id=5"');
    expect(text).toMatch(/checked="" id="f-full_page"/);
  });

  test('is limited as the key is', async () => {
    await using it = await aConsole({ limits: limitsOf({ submissions: 1, reads: 0, failures: 9 }) });
    const [key, visitor] = [await aKey(it), await it.signIn()];
    const take = () => visitor.post('/console/capture', { ...ON, key: key.id, url: 'https://example.com' });
    expect((await take()).status).toBe(200);
    const refused = await take();
    expect(refused).toMatchObject({ status: 429, text: expect.stringContaining('exceeded its rate limit') });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });

  test('shows a failure, and what may be followed while it runs', async () => {
    const key = await aKey(it);
    const take = () => visitor.post('/console/capture', { ...ON, key: key.id, url: 'https://example.com' });
    it.services.submit = async () => aFailedJob();
    expect((await take()).text).toMatch(/The target answered 500\.[\s\S]*href="..\/docs#target_error"/);
    const waiting = aJob({ state: 'active', progress: 40 });
    it.services.submit = async () => waiting;
    expect((await take()).text).toContain(`data-live="job?id=${waiting.id}&amp;form=1"`);
    it.services.submit = async () => {
      throw new CaptureError({ code: 'quota_exceeded', message: 'No credits left.' });
    };
    expect(await take()).toMatchObject({ status: 429, text: expect.stringContaining('No credits left.') });
  });
});

describe('the capture page', () => {
  test('is filled in by a link, but not with what links must not have', async () => {
    await aKey(it);
    const query = new URLSearchParams({
      format: 'pdf',
      'pdf.paper': 'a4',
      full_page: 'on',
      block_ads: 'off',
      html: HOSTILE,
      custom_js: HOSTILE,
    });
    const { text } = await visitor.get(`/console/capture?${query}&viewport.width=${encodeURIComponent(HOSTILE)}`);
    expect(text).toMatch(/<option value="pdf" selected/);
    expect(text).toMatch(/checked="" id="f-full_page"/);
    expect(text).not.toMatch(/checked="" id="f-block_ads"/);
    expect(text).toMatch(/checked="" id="f-block_trackers"/);
    expect(text).toContain('value="a4"');
    for (const name of ['html', 'custom_js']) expect(text).toMatch(new RegExp(`<textarea[^>]* name="${name}"[^>]*></textarea>`));
    expect(text).not.toContain('<script>alert');
  });

  test('offers presets whose options are valid requests', async () => {
    await aKey(it);
    const { text } = await visitor.get('/console/capture');
    const presets = [...text.matchAll(/data-preset="[^"]*" href="capture\?([^"]+)"/g)].map(([, query = '']) => unescaped(query));
    expect(presets).toHaveLength(5);
    for (const preset of presets) {
      const fields = { ...ON, ...Object.fromEntries(new URLSearchParams(preset)), url: 'https://example.com' };
      const shown = await visitor.post('/console/snippets', fields);
      expect([shown.status, /id="snippet-problem"[^>]*>([^<]*)</.exec(shown.text)?.[1]], preset).toEqual([200, '']);
    }
  });

  test('writes the request as code without capturing, and says what is wrong with it', async () => {
    const { text } = await visitor.post('/console/snippets', { ...ON, url: 'ftp://example.com', timezone: HOSTILE, snippet: 'python' });
    expect(text).toMatch(/id="snippet-problem"[^>]*><code>url<\/code> must be an http or https URL/);
    expect(text).toMatch(/value="python" checked/);
    expect(text).not.toContain('<script>alert');
    expect(it.services.submitted).toEqual([]);
    expect((await visitor.post('/console/snippets', { ...ON })).text).toMatch(/id="snippet-problem"[^>]*><\/p>/);
  });

  test('previews the view, small and as webp, charged to the chosen key', async () => {
    const key = await aKey(it);
    const fields = {
      ...{ key: key.id, url: 'https://example.com/', device: 'pixel_8', hide_selectors: '.ad', full_page: 'on', max_height: '4000' },
      ...{
        format: 'pdf',
        'pdf.paper': 'a4',
        'upload.url': 'https://example.com/put',
        cache_ttl: '0',
        steps: '[{"action": "click", "selector": "#send"}]',
        'animate.duration': '2000',
        'webhook.url': 'https://example.com/hook',
        'webhook.secret': 'sixteen characters',
      },
    };
    const { status, text } = await visitor.post('/console/preview', { ...ON, ...fields });
    expect(status).toBe(200);
    expect(text).toContain(`<img src="pictures/${aCapture().artifact}"`);
    const [{ submission, context } = { submission: null, context: null }] = it.services.submitted;
    expect(context).toMatchObject({ principal: { keyId: key.id }, idempotencyKey: null });
    expect(submission).toMatchObject({ mode: 'sync', cacheTtl: 3600, webhook: null });
    expect(submission?.options).toMatchObject({
      format: 'webp',
      fullPage: false,
      pdf: null,
      upload: null,
      steps: [],
      animate: null,
      resize: { width: 640 },
      hideSelectors: ['.ad'],
    });
  });
});

describe('comparing', () => {
  /** Two jobs of another key, with pictures. */
  function twoJobs(it: TestConsole) {
    const [before, after] = [aCompletedJob({ keyId: 'key_1' }), aCompletedJob({ keyId: 'key_2' })];
    const artifact = `${'e'.repeat(32)}.webp`;
    if (before.result !== null) before.result.outcome = { ok: true, data: aCapture({ artifact }) };
    it.services.store.findJob = async (id) => [before, after].find((job) => job.id === id) ?? null;
    return { before, after, artifact };
  }

  test('two jobs are shown on top of each other before anything is compared', async () => {
    const { before, after, artifact } = twoJobs(it);
    it.services.comparisons.compare = async () => Promise.reject(new Error('compared'));
    const { status, text } = await visitor.get(`/console/compare?before=${before.id}&after=${after.id}`);
    expect(status).toBe(200);
    expect(text).toContain(`<img src="pictures/${artifact}" alt="The earlier capture"`);
    expect(text).toContain(`<img src="pictures/${aCapture().artifact}" alt="The later capture"`);
    const { text: hostile } = await visitor.get(`/console/compare?before=${encodeURIComponent(HOSTILE)}&after=${after.id}`);
    expect(hostile).not.toContain('The earlier capture');
    expect(hostile).not.toContain('<script>alert');
  });

  test('jobs of any key are compared, with the pictures and what has changed', async () => {
    const key = await aKey(it);
    const { before, after, artifact } = twoJobs(it);
    const size = { width: 800, height: 600 };
    const asked: unknown[] = [];
    it.services.comparisons.compare = async (order) => {
      asked.push(order.before, order.after);
      const regions = Array.from({ length: 12 }, (_, i) => ({ x: i, y: 0, width: 8, height: 8 }));
      return {
        comparison: { same: false, share: 0.00001, pixels: 5, regions, before: size, after: size },
        artifact: `${'d'.repeat(32)}.webp`,
      };
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
    const data = aCapture({ url: `https://example.com/${HOSTILE}` });
    const done = aCompletedJob({ keyId: key.id });
    if (done.result !== null) done.result.outcome = { ok: true, data };
    const page = { jobs: [aJob({ state: 'active', progress: 30 }), done, aFailedJob()], next: 7 };
    Object.assign(it.services.store, {
      listAllJobs: async (wish: object) => {
        asked.push(wish);
        return page;
      },
      listJobs: async (keyId: string, wish: object) => {
        asked.push({ ...wish, keyId });
        return page;
      },
    });
    const { text } = await visitor.get('/console/jobs?state=&key=');
    expect(text).toContain('active 30 %');
    expect(text).toContain('target_error');
    expect(text).toContain('jobs?cursor=Nw');
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('<img src=x');
    await visitor.get(`/console/jobs?state=failed&key=${key.id}&cursor=Nw&limit=5`);
    expect(asked).toEqual([
      { state: null, limit: 20, before: null },
      { state: 'failed', keyId: key.id, limit: 5, before: 7 },
    ]);
    expect((await visitor.get('/console/jobs?state=odd')).status).toBe(400);
  });

  test('a list without jobs leads to the first picture, or to the other jobs', async () => {
    expect((await visitor.get('/console/jobs')).text).toContain('<a href="capture">Take the first picture</a>');
    expect((await visitor.get('/console/jobs?state=failed')).text).toContain('<a href="jobs">Show all jobs</a>');
  });

  test('are shown as thumbnails, which only a session can load', async () => {
    const found: Record<string, Buffer | 'deleted' | 'busy' | 'not shown'> = { a: Buffer.from('webp'), b: 'deleted', c: 'busy' };
    Object.assign(it.services.console ?? {}, { thumbnail: async (name: string) => found[name[0] ?? ''] ?? null });
    const [picture, paper, banner] = [aCompletedJob(), aCompletedJob(), aCompletedJob()];
    const pdf = aCapture({ format: 'pdf', artifact: `${'p'.repeat(32)}.pdf` });
    if (paper.result !== null) paper.result.outcome = { ok: true, data: pdf };
    if (banner.result !== null) banner.result.outcome = { ok: true, data: aCapture({ width: 1280, height: 90 }) };
    it.services.store.listAllJobs = async () => ({ jobs: [picture, paper, aFailedJob(), banner], next: null });
    const { text } = await visitor.get('/console/jobs');
    const image = `<img src="thumbnails/${aCapture().artifact}" alt="" loading="lazy" decoding="async"/>`;
    expect(text.split(image)).toHaveLength(3);
    expect(text).toContain('<span class="thumb part">');
    expect(text).toContain('<span class="thumb none pdf" aria-hidden="true">PDF</span>');
    expect(text).toContain('<span class="thumb none failed"');
    const at = (letter: string) => `/console/thumbnails/${letter.repeat(32)}.webp`;
    expect(await visitor.get(at('a'))).toMatchObject({ status: 200, text: 'webp', headers: { 'content-type': 'image/webp' } });
    const gone = await visitor.get(at('b'));
    expect([gone.headers['content-type'], gone.headers['cache-control']]).toEqual(['image/svg+xml', 'private, max-age=600']);
    expect(gone.text).toContain('Picture deleted');
    expect((await visitor.get(at('c'))).headers['cache-control']).toBe('no-store');
    for (const path of [at('d'), '/console/thumbnails/x', '/console/thumbnails/..%2fa']) expect((await visitor.get(path)).status).toBe(404);
    expect((await it.ask('GET', at('a'))).status).toBe(401);
  });

  test('a job is shown with the picture before it of the same address and width', async () => {
    const pictured = (changes: Parameters<typeof aCapture>[0]) => {
      const job = aCompletedJob();
      if (job.result !== null) job.result.outcome = { ok: true, data: aCapture(changes) };
      return job;
    };
    const own = pictured({});
    const artifact = `${'e'.repeat(32)}.webp`;
    const [same, query, narrow, earlier] = [
      pictured({}),
      pictured({ artifact, url: 'https://example.com/?other' }),
      pictured({ artifact, width: 750 }),
      pictured({ artifact }),
    ];
    it.services.store.findJob = async (id) => (id === own.id ? own : null);
    it.services.store.earlierPictures = async () => [same, query, narrow, earlier];
    const { text } = await visitor.get(`/console/job?id=${own.id}`);
    expect(text).toContain(`href="compare?before=${earlier.id}&amp;after=${own.id}"`);
    expect(text).toContain(`<img src="pictures/${artifact}" alt="The earlier capture"`);
    it.services.store.earlierPictures = async () => [same, query, narrow];
    expect((await visitor.get(`/console/job?id=${own.id}`)).text).not.toContain('Before and after');
  });

  test('a failed job shows what it was to capture, and can be tried again', async () => {
    const job = aFailedJob({ url: `https://example.com/a&b/${HOSTILE}` });
    const [html, old] = [aFailedJob({ url: 'about:html' }), aFailedJob({ url: null })];
    it.services.store.findJob = async (id) => [job, html, old].find((each) => each.id === id) ?? null;
    it.services.store.listAllJobs = async () => ({ jobs: [job, html, old], next: null });
    const list = (await visitor.get('/console/jobs')).text;
    expect(unescaped(list)).toContain(`<a href="job?id=${job.id}" title="${job.url}">${job.url?.replace('https://', '')}</a>`);
    expect(list).toContain(`<a href="job?id=${html.id}" title="about:html">about:html</a>`);
    expect(list).toContain(`<a href="job?id=${old.id}" title="${old.id}">${old.id}</a>`);
    const { text } = await visitor.get(`/console/job?id=${job.id}`);
    expect(unescaped(text)).toContain(`<dt>URL</dt><dd>${job.url}</dd>`);
    expect(list + text).not.toContain('<script>alert');
    const again = /href="(capture\?url=[^"]+)">Try again</.exec(text)?.[1] ?? '';
    await aKey(it);
    const form = (await visitor.get(`/console/${unescaped(again)}`)).text;
    expect(unescaped(/name="url"[^>]* value="([^"]*)"|value="([^"]*)"[^>]* name="url"/.exec(form)?.slice(1).join('') ?? '')).toBe(job.url);
    for (const { id } of [html, old]) expect((await visitor.get(`/console/job?id=${id}`)).text).not.toContain('capture?url=');
  });

  test('a job shows its life, and nothing that its page says is markup', async () => {
    await using it = await aConsole({ timingsOf: () => ({ queue: 1, navigate: 60, shoot: 40 }) });
    const visitor = await it.signIn();
    const box = { x: 0, y: 0, width: 1, height: 1 };
    const elements = [{ ref: 'e1-0000000-0000000', role: 'button', name: HOSTILE, box, selector: HOSTILE }];
    const inspection = { markdown: HOSTILE, accessibleTree: HOSTILE, elements };
    const data = aCapture({ finalUrl: `javascript:${HOSTILE}`, inspection });
    const job = aCompletedJob({ webhookUrl: 'https://example.com/hook' });
    if (job.result !== null) job.result.outcome = { ok: true, data };
    it.services.store.findJob = async (id) => (id === job.id ? job : null);
    it.services.deliveries.set(job.id, aDelivery({ jobId: job.id, state: 'failed', lastError: HOSTILE }));
    const { text } = await visitor.get(`/console/job?id=${job.id}`);
    expect(text).toContain('The picture is ready');
    expect(text).toContain('Elements that can be acted on');
    expect(text).toMatch(/navigate<\/th><td class="number">60 ms/);
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('<img src=x');
    expect(text).not.toMatch(/href="javascript:/);
    const etag = unescaped(/name="etag" value="([^"]+)"/.exec(text)?.[1] ?? '');
    expect(await visitor.post('/console/redeliver', { id: job.id, etag })).toMatchObject({
      status: 303,
      headers: { location: `job?id=${job.id}` },
    });
    expect(it.services.deliveries.get(job.id)).toMatchObject({ state: 'pending', generation: 2 });
    expect((await visitor.post('/console/redeliver', { id: job.id, etag })).status).toBe(409);
    expect((await visitor.get('/console/job?id=job_unknown')).status).toBe(404);
    expect((await visitor.get('/console/job')).status).toBe(404);
  });

  test('a job that has not ended shows the options of its request, but no private ones', async () => {
    const job = aJob({ state: 'active', progress: 40 });
    it.services.store.findJob = async () => job;
    const rules = { forceAsync: false, webhookAllow: [] };
    const shown = async (body: object) => {
      it.services.store.findOrders = async () => new Map([[job.id, parseSubmission(body, rules).options]]);
      return (await visitor.get(`/console/job?id=${job.id}`)).text;
    };
    const proxy = { server: 'http://proxy.example.com', password: 'SECRET' };
    const secrets = { headers: { 'x-key': 'SECRET' }, cookies: [{ name: 'a', value: 'SECRET' }], custom_js: '"SECRET"', proxy };
    const text = await shown({ url: 'https://example.com/page', full_page: true, hide_selectors: [HOSTILE], ...secrets });
    expect(text).toContain('https://example.com/page');
    expect(text).toMatch(/full_page<\/code><\/dt><dd>true/);
    expect(text).toMatch(/headers<\/code><\/dt><dd>set, not shown/);
    expect(text).not.toContain('SECRET');
    expect(text).not.toContain('<img src=x');
    expect(text).not.toContain('block_ads');
    const html = await shown({ html: '<p>SECRET</p>' });
    expect(html).toContain('about:html');
    expect(html).not.toContain('SECRET');
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
    expect(secret).not.toBe('');
    expect(made.text).not.toContain('<script>alert');
    const [key] = await it.store.listKeys();
    expect(key).toMatchObject({ label: HOSTILE, accountName: 'default', scopes: ['jobs:read'], revokedAt: null });
    const list = (await visitor.get('/console/keys')).text;
    expect(list).not.toContain(secret);
    expect(list).toContain(secret.slice(0, 16));
    await it.store.setLinksLimit(key?.id ?? '', 500);
    expect((await visitor.get('/console/keys')).text).toContain('Links: 0 of 500 credits this month');
    expect(await visitor.post('/console/revoke-key', { id: key?.id ?? '' })).toMatchObject({ status: 303 });
    expect((await it.store.listKeys())[0]?.revokedAt).not.toBeNull();
    expect((await visitor.post('/console/revoke-key', { id: secret })).status).toBe(400);
    expect((await visitor.post('/console/revoke-key', { id: 'key_00000000000000000000000000' })).status).toBe(404);
  });

  test('may be for signed links alone', async () => {
    await visitor.post('/console/keys', { label: 'website', account: 'default', scope: 'links' });
    expect((await it.store.listKeys())[0]?.scopes).toEqual(['links']);
  });

  test('are listed 50 at a time', async () => {
    for (let i = 0; i < 51; i++) await aKey(it, `number ${i}`);
    const first = (await visitor.get('/console/keys')).text;
    const second = (await visitor.get(`/console/${/href="(keys\?after=[^"]+)"/.exec(first)?.[1]}`)).text;
    const labels = (text: string) => [...new Set([...text.matchAll(/>(number \d+)</g)].map(([, label]) => label))];
    expect([labels(first).length, new Set([...labels(first), ...labels(second)]).size, labels(second).length]).toEqual([50, 51, 1]);
  });

  test.each([
    [{ label: ' ', account: 'default', scope: 'jobs:read' }, 'must be 1 to 100 characters'],
    [{ label: 'x'.repeat(101), account: 'default', scope: 'jobs:read' }, 'must be 1 to 100 characters'],
    [{ label: 'a\u001b[2J', account: 'default', scope: 'jobs:read' }, 'must be 1 to 100 characters'],
    [{ label: 'a', account: 'default', scope: 'everything' }, 'must have at least one'],
    [{ label: 'a', account: 'nobody', scope: 'jobs:read' }, 'must be an account that exists'],
  ])('are not created from %j', async (fields, said) => {
    expect(await visitor.post('/console/keys', fields)).toMatchObject({ status: 400, text: expect.stringContaining(said) });
    expect(await it.store.listKeys()).toEqual([]);
  });
});

describe('signing secrets', () => {
  test('are created and replaced, shown once, and the previous one works as long as was chosen', async () => {
    const key = await aKey(it, HOSTILE);
    const make = async (hours: string) => {
      const { status, text } = await visitor.post('/console/signing-secret', { id: key.id, hours });
      expect(status).toBe(200);
      expect(text).not.toContain('<script>alert');
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

  test.each([
    ['an unknown key', 404],
    ['a revoked key', 404],
    ['no key id', 400],
    ['a time that is not offered', 400],
  ])('are not created for %s', async (which, status) => {
    const key = await aKey(it);
    if (which === 'a revoked key') await it.store.revokeKey(key.id, Date.now());
    const id = which === 'an unknown key' ? 'key_00000000000000000000000000' : which === 'no key id' ? 'x' : key.id;
    const hours = which === 'a time that is not offered' ? '87600' : '0';
    expect((await visitor.post('/console/signing-secret', { id, hours })).status).toBe(status);
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
    expect(await visitor.post('/console/accounts', { name: 'marketing' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('is taken'),
    });
    expect((await visitor.post('/console/accounts', { name: HOSTILE })).text).not.toContain('<script>alert');
  });
});

test('the system page tells how much storage is used, and which servers run', async () => {
  it.services.store.storageUse = async () => ({ pictures: 12_345_000_000, database: 5_600_000, free: 1_200_000 });
  if (it.services.console !== undefined) it.services.console.maxStorageBytes = 20_000_000_000;
  const { text } = await visitor.get('/console/system');
  expect(text).toMatch(/host-1[\s\S]*1 of 4/);
  expect(text).toMatch(/Pictures<\/dt><dd>12\.3 GB</);
  expect(text).toMatch(/Database<\/dt><dd>5\.6 MB, 1\.2 MB of it unused</);
  expect(text).toMatch(/Limit<\/dt><dd>20\.0 GB</);
});

test('a bug is a page without its cause', async () => {
  it.services.health = async () => {
    throw new Error('internal detail');
  };
  const answer = await visitor.get('/console/system');
  expect(answer.status).toBe(500);
  expect(answer.text).toContain('internal_error');
  expect(answer.text).not.toContain('internal detail');
});

function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
