import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSigningSecret } from '../../src/account/issue-key.js';
import { Stillframe, verifyWebhook } from '../../src/client/client.js';
import { startService, type TestService } from '../fixtures/start-service.js';
import { type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';

const SMALL = { viewport: { width: 400, height: 300, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 } as const;
const SECRET = 'a secret of the receiver';

let site: Server;
let service: TestService;
let receiver: Receiver;
let stillframe: Stillframe;
let url: string;

beforeAll(async () => {
  site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<title>Hello</title><h1>Hello, world'),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.2', resolve));
  url = `http://127.0.0.2:${(site.address() as AddressInfo).port}/`;
  receiver = await startReceiver();
  service = await startService({ webhookAllow: [receiver.origin] });
  stillframe = new Stillframe({ baseUrl: `${service.url}/`, apiKey: service.key });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  site.close();
});

describe('a capture', () => {
  it('returns a picture, which can be downloaded whole or as a stream', async () => {
    const picture = await stillframe.capture({ url, ...SMALL });
    expect(picture).toMatchObject({
      url,
      format: 'png',
      width: 400,
      height: 300,
      job_id: expect.stringMatching(/^job_/),
    });
    const bytes = await stillframe.download(picture);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 400, height: 300 });
    const { body, contentType, contentLength } = await stillframe.downloadStream(picture.cdn_url);
    expect([contentType, contentLength]).toEqual(['image/png', picture.bytes]);
    expect(Buffer.from(await new Response(body).arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('is rendered and charged once, although the answer was lost', async () => {
    let calls = 0;
    const losing = new Stillframe({
      baseUrl: service.url,
      apiKey: service.key,
      fetch: async (address, init) => {
        const response = await fetch(address, init);
        if (++calls > 1) return response;
        await response.arrayBuffer();
        throw new TypeError('fetch failed');
      },
    });
    const before = await stillframe.usage();
    await losing.capture({ url, ...SMALL });
    const after = await stillframe.usage();
    expect(calls).toBe(2);
    expect(after.credits - before.credits).toBe(1);
    expect(after.jobs.completed - before.jobs.completed).toBe(1);
  });

  it('rejects with the code of its failure, at once or when it is polled', async () => {
    const failing = { url, ...SMALL, fail_if_content_missing: ['Goodbye'] };
    const told = {
      name: 'StillframeError',
      code: 'render_incomplete',
      status: 502,
      retriable: true,
      jobId: expect.stringMatching(/^job_/),
    };
    await expect(stillframe.capture(failing)).rejects.toMatchObject(told);
    const job = await stillframe.submit(failing);
    await expect(stillframe.wait(job)).rejects.toMatchObject({
      code: 'render_incomplete',
      status: null,
      jobId: job.job_id,
    });
    await expect(stillframe.download(await stillframe.job(job.job_id))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('rejects with every issue if it is invalid, and with 401 for a wrong key', async () => {
    const wrong = { url, format: 'gif', fullpage: true } as unknown as { url: string };
    await expect(stillframe.capture(wrong)).rejects.toMatchObject({
      code: 'invalid_request',
      status: 400,
      requestId: expect.stringMatching(/^req_/),
      docsUrl: expect.stringContaining('#invalid_request'),
      details: { issues: [{ path: 'format' }, { path: 'fullpage' }] },
    });
    const stranger = new Stillframe({ baseUrl: service.url, apiKey: 'sf_live_nobody' });
    await expect(stranger.usage()).rejects.toMatchObject({ code: 'unauthorized', status: 401, retriable: false });
  });
});

describe('jobs', () => {
  it('are found by id, by idempotency key and in the list', async () => {
    const accepted = await stillframe.submit({ url, ...SMALL }, { idempotencyKey: 'order-4711' });
    const picture = await stillframe.wait(accepted);
    expect(picture.job_id).toBe(accepted.job_id);
    const job = await stillframe.job(accepted.job_id);
    expect(job).toMatchObject({ id: accepted.job_id, state: 'completed', mode: 'async', result: { ok: true } });
    expect(await stillframe.jobByKey('order-4711')).toEqual(job);
    expect((await stillframe.jobs({ limit: 1, state: 'completed' })).jobs).toEqual([job]);
    const again = (request: object) => stillframe.submit({ url, ...request }, { idempotencyKey: 'order-4711' });
    expect(await again(SMALL)).toMatchObject({ job_id: job.id, state: 'completed' });
    await expect(again({})).rejects.toMatchObject({ code: 'idempotency_conflict', status: 409 });
  });

  it('are listed page after page', async () => {
    const { jobs } = await stillframe.jobs({ limit: 100 });
    const ids: string[] = [];
    for await (const job of stillframe.eachJob({ limit: 2 })) ids.push(job.id);
    expect(ids.length).toBeGreaterThan(2);
    expect(ids).toEqual(jobs.map(({ id }) => id));
  });
});

describe('webhooks', () => {
  it('are verified as the server signs them, and sent again on request', async () => {
    const { job_id: jobId } = await stillframe.submit({
      url,
      ...SMALL,
      webhook: { url: receiver.url(), secret: SECRET },
    });
    const verified = async (nth: number) => {
      const { rawBody: body, headers } = (await receiver.received(nth))[nth - 1] ?? expect.fail();
      return await verifyWebhook({ body, headers, secret: SECRET });
    };
    const event = { event: 'capture.completed', ok: true, job_id: jobId, data: { format: 'png' } };
    expect(await verified(1)).toMatchObject({ ...event, delivery_generation: 1 });
    await expect.poll(async () => (await stillframe.delivery(jobId)).state).toBe('delivered');
    expect(await stillframe.redeliver(jobId)).toMatchObject({
      generation: 2,
      etag: expect.stringMatching(/^".+\.2"$/),
    });
    expect(await verified(2)).toMatchObject({ ...event, delivery_generation: 2 });
    const late = stillframe.redeliver(jobId, { etag: '"dlv_0.1"' });
    await expect(late).rejects.toMatchObject({ status: 409, details: { reason: expect.any(String) } });
  });
});

describe('the rest of the API', () => {
  it('makes links that show the picture without the API key', async () => {
    const store = Reflect.get(service.service, 'foundations').store;
    const keyId = (await store.listKeys())[0].id;
    const signingSecret = newSigningSecret();
    await store.rotateSigningSecret(keyId, signingSecret, 0);
    const link = await stillframe.signedLink(
      { url, ...SMALL, hide_selectors: ['h2', '.a > b'] },
      { keyId, signingSecret, expiresIn: 60 },
    );
    expect(link).not.toContain(service.key);
    const response = await fetch(link);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    await response.arrayBuffer();
  });

  it('reports usage and health', async () => {
    expect(await stillframe.usage()).toMatchObject({ account: 'default', quota: null });
    expect(await stillframe.health()).toMatchObject({ ready: true, database: 'ready', worker_ready: true });
  });
});
