import { describe, expect, it } from 'vitest';
import { ALLOW_OWN_NETWORK } from '../../../src/contract/capture-error.js';
import { failedNavigation, judgeContent, refusedBy } from '../../../src/render/page/check-page.js';
import type { DocumentState } from '../../../src/render/page/open-page.js';
import { document } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig, serve } = await siteAndRig();

const NOT_PUBLIC = {
  code: 'navigation_failed',
  message: expect.stringContaining('could not be resolved to a public address.'),
  retriable: false,
};
const BLANK = { code: 'render_incomplete', details: { check: 'blank' } };
/** The path of a page that leads to a URL. */
const leading = (way: string, target: string) => `${way}?to=${encodeURIComponent(target)}`;

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
    ['http://127.0.0.1:65001/', true, { net_error: 'ERR_CONNECTION_REFUSED' }],
    ['https://127.0.0.1:65001/', true, { net_error: 'ERR_CONNECTION_REFUSED' }],
  ])('%s is navigation_failed, retriable: %s, with the reason', async (path, retriable, details) => {
    const error = await rig.failure(new URL(path, site.origin).href);
    expect(error).toMatchObject({ code: 'navigation_failed', retriable });
    expect(error.details ?? {}).toMatchObject(details);
  });

  it.each(['/empty', '/blank-boxes', '/gzip-bomb'])('%s is blank, and so incomplete', async (path) => {
    expect(await rig.failure(site.url(path), { timeout: 60_000 })).toMatchObject(BLANK);
  });

  it('an empty page is blank in a dark scheme too', async () => {
    const url = serve('<p></p>', '<meta name="color-scheme" content="dark">');
    expect(await rig.failure(url, { dark_mode: true })).toMatchObject(BLANK);
  });

  it.each(['ltr', 'rtl'])(
    'an element below the first view of a page without text is not blank (%s)',
    async (direction) => {
      const painted = 'margin:1500px 0;height:100px;background:linear-gradient(teal,red)';
      const url = serve(
        `<div id=far style="${painted}"></div>`,
        `<style>html{direction:${direction}}body{width:1500px}</style>`,
      );
      expect((await rig.capture(url, { selector: '#far' })).height).toBe(100);
    },
  );

  it.each(['/image/300x200/ff0000.svg', '/data.json', '/data.xml', '/mail-to', '/self-download'])(
    '%s is captured',
    async (path) => {
      expect((await rig.capture(site.url(path))).width).toBe(800);
    },
  );
});

describe.concurrent('the connection to the target', () => {
  it('through a proxy of the caller’s that nobody serves is egress_unavailable, and goes no other way', async () => {
    const error = await rig.failure(site.url('/by-proxy-only'), { proxy: { server: 'http://127.0.0.2:1' } });
    expect(error).toMatchObject({ code: 'egress_unavailable' });
    expect(site.hits.map(({ path }) => path)).not.toContain('/by-proxy-only');
  });

  it('a server without TLS is reported as such, and not retriable', async () => {
    const details = { net_error: expect.stringMatching(/^ERR_SSL_/) };
    const error = await rig.failure(site.url('/').replace('http:', 'https:'));
    expect(error).toMatchObject({ code: 'navigation_failed', retriable: false, details });
  });

  it('an address without a scheme that is reached by http only reports that https was tried', async () => {
    const bare = site.url('/only-http?a=b').replace('http://', '');
    const sentence = `https was tried, since you gave no scheme; try http://${bare.split('?')[0]}`;
    expect((await rig.failure(bare)).message).toContain(sentence);
    expect((await rig.failure(`https://${bare}`)).message).not.toContain('https was tried');
    expect((await rig.failure('no-such-name.test')).message).not.toContain('https was tried');
  });

  it('a missing name and one with an internal address get the same error', async () => {
    const told = [];
    for (const url of [
      'http://no-such-name.test/',
      'https://no-such-name.test/',
      'http://10.0.0.1/',
      'https://[::1]/',
    ]) {
      const { code, message, retriable, details, status } = await rig.failure(url);
      const host = `"${new URL(url).hostname}"`;
      expect(message).toContain(host);
      told.push({ code, message: message.replace(host, 'it'), retriable, details, status });
    }
    expect(told[0]).toMatchObject(NOT_PUBLIC);
    for (const other of told) expect(other).toEqual(told[0]);
  });
});

