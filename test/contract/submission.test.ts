import { describe, expect, it } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { captureRequestSchema } from '../../src/contract/capture-request.js';
import { parseSubmission, type RequestIssue } from '../../src/contract/submission.js';
import { seeded } from '../stress/seeded.js';
import { baseBody, CHANGES, differing, PAIRS, rephrased } from './equal-bodies.js';

const RULES = { forceAsync: false, webhookAllow: ['http://127.0.0.1:4000'], allowInsecureTls: true };
const parse = (body: unknown, rules = RULES) => parseSubmission(body, rules);
const URL_ONLY = { url: 'https://example.com/' };

function refusal(body: unknown): CaptureError {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof CaptureError) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}

const issuesOf = (body: unknown) => refusal(body).details?.issues as RequestIssue[];

describe('a capture request', () => {
  it('needs nothing but a url, and gets every default of the contract', () => {
    const { options, mode, cacheTtl, webhook } = parse({ url: 'example.com' });
    expect(options).toMatchObject({
      url: 'https://example.com/',
      view: { width: 1280, height: 720, deviceScaleFactor: 2, isMobile: false, hasTouch: false },
      format: 'webp',
      quality: 90,
      timeout: 30_000,
      waitUntil: 'load',
      waitForIdle: true,
      reduceMotion: true,
      blockAds: true,
      verifyEgress: true,
      fullPageAlgorithm: 'by_sections',
    });
    expect({ mode, cacheTtl, webhook }).toEqual({ mode: 'sync', cacheTtl: 3600, webhook: null });
  });

  it.each([0, 22, 10_080])('refuses the address of a page at port %i, which browsers do not load from', (port) => {
    const issue = { message: `must not use port ${port}, which browsers block` };
    expect(issuesOf({ url: `https://example.com:${port}/` })).toEqual([{ path: 'url', ...issue }]);
    expect(issuesOf({ url: `example.com:${port}` })).toEqual([{ path: 'url', ...issue }]);
    expect(issuesOf({ html: '<p>', base_url: `http://example.com:${port}/` })).toEqual([{ path: 'base_url', ...issue }]);
  });

  it('lists every problem at once, each with its path', () => {
    const issues = issuesOf({ url: '', viewport: { width: 100, height: 'tall' }, quality: 0, format: 'gif', fullpage: true });
    expect(issues.map((issue) => issue.path).sort()).toEqual(['format', 'fullpage', 'quality', 'url', 'viewport.height', 'viewport.width']);
  });

  it('lists options that exclude each other beside the other problems', () => {
    const body = { ...URL_ONLY, format: 'pdf', selector: 'main', quality: 0 };
    expect(refusal(body).code).toBe('invalid_request');
    expect(issuesOf(body).map((issue) => issue.path)).toEqual(['quality', 'selector']);
  });

  it.each([
    { headers: { authorization: 47_114_711 } },
    { proxy: { server: 'http://proxy.example.com', password: 47_114_711 } },
    { webhook: { url: 'https://example.com/', secret: 47_114_711 } },
  ])('does not repeat a secret that was sent as a number: %j', (fields) => {
    expect(issuesOf({ ...URL_ONLY, ...fields })).toMatchObject([{ message: 'must be a string, not a number' }]);
  });

  it.each([
    [{ headers: 'tok_3n' }],
    [{ cookies: 'tok_3n' }],
    [{ storage_state: { cookies: 'tok_3n' } }],
    [{ webhook: 'tok_3n' }],
    [{ proxy: 'tok_3n' }],
  ])('does not repeat a secret in the wrong place: %j', (fields) => {
    expect(JSON.stringify(issuesOf({ ...URL_ONLY, ...fields }))).not.toContain('tok_3n');
  });

  it('refuses an address of more than 8,192 bytes, as it is written and as it is sent', () => {
    const ofBytes = (bytes: number) => `https://example.com/${'x'.repeat(bytes - 20)}`;
    expect(parse({ url: ofBytes(8_192) }).options.url).toHaveLength(8_192);
    for (const url of [ofBytes(8_193), `https://example.com/${'é'.repeat(2_000)}`]) {
      expect(issuesOf({ url })).toEqual([{ path: 'url', message: expect.stringMatching(/^must be at most 8192 (bytes|characters)/) }]);
    }
  });

  it('names an unknown field and the nearest known one', () => {
    expect(refusal({ ...URL_ONLY, fullpage: true }).message).toBe('Unknown field `fullpage`. Did you mean `full_page`?');
    expect(refusal({ ...URL_ONLY, viewport: { device_scale_factor: 2 } }).message).toContain('`deviceScaleFactor`');
  });

  it('names the valid values of a choice', () => {
    expect(refusal({ ...URL_ONLY, format: 'gif' }).message).toBe('`format` must be one of png, jpeg, webp, bmp, pdf, not "gif"');
  });

  it.each([
    ['viewport.width', 319, 320, 3840, 3841],
    ['viewport.height', 239, 240, 2160, 2161],
    ['viewport.deviceScaleFactor', 0.99, 1, 3, 3.01],
    ['quality', 0, 1, 100, 101],
    ['delay', -1, 0, 30_000, 30_001],
    ['timeout', 999, 1_000, 60_000, 60_001],
    ['full_page_scroll_delay', -1, 0, 5_000, 5_001],
    ['full_page_scroll_by', 119, 120, 2_160, 2_161],
  ])('keeps %s within its bounds', (path, below, min, max, above) => {
    const body = (value: number) => {
      const [outer = '', inner] = path.split('.');
      return { ...URL_ONLY, [outer]: inner === undefined ? value : { [inner]: value } };
    };
    expect(issuesOf(body(below))[0]?.path).toBe(path);
    expect(issuesOf(body(above))[0]?.path).toBe(path);
    expect(() => parse(body(min))).not.toThrow();
    expect(() => parse(body(max))).not.toThrow();
  });

  it.each(['min_capture_height', 'min_capture_bytes', 'cache_ttl', 'delay', 'quality'])('wants whole numbers for %s', (field) => {
    expect(issuesOf({ ...URL_ONLY, [field]: 10.5 })[0]?.path).toBe(field);
    expect(issuesOf({ ...URL_ONLY, [field]: '10' })[0]?.path).toBe(field);
    expect(issuesOf({ ...URL_ONLY, [field]: Number.POSITIVE_INFINITY })[0]?.path).toBe(field);
  });

  it('trims text markers before it measures them, and takes at most 32', () => {
    expect(parse({ ...URL_ONLY, fail_if_content_missing: ['  welcome  '] }).options.failIfContentMissing).toEqual(['welcome']);
    expect(issuesOf({ ...URL_ONLY, fail_if_content_missing: ['   '] })[0]?.path).toBe('fail_if_content_missing.0');
    expect(issuesOf({ ...URL_ONLY, fail_if_content_contains: ['x'.repeat(501)] })[0]?.path).toBe('fail_if_content_contains.0');
    expect(issuesOf({ ...URL_ONLY, fail_if_content_contains: Array(33).fill('x') })[0]?.path).toBe('fail_if_content_contains');
  });

  it('refuses line breaks and NUL in whatever becomes a header', () => {
    expect(issuesOf({ ...URL_ONLY, user_agent: 'a\r\nb' })[0]?.path).toBe('user_agent');
    expect(issuesOf({ ...URL_ONLY, headers: { 'x-a': 'a\nb' } })[0]?.path).toBe('headers.x-a');
    expect(issuesOf({ ...URL_ONLY, headers: { 'x-a': 'a\0b' } })[0]?.path).toBe('headers.x-a');
    expect(issuesOf({ ...URL_ONLY, locale: 'en-US\r\nx: y' })[0]?.path).toBe('locale');
  });

  it.each(['Host', 'content-length', 'Connection', 'Transfer-Encoding', 'bad name'])('refuses the header %s', (name) => {
    expect(issuesOf({ ...URL_ONLY, headers: { [name]: 'x' } })[0]?.path).toBe(`headers.${name}`);
  });

  it('knows locales and time zones', () => {
    expect(() => parse({ ...URL_ONLY, locale: 'pt-BR', timezone: 'America/Sao_Paulo' })).not.toThrow();
    expect(issuesOf({ ...URL_ONLY, locale: 'english' })[0]?.path).toBe('locale');
    expect(parse({ ...URL_ONLY, timezone: 'europe/berlin' }).options.timezone).toBe('Europe/Berlin');
    expect(parse({ ...URL_ONLY, timezone: 'us/eastern' }).options.timezone).toBe('America/New_York');
    expect(issuesOf({ ...URL_ONLY, timezone: '+01:00' })[0]?.path).toBe('timezone');
    expect(issuesOf({ ...URL_ONLY, timezone: 'Mars/Base' })[0]?.path).toBe('timezone');
  });

  it('gives a region its locale and time zone, unless they are given', () => {
    expect(parse({ ...URL_ONLY, region: 'jp' }).options).toMatchObject({ locale: 'ja-JP', timezone: 'Asia/Tokyo' });
    expect(parse({ ...URL_ONLY, region: 'jp', locale: 'en-GB' }).options).toMatchObject({ locale: 'en-GB', timezone: 'Asia/Tokyo' });
  });

  it('lets a device preset win over the viewport', () => {
    const { view } = parse({ ...URL_ONLY, device: 'pixel_8', viewport: { width: 2000 } }).options;
    expect(view).toEqual({ width: 412, height: 839, deviceScaleFactor: 2.625, isMobile: true, hasTouch: true });
  });

  it('takes dark_mode only when color_scheme is not set', () => {
    expect(parse({ ...URL_ONLY, dark_mode: true }).options.colorScheme).toBe('dark');
    expect(parse({ ...URL_ONLY, dark_mode: true, color_scheme: 'light' }).options.colorScheme).toBe('light');
  });

  it.each([
    'http://example.com/hook',
    'https://example.com:8443/hook',
    'https://user:pw@example.com/',
    'https://example.com/#part',
    'example.com/hook',
    `https://example.com/${'a'.repeat(2048)}`,
  ])('refuses the webhook address %.40s', (url) => {
    expect(issuesOf({ ...URL_ONLY, webhook: { url, secret: 's'.repeat(16) } }).map((issue) => issue.path)).toContain('webhook.url');
  });

  it("takes an operator's allowed webhook origin", () => {
    expect(() => parse({ ...URL_ONLY, webhook: { url: 'http://127.0.0.1:4000/hook', secret: 's'.repeat(16) } })).not.toThrow();
  });

  it('keeps the webhook secret within 16 to 256 characters, and never repeats it', () => {
    const error = refusal({ ...URL_ONLY, webhook: { url: 'https://example.com/', secret: 'tooshort' } });
    expect(error.details?.issues).toMatchObject([{ path: 'webhook.secret' }]);
    expect(JSON.stringify([error.message, error.details])).not.toContain('tooshort');
  });

  it.each([null, [], 'text', 7, undefined])('refuses %j as a body', (body) => {
    expect(refusal(body).code).toBe('invalid_request');
  });
});

