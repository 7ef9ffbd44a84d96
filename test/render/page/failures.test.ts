import { describe, expect, it } from 'vitest';
import { ALLOW_OWN_NETWORK } from '../../../src/contract/capture-error.js';
import { html } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

const NOT_PUBLIC = 'The host name could not be resolved to a public address.';

describe.concurrent('the status of the main response', () => {
  it('is judged after redirects', async () => {
    expect(await rig.failure(site.url('/redirect/302?to=/status/404'))).toMatchObject({ code: 'target_error', details: { status: 404 } });
  });
});

describe.concurrent('a target that is not a page', () => {
  const XML = expect.stringMatching(/^error on line 1 /);

  it.each([
    ['/pdf', false, { content_type: 'application/pdf' }],
    ['/download', false, { content_type: 'text/html' }],
    ['/malformed.xml', false, { content_type: 'application/xml', parse_error: XML }],
    ['/malformed.svg', false, { content_type: 'image/svg+xml', parse_error: XML }],
    ['/hostile/entities', false, { content_type: 'application/xml', parse_error: XML }],
    ['/malformed.png', false, { content_type: 'image/png' }],
    ['/no-content', false, {}],
    ['/reset-content', false, {}],
    ['/to-blank', false, {}],
    ['/loop', false, { net_error: 'ERR_TOO_MANY_REDIRECTS' }],
    ['/redirect-to-file', false, { net_error: 'ERR_UNSAFE_REDIRECT' }],
    ['/redirect/302?to=mailto%3Asomeone%40example.com', false, { net_error: 'ERR_UNKNOWN_URL_SCHEME' }],
    ['/reset', true, { net_error: 'ERR_EMPTY_RESPONSE' }],
    ['/half', true, { net_error: 'ERR_CONNECTION_RESET' }],
  ])('%s is navigation_failed, retriable: %s, with the reason', async (path, retriable, details) => {
    const error = await rig.failure(site.url(path));
    expect(error).toMatchObject({ code: 'navigation_failed', retriable });
    expect(error.details ?? {}).toMatchObject(details);
  });

  it.each(['/empty', '/blank-boxes', '/gzip-bomb'])('%s is blank, and so incomplete', async (path) => {
    expect(await rig.failure(site.url(path), { timeout: 60_000 })).toMatchObject({
      code: 'render_incomplete',
      details: { check: 'blank' },
    });
  });

  it('an empty page is blank in a dark scheme too', async () => {
    site.route('/dark', (_request, response) => html(response, '<!doctype html><meta name="color-scheme" content="dark"><p></p>'));
    const error = await rig.failure(site.url('/dark'), { dark_mode: true });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'blank' } });
  });

  it.each(['ltr', 'rtl'])('an element below the first view of a page without text is not blank (%s)', async (direction) => {
    const painted = 'margin:1500px 0;height:100px;background:linear-gradient(teal,red)';
    site.route(`/far-down/${direction}`, (_request, response) =>
      html(response, `<!doctype html><html dir=${direction}><body style="width:1500px"><div id=far style="${painted}"></div>`),
    );
    expect((await rig.capture(site.url(`/far-down/${direction}`), { selector: '#far' })).height).toBe(100);
  });
});

describe.concurrent('a target that is not HTML, or only barely', () => {
  it.each(['/image/300x200/ff0000.svg', '/data.json', '/data.xml', '/mail-to', '/self-download'])('%s is captured', async (path) => {
    expect((await rig.capture(site.url(path))).width).toBe(800);
  });
});

describe.concurrent('the connection to the target', () => {
  it('through a proxy of the caller’s that nobody serves is egress_unavailable, and goes no other way', async () => {
    const error = await rig.failure(site.url('/by-proxy-only'), { proxy: { server: 'http://127.0.0.2:1' } });
    expect(error).toMatchObject({ code: 'egress_unavailable' });
    expect(site.hits.map(({ path }) => path)).not.toContain('/by-proxy-only');
  });

  it("a refused connection has Chromium's error name, over http and https", async () => {
    for (const scheme of ['http', 'https']) {
      const error = await rig.failure(`${scheme}://127.0.0.1:65001/`);
      expect(error).toMatchObject({ code: 'navigation_failed', retriable: true, details: { net_error: 'ERR_CONNECTION_REFUSED' } });
    }
  });

  it('a server without TLS is reported as such, and not retriable', async () => {
    const error = await rig.failure(site.url('/').replace('http:', 'https:'));
    expect(error).toMatchObject({ code: 'navigation_failed', retriable: false });
    expect(error.details?.net_error).toMatch(/^ERR_SSL_/);
  });

  it('a missing name and one with an internal address get the same error', async () => {
    const told = [];
    for (const url of ['http://no-such-name.test/', 'https://no-such-name.test/', 'http://10.0.0.1/', 'https://[::1]/']) {
      const { code, message, retriable, details, status } = await rig.failure(url);
      told.push({ code, message, retriable, details, status });
    }
    expect(told[0]).toMatchObject({ code: 'navigation_failed', message: NOT_PUBLIC, retriable: false });
    for (const other of told) expect(other).toEqual(told[0]);
  });
});

describe.concurrent('a page that navigates elsewhere', () => {
  it.each([
    ['/redirect/301', 'http://10.0.0.1/'],
    ['/meta', 'https://169.254.169.254/latest'],
    ['/script-to', 'http://10.0.0.1/'],
    ['/form-to', 'http://10.0.0.1/'],
  ])('is never captured when %s leads inside, to %s', async (way, target) => {
    const error = await rig.failure(site.url(`${way}?to=${encodeURIComponent(target)}`));
    expect(error).toMatchObject({ code: 'navigation_failed', message: NOT_PUBLIC, retriable: false });
  });

  it.each([
    ['/redirect/302', 'http://a b/'],
    ['/script-to', 'https://a b/'],
  ])('with a host that only Chromium can parse (%s to %s) fails like any missing name', async (way, target) => {
    const error = await rig.failure(site.url(`${way}?to=${encodeURIComponent(target)}`));
    expect(error).toMatchObject({ code: 'navigation_failed', message: NOT_PUBLIC, retriable: false });
    expect(error.details).toEqual({ net_error: 'ERR_NAME_NOT_RESOLVED', hint: ALLOW_OWN_NETWORK });
  });

  it.each(['/meta', '/late-to'])('is judged by the document that %s leads to', async (way) => {
    expect(await rig.failure(site.url(`${way}?to=/status/404`))).toMatchObject({ code: 'target_error', details: { status: 404 } });
  });

  it.each(['/late-to?to=/static', '/refresh-header', '/refresh-header-late'])('is captured at the final document of %s', async (path) => {
    expect(new URL((await rig.capture(site.url(path))).finalUrl).pathname).toBe('/static');
  });

  it.each(['/refresh-nowhere', '/refresh-to-nothing', '/refresh-itself'])(
    'stays where it is if %s does not lead elsewhere',
    async (path) => {
      const began = Date.now();
      expect(new URL((await rig.capture(site.url(path), { timeout: 60_000 })).finalUrl).pathname).toBe(path);
      expect(Date.now() - began).toBeLessThan(30_000);
    },
  );

  it('fails when it reloads forever', async () => {
    const began = Date.now();
    expect(await rig.failure(site.url('/reload-loop'), { timeout: 60_000 })).toMatchObject({ code: 'render_timeout' });
    expect(Date.now() - began).toBeLessThan(50_000);
  });
});
