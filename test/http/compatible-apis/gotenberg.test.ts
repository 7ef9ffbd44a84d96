import { rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../../src/contract/capture-error.js';
import type { CaptureOptions } from '../../../src/contract/capture-request.js';
import type { Charge } from '../../../src/store/store.js';
import { aDocument, rawPdf } from '../../pdf/raw-pdf.js';
import { aFailedJob, ask, gate, KEYS, serveApp, servicesWithApi, UPLOADS_DIR } from '../fake-services.js';
import { RawClient } from '../raw-client.js';

afterAll(() => rmSync(UPLOADS_DIR, { recursive: true, force: true }));

type Fields = Record<string, string>;
type Files = Record<string, string | Buffer>;

const HTML = { 'index.html': '<h1>Hello</h1>' };
const KEY = { authorization: `Bearer ${KEYS.full}` };
const HOOKS = {
  'gotenberg-webhook-url': 'https://a.example/file?s=1',
  'gotenberg-webhook-error-url': 'https://b.example/error',
};

const aCompatibleApi = (config: Parameters<typeof servicesWithApi>[2] = {}) =>
  Object.assign(servicesWithApi('gotenberg', {}, config), { captured: { format: 'pdf' as const } });

async function post(
  path: string,
  fields: Fields,
  files: Files = {},
  { by = aCompatibleApi(), headers = {} as Fields } = {},
) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  for (const [name, content] of Object.entries(files))
    body.append(
      name === 'embeds' ? name : 'files',
      new Blob([typeof content === 'string' ? content : new Uint8Array(content)]),
      name,
    );
  return { ...(await ask(by, path, { body, headers })), services: by };
}

async function optionsOf(
  path: string,
  fields: Fields,
  files: Files = {},
  headers: Fields = {},
): Promise<CaptureOptions> {
  const { status, text, services } = await post(path, fields, files, { headers });
  expect([status, text]).toEqual(status === 204 ? [204, ''] : [200, 'picture']);
  return services.submitted[0]?.submission.options ?? expect.fail();
}

const [PDF, PDF_URL] = ['/forms/chromium/convert/html', '/forms/chromium/convert/url'];
const [SHOT, SHOT_URL] = ['/forms/chromium/screenshot/html', '/forms/chromium/screenshot/url'];
const MARKDOWN = '/forms/chromium/convert/markdown';
const AT = { url: 'https://example.com/a' };
const COOKIE = { name: 'a', value: 'b', domain: 'x.de', path: '/', sameSite: 'Lax' };
const inch = (inches: number) => expect.closeTo(inches, 4);

