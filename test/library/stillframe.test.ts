import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  CaptureError,
  type CaptureRequest,
  capture,
  openStillframe,
  type Stillframe,
} from '../../src/library/stillframe.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { startService, type TestService } from '../fixtures/start-service.js';
import { ANY_BROWSER, rememberBrowsers } from '../render/install/any-browser.js';

const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 } };

let site: Site;
let dir: string;
let stillframe: Stillframe;
const settings = () => ({
  dataDir: dir,
  chromium: ANY_BROWSER.path,
  browserInstall: false,
  lists: false,
  concurrency: 2,
  allowDestinations: ['127.0.0.2'],
  log: 'silent',
});
beforeAll(async () => {
  site = await startSite({ host: '127.0.0.2' });
  dir = mkdtempSync(join(tmpdir(), 'stillframe-library-'));
  rememberBrowsers(dir);
  stillframe = await openStillframe(settings());
});
afterAll(async () => {
  await stillframe.close();
  await site[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

describe('a capture by the library', () => {
  it('returns the picture with the data of the API', async () => {
    const { bytes, contentType, ...data } = await stillframe.capture({
      url: site.url('/article'),
      format: 'png',
      inspect_page: true,
    });
    expect(contentType).toBe('image/png');
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 2560, height: 1440 });
    expect(data).toMatchObject({ url: site.url('/article'), format: 'png', width: 2560, height: 1440, cached: false });
    expect(data.inspection?.markdown.length).toBeGreaterThan(10);
    expect(data).not.toHaveProperty('cdn_url');
  });

  it('waits for its turn, reports its progress, and can be ended', async () => {
    const told: number[] = [];
    const urls = ['/article', '/static', '/shop', '/boxes', '/fonts'].map(site.url);
    const onProgress = (value: number) => told.push(value);
    const pictures = await Promise.all(urls.map((url) => stillframe.capture({ url, ...SMALL }, { onProgress })));
    expect(pictures.map(({ url }) => url)).toEqual(urls);
    expect(told.length).toBeGreaterThan(urls.length);
    const reason = new Error('enough');
    const stop = new AbortController();
    site.route('/endless', () => stop.abort(reason));
    const warned = vi.fn();
    process.on('warning', warned);
    // Node warns of the eleventh listener of a signal.
    const endless = Array.from({ length: 20 }, () =>
      stillframe.capture({ url: site.url('/endless') }, { signal: stop.signal }),
    );
    for (const { reason: told } of (await Promise.allSettled(endless)) as PromiseRejectedResult[])
      expect(told).toBe(reason);
    process.off('warning', warned);
    expect(warned).not.toHaveBeenCalled();
  });

  it('fails with the errors of the API', async () => {
    const error = { code: 'target_error', details: { status: 404 } };
    await expect(stillframe.capture({ url: site.url('/status/404') })).rejects.toMatchObject(error);
  });

  it('makes the second attempt that a server makes', async () => {
    let visits = 0;
    site.route('/at-second', (request, response) => {
      visits += 1;
      if (visits === 1) request.socket.destroy();
      else response.setHeader('content-type', 'text/html').end('<h1>Here</h1>');
    });
    await stillframe.capture({ url: site.url('/at-second'), ...SMALL });
    expect(visits).toBe(2);
  });
});

describe('a request that HTTP refuses is refused here', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const cyclic: Record<string, unknown> = { url: 'https://example.com/' };
  it.each<[string, unknown]>([
    ['an unknown field', { url: 'https://example.com/', fullpage: true }],
    ['a combination', { url: 'https://example.com/', format: 'pdf', selector: 'a' }],
    ['the metadata service', { url: 'http://169.254.169.254/' }],
    ['a private proxy', { url: 'https://example.com/', proxy: { server: 'http://10.0.0.1:3128' } }],
    ['a lone surrogate', { url: 'https://example.com/', custom_css: '\ud800' }],
    ['__proto__', JSON.parse('{"url":"https://example.com/","headers":{"__proto__":"x"}}')],
    ['nothing', {}],
    ['null', null],
  ])('%s is refused in the same way', async (_, request) => {
    const answer = await service.post(request);
    const error = await stillframe.capture(request as CaptureRequest).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CaptureError);
    const { code, message, retriable, details, status } = error as CaptureError;
    const { request_id: _id, docs_url: _url, ...told } = answer.body.error;
    expect({ status, error: { code, message, retriable, details } }).toEqual({ status: answer.status, error: told });
  });

  it.each<[string, unknown, string]>([
    // HTTP adds that files can be sent in a form.
    [
      'a body that is too large',
      { url: 'https://example.com/', custom_css: 'x'.repeat(300_000) },
      'The body is larger than 262144 bytes.',
    ],
    ['a cycle', Object.assign(cyclic, { self: cyclic }), 'cannot be written as JSON'],
    ['no request', undefined, 'The body is empty'],
    [
      'a webhook',
      { url: 'a.example', webhook: { url: 'https://a.example/', secret: '0123456789abcdef' } },
      '`webhook` needs a server',
    ],
  ])('%s is refused too', async (_, request, words) => {
    await expect(stillframe.capture(request as CaptureRequest)).rejects.toThrow(words);
  });
});

describe('the engine', () => {
  it('ends with its block, so that running and later captures fail', async () => {
    let running: Promise<unknown>;
    let ended: Stillframe;
    {
      await using own = await openStillframe({ ...settings(), concurrency: 1 });
      ended = own;
      const arrived = new Promise<void>((done) => site.route('/never', () => done()));
      running = expect(own.capture({ url: site.url('/never') })).rejects.toMatchObject({
        code: 'internal_error',
        status: 503,
      });
      await arrived;
    }
    await running;
    await expect(ended.capture({ url: site.url('/static') })).rejects.toMatchObject({
      message: 'stillframe has been closed.',
    });
    await ended.close();
  });

  it.each<[Record<string, unknown>, string]>([
    [{ concurency: 2 }, 'openStillframe has no option "concurency"'],
    [{ concurrency: 0 }, 'the option concurrency is "0": it must be a whole number from 1 to 256.'],
    [{ concurrency: {} }, 'the option concurrency must be a text'],
    [{ allowDestinations: ['10.0.0.0/99'] }, 'has "10.0.0.0/99"'],
  ])('refuses %j', async (options, words) => {
    const error = { name: 'ConfigError', message: expect.stringContaining(words) };
    await expect(openStillframe({ ...settings(), ...options })).rejects.toMatchObject(error);
  });

  it('is not started for a single invalid capture', async () => {
    await expect(capture({ url: '' }, { ...settings(), chromium: '/nonexistent' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    const { contentType } = await capture({ html: '<h1>Once</h1>', format: 'jpeg' }, settings());
    expect(contentType).toBe('image/jpeg');
  });
});
