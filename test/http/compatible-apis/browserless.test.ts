import { readdirSync, rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { CaptureError } from '../../../src/contract/capture-error.js';
import { ask, type FakeChanges, type FakeServices, KEYS, servicesWithApi, UPLOADS_DIR } from '../fake-services.js';

afterAll(() => rmSync(UPLOADS_DIR, { recursive: true, force: true }));

const URL = 'https://example.com/page';

function services(changes: FakeChanges = {}): FakeServices {
  const made = servicesWithApi('browserless', changes);
  return Object.assign(made, { captured: { finalUrl: `${URL}?a=1`, response: { status: 404 } } });
}

interface Request {
  body?: unknown;
  query?: string;
  headers?: Record<string, string>;
  by?: FakeServices;
}

async function send(
  path: string,
  { body = { url: URL }, query = `token=${KEYS.full}`, headers = {}, by = services() }: Request = {},
) {
  const answer = await ask(by, `${path}?${query}`, {
    headers: { authorization: undefined, ...headers },
    body: JSON.stringify(body),
  });
  return { ...answer, options: by.submitted[0]?.submission.options };
}

const wait = (test: string) => `(async () => (await (${test}\n)))()`;

describe('the interface of browserless', () => {
  it.each(
    ['', '/chromium', '/chrome'].flatMap((prefix) =>
      ['/screenshot', '/pdf', '/content', '/screenshot/'].map((path) => prefix + path),
    ),
  )('has POST %s', async (path) => {
    expect((await send(path)).status).toBe(200);
  });

  it('captures by default as browserless does: a png of 800 × 600 at density 1, nothing blocked, error pages too', async () => {
    const { options } = await send('/screenshot');
    expect(options).toMatchObject({
      view: { width: 800, height: 600, deviceScaleFactor: 1, isMobile: false, hasTouch: false },
      url: URL,
      format: 'png',
      quality: 80,
      waitUntil: 'load',
      timeout: 30_000,
      reduceMotion: false,
      document: 'response',
      blockAds: false,
      blockTrackers: false,
      blockChats: false,
      blockCookieBanners: false,
      tolerate: ['target_error', 'blocked_by_target', 'render_incomplete'],
    });
    const { options: printed } = await send('/pdf');
    expect(printed?.pdf).toMatchObject({
      paper: { width: 8.5, height: 11 },
      margin: { top: 0, right: 0, bottom: 0, left: 0 },
      headerTemplate: null,
      printBackground: false,
      tagged: true,
      outline: false,
      fitWidth: false,
      media: 'print',
    });
    expect((await send('/content')).options).toMatchObject({ document: 'html', format: 'png' });
  });

  it.each<[path: string, body: object, options: object]>([
    [
      '/screenshot',
      { options: { type: 'jpeg', quality: '55', fullPage: 'true', fromSurface: true } },
      { format: 'jpeg', quality: 55, fullPage: true },
    ],
    [
      '/screenshot',
      { options: { clip: { x: 1, y: 2, width: 3, height: 4, scale: 1 } } },
      { clip: { x: 1, y: 2, width: 3, height: 4 } },
    ],
    [
      '/screenshot',
      { options: { omitBackground: true, captureBeyondViewport: false, optimizeForSpeed: true } },
      { omitBackground: true },
    ],
    ['/screenshot', { selector: '#a' }, { selector: '#a', tolerate: ['target_error', 'blocked_by_target'] }],
    [
      '/screenshot',
      { scrollPage: true },
      { steps: [{ action: 'evaluate', script: expect.stringContaining('scrollTo') }] },
    ],
    ['/pdf', { options: { format: 'A4', landscape: true } }, { pdf: { paper: { width: 11.6929, height: 8.2677 } } }],
    ['/pdf', { options: { width: '10cm', height: 960 } }, { pdf: { paper: { width: 10 / 2.54, height: 10 } } }],
    [
      '/pdf',
      { options: { margin: { top: '1in', left: 96 } } },
      { pdf: { margin: { top: 1, right: 0, bottom: 0, left: 1 } } },
    ],
    [
      '/pdf',
      { options: { scale: 0.5, printBackground: true, outline: true } },
      { pdf: { scale: 0.5, printBackground: true, outline: true } },
    ],
    ['/pdf', { options: { pageRanges: '1-2', tagged: false } }, { pdf: { pageRanges: '1-2', tagged: false } }],
    [
      '/pdf',
      { options: { preferCSSPageSize: true }, emulateMediaType: 'screen' },
      { pdf: { preferCssPageSize: true, media: 'screen' } },
    ],
    [
      '/pdf',
      { options: { timeout: 1, waitForFonts: false, omitBackground: true, pageRanges: '' } },
      { pdf: { pageRanges: null } },
    ],
    ['/pdf', { options: { headerTemplate: '<b>h</b>' } }, { pdf: { headerTemplate: null, footerTemplate: null } }],
    [
      '/pdf',
      { options: { displayHeaderFooter: true, headerTemplate: '<b>h</b>', footerTemplate: '' } },
      { pdf: { headerTemplate: '<b>h</b>', footerTemplate: expect.stringContaining('totalPages') } },
    ],
    ['/pdf', { options: { fullPage: true } }, { fullPage: true, fullPageAlgorithm: 'native', pdf: null }],
    ['/content', { emulateMediaType: 'screen' }, {}],
    [
      '/content',
      {
        viewport: { width: 400, height: 300, deviceScaleFactor: 2, isMobile: true, hasTouch: true, isLandscape: false },
      },
      { view: { width: 400, height: 300, deviceScaleFactor: 2, isMobile: true, hasTouch: true } },
    ],
    [
      '/content',
      { gotoOptions: { waitUntil: 'networkidle0', timeout: 5_000, referer: 'https://a.example/' } },
      { waitUntil: 'networkidle0', timeout: 5_000, referer: 'https://a.example/' },
    ],
    ['/content', { gotoOptions: { waitUntil: ['domcontentloaded', 'networkidle2'] } }, { waitUntil: 'networkidle2' }],
    ['/content', { gotoOptions: { waitUntil: ['load', 'networkidle2'] } }, { waitUntil: 'load' }],
    ['/content', { gotoOptions: { waitUntil: ['networkidle0', 'load'] } }, { waitUntil: 'networkidle' }],
    [
      '/content',
      { gotoOptions: { waitUntil: [] }, viewport: { width: 1, height: 1, deviceScaleFactor: 0 } },
      { waitUntil: 'load', view: { width: 1, height: 1, deviceScaleFactor: 1 } },
    ],
    ['/content', { gotoOptions: { waitUntil: 'domcontentloaded' } }, { waitUntil: 'domcontentloaded' }],
    [
      '/content',
      { authenticate: { username: 'ada', password: 'p' } },
      { httpCredentials: { username: 'ada', password: 'p' } },
    ],
    [
      '/content',
      { setExtraHTTPHeaders: { 'X-A': 'b' }, userAgent: 'UA' },
      { headers: { 'x-a': 'b' }, userAgent: 'UA' },
    ],
    [
      '/content',
      { userAgent: { userAgent: 'UA' }, setJavaScriptEnabled: true, requestInterceptors: [] },
      { userAgent: 'UA' },
    ],
    [
      '/content',
      {
        cookies: [
          { name: 'a', value: 'b', sameSite: 'Lax', httpOnly: true, expires: 9 },
          { name: 'c', value: 'd', domain: 'other.example', secure: true },
        ],
      },
      {
        cookies: [{ name: 'a', value: 'b', domain: null, sameSite: 'Lax', httpOnly: true, expires: 9 }],
        storageState: { cookies: [{ name: 'c', value: 'd', domain: 'other.example', secure: true }] },
      },
    ],
    [
      '/content',
      { cookies: [{ name: 'a', value: 'b', url: 'https://example.com/x', sameSite: 'Default' }] },
      { cookies: [{ domain: '.example.com' }] },
    ],
    ['/content', { rejectResourceTypes: ['image', 'font'] }, { blockResources: ['image', 'font'] }],
    [
      '/content',
      { rejectRequestPattern: ['example.com', '\\.css', '.*track.*', '*.png', '/a/.*/b\\?c'] },
      { blockRequests: ['example.com', '.css', 'track', '.png', '/a/*/b?c'] },
    ],
    ['/content', { waitForTimeout: 1_500 }, { delay: 1_500 }],
    [
      '/content',
      { waitForFunction: { fn: '() => window.a', polling: 'raf' } },
      { waitForFunction: wait('(() => window.a\n)()') },
    ],
    ['/content', { waitForFunction: { fn: 'window.a === 1' } }, { waitForFunction: wait('window.a === 1') }],
    [
      '/content',
      { waitForFunction: { fn: 'async () => 1' } },
      { waitForFunction: expect.stringContaining('await (async () => 1') },
    ],
    [
      '/content',
      { waitForSelector: { selector: 'h1' } },
      { waitForFunction: wait('document.querySelector("h1") !== null'), timeout: 30_000 },
    ],
    [
      '/content',
      { waitForSelector: { selector: 'h1', visible: true } },
      { waitForFunction: expect.stringContaining('checkVisibility') },
    ],
    [
      '/content',
      { waitForSelector: { selector: 'h1', hidden: true } },
      { waitForFunction: expect.stringContaining('(!((element)') },
    ],
    [
      '/content',
      { waitForEvent: { event: 'done' } },
      {
        customJs: expect.stringContaining('addEventListener("done"'),
        waitForFunction: wait('window.__stillframeEvent'),
      },
    ],
    [
      '/content',
      { waitForSelector: { selector: 'h1', timeout: 2_000 }, gotoOptions: { timeout: 3_000 } },
      {
        steps: [{ action: 'wait_for', expression: expect.stringContaining('within(0, 2000') }, { action: 'evaluate' }],
        timeout: 5_000,
      },
    ],
    [
      '/content',
      { waitForSelector: { selector: 'h1' }, gotoOptions: { timeout: 3_000 }, bestAttempt: true },
      {
        waitUntil: 'domcontentloaded',
        steps: [],
        waitForFunction: expect.stringMatching(/within\(0, 3000.*readyState[\s\S]*within\(1, 30000/),
        timeout: 30_000,
      },
    ],
    [
      '/content',
      {
        addStyleTag: [{ content: 'h1{}' }, { url: 'https://a.example/b.css' }],
        addScriptTag: [{ content: 'x', type: 'module', id: 'i' }],
      },
      {
        customJs: expect.stringContaining(
          '[{"content":"h1{}","element":"style"},{"url":"https://a.example/b.css","element":"link"},{"content":"x","id":"i","type":"module","element":"script"}]',
        ),
      },
    ],
    [
      '/content',
      { blockAds: true, blockConsentModals: true },
      { blockAds: true, blockTrackers: true, blockCookieBanners: true },
    ],
  ])('%s takes %j', async (path, body, options) => {
    const answer = await send(path, { body: { url: URL, ...body } });
    expect(answer.text).toBe('picture');
    expect(answer.options).toMatchObject(options);
  });

  it.each<[query: string, options: object]>([
    ['timeout=12000', { timeout: 12_000 }],
    ['timeout=10', { timeout: 10 }],
    ['timeout=0', { timeout: 60_000 }],
    ['blockAds', { blockAds: true, blockTrackers: true }],
    ['headless=true&stealth=false', {}],
    [`launch=${encodeURIComponent('{"args":["--lang=fr-FR"]}')}&--lang=de-DE`, { locale: 'de-DE' }],
    [
      '--proxy-server=http://proxy.example:3128&--lang=de-DE',
      { proxy: { server: 'http://proxy.example:3128' }, locale: 'de-DE' },
    ],
    [
      `launch=${encodeURIComponent('{"args":["--no-sandbox"],"defaultViewport":{"width":500,"height":400}}')}`,
      { view: { width: 500, height: 400 } },
    ],
    [
      `launch=${Buffer.from('{"acceptInsecureCerts":true,"headless":"shell"}').toString('base64url')}`,
      { ignoreHttpsErrors: true },
    ],
  ])('takes the query ?%s', async (query, options) => {
    const by = services();
    by.config.allowInsecureTls = true;
    const answer = await send('/screenshot', {
      query: `token=${KEYS.full}&${query}`,
      body: { url: URL, gotoOptions: { timeout: 0 } },
      by,
    });
    expect(answer.text).toBe('picture');
    expect(answer.options).toMatchObject(options);
  });

  it.each<[path: string, body: object, field: string]>([
    ['/screenshot', { setJavaScriptEnabled: { toString: 1 } }, '`setJavaScriptEnabled` can only be true here'],
    [
      '/screenshot',
      { url: URL, viewport: { width: 0, height: 1.5 } },
      'a whole number from 1 to 3840\n`viewport.height` must',
    ],
    ['/screenshot', { url: URL, cookies: [{ name: 'a', value: 'b', domain: '..' }] }, '`cookies.0.domain` must'],
    ['/pdf', { url: URL, options: { width: -1 } }, '`options.width` must be a length'],
    ['/screenshot', { optons: {} }, '`optons` is not a field of this interface: did you mean `options`?'],
    ['/content', { options: {} }, '`options` is not a field'],
    ['/pdf', { selector: 'a' }, '`selector` is not a field'],
    ['/content', {}, '`url` is required'],
    ['/content', { url: URL, html: 'x' }, '`html` cannot be combined with `url`'],
    ['/content', { html: 'x', authenticate: { username: 'a', password: 'b' } }, '`authenticate` needs `url`'],
    ['/content', { html: 'x', setExtraHTTPHeaders: { a: 'b' } }, '`setExtraHTTPHeaders` needs `url`'],
    ['/content', { html: 'x', gotoOptions: { referer: URL } }, '`gotoOptions.referer` needs `url`'],
    ['/content', { gotoOptions: { referrerPolicy: 'origin' } }, '`gotoOptions.referrerPolicy` is not supported here'],
    ['/content', { viewport: { deviceScaleFactor: 5 } }, '`viewport.deviceScaleFactor` must be a number from 0.1 to 4'],
    ['/content', { viewport: { isLandscape: true } }, '`viewport.isLandscape` can only be false here'],
    [
      '/content',
      { url: URL, setJavaScriptEnabled: false },
      '`setJavaScriptEnabled` can only be true here: block scripts with `rejectResourceTypes',
    ],
    ['/content', { requestInterceptors: [{}] }, '`requestInterceptors` is not supported here'],
    ['/content', { emulateMediaType: 'print' }, '`emulateMediaType` can only be print for /pdf'],
    ['/content', { cookies: [{ name: 'a', value: 'b', partitionKey: 'c' }] }, 'can only have name, value, url, domain'],
    ['/content', { userAgent: { userAgent: 'a', platform: 'b' } }, '`userAgent` must be a string'],
    ['/content', { rejectResourceTypes: ['document'] }, '`rejectResourceTypes` cannot have document'],
    ['/content', { rejectResourceTypes: ['websocket'] }, '`rejectResourceTypes` cannot have this type here'],
    ...['\\.(css|js)', '^https://a', 'a+', 'b$', '/^.*\\.(css)/', '\\d', 'a.*?', '.*'].map(
      (pattern): [string, object, string] => [
        '/content',
        { rejectRequestPattern: [pattern] },
        '`rejectRequestPattern` can only have plain text',
      ],
    ),
    ['/content', { addScriptTag: [{ path: '/etc/passwd' }] }, 'must have `url` or `content`, and no `path`'],
    ['/content', { addStyleTag: [{ content: 'a', url: 'b' }] }, 'must have either `url` or `content`'],
    ['/content', { waitForTimeout: 30_001 }, '`waitForTimeout` must be at most 30000'],
    ['/screenshot', { options: { path: 'a.png' } }, '`options.path` is not supported here'],
    ['/screenshot', { options: { type: 'gif' } }, '`options.type`'],
    ['/screenshot', { options: { fromSurface: false } }, '`options.fromSurface` can only be true here'],
    [
      '/screenshot',
      { options: { clip: { x: 0, y: 0, width: 1, height: 1, scale: 2 } } },
      '`options.clip.scale` can only be 1 here: set `viewport.deviceScaleFactor`',
    ],
    [
      '/screenshot',
      { options: { clip: { x: 0 }, captureBeyondViewport: false } },
      '`options.captureBeyondViewport` can only be true',
    ],
    [
      '/screenshot',
      { url: URL, options: { type: 'jpeg', omitBackground: true } },
      '`options.omitBackground` needs format',
    ],
    ['/pdf', { url: URL, options: { format: 'A9' } }, '`options.format` must be one of a0'],
    [
      '/pdf',
      { url: URL, options: { fullPage: true, format: 'A4' } },
      '`options.fullPage` cannot be combined with `format`',
    ],
    ['/pdf', { options: { path: 'a.pdf' } }, '`options.path` is not supported here'],
  ])('%s refuses %j', async (path, body, text) => {
    const by = services();
    const answer = await send(path, { body, by });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain; charset=UTF-8']);
    expect(answer.text).toContain(text);
    expect(by.submitted).toEqual([]);
  });

  it.each([
    ['stealth', '`stealth` can only be false'],
    ['headless=false', '`headless` must be true'],
    ['launch=nonsense', '`launch` must be a JSON object'],
    [`launch=${encodeURIComponent('{"args":["--window-size=1,2"]}')}`, '`launch.args` can only have'],
    [`launch=${encodeURIComponent('{"slowMo":5}')}`, '`launch.slowMo` can only be 0'],
    ['--disable-web-security', '`args` can only have'],
    ['profile=a', '`profile` is not supported here'],
    ['trackingId=a', '`trackingId` is not supported here'],
  ])('refuses the query ?%s', async (query, text) => {
    const answer = await send('/pdf', { query: `token=${KEYS.full}&${query}` });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(text)]);
  });

  it.each([
    ...['/function', '/chromium/download', '/scrape', '/chrome/performance'].map((path) => ['POST', path]),
    ...['/chromium', '/chromium/playwright', '/json/version', '/json/list', '/config', '/meta'].map((path) => [
      'GET',
      path,
    ]),
    ...['/screenshot', '/chromium/pdf', '/chrome/scrape'].map((path) => ['GET', path]),
  ])('names for %s %s what to use instead', async (method, path) => {
    const answer = await ask(services(), `${path}?token=${KEYS.full}`, { method });
    expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('here')]);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=UTF-8');
  });

  it('reports its load to callers with a key', async () => {
    const by = services();
    const [active, pressure] = ['/active', '/pressure'].map((path) => `${path}?token=${KEYS.reader}`) as [
      string,
      string,
    ];
    expect((await ask(by, active)).status).toBe(204);
    expect((await ask(by, '/active', { headers: { authorization: undefined } })).status).toBe(401);
    const told = { isAvailable: true, maxConcurrent: 2, maxQueued: 10, queued: 0, running: 0, reason: '', message: '' };
    expect((await ask(by, pressure)).json).toEqual({ pressure: expect.objectContaining(told) });
    expect((await ask(by, pressure, { headers: { accept: 'text/plain' } })).status).toBe(200);
    by.config.maxQueue = 0;
    expect((await ask(by, pressure)).json).toMatchObject({ pressure: { isAvailable: false, reason: 'full' } });
    expect((await ask(by, pressure, { headers: { accept: 'text/plain' } })).status).toBe(503);
  });

  it('takes the key as a token, in Bearer or in Basic, and STILLFRAME_COMPATIBLE_APIS_KEY without any', async () => {
    const basic = `Basic ${Buffer.from(`${KEYS.full}:`).toString('base64')}`;
    expect((await send('/content', { query: '' })).status).toBe(401);
    for (const [authorization, status] of [
      [`Bearer ${KEYS.full}`, 200] as const,
      [basic, 200] as const,
      ['Bearer other', 401] as const,
    ]) {
      expect((await send('/content', { query: '', headers: { authorization } })).status).toBe(status);
    }
    const by = services();
    by.config.compatibleApisKey = KEYS.full;
    expect((await send('/content', { query: '', by })).status).toBe(200);
    expect((await send('/content', { query: `token=${KEYS.reader}`, by })).status).toBe(403);
  });

  it('reports the response of the page, and none for `html`', async () => {
    const { headers } = await send('/screenshot');
    const told = ['x-response-code', 'x-response-status', 'x-response-url'];
    expect(told.map((name) => headers.get(name))).toEqual(['404', 'Not Found', `${URL}?a=1`]);
    const { headers: without } = await send('/screenshot', { body: { html: '<p>' } });
    expect(told.map((name) => without.get(name))).toEqual([null, null, null]);
  });

  it('answers base64 as text, and /content as HTML that runs nothing', async () => {
    const answer = await send('/screenshot', { body: { url: URL, options: { encoding: 'base64' } } });
    expect([answer.text, answer.headers.get('content-type')]).toEqual([btoa('picture'), 'text/plain; charset=UTF-8']);
    const { headers } = await send('/content');
    expect(headers.get('content-type')).toBe('text/html; charset=UTF-8');
    expect(headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/);
  });

  it.each([
    [408, { code: 'render_timeout' }],
    [500, { code: 'navigation_failed' }],
    [429, { code: 'rate_limited' }],
    [400, { code: 'render_incomplete', details: { check: 'selector' } }],
    [503, { code: 'internal_error', status: 503 }],
  ] as const)('answers %i in plain text to %j', async (status, error) => {
    const by = services({ submit: () => Promise.reject(new CaptureError({ message: 'no picture', ...error })) });
    const answer = await send('/screenshot', { by });
    expect([answer.status, answer.text]).toEqual([status, 'no picture\n']);
  });

  it.each([
    ['a form', { 'content-type': 'multipart/form-data; boundary=a' }],
    ['HTML', { 'content-type': 'text/html' }],
    ['a compressed body', { 'content-encoding': 'gzip' }],
  ])('refuses %s', async (_what, headers) => {
    expect((await send('/pdf', { headers })).status).toBe(400);
  });

  it.each<[what: string, chars: number, isFile: boolean, char?: string]>([
    ['short HTML as it is', 1_000, false],
    ['HTML that is too long for a field as a file', 300_000, true],
    ['HTML that another thread parses as a file', 3_000_000, true],
    ['HTML of which every second character is escaped as JSON', 1_500_000, true, 'x\n'],
  ])('takes %s, and leaves nothing among the uploads', async (_what, chars, isFile, char = 'x') => {
    const html = `<p>é${char.repeat(chars)}`;
    const by = services();
    const { status, options } = await send('/pdf', { body: { html }, by });
    expect(status).toBe(200);
    const file = { name: 'index.html', type: 'text/html; charset=utf-8', at: 0, bytes: chars * char.length + 5 };
    if (isFile) expect(options).toMatchObject({ html: null, files: { list: [file] } });
    else expect(options).toMatchObject({ html, files: null });
    if (isFile) expect(readdirSync(by.uploads.dir)).toEqual([]);
  });

  it('parses a large body with the rules of a small one', async () => {
    const padding = 'x'.repeat(2_000_000);
    for (const body of [{ html: '', more: padding }, { html: padding, more: 1 }, [padding]]) {
      expect((await send('/pdf', { body })).status).toBe(400);
    }
    expect((await send('/pdf', { body: { html: padding.repeat(26) } })).text).toContain('larger than 50000000 bytes');
  });
});
