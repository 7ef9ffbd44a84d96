import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Site, startSite } from '../fixtures/site/site.js';
import { startService, type TestService } from '../fixtures/start-service.js';

let site: Site;
let service: TestService;

beforeAll(async () => {
  site = await startSite({ host: '127.0.0.2' });
  service = await startService();
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

const SMALL = { viewport: { width: 400, height: 300, deviceScaleFactor: 1 } };

describe('the main path', () => {
  it.each(['png', 'jpeg', 'webp'])('answers 200 with a %s that can be downloaded, and describes it correctly', async (format) => {
    const answer = await service.post({ url: site.url('/article'), format, ...SMALL });
    expect(answer.status).toBe(200);
    const { data } = answer.body;
    const picture = await service.picture(answer);
    const facts = await sharp(picture).metadata();
    expect(facts).toMatchObject({ format, width: 400, height: 300 });
    expect(data).toMatchObject({ format, width: 400, height: 300, bytes: picture.length, cached: false, url: site.url('/article') });
    expect(data.render_diagnostics).toEqual({
      version: 1,
      algorithm: 'native',
      sections: 1,
      device_scale_factor: 1,
      scroll_height: expect.any(Number),
      stopped_reason: 'viewport',
      truncated: false,
    });
    expect(answer.headers.get('server-timing')).toContain('navigate');
  });

  it('answers 202 to an async submission, whose job then has the picture', async () => {
    const answer = await service.post({ url: site.url('/article'), format: 'png', ...SMALL, cache_ttl: 0 }, {}, '?mode=async');
    expect(answer.status).toBe(202);
    expect(answer.body.data.poll_url).toBe(`/v1/jobs/${answer.body.data.job_id}`);
    const job = await service.untilEnded(answer.body.data.job_id);
    expect(job.body.data).toMatchObject({ state: 'completed', mode: 'async', attempts_made: 1, request_id: answer.body.request_id });
    expect(job.body.data.result.data.bytes).toBeGreaterThan(100);
  });

  it('keeps no signal of a capture that is over', async () => {
    const answer = await service.post({ url: site.url('/article'), format: 'png', ...SMALL, cache_ttl: 0 });
    expect(answer.status).toBe(200);
    const { signal } = Reflect.get(service.service, 'shutdown') as AbortController;
    expect(signal.aborted).toBe(false);
    // Node keeps what is made of a signal under a symbol of this name.
    const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
    expect(key === undefined ? 0 : Reflect.get(signal, key)?.size).toBe(0);
  });

  it('uses a device preset', async () => {
    const answer = await service.post({ url: site.url('/article'), format: 'png', device: 'pixel_8' });
    expect(answer.body.data).toMatchObject({ width: Math.round(412 * 2.625), height: Math.round(839 * 2.625) });
  });

  it('answers a repeated request from the cache', async () => {
    const body = { url: site.url('/article?cached'), format: 'png', ...SMALL };
    const first = await service.post(body);
    const second = await service.post(body);
    expect(second.body.data).toMatchObject({ cached: true, cdn_url: first.body.data.cdn_url });
    expect(second.body.request_id).not.toBe(first.body.request_id);
  });

  it('refuses a private address at submission, and a redirect to one as a failed navigation', async () => {
    const literal = await service.post({ url: 'http://127.0.0.1:8080/' });
    expect(literal).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { reason: 'blocked_destination' } } },
    });
  });

  it('drains: refuses new submissions, and keeps accepted ones', async () => {
    const own = await startService();
    const submitted = await own.post({ url: site.url('/article'), ...SMALL, sync: false });
    expect(submitted.status).toBe(202);
    await own.service.stop();
    await using again = await startService({ dataDir: own.dataDir }, own.dataDir);
    expect(again.key).toBe('');
    const job = await fetch(`${again.url}/v1/jobs/${submitted.body.data.job_id}`, { headers: { authorization: `Bearer ${own.key}` } });
    const body = (await job.json()) as { data: { state: string } };
    expect(['completed', 'waiting', 'active']).toContain(body.data.state);
  });

  it('answers 410 for a picture that expired before the start', async () => {
    const own = await startService();
    const kept = await own.post({ url: site.url('/article'), ...SMALL });
    await own.service.stop();
    await using again = await startService({ dataDir: own.dataDir, artifactTtlH: 0 }, own.dataDir);
    const url = kept.body.data.cdn_url.replace(own.url, again.url);
    const isGone = async () => (await fetch(url)).status === 410;
    await vi.waitUntil(isGone, { timeout: 30_000, interval: 50 });
  });

  it('makes its first key at the first start that succeeds', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-service-'));
    await expect(startService({ chromium: '/nowhere/chromium' }, dataDir)).rejects.toThrow('/nowhere/chromium');
    await using own = await startService({}, dataDir);
    expect(own.key).toMatch(/^sf_live_/);
  });
});

it('an invalid destination in the settings stops the start before anything is created', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'stillframe-service-'));
  try {
    const start = startService({ allowDestinations: ['10.0.0.0/33'] }, join(parent, 'data'));
    await expect(start).rejects.toThrow('STILLFRAME_ALLOW_DESTINATIONS');
    expect(existsSync(join(parent, 'data'))).toBe(false);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
});

it('an egress check that does not answer in time is reported as such', async () => {
  const silent = createServer((socket) => void socket.on('error', () => socket.destroy()).resume());
  await new Promise<void>((listening) => void silent.listen(0, '127.0.0.2', listening));
  const { port } = silent.address() as AddressInfo;
  await using checked = await startService({ egressCheckUrl: `http://127.0.0.2:${port}/trace` });
  const { status, body } = await checked.post({ url: site.url('/static'), region: 'us', timeout: 3_000, ...SMALL });
  expect([status, body.error.code]).toEqual([503, 'egress_unavailable']);
  silent.close();
});
