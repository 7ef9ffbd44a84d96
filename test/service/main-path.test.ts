import { type AddressInfo, createServer } from 'node:net';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';
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
