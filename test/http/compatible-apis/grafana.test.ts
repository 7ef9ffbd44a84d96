import { describe, expect, it } from 'vitest';
import { CaptureError } from '../../../src/contract/capture-error.js';
import { ask, KEYS, servicesWithApi } from '../fake-services.js';

const URL = 'http://grafana.example:3000/d-solo/abc/x?orgId=1&panelId=2&render=1';

type Query = Record<string, string>;

async function send(query: Query, { path = '/render', headers = {}, by = servicesWithApi('grafana') } = {}) {
  const own = { authorization: undefined, 'content-type': undefined, 'x-auth-token': KEYS.full, ...headers };
  const answer = await ask(by, `${path}?${new URLSearchParams(query)}`, { headers: own });
  return { ...answer, options: by.submitted[0]?.submission.options };
}

describe("the interface of Grafana's image renderer", () => {
  it('takes the request that Grafana sends for a panel', async () => {
    const sent = {
      url: URL,
      renderKey: 'k3y',
      domain: 'grafana.example',
      timezone: 'Europe/Berlin',
      encoding: 'png',
      timeout: '60',
      width: '1000',
      height: '500',
      deviceScaleFactor: '1.000000',
    };
    const headers = { 'user-agent': 'Grafana/12.3.0', 'accept-language': 'de-DE' };
    const { status, text, options } = await send(sent, { headers });
    expect([status, text]).toEqual([200, 'picture']);
    expect(options).toMatchObject({
      url: URL,
      format: 'png',
      view: { width: 1_000, height: 500, deviceScaleFactor: 1 },
      cookies: [{ name: 'renderKey', value: 'k3y', domain: '.grafana.example' }],
      headers: { 'accept-language': 'de-DE' },
      timezone: 'Europe/Berlin',
      timeout: 60_000,
      fullPage: false,
      waitForFunction: expect.stringContaining('__grafanaRunningQueryCount'),
      blockAds: false,
      tolerate: ['target_error', 'blocked_by_target', 'render_incomplete'],
    });
  });

  it.each<[Query, object]>([
    [
      {},
      {
        format: 'pdf',
        view: { width: 1_000, height: 500, deviceScaleFactor: 1 },
        timeout: 30_000,
        timezone: null,
        cookies: [],
        pdf: {
          paper: { width: 11.6929, height: 8.2677 },
          margin: { top: 0 },
          printBackground: true,
          scale: 1,
          pageRanges: null,
        },
      },
    ],
    [
      { height: '-1', encoding: 'png' },
      {
        fullPage: true,
        view: { width: 1_000, height: 750 },
        steps: [{ action: 'wait_for' }, { action: 'evaluate' }, { action: 'wait_for' }],
      },
    ],
    [{ width: '10', height: '9000' }, { view: { width: 1_000, height: 2_160 } }],
    [{ width: '9000', height: '1' }, { view: { width: 3_840, height: 500 } }],
    [{ width: '-1', height: '' }, {}],
    [{ encoding: 'png', deviceScaleFactor: '4' }, { view: { deviceScaleFactor: 4 } }],
    [{ encoding: 'png', deviceScaleFactor: '9' }, { view: { deviceScaleFactor: 4 } }],
    [{ encoding: 'png', deviceScaleFactor: '0.25' }, { view: { deviceScaleFactor: 0.25 } }],
    [{ encoding: 'png', deviceScaleFactor: '0' }, { view: { deviceScaleFactor: 1 } }],
    [{ timezone: 'UTC-02:00' }, { timezone: 'Etc/GMT-2' }],
    [{ timezone: 'utc' }, { timezone: 'UTC' }],
    [{ timezone: 'browser' }, { timezone: null }],
    [{ timeout: '1m30s' }, { timeout: 60_000 }],
    [{ timeout: '2.5s' }, { timeout: 2_500 }],
    [{ timeout: '10ms' }, { timeout: 10 }],
    [{ timeout: '0' }, { timeout: 30_000 }],
    [{ encoding: ' PNG ' }, { format: 'png', pdf: null }],
    [
      { encoding: 'PDF', landscape: 'false', 'pdf.pageRanges': '' },
      { pdf: { paper: { width: 8.2677, height: 11.6929 }, pageRanges: null } },
    ],
    [
      { encoding: 'pdf', deviceScaleFactor: '2', landscape: 'true', 'pdf.format': 'A5' },
      { pdf: { paper: { width: 8.2677, height: 5.8268 }, scale: 0.5 }, view: { deviceScaleFactor: 1 } },
    ],
    [
      { encoding: 'pdf', 'pdf.printBackground': 'false', 'pdf.pageRanges': '1-2' },
      { pdf: { printBackground: false, pageRanges: '1-2' } },
    ],
    [
      { encoding: 'pdf', url: `${URL}&pdf.format=letter&pdf.landscape=false&pdf.pageRanges=` },
      { pdf: { paper: { width: 8.5, height: 11 }, pageRanges: null } },
    ],
    [
      { renderKey: 'k', domain: 'grafana.example', url: 'http://grafana.example/' },
      { cookies: [{ domain: '.grafana.example' }] },
    ],
    [{ renderKey: 'k' }, { cookies: [], storageState: null }],
  ])('takes %j', async (query, options) => {
    const answer = await send({ url: URL, ...query });
    expect(answer.text).toBe('picture');
    expect(answer.options).toMatchObject(options);
  });

  it.each<[Query, string]>([
    [{ url: '' }, '`url`'],
    [{ url: URL, width: 'wide' }, '`width` must be a whole number'],
    [{ url: URL, deviceScaleFactor: '-5' }, '`deviceScaleFactor` must be a number above 0'],
    [{ url: URL, timeout: 'soon' }, '`timeout` must be seconds'],
    [{ url: URL, encoding: 'csv' }, '`encoding` cannot be csv'],
    [{ url: URL, encoding: 'gif' }, '`encoding` must be png or pdf'],
    [{ url: URL, encoding: 'pdf', 'pdf.format': 'a9' }, '`pdf.format` must be one of'],
    [{ url: URL, renderKey: 'k', domain: 'localhost' }, '`domain` must'],
    [{ url: URL, filePath: '/tmp/x.png' }, '`filePath` is not supported here'],
    [{ url: URL, heigth: '3' }, '`heigth` is not a field of this interface: did you mean `height`?'],
  ])('refuses %j', async (query, text) => {
    const answer = await send(query);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/plain; charset=UTF-8']);
    expect(answer.text).toContain(text);
  });

  it.each(['file:///etc/passwd', 'chrome://version', 'socket://localhost:1/'])(
    'forbids %s, as the renderer does',
    async (url) => {
      const { status, text } = await send({ url });
      expect([status, text]).toEqual([403, expect.stringContaining('`url` must be an http or https URL')]);
    },
  );

  it('reports that it runs, without a key', async () => {
    const headers = { 'x-auth-token': '' };
    const health = await send({}, { path: '/healthz', headers });
    expect([health.status, health.text]).toEqual([200, 'OK']);
    expect((await send({}, { path: '/version', headers })).text).toMatch(/^grafana-image-renderer 5\.0\.0\n/);
  });

  it('refuses CSV', async () => {
    const { status, text } = await send({ url: URL, encoding: 'csv' }, { path: '/render/csv' });
    expect([status, text]).toEqual([501, expect.stringContaining('renders png and pdf only')]);
  });

  it('reports a version that supports what Grafana needs, without a key', async () => {
    const answer = await send({}, { path: '/render/version', headers: { 'x-auth-token': '' } });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { version: '5.0.0' }]);
  });

  it("counts Grafana's default token as none, for which STILLFRAME_COMPATIBLE_APIS_KEY stands", async () => {
    const headers = { 'x-auth-token': '-' };
    expect((await send({ url: URL }, { headers })).status).toBe(401);
    const by = servicesWithApi('grafana');
    by.config.compatibleApisKey = KEYS.full;
    expect((await send({ url: URL }, { headers, by })).status).toBe(200);
    expect((await send({ url: URL }, { headers: { 'x-auth-token': 'other' }, by })).status).toBe(401);
  });

  it.each([
    ['render_timeout', 408],
    ['navigation_failed', 500],
    ['rate_limited', 429],
  ] as const)('answers %s with its own status, %i', async (code, status) => {
    const by = servicesWithApi('grafana', {
      submit: () => Promise.reject(new CaptureError({ code, message: 'no picture' })),
    });
    expect((await send({ url: URL }, { by })).status).toBe(status);
  });
});