describe('the interface of Gotenberg', () => {
  it("has Gotenberg's defaults", async () => {
    expect(await optionsOf(PDF, {}, HTML)).toMatchObject({
      format: 'pdf',
      view: { width: 800, height: 600, deviceScaleFactor: 1 },
      waitUntil: 'load',
      tolerate: ['render_incomplete'],
      blockAds: false,
      reduceMotion: false,
      waitForIdle: false,
      inspectPage: false,
      pdf: {
        paper: { width: 8.5, height: 11 },
        margin: { top: inch(0.39), left: inch(0.39) },
        printBackground: false,
        scale: 1,
        media: 'print',
      },
      customCss: expect.stringContaining('html, body { background: none !important }'),
    });
    const inches = {
      paperWidth: '8.5',
      paperHeight: '11',
      marginTop: '0.39',
      marginRight: '0.39',
      marginBottom: '0.39',
      marginLeft: '0.39',
    };
    expect((await optionsOf(PDF_URL, { ...AT, ...inches })).pdf).toEqual((await optionsOf(PDF_URL, AT)).pdf);
    expect(await optionsOf(SHOT_URL, AT)).toMatchObject({
      url: AT.url,
      format: 'png',
      fullPage: true,
      fullPageAlgorithm: 'native',
      fullWidth: true,
      files: null,
      view: { width: 800, height: 600, deviceScaleFactor: 1 },
    });
  });

  it.each<[field: string, value: string, wanted: object]>([
    ['paperWidth', '210mm', { pdf: { paper: { width: inch(8.2677), height: 11 } } }],
    ['paperHeight', '72pt', { pdf: { paper: { height: inch(1) } } }],
    ['marginTop', '0', { pdf: { margin: { top: 0, left: inch(0.39) } } }],
    ['marginBottom', '96px', { pdf: { margin: { bottom: inch(1) } } }],
    ['marginLeft', '2.54cm', { pdf: { margin: { left: inch(1) } } }],
    ['marginRight', '6pc', { pdf: { margin: { right: inch(1) } } }],
    ['landscape', '1', { pdf: { paper: { width: 11, height: 8.5 } } }],
    [
      'printBackground',
      'true',
      { pdf: { printBackground: true }, customCss: 'html { print-color-adjust: exact !important }' },
    ],
    ['scale', '0.5', { pdf: { scale: 0.5 } }],
    ['singlePage', 'T', { pdf: { singlePage: true } }],
    ['singlePage', '0', { pdf: { printBackground: false } }],
    ['nativePageRanges', '1-2, 4', { pdf: { pageRanges: '1-2, 4' } }],
    ['preferCssPageSize', 'true', { pdf: { preferCssPageSize: true } }],
    ['generateDocumentOutline', 'true', { pdf: { outline: true } }],
    ['generateTaggedPdf', 'true', { pdf: { tagged: true } }],
    ['emulatedMediaType', 'screen', { pdf: { media: 'screen' } }],
    [
      'emulatedMediaFeatures',
      '{"prefers-color-scheme":"dark","prefers-reduced-motion":"reduce"}',
      { reduceMotion: true },
    ],
    ['emulatedMediaFeatures', '[{"name":"prefers-color-scheme","value":"light"}]', { colorScheme: 'light' }],
    ['waitDelay', '1.5s250ms', { delay: 1_750 }],
    [
      'waitForExpression',
      'window.ready === true;',
      { waitForFunction: expect.stringContaining('(await (window.ready === true\n))') },
    ],
    ['waitWindowStatus', 'ok', { waitForFunction: 'window.status === "ok"' }],
    ['waitForSelector', '#done', { waitForSelector: '#done' }],
    ['userAgent', 'Bot/1', { userAgent: 'Bot/1' }],
    [
      'cookies',
      '[{"name":"a","value":"b","domain":"x.de","sameSite":"lax","path":null}]',
      { storageState: { cookies: [COOKIE] } },
    ],
    ['skipNetworkIdleEvent', 'false', { waitUntil: 'networkidle' }],
    ['skipNetworkAlmostIdleEvent', '0', { waitForIdle: true }],
    [
      'failOnHttpStatusCodes',
      '[]',
      { tolerate: ['target_error', 'blocked_by_target', 'render_incomplete'], inspectPage: false },
    ],
    ['failOnHttpStatusCodes', '[599,499]', { tolerate: ['render_incomplete'], inspectPage: false }],
    ['pdfua', 'false', { format: 'pdf' }],
    ['flatten', 'false', { format: 'pdf' }],
    ['metadata', '', { format: 'pdf' }],
  ])('maps %s=%s of a PDF', async (field, value, wanted) =>
    expect(await optionsOf(PDF, { [field]: value }, HTML)).toMatchObject(wanted),
  );

  it.each<[Fields, object]>([
    [
      { width: '400', height: '300', deviceScaleFactor: '2' },
      { view: { width: 400, height: 300, deviceScaleFactor: 2 } },
    ],
    [{ clip: 'true' }, { fullPage: false, fullWidth: false }],
    [{ selector: 'main' }, { selector: 'main', fullPage: false, tolerate: [] }],
    [{ format: 'jpeg' }, { format: 'jpeg', quality: 100 }],
    [{ quality: '0', format: 'jpeg' }, { quality: 1 }],
    [{ format: 'webp' }, { format: 'webp', quality: 80 }],
    [{ omitBackground: 'true', optimizeForSpeed: 'true', emulatedMediaType: 'screen' }, { omitBackground: true }],
  ])('maps %j of a screenshot', async (fields, wanted) =>
    expect(await optionsOf(SHOT, fields, HTML)).toMatchObject(wanted),
  );

  it('takes files by their base names, templates for headers and footers, and the headers of a url', async () => {
    const style = '<html><head><style>body{font-size:12px}</style></head><body>1</body></html>';
    const files = { ...HTML, 'a/b/style.css': '', 'c\\logo.svg': '', 'header.html': style, 'footer.html': '<b>x</b>' };
    const { files: packed, pdf } = await optionsOf(PDF, { omitBackground: 'true', printBackground: 'true' }, files);
    expect(packed?.list.map(({ name }) => name)).toEqual(['index.html', 'style.css', 'logo.svg']);
    expect([pdf?.headerTemplate, pdf?.footerTemplate]).toEqual([
      `<style>#header,#footer{padding-left:0;padding-right:0;font-size:inherit}</style>${style}`,
      '<style>#header,#footer{padding-left:0;padding-right:0}</style><b>x</b>',
    ]);
    expect((await optionsOf(PDF_URL, { ...AT, extraHttpHeaders: '{"X-A":"1;b"}' })).headers).toEqual({ 'x-a': '1;b' });
  });

  it.each<[path: string, fields: Fields, files: Files, message: string]>([
    [
      PDF,
      { marginTop: 'x', landscape: 'yes', waitDelay: '5' },
      {},
      [
        "Invalid form data: form field 'waitDelay' is invalid (got '5', resulting to time: missing unit in duration \"5\")",
        "form field 'landscape' is invalid (got 'yes', resulting to strconv.ParseBool: parsing \"yes\": invalid syntax)",
        "form field 'marginTop' is invalid (got 'x', resulting to strconv.ParseFloat: parsing \"x\": invalid syntax)",
        "form file 'index.html' is required",
      ].join('\n'),
    ],
    [PDF, { scale: '3' }, HTML, "'scale' must be at most 2"],
    [PDF, { paperWidth: '300' }, HTML, "'paperWidth, paperHeight' must be"],
    [PDF, { waitDelay: '31s' }, HTML, "'waitDelay' must be at most 30000"],
    [PDF, { cookies: '[{"name":"a","value":"b"}]' }, HTML, 'cookie 0 must have its name, value and domain set'],
    [PDF, { cookies: '{}' }, HTML, 'resulting to a JSON array of cookies'],
    [PDF, { cookies: 'nul' }, HTML, 'resulting to unmarshal cookies: the text is not valid JSON'],
    [PDF, { cookies: 'tru,' }, HTML, "invalid character ',' in literal true (expecting 'e')"],
    [
      PDF,
      { emulatedMediaFeatures: 'x' },
      HTML,
      "unmarshal emulatedMediaFeatures: invalid character 'x' looking for beginning of value",
    ],
    [PDF, { omitBackground: 'true' }, HTML, 'omitBackground requires printBackground set to true'],
    [PDF, { emulatedMediaFeatures: '{"forced-colors":"active"}' }, HTML, 'forced-colors'],
    [PDF, { failOnResourceHttpStatusCodes: '[399]' }, HTML, 'has codes below 400'],
    [PDF, { extraHttpHeaders: '{"a":"b"}' }, HTML, "'extraHttpHeaders' is not supported here"],
    [PDF_URL, { ...AT, extraHttpHeaders: '{"a":"b;scope"}' }, {}, "invalid scope '' for header 'a'"],
    [PDF_URL, { ...AT, extraHttpHeaders: '{"a":"b;scope=+a"}' }, {}, 'missing argument to repetition operator in `+a`'],
    [
      PDF,
      { nativePageRanges: '3-2' },
      HTML,
      "Chromium does not handle the page ranges '3-2' (nativePageRanges) syntax",
    ],
    [PDF, { pdfa: 'a' }, HTML, 'The requested PDF format is not supported'],
    [PDF, { splitMode: 'pages', splitSpan: 'a' }, HTML, 'The requested split mode is not supported'],
    [PDF, { splitMode: 'a' }, HTML, "resulting to wrong value, expected either 'intervals' or 'pages')"],
    [PDF, { splitMode: 'intervals', splitSpan: 'a' }, HTML, 'resulting to strconv.Atoi: parsing "a": invalid syntax'],
    [PDF, { stampSource: 'pdf' }, HTML, 'Invalid form data: a stamp file is required for image or pdf source'],
    [PDF_URL, { ...AT, extraHttpHeaders: '{"a":"b;scope=.*"}' }, {}, "has a scope for 'a'"],
    [
      PDF,
      { downloadFrom: '[]' },
      {},
      "'downloadFrom' is not supported here: send the files in the form\nform file 'index.html' is required",
    ],
    [PDF, { pdfa: 'PDF/A-1b', pdfua: 'true' }, HTML, "'pdfa' cannot be PDF/A-1b here: use one of PDF/A-2b"],
    [PDF, { rotateAngle: '45' }, HTML, 'resulting to wrong value, expected 90, 180, or 270)'],
    [PDF, { allowPrinting: 'false' }, HTML, "permission restrictions require a 'userPassword'"],
    ...['optimizeImages', 'watermarkSource', 'stampSource'].map((name): [string, Fields, Files, string] => [
      PDF,
      { [name]: 'true' },
      HTML,
      `'${name}' is not supported here`,
    ]),
    [PDF, { constructor: 'x' }, HTML, "'constructor' is not a field"],
    [PDF, { emulatedMediaFeatures: '{"prefers-color-scheme":"x"}' }, HTML, "'emulatedMediaFeatures' must be one of"],
    [PDF, { paperWidht: '1' }, HTML, "did you mean 'paperWidth'"],
    [PDF, {}, { ...HTML, embeds: 'x' }, "'embeds' is not supported here"],
    [PDF, {}, {}, "Invalid form data: form file 'index.html' is required"],
    [PDF, {}, { ...HTML, 'header.html': 'x'.repeat(65_536) }, "'header.html' must be at most"],
    [PDF, { userAgent: 'x'.repeat(262_145) }, HTML, 'all fields together'],
    [PDF_URL, {}, {}, "Invalid form data: form field 'url' is required"],
    [PDF_URL, { url: 'file:///etc/passwd' }, {}, 'file:// URLs are not accepted on this route'],
    [PDF_URL, AT, HTML, "'index.html' is a file, which this route does not use"],
    [SHOT, { emulatedMediaType: 'print' }, HTML, "'emulatedMediaType' is not supported for pictures"],
    [SHOT, { width: '0' }, HTML, "'width' must be a whole number from 1 to 3840"],
    [SHOT, { deviceScaleFactor: '4.1' }, HTML, "'deviceScaleFactor' must be a number from 0.1 to 4"],
    [SHOT, { quality: '101' }, HTML, "'quality' is invalid (got '101', resulting to value is superior to 100)"],
    [SHOT, {}, { ...HTML, 'footer.html': '' }, 'belong to PDFs'],
    [
      MARKDOWN,
      {},
      {},
      "Invalid form data: form file 'index.html' is required\nno form file found for extensions: [.md]",
    ],
    [MARKDOWN, {}, { 'index.html': '{{ toHTML "b.md" }}', 'a.md': '' }, "Markdown file(s) not found: 'b.md'"],
    [MARKDOWN, {}, { 'index.html': '{{ range . }}', 'a.md': '' }, "'{{ range . }}' of index.html is not supported"],
  ])('refuses on %s %j', async (path, fields, files, message) => {
    const { status, headers, text, services } = await post(path, fields, files);
    expect([status, headers.get('content-type'), services.submitted]).toEqual([400, 'text/plain; charset=UTF-8', []]);
    expect(text).toContain(message);
  });

  it('puts Markdown into the document', async () => {
    const index = '<body>{{ toHTML "a.md" }}{{toHTML `B.MD`}}</body>';
    const files = { 'index.html': index, 'a.md': '# A <i>b</i>', 'B.MD': '|x|\n|-|\n|y|', 'c.css': '' };
    const { files: packed } = await optionsOf(MARKDOWN, {}, files);
    const html =
      '<body><h1>A <i>b</i></h1>\n<table>\n<thead>\n<tr>\n<th>x</th>\n</tr>\n</thead>\n<tbody><tr>\n<td>y</td>\n</tr>\n</tbody></table>\n</body>';
    expect(packed?.list.map(({ name, bytes }) => [name, bytes])).toEqual([
      ['c.css', 0],
      ['index.html', html.length],
    ]);
  });

  it.each<[name: string, header: string]>([
    ['report', 'attachment; filename="report.pdf"'],
    ['../a\\b"c', 'attachment; filename="b_c.pdf"; filename*=UTF-8\'\'b%22c.pdf'],
    [
      Buffer.from('Größe').toString('latin1'),
      'attachment; filename="Gr__e.pdf"; filename*=UTF-8\'\'Gr%C3%B6%C3%9Fe.pdf',
    ],
  ])('names the file %j, and repeats the trace', async (name, header) => {
    const { headers } = await post(PDF, {}, HTML, {
      headers: { 'gotenberg-output-filename': name, 'gotenberg-trace': 't-1' },
    });
    expect([headers.get('content-disposition'), headers.get('gotenberg-trace')]).toEqual([header, 't-1']);
  });

  it('waits for a token of the key', async () => {
    const by = aCompatibleApi();
    const { take } = by.limits.submissions;
    let asked = 0;
    by.limits.submissions.take = (key) => ({ ...take(key), allowed: ++asked > 1 });
    expect((await post(PDF, {}, HTML, { by })).status).toBe(200);
    expect(asked).toBe(2);
  });

  it('needs a key: a bearer token, a password, or that of the operator', async () => {
    const basic = `Basic ${Buffer.from(`any:${KEYS.full}`).toString('base64')}`;
    for (const authorization of [basic, `bearer ${KEYS.full}`])
      expect((await post(PDF, {}, HTML, { headers: { authorization } })).status).toBe(200);
    for (const authorization of ['', 'Basic eDp5']) {
      const { status, headers } = await post(PDF, {}, HTML, { headers: { authorization } });
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Basic realm="stillframe"']);
    }
    const by = aCompatibleApi({ compatibleApisKey: KEYS.writer });
    expect((await post(PDF, {}, HTML, { by, headers: { authorization: '' } })).status).toBe(200);
    expect((await post(PDF, {}, HTML, { by, headers: { authorization: 'Digest x' } })).status).toBe(401);
    expect((await post(PDF, {}, HTML, { headers: { authorization: `Bearer ${KEYS.reader}` } })).status).toBe(403);
  });

  it('reports its health and version without a key, and repeats the trace', async () => {
    const [by, headers] = [aCompatibleApi(), { authorization: undefined, 'gotenberg-trace': 't-1' }];
    const chromium = { status: 'up', timestamp: expect.stringMatching(/^\d{4}-/) };
    const health = await ask(by, '/health', { headers });
    expect(health.json).toEqual({ status: 'up', details: { chromium } });
    expect([health.headers.get('content-type'), health.headers.get('gotenberg-trace')]).toEqual([
      'application/json; charset=utf-8',
      't-1',
    ]);
    const version = await ask(by, '/version', { headers });
    expect([version.text, version.headers.get('gotenberg-trace')]).toEqual([
      expect.stringMatching(/^8\.\d+\.\d+$/),
      't-1',
    ]);
    expect((await ask(by, '/version', { headers: { 'gotenberg-trace': 'a b' } })).status).toBe(400);
    by.draining = () => true;
    expect((await ask(by, '/health')).status).toBe(503);
  });

  const failed = [
    { url: 'https://example.com/', type: 'document', status: 404 },
    { url: 'https://cdn.example.net/a.png', type: 'image', status: 404, error: 'net::ERR_ABORTED' },
    { url: 'http://html.invalid/b.css', type: 'stylesheet', status: 404 },
    { url: 'https://example.com/c.js', type: 'xhr', error: 'net::ERR_TUNNEL_CONNECTION_FAILED' },
  ];
  const facts = {
    title: '',
    open_graph: {},
    twitter: {},
    icons: [],
    feeds: [],
    headings: [],
    links: [],
    fonts: [],
    redirects: [],
    status: 404,
    requests: { count: 4, bytes: 0, by_type: {}, failed, slowest: [] },
    console_errors: [{ text: 'logged' }, { text: 'Error: boom', uncaught: true as const }],
  };
  it.each<[Fields, string | null]>([
    [{ failOnHttpStatusCodes: '[404]' }, 'Invalid HTTP status code from the main page: 404: Not Found'],
    [{ failOnHttpStatusCodes: '[500,399]' }, null],
    [
      { failOnResourceHttpStatusCodes: '[499]' },
      'Invalid HTTP status code from resources:\nhttps://cdn.example.net/a.png - 404: Not Found',
    ],
    [{ failOnResourceHttpStatusCodes: '[499]', ignoreResourceHttpStatusDomains: '["example.net"]' }, null],
    [
      { failOnResourceLoadingFailed: 'true' },
      'Chromium failed to load resources: resource Stylesheet: net::ERR_FILE_NOT_FOUND (http://html.invalid/b.css)\nresource XHR: net::ERR_CONNECTION_REFUSED (https://example.com/c.js)',
    ],
    [{ failOnConsoleExceptions: 'true' }, 'Chromium console exceptions:\nError: boom'],
    [{ failOnConsoleExceptions: 'false' }, null],
  ])('answers 409 if %j is hit', async (fields, message) => {
    const by = Object.assign(aCompatibleApi(), {
      captured: { inspection: { markdown: '', accessibleTree: '', facts } },
    });
    const { status, text } = await post(PDF_URL, { ...AT, ...fields }, {}, { by });
    expect([status, text]).toEqual(message === null ? [200, 'picture'] : [409, message]);
  });

  const NOTHING = "'waitForSelector': nothing";
  it.each<[ErrorCode, number, text: string, details?: Record<string, unknown>, path?: string, fields?: Fields]>([
    ['target_error', 409, 'Invalid HTTP status code from the main page: 404: Not Found', { status: 404 }],
    ['blocked_by_target', 409, NOTHING, {}],
    ['navigation_failed', 400, NOTHING],
    ['render_timeout', 503, NOTHING],
    ['render_crashed', 500, NOTHING],
    [
      ...([
        'invalid_request',
        400,
        "The expression 'a' (waitForExpression) returned an exception or undefined",
      ] as const),
      ...([{ issues: [{ path: 'wait_for_function', message: 'threw' }] }, PDF, { waitForExpression: 'a' }] as const),
    ],
    [
      ...(['invalid_request', 400, "The page ranges '9' (nativePageRanges) exceeds the page count"] as const),
      ...([{ issues: [{ path: 'pdf.page_ranges', message: 'names' }] }, PDF, { nativePageRanges: '9' }] as const),
    ],
    [
      ...(['render_incomplete', 400, "The selector '#a' (selector) matched no element with a visible box"] as const),
      ...([{ check: 'selector' }, SHOT, { selector: '#a' }] as const),
    ],
    [
      'invalid_request',
      400,
      "Invalid form data: form field 'constructor' x",
      { issues: [{ path: 'constructor', message: 'x' }] },
    ],
  ])('answers %s with %i and %j', async (code, status, text, details = {}, path = PDF, fields = {}) => {
    const error = {
      code,
      message: '`wait_for_selector`: nothing',
      status: code === 'render_crashed' ? 500 : code === 'invalid_request' ? 400 : 503,
      details,
    };
    const by = Object.assign(aCompatibleApi(), { submit: async () => aFailedJob({}, error) });
    expect(await post(path, fields, HTML, { by })).toMatchObject({ status, text });
  });

  it.each<[Fields]>([[{}], [{ pdfa: 'PDF/A-2b' }]])(
    'answers 503, after which clients try again, when a picture has gone (%j)',
    async (fields) => {
      const by = aCompatibleApi({ gotenbergUpstream: 'http://127.0.0.1:9' });
      by.files.clear();
      const { status, text } = await post(PDF, fields, HTML, { by });
      expect([status, text]).toEqual([503, expect.stringContaining('has been deleted')]);
    },
  );

  it('accepts a webhook at once, and orders its file to be sent', async () => {
    const more = { 'gotenberg-webhook-method': 'put', 'gotenberg-webhook-extra-http-headers': '{"X-Token":"t"}' };
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = { ...HOOKS, ...more, 'gotenberg-trace': 'a', 'gotenberg-output-filename': 'b', traceparent };
    const always = { 'x-token': 't', 'gotenberg-trace': 'a', traceparent };
    expect((await optionsOf(PDF_URL, AT, {}, headers)).upload).toEqual({
      url: HOOKS['gotenberg-webhook-url'],
      artifact: null,
      sending: {
        method: 'PUT',
        headers: { 'content-disposition': 'attachment; filename="b.pdf"', ...always },
        failure: { url: HOOKS['gotenberg-webhook-error-url'], method: 'POST', headers: always, problems: {} },
      },
    });
  });

  it.each<[headers: Fields, fields: Fields, message: string]>([
    [{ 'gotenberg-webhook-error-url': '' }, {}, 'Gotenberg-Webhook-Error-Url is required'],
    [
      { 'gotenberg-webhook-url': 'http://a.example/' },
      {},
      "Gotenberg-Webhook-Url must be HTTPS, unless the server's operator lists its origin in STILLFRAME_WEBHOOK_ALLOW",
    ],
    [{ 'gotenberg-webhook-method': 'DELETE' }, {}, 'Gotenberg-Webhook-Method must be one of'],
    [{ 'gotenberg-webhook-events-url': 'https://a.example/' }, {}, 'Gotenberg-Webhook-Events-Url is not supported'],
    [{ 'gotenberg-webhook-extra-http-headers': '{"Host":"x"}' }, {}, "has 'Host', which cannot be set"],
    [{ 'gotenberg-webhook-extra-http-headers': '{"a":"secret\\n"}' }, {}, "has 'a', which has a value"],
    [{}, { failOnConsoleExceptions: 'true' }, 'Gotenberg-Webhook-Url cannot be combined'],
    [{ 'gotenberg-trace': 'a b' }, {}, 'Gotenberg-Trace must be'],
  ])('refuses the webhook of %j %j', async (headers, fields, message) => {
    const { status, text } = await post(PDF_URL, { ...AT, ...fields }, {}, { headers: { ...HOOKS, ...headers } });
    expect([status, text]).toEqual([400, expect.stringContaining(message)]);
    expect(text).not.toContain('secret');
  });
});

