import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readableLog } from '../fixtures/readable-log.js';
import { startService } from '../fixtures/start-service.js';
import { startUploadReceiver } from '../fixtures/upload-receiver.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';

const SIGNATURE = 'X-Amz-Signature=f00dfeed';
const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 }, html: '<h1>Invoice</h1>' };

it('puts the picture where the request says, and reports it in the answer, the look-up and the webhook, without the secret', async () => {
  const { lines, log } = readableLog('trace');
  await using bucket = await startUploadReceiver('127.0.0.2');
  await using hooks = await startReceiver();
  await using service = await startService({ webhookAllow: [bucket.origin, hooks.origin] }, null, { log });
  const upload = { url: `${bucket.origin}/shots/home.webp?${SIGNATURE}` };
  const body = { ...SMALL, upload, webhook: { url: hooks.url(), secret: 's'.repeat(16) } };
  const first = await service.post(body, { 'idempotency-key': 'once' });
  expect(first.status).toBe(200);
  const picture = await service.picture(first);
  const told = {
    state: 'uploaded',
    url: `${bucket.origin}/shots/home.webp`,
    bytes: picture.length,
    attempts: 1,
    status: 200,
    error: null,
  };
  expect(first.body.data).toMatchObject({ cached: false, upload: told });
  const headers = { 'content-type': 'image/webp', 'content-length': String(picture.length) };
  expect(bucket.uploads).toMatchObject([{ method: 'PUT', path: `/shots/home.webp?${SIGNATURE}`, headers }]);

  expect((await service.post(body, { 'idempotency-key': 'once' })).body.data.upload).toEqual(told);
  expect(bucket.uploads).toHaveLength(1);

  const again = await service.post(body);
  expect(again.body.data).toMatchObject({ cached: true, cdn_url: first.body.data.cdn_url, upload: told });
  expect(bucket.uploads.map(({ content }) => content.equals(picture))).toEqual([true, true]);

  const without = await service.post(SMALL);
  expect(without.body.data.cached).toBe(true);
  expect('upload' in without.body.data).toBe(false);

  const lookedUp = await service.get(`/v1/jobs/${again.headers.get('x-job-id')}`);
  expect(lookedUp.body.data.result.data).toMatchObject({ cached: true, upload: told });
  const [event] = await hooks.received(2);
  expect(event?.payload.data).toMatchObject({ upload: told });

  const answers = [first, again, lookedUp].map(({ body: shown }) => shown);
  expect(JSON.stringify([answers, lines, String(event?.rawBody)])).not.toContain('f00dfeed');
  const logged = lines.filter(({ msg }) => msg === 'upload');
  expect(logged).toHaveLength(2);
  expect(JSON.stringify(logged)).not.toContain('/shots/');
  const files = readdirSync(service.dataDir, { withFileTypes: true }).filter((file) => file.isFile());
  expect(files.length).toBeGreaterThan(0);
  for (const { name } of files) expect(readFileSync(join(service.dataDir, name)).includes('f00dfeed')).toBe(false);
});

it('refuses an address that is not allowed before anything is captured', async () => {
  await using forbidden = await startUploadReceiver('127.0.0.3');
  await using service = await startService({ webhookAllow: ['http://127.0.0.2:80'] });
  for (const url of [`${forbidden.origin}/x?${SIGNATURE}`, `https://127.0.0.3/x?${SIGNATURE}`]) {
    const { status, body } = await service.post({ ...SMALL, upload: { url } });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.details.issues).toMatchObject([{ path: 'upload.url' }]);
    expect(JSON.stringify(body)).not.toMatch(/f00dfeed|127\.0\.0\.3/);
  }
  expect(forbidden.uploads).toEqual([]);
  expect((await service.get('/v1/jobs')).body.data.jobs).toEqual([]);
});

it('uploads a pdf, and what a job captures that nobody waits for', async () => {
  await using bucket = await startUploadReceiver('127.0.0.2', [503, 200]);
  await using service = await startService({ webhookAllow: [bucket.origin] });
  const accepted = await service.post({
    ...SMALL,
    format: 'pdf',
    sync: false,
    upload: { url: `${bucket.origin}/invoice.pdf` },
  });
  expect(accepted.status).toBe(202);
  const { result } = (await service.untilEnded(accepted.body.data.job_id)).body.data;
  expect(result.data.upload).toMatchObject({ state: 'uploaded', attempts: 2 });
  expect(bucket.uploads.map(({ headers }) => headers['content-type'])).toEqual(['application/pdf', 'application/pdf']);
  expect(bucket.uploads[1]?.content.subarray(0, 5).toString()).toBe('%PDF-');
});