describe.concurrent('a page that navigates elsewhere', () => {
  it.each([
    ['/redirect/301', 'http://10.0.0.1/'],
    ['/meta', 'https://169.254.169.254/latest'],
    ['/script-to', 'http://10.0.0.1/'],
    ['/form-to', 'http://10.0.0.1/'],
    // Hosts that only Chromium can parse.
    ['/redirect/302', 'http://a b/'],
    ['/script-to', 'https://a b/'],
  ])('is never captured when %s leads to a host that is not public: %s', async (way, target) => {
    const details = { net_error: 'ERR_NAME_NOT_RESOLVED', hint: ALLOW_OWN_NETWORK };
    expect(await rig.failure(site.url(leading(way, target)))).toMatchObject({ ...NOT_PUBLIC, details });
  });

  it.each([
    [
      '/redirect/302',
      'http://10.0.0.1/admin',
      (at: string) => `${at} redirects to http://10.0.0.1/admin, which is refused.`,
    ],
    [
      '/redirect/302',
      'http://no-such-name.test/',
      (at: string) => `${at} redirects to http://no-such-name.test/, which is refused.`,
    ],
    [
      '/meta',
      'http://10.0.0.1/?a=b',
      (at: string) => `The page at ${at} leads to http://10.0.0.1/…, which is refused.`,
    ],
    [
      '/script-to',
      'http://127.0.0.1:65001/',
      (at: string) => `The page at ${at} leads to http://127.0.0.1:65001/, which could not be`,
    ],
  ])('names %s and the address %s that it leads to', async (way, target, sentence) => {
    expect((await rig.failure(site.url(leading(way, target)))).message).toContain(sentence(`${site.url(way)}…`));
  });

  it.each(['/redirect/302', '/meta', '/late-to'])('is judged by the document that %s leads to', async (way) => {
    expect(await rig.failure(site.url(leading(way, '/status/404')))).toMatchObject({
      code: 'target_error',
      details: { status: 404 },
    });
  });

  it.each(['/late-to?to=/static', '/refresh-header', '/refresh-header-late'])(
    'is captured at the final document of %s',
    async (path) => {
      expect(new URL((await rig.capture(site.url(path))).finalUrl).pathname).toBe('/static');
    },
  );

  it.each([
    ['/status/404', 'target_error'],
    ['/status/403', 'blocked_by_target'],
    ['/empty', 'render_incomplete'],
  ])('%s names the option that captures it all the same, and the setting of the operator', async (path, code) => {
    const { message } = await rig.failure(site.url(path), { timeout: 60_000 });
    expect(message).toContain(`add ${code} to \`tolerate\`; STILLFRAME_TOLERATE`);
  });

  it.each([
    ['a check that the request itself asked for', { fail_if_content_missing: ['no such words'] }],
    ['what cannot be tolerated', { format: 'pdf', pdf: { single_page: true, page_ranges: '900-901' } }],
  ])('is not advised to tolerate %s', async (_what, wish) => {
    const { message } = await rig.failure(site.url('/static'), wish);
    expect(message).not.toContain('tolerate');
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

// innocent.test.ts shows which pages are recognized, without a capture of each.
describe.concurrent('a bot wall', () => {
  it('is blocked_by_target, with its vendor', async () => {
    const headers = { 'content-type': 'text/html', 'cf-mitigated': 'challenge', server: 'cloudflare' };
    site.route('/wall', (_request, response) =>
      response.writeHead(403, headers).end(document('Just a moment...', '<h1>shop.test</h1>')),
    );
    const blocked = { code: 'blocked_by_target', retriable: false, details: { vendor: 'cloudflare' } };
    expect(await rig.failure(site.url('/wall'))).toMatchObject(blocked);
  });

  it('is recognized when a script replaces the page with it', async () => {
    const wall = '<p>Verify you are human</p><div class="cf-turnstile"></div>';
    const url = serve(`<h1>Welcome</h1><script>setTimeout(() => { document.body.innerHTML = '${wall}' }, 50)</script>`);
    expect(await rig.failure(url)).toMatchObject({
      code: 'blocked_by_target',
      details: { vendor: 'turnstile', status: 200 },
    });
  });
});

it.each([
  [401, 'blocked_by_target', false],
  [403, 'blocked_by_target', false],
  [407, 'blocked_by_target', false],
  [429, 'blocked_by_target', false],
  [451, 'blocked_by_target', false],
  [404, 'target_error', false],
  [410, 'target_error', false],
  [500, 'target_error', true],
  [503, 'target_error', true],
])('a main response with the status %i ends as %s, retriable: %s', (status, code, retriable) => {
  expect(refusedBy(status, null)).toMatchObject({ code, retriable, details: { status } });
});

/** Checks a document that the browser shows as this type. */
const judged = (type: string) => () => {
  const shown: Partial<DocumentState> = {
    mimeType: type,
    response: { status: 200, headers: { 'content-type': type } },
  };
  judgeContent(shown as DocumentState);
};

it.each(['audio/mpeg', 'video/mp4', 'application/pdf', 'application/zip'])('%s is not a page', (type) => {
  expect(judged(type)).toThrow(expect.objectContaining({ code: 'navigation_failed', details: { content_type: type } }));
});

it.each(['text/html', 'text/plain', 'image/webp', 'image/svg+xml', 'application/json', 'application/xhtml+xml'])(
  '%s is a page',
  (type) => {
    expect(judged(type)).not.toThrow();
  },
);

it('exceeding the byte limit is reported as such, whichever connection exceeded it', () => {
  const refusals = [{ host: 'pictures.example.com', port: 443, reason: 'over_limit' as const }];
  const captureProxy = { refusals, failures: [], proxyFailure: null };
  const error = failedNavigation(
    { url: 'https://www.example.com/', lead: null, error: 'net::ERR_CONNECTION_RESET' },
    captureProxy,
  );
  expect(error).toMatchObject({
    code: 'navigation_failed',
    retriable: false,
    message: expect.stringContaining('more data'),
  });
});