/** A Gotenberg that answers with what it is told, or not at all, or not to the end. */
async function startUpstream(answer: { status: number; body: string; end?: 'never' | 'cut' }) {
  const passed: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const arrived = gate();
  const server = createServer(async (request, response) => {
    const body = await readText(request).catch(() => null);
    if (body === null) return;
    passed.push({ path: request.url ?? '', headers: request.headers, body });
    arrived.open();
    if (answer.end === 'never') return;
    response.writeHead(answer.status, { 'content-type': 'application/pdf', 'set-cookie': 'a=b', 'x-own': '1' });
    if (answer.end === 'cut') response.write(answer.body, () => request.socket.destroy());
    else response.end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://user:pass@127.0.0.1:${(server.address() as AddressInfo).port}/base/`;
  return {
    by: aCompatibleApi({ gotenbergUpstream: url }),
    passed,
    arrived: arrived.opened,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** Has the store keep what is charged. */
function withAccount(by: ReturnType<typeof aCompatibleApi>) {
  const charges: Charge[] = [];
  const givenBack = gate();
  by.store.charge = async (charge) => {
    charges.push(charge);
    if (charge.price < 0) givenBack.open();
    return null;
  };
  return { prices: () => charges.map(({ price }) => price), charges, givenBack: givenBack.opened };
}

/** Sends a form to a route that is passed on, in these pieces. */
async function sendRaw(port: number, lines: readonly string[], pieces: readonly string[]) {
  const head = [
    'POST /forms/libreoffice/convert HTTP/1.1',
    'Host: localhost',
    `Authorization: ${KEY.authorization}`,
    ...lines,
  ];
  const client = new RawClient(port).send(`${[...head, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n`);
  for (const piece of pieces) client.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
  const answer = await client.send('0\r\n\r\n').answer();
  client.socket.destroy();
  return answer;
}

describe('the PDF engines', () => {
  const two: Files = { 'b_10.pdf': aDocument('Ten'), 'b_2.pdf': aDocument('Two') };
  const engine = (name: string, fields: Fields, files: Files = two, headers = {}) =>
    post(`/forms/pdfengines/${name}`, fields, files, { headers });

  it.each([
    ['merge', {}, 'application/pdf', /filename="[\w-]{36}\.pdf"/],
    ['rotate', { rotateAngle: '90' }, 'application/zip', /filename="[\w-]{36}\.zip"/],
    ['flatten', {}, 'application/zip', /zip/],
    ['metadata/write', { metadata: '{"Title":"a","Producer":"b"}' }, 'application/zip', /zip/],
    ['bookmarks/write', { bookmarks: '[{"title":"a","page":1}]' }, 'application/zip', /zip/],
  ] as [string, Fields, string, RegExp][])('%s answers with what it makes', async (name, fields, type, disposition) => {
    const { status, headers, text } = await engine(name, fields);
    expect([status, headers.get('content-type')], text.slice(0, 300)).toEqual([200, type]);
    expect(headers.get('content-disposition')).toMatch(disposition);
  });

  it('write metadata, and name the field of a standard that a file cannot have', async () => {
    const metadata = '{"Title":"a","Producer":"b","Trapped":"Unknown"}';
    const written = await engine('metadata/write', { metadata }, { 'a.pdf': aDocument('A') });
    expect(written.text).toMatch(/\/Producer \(b\)\s*\/Trapped \/Unknown/);
    const empty = rawPdf({ 1: '<</Pages 2 0 R>>', 2: '<</Kids [3 0 R]>>', 3: '<<>>' });
    const { status, text } = await engine('convert', { pdfua: 'true' }, { 'a.pdf': empty });
    expect([status, text]).toEqual([
      400,
      expect.stringMatching(/^Invalid form data: form field 'pdfua' cannot be pdf\/ua-1: it has no tags/),
    ]);
  });

  it('name results as Gotenberg does', async () => {
    const split = await engine('split', { splitMode: 'pages', splitSpan: '2-end' }, { 'b.pdf': aDocument('B') });
    expect(split.text.match(/b_\d\.pdf/g)).toEqual(['b_0.pdf', 'b_1.pdf', 'b_0.pdf', 'b_1.pdf']);
    const one = await engine('rotate', { rotateAngle: '90' }, { 'b.pdf': aDocument('B') });
    expect(one.headers.get('content-disposition')).toContain('"b.pdf"');
    const named = await engine('flatten', {}, { 'b.pdf': aDocument('B') }, { 'gotenberg-output-filename': 'foo' });
    expect(named.headers.get('content-disposition')).toContain('"foo.pdf"');
  });

  it('read metadata and bookmarks', async () => {
    const files = { 'b.pdf': aDocument('B') };
    expect(JSON.parse((await engine('metadata/read', {}, files)).text)).toEqual({
      'b.pdf': { Title: 'B', Author: 'Ada', PDFVersion: 1.7, PageCount: 3 },
    });
    const bookmarks = [
      { title: 'B start', page: 1 },
      { title: 'B end', page: 3 },
    ];
    expect(JSON.parse((await engine('bookmarks/read', {}, files)).text)).toEqual({ 'b.pdf': bookmarks });
  });

  it.each([
    ['merge', {}, {}, 'Invalid form data: no form file found for extensions: [.pdf]'],
    ['split', {}, {}, "form field 'splitMode' is required\nform field 'splitSpan' is required\nno form file found"],
    ['split', { splitMode: 'pages', splitSpan: 'foo' }, two, 'The requested split mode is not supported'],
    ['convert', {}, two, "Invalid form data: either 'pdfa' or 'pdfua' form fields must be provided"],
    ['encrypt', {}, two, "Invalid form data: a 'userPassword' or 'ownerPassword' is required"],
    ['merge', { bookmarks: 'foo' }, two, "unmarshal bookmarks: invalid character 'o' in literal false"],
    ['merge', { pdfa: 'PDF/A-2b', userPassword: 'a' }, two, 'PDF/A format is incompatible with encryption'],
    ['merge', {}, { 'a.pdf': 'x' }, "'a.pdf' is not a PDF, or is damaged"],
  ] as [string, Fields, Files, string][])('%s refuses %j', async (name, fields, files, message) => {
    const { status, text } = await engine(name, fields, files);
    expect([status, text]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe('the Gotenberg behind the interface', () => {
  it('gets other routes, and no key', async () => {
    await using upstream = await startUpstream({ status: 201, body: 'office' });
    const { by, passed } = upstream;
    const sent = { by, headers: { cookie: 'c' } };
    const { status, headers, text } = await post(
      '/forms/libreoffice/convert?a=1',
      { merge: 'true' },
      { 'a.odt': 'x' },
      sent,
    );
    expect([status, text, headers.get('x-own'), headers.get('set-cookie')]).toEqual([201, 'office', '1', null]);
    expect(passed).toMatchObject([
      { path: '/base/forms/libreoffice/convert?a=1', body: expect.stringContaining('filename="a.odt"') },
    ]);
    expect([passed[0]?.headers.authorization, passed[0]?.headers.cookie]).toEqual([
      `Basic ${btoa('user:pass')}`,
      undefined,
    ]);
    expect((await post('/forms/libreoffice/convert', {}, {}, { by, headers: { authorization: '' } })).status).toBe(401);
    expect((await post('/forms/chromium/other', {}, {}, { by })).status).toBe(404);
    expect(passed).toHaveLength(1);
  });

  it.each([
    [{ status: 201, body: 'office' }, [3]],
    [{ status: 400, body: 'no' }, [3, -3]],
    [{ status: 302, body: '' }, [3, -3]],
    [{ status: 200, body: 'half', end: 'cut' as const }, [3, -3]],
  ])('costs what a PDF costs if it succeeds: %j', async (answer, prices) => {
    await using upstream = await startUpstream(answer);
    const account = withAccount(upstream.by);
    const asked = post('/forms/libreoffice/convert', {}, { 'a.odt': 'x' }, { by: upstream.by });
    await ('end' in answer ? expect(asked).rejects.toThrow() : asked);
    if (prices.length > 1) await account.givenBack;
    expect(account.prices()).toEqual(prices);
    expect(new Set(account.charges.map(({ enqueuedAt }) => enqueuedAt)).size).toBe(1);
  });

  it('costs nothing if the client goes, if it is refused, or if the quota does not cover it', async () => {
    await using upstream = await startUpstream({ status: 200, body: '', end: 'never' });
    const { by } = upstream;
    const account = withAccount(by);
    expect(
      (await post('/forms/a', {}, {}, { by, headers: { 'gotenberg-webhook-url': 'http://a.example/' } })).status,
    ).toBe(400);
    expect(account.prices()).toEqual([]);
    expect((await post('/forms/a', { downloadFrom: '[]' }, {}, { by })).status).toBe(400);
    expect(account.prices()).toEqual([3, -3]);
    await using served = await serveApp(by);
    const going = withAccount(by);
    const client = new AbortController();
    const init = { method: 'POST', headers: KEY, body: new FormData(), signal: client.signal };
    init.body.append('merge', 'true');
    const asked = fetch(`${served.url}/forms/a`, init).catch(() => null);
    await upstream.arrived;
    client.abort();
    await Promise.all([asked, going.givenBack]);
    expect(going.prices()).toEqual([3, -3]);
    const passed = upstream.passed.length;
    by.store.charge = async () => ({ kind: 'quota_exceeded', quota: 2, used: 0, reserved: 0, resetsAt: Date.now() });
    const { status, text } = await post('/forms/a', {}, {}, { by });
    expect([status, text, upstream.passed.length]).toEqual([
      429,
      expect.stringContaining('quota of 2 credits'),
      passed,
    ]);
  });

  it('gets nothing but routes below /forms, whatever the request target is', async () => {
    await using upstream = await startUpstream({ status: 200, body: '' });
    await using served = await serveApp(upstream.by);
    const statusOf = (path: string) =>
      new Promise((resolve, reject) => {
        const headers = { ...KEY, 'content-type': 'multipart/form-data; boundary=b' };
        const sent = request(served.url, { method: 'POST', path, headers }, (answer) =>
          resolve(answer.resume().statusCode),
        );
        sent.on('error', reject).end('--b--\r\n');
      });
    for (const path of ['/../forms/a', '/%2e%2e/forms/a', 'http://other.example/forms/a'])
      expect(await statusOf(path)).toBe(200);
    expect(new Set(upstream.passed.map(({ path }) => path))).toEqual(new Set(['/base/forms/a']));
    const chromium = ['/forms//chromium/convert/url', '/forms/chromium%2fconvert', '/forms/Chromium'];
    for (const path of ['/forms/../x', '/forms/..%2fx', '/forms/', ...chromium])
      expect([path, await statusOf(path)]).toEqual([path, 404]);
    expect(upstream.passed).toHaveLength(3);
  });

  it('gets each part as it has been read here, whatever the form looked like', async () => {
    await using upstream = await startUpstream({ status: 200, body: '' });
    await using served = await serveApp(upstream.by);
    const parts = [
      'content-disposition: form-data; name="files"; filename="..\\\\a;\\"b\\\\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=41\r\n',
      "CONTENT-DISPOSITION: form-data;\r\n name*=utf-8''m%22erge\r\n\r\ntrue\r\n",
    ];
    const type = 'multipart/form-data; boundary="b"';
    const sent = await sendRaw(
      served.port,
      [`Content-Type: ${type}`, 'Content-Encoding: gzip'],
      [...parts.map((part) => `--b\r\n${part}`), '--b--\r\n'],
    );
    expect(sent.status).toBe(200);
    const { headers, body } = upstream.passed[0] ?? expect.fail();
    const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1];
    const file = 'name="files"; filename="..%5Ca;%22b%5C"\r\ncontent-type: application/octet-stream\r\n\r\n=41';
    const written = [file, 'name="m%22erge"\r\n\r\ntrue'].map(
      (part) => `--${boundary}\r\ncontent-disposition: form-data; ${part}\r\n`,
    );
    expect([body, headers['content-encoding']]).toEqual([`${written.join('')}--${boundary}--\r\n`, undefined]);
  });

  it.each([
    'name="downloadFrom"',
    'name=downloadFrom',
    'name="DOWNLOADfrom"; filename="a.json"',
    "name*=utf-8''download%46rom",
    'name=" downloadFrom "',
    'filename="a"; name="downloadFrom"',
    '\r\n\tname="downloadFrom"',
  ])('does not get a form with a part %j, in whichever pieces it arrives', async (named) => {
    await using upstream = await startUpstream({ status: 200, body: '' });
    await using served = await serveApp(upstream.by);
    const form = `--b\r\ncontent-disposition: form-data; ${named}\r\n\r\n[{"url":"http://10.0.0.1/"}]\r\n--b--\r\n`;
    for (const pieces of [[form], [...form]]) {
      const { status, body } = await sendRaw(served.port, ['Content-Type: multipart/form-data; boundary=b'], pieces);
      expect([status, body]).toEqual([400, expect.stringContaining("'downloadFrom' is not supported here")]);
    }
    expect(upstream.passed).toEqual([]);
  });

  it.each([
    ['gotenberg-webhook-url: http://10.0.0.1/'],
    ['GOTENBERG-WEBHOOK-ERROR-URL: http://10.0.0.1/'],
    ['Gotenberg-Webhook-Url:', 'Gotenberg-Webhook-Url: http://10.0.0.1/'],
    ['Gotenberg-Webhook-Url:\r\n http://10.0.0.1/'],
    ['Connection: gotenberg-webhook-url', 'Gotenberg-Webhook-Url: http://10.0.0.1/'],
    ['Gotenberg-Webhook-Events-Url: https://a.example/'],
    ['Gotenberg-Later-Callback: https://a.example/'],
    ['Gotenberg-Webhook-Url : http://10.0.0.1/'],
  ])('does not get the headers %j %j', async (...lines) => {
    await using upstream = await startUpstream({ status: 200, body: '' });
    await using served = await serveApp(upstream.by);
    const { status, body } = await sendRaw(
      served.port,
      ['Content-Type: multipart/form-data; boundary=b', ...lines],
      ['--b--\r\n'],
    );
    expect([status, body]).toEqual([400, expect.stringMatching(/Gotenberg-\S+ is not supported here|not valid HTTP/)]);
    expect(upstream.passed).toEqual([]);
  });

  it.each([
    [200, 'attachment; filename="a.pdf"'],
    [400, null],
  ])('makes the PDF/A, or explains with %i why not', async (status, disposition) => {
    await using upstream = await startUpstream({ status, body: 'archived' });
    const answer = await post(PDF, { pdfa: 'PDF/A-2b', pdfua: '1' }, HTML, {
      by: upstream.by,
      headers: { 'gotenberg-output-filename': 'a' },
    });
    expect([answer.status, answer.text, answer.headers.get('content-disposition')]).toEqual([
      status,
      'archived',
      disposition,
    ]);
    const body = upstream.passed[0]?.body ?? '';
    expect(upstream.passed[0]?.path).toBe('/base/forms/pdfengines/convert');
    for (const part of [
      'name="pdfa"\r\n\r\nPDF/A-2b\r\n',
      'name="pdfua"\r\n\r\ntrue\r\n',
      'filename="page.pdf"',
      '\r\n\r\npicture\r\n--',
    ])
      expect(body).toContain(part);
  });

  it('is named where there is none, and does not get more than 50 MB', async () => {
    const { status, text } = await post('/forms/libreoffice/convert', {});
    expect([status, text]).toEqual([404, expect.stringContaining('STILLFRAME_GOTENBERG_UPSTREAM')]);
    await using upstream = await startUpstream({ status: 200, body: '' });
    await using served = await serveApp(upstream.by);
    const chunk = new Uint8Array(1_000_000);
    let sent = 0;
    // A body that never waits and never ends keeps fetch reading after its connection was closed, and nothing else runs (undici 6.24).
    const large = new ReadableStream({
      pull: async (controller) => {
        await setImmediate();
        if (sent++ < 60) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const headers = { ...KEY, 'content-type': 'multipart/form-data; boundary=b' };
    const init = { method: 'POST', headers, body: large, duplex: 'half' } as RequestInit;
    const answer = await fetch(`${served.url}/forms/x`, init).catch(() => null);
    expect([413, undefined]).toContain(answer?.status);
    expect(upstream.passed).toEqual([]);
    await upstream[Symbol.asyncDispose]();
    const lost = await post('/forms/x', {}, {}, { by: upstream.by });
    expect(lost).toMatchObject({ status: 503, text: expect.stringContaining('could not be reached') });
  });
});
