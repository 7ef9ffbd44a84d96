import { type AddressInfo, createServer } from 'node:net';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';
import { unzipped } from '../fixtures/unzipped.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi } from '../trials/call-api.js';

const [site, hooks] = await Promise.all([ofFile(startSite({ host: '127.0.0.2' })), ofFile(startReceiver())]);
const service = await ofFile(startService({ webhookAllow: [hooks.origin] }));
const SMALL = { viewport: { width: 400, height: 300, deviceScaleFactor: 1 } };

describe('the main path', () => {
  it('answers 200 with a picture that can be downloaded, and describes it correctly', async () => {
    const format = 'jpeg';
    const answer = await service.post({ url: site.url('/article'), format, ...SMALL });
    expect(answer.status).toBe(200);
    const { data } = answer.body;
    const picture = await service.picture(answer);
    const facts = await sharp(picture).metadata();
    expect(facts).toMatchObject({ format, width: 400, height: 300 });
    expect(data).toMatchObject({
      format,
      width: 400,
      height: 300,
      bytes: picture.length,
      cached: false,
      url: site.url('/article'),
    });
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
    const answer = await service.post(
      { url: site.url('/article'), format: 'png', ...SMALL, cache_ttl: 0 },
      {},
      '?mode=async',
    );
    expect(answer.status).toBe(202);
    expect(answer.body.data.poll_url).toBe(`/v1/jobs/${answer.body.data.job_id}`);
    const job = await service.untilEnded(answer.body.data.job_id);
    expect(job.body.data).toMatchObject({
      state: 'completed',
      mode: 'async',
      attempts_made: 1,
      request_id: answer.body.request_id,
    });
    expect(job.body.data.result.data.bytes).toBeGreaterThan(100);
  });

  it('cancels and deletes jobs', async () => {
    const remove = (id: string) => callApi(`${service.url}/v1/jobs/${id}`, service.key, { method: 'DELETE' });
    const webhook = { url: hooks.url('/canceled'), secret: 's'.repeat(16) };
    let onAsked = (): void => {};
    const asked = new Promise<void>((resolve) => {
      onAsked = resolve;
    });
    const gone = new Promise<number>((resolve) => {
      site.route('/held', (_, response) => {
        onAsked();
        response.once('close', () => resolve(performance.now()));
      });
    });
    const key = { 'idempotency-key': 'to-be-canceled' };
    const held = { url: site.url('/held'), webhook, cache_ttl: 0, ...SMALL };
    const waiting = service.post(held, key);
    await asked;
    const { id } = (await service.get('/v1/jobs?state=active')).body.data.jobs[0];
    const began = performance.now();
    expect(await remove(id)).toMatchObject({ status: 200, body: { data: { id, removed: true, canceled: true } } });
    expect((await gone) - began).toBeLessThan(1_000);
    const told = { code: 'invalid_request', details: { reason: 'canceled' } };
    expect(await waiting).toMatchObject({ status: 409, body: { error: { ...told, details: { job_id: id } } } });
    const [event] = await hooks.received(1);
    expect(event?.payload).toMatchObject({ event: 'capture.failed', job_id: id, ok: false, error: told });
    expect((await service.get('/v1/usage')).body.data).toMatchObject({ reserved: 0 });
    expect((await service.get('/v1/health')).body.data.queue.active).toBe(0);
    expect([(await remove(id)).status, (await service.get(`/v1/jobs/${id}/webhook`)).status]).toEqual([404, 404]);
    expect(await service.post(held, key)).toMatchObject({
      status: 409,
      body: { error: { code: 'idempotency_conflict' } },
    });

    const kept = await service.post({ url: site.url('/article'), cache_ttl: 0, ...SMALL });
    const jobId = kept.headers.get('x-job-id') ?? '';
    expect((await remove(jobId)).body.data).toEqual({ id: jobId, removed: true, canceled: false });
    expect((await fetch(kept.body.data.cdn_url)).status).toBe(410);
    expect((await service.get(`/v1/jobs/${jobId}`)).status).toBe(404);
  });

  it('captures a batch, announces its end once, and sends its pictures as a zip file', async () => {
    const call = (method: string, path: string, body?: unknown, headers = {}) =>
      callApi(`${service.url}/v1/batches${path}`, service.key, { method, body: JSON.stringify(body), headers });
    const wish = { format: 'png', cache_ttl: 0, ...SMALL };
    const requests = [
      { url: site.url('/article'), ...wish },
      { url: site.url('/status/500'), ...wish },
      { html: '<h1>Both</h1>', captures: [{ name: 'view' }, { name: 'title', selector: 'h1' }], ...wish },
    ];
    const bad = [{ ...requests[0], webhook: {} }, { ...requests[0], widht: 3 }, { url: 'http://10.0.0.1/' }, 7];
    for (const [at, wrong] of bad.entries()) {
      const { status, body } = await call('POST', '', { requests: [...requests, wrong] });
      expect([at, status]).toEqual([at, 400]);
      expect(body.error.details.issues[0].path).toMatch(/^requests\.3/);
    }
    expect((await service.get('/v1/usage')).body.data.reserved).toBe(0);
    const webhook = { url: hooks.url('/batch'), secret: 's'.repeat(16) };
    const key = { 'idempotency-key': 'batch-1' };
    const accepted = await call('POST', '', { requests, webhook }, key);
    const { id } = accepted.body.data;
    expect(accepted).toMatchObject({ status: 202, body: { data: { state: 'active', counts: { total: 3 } } } });
    expect((await call('POST', '', { requests, webhook }, key)).body.data.id).toBe(id);
    const isEnd = ({ path }: { path: string }) => path === '/batch';
    for (let seen = 0; !hooks.requests.some(isEnd); ) seen = (await hooks.received(seen + 1)).length;
    const counts = { total: 3, waiting: 0, active: 0, completed: 2, failed: 1, canceled: 0 };
    const told = hooks.requests.filter(isEnd).map(({ payload }) => payload);
    expect(told).toMatchObject([{ event: 'batch.completed', batch: { id, state: 'completed', counts } }]);
    const { data } = (await call('GET', `/${id}?limit=2`)).body;
    expect(data).toMatchObject({ state: 'completed', counts, captures: [{ index: 1, state: 'failed' }, { index: 0 }] });
    const rest = (await call('GET', `/${id}?limit=2&cursor=${data.next_cursor}`)).body.data;
    expect(rest).toMatchObject({ captures: [{ index: 2 }], next_cursor: null });
    const zip = await fetch(`${service.url}${data.pictures_url}`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    const files = unzipped(Buffer.from(await zip.arrayBuffer()));
    const names = [
      /^0001-127\.0\.0\.2-\d+-article\.png$/,
      /^0003-about-html-view\.png$/,
      /^0003-about-html-title\.png$/,
    ];
    expect(Object.keys(files)).toEqual(names.map((name) => expect.stringMatching(name)));
    for (const content of Object.values(files)) expect((await sharp(content).metadata()).format).toBe('png');
    const job = data.captures[1];
    expect((await call('DELETE', `/${id}`)).body.data).toEqual({ id, removed: true });
    expect((await fetch(job.result.data.cdn_url)).status).toBe(410);
    for (const path of [`/${id}`, `/${id}/pictures.zip`, '/bat_1']) expect((await call('GET', path)).status).toBe(404);
    expect((await service.get(`/v1/jobs/${job.id}`)).status).toBe(404);
  });

  it('drains: refuses new submissions, and keeps accepted ones', async () => {
    const own = await startService();
    const submitted = await own.post({ url: site.url('/article'), ...SMALL, sync: false });
    expect(submitted.status).toBe(202);
    await own.service.stop();
    await using again = await startService({ dataDir: own.dataDir }, own.dataDir);
    expect(again.key).toBe('');
    const job = await fetch(`${again.url}/v1/jobs/${submitted.body.data.job_id}`, {
      headers: { authorization: `Bearer ${own.key}` },
    });
    const body = (await job.json()) as { data: { state: string } };
    expect(['completed', 'waiting', 'active']).toContain(body.data.state);
  });
});

it('an egress check that does not answer in time is reported as such', async () => {
  const silent = createServer((socket) => void socket.on('error', () => socket.destroy()).resume());
  await new Promise<void>((listening) => void silent.listen(0, '127.0.0.2', listening));
  const { port } = silent.address() as AddressInfo;
  await using checked = await startService({ egressCheckUrl: `http://127.0.0.2:${port}/trace` });
  const { status, body } = await checked.post({ url: site.url('/static'), region: 'us', timeout: 1_000, ...SMALL });
  expect([status, body.error.code]).toEqual([503, 'egress_unavailable']);
  silent.close();
});