describe('what a submission is equal to', () => {
  const identity = (body: unknown, rules = RULES) => parse(body, rules).identity;

  it('does not depend on spelled-out defaults, key order, URL spelling or header case', () => {
    const base = identity({ url: 'https://example.com/', headers: { 'X-A': '1' } });
    expect(identity({ headers: { 'x-a': '1' }, url: 'HTTPS://EXAMPLE.com' })).toBe(base);
    expect(identity({ url: 'example.com', headers: { 'x-a': '1' }, viewport: { width: 1280 }, format: 'webp', sync: true })).toBe(base);
  });

  it('is the same for a hundred ways to say one request', () => {
    const random = seeded(7);
    const base = baseBody('https://hooks.example.com/');
    const ways = Array.from({ length: 100 }, () => identity(rephrased(base, random)));
    expect(new Set([identity(base), ...ways]).size).toBe(1);
  });

  const fields = Object.entries(captureRequestSchema.shape).flatMap(([name, schema]) => dottedNames(name, schema));
  it.each(fields.filter((field) => field !== 'headers'))('depends on %s', (field) => {
    const hook = 'https://hooks.example.com/';
    const [one, other] = PAIRS[field] ?? [baseBody(hook), differing(baseBody(hook), field, hook)];
    expect(field in CHANGES || field in PAIRS).toBe(true);
    expect(identity(one)).not.toBe(identity(other));
  });

  it('depends on the execution mode, however it was asked for', () => {
    const sync = identity(URL_ONLY);
    expect(identity({ ...URL_ONLY, sync: false })).not.toBe(sync);
    expect(identity({ ...URL_ONLY, sync: false })).toBe(identity(URL_ONLY, { ...RULES, forceAsync: true }));
  });

  it('shares a picture whatever sync, cache_ttl, webhook, upload, store and timeout say', () => {
    const picture = parse(URL_ONLY).cacheIdentity;
    const other = {
      ...URL_ONLY,
      sync: false,
      cache_ttl: 5,
      store: true,
      timeout: 5_000,
      webhook: { url: 'https://example.com/', secret: 's'.repeat(16) },
      upload: { url: 'https://bucket.example.com/a' },
    };
    expect(parse(other).cacheIdentity).toBe(picture);
    expect(parse({ ...URL_ONLY, quality: 80 }).cacheIdentity).not.toBe(picture);
    expect(parse({ ...URL_ONLY, proxy: { server: 'http://a.example', password: 'x' } }).cacheIdentity).not.toBe(
      parse({ ...URL_ONLY, proxy: { server: 'http://a.example', password: 'y' } }).cacheIdentity,
    );
  });

  it('keeps inspections out of the cache', () => {
    expect(parse({ ...URL_ONLY, inspect_page: true }).cacheIdentity).toBeNull();
  });
});

function dottedNames(name: string, schema: unknown): string[] {
  const { shape, unwrap } = schema as { shape?: object; unwrap?: () => unknown };
  if (shape !== undefined) return Object.keys(shape).map((key) => `${name}.${key}`);
  return typeof unwrap === 'function' ? dottedNames(name, unwrap.call(schema)) : [name];
}
