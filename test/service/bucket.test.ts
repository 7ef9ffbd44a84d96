import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config.js';
import { startBucketServer } from '../fixtures/bucket-server.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';

/** Two rounds of housekeeping, one every 5 s, and what they take on a busy machine. */
const TWO_SWEEPS_MS = 60_000;
/** How soon after an outage the service works again: 5 s, and five times that on a busy machine. */
const BACK_MS = 25_000;

type World = Awaited<ReturnType<typeof aWorld>>;

async function aWorld(over: Partial<Config> = {}) {
  const [bucket, site] = [await startBucketServer(), await startSite({ host: '127.0.0.2' })];
  const { endpoint, bucket: name, region, accessKeyId, secretAccessKey, prefix } = bucket.options;
  const settings = { s3Endpoint: endpoint, s3Bucket: `${name}/${prefix}`, s3Region: region };
  const keys = { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey };
  const service = await startService({ ...settings, ...keys, ...over });
  return {
    bucket,
    site,
    service,
    async [Symbol.asyncDispose]() {
      for (const part of [service, site, bucket]) await part[Symbol.asyncDispose]();
    },
  };
}

const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 }, format: 'png' };
/** A small capture; `query` makes it a page of its own, past the cache. */
const wish = ({ site }: World, query = '') => ({ url: site.url(`/static${query}`), ...SMALL });

const nameOf = (cdnUrl: string) => cdnUrl.slice(cdnUrl.lastIndexOf('/') + 1);
const creditsOf = async ({ service }: World) => (await service.get('/v1/usage')).body.data;

describe('a service with a bucket', () => {
  it('keeps pictures only in the bucket, and answers for them as for files', async () => {
    await using world = await aWorld();
    const { service, bucket } = world;
    const first = await service.post(wish(world));
    expect(first.status).toBe(200);
    const { cdn_url: cdnUrl, bytes } = first.body.data;
    const name = nameOf(cdnUrl);
    expect(bucket.names()).toEqual([name]);
    expect(
      existsSync(join(service.dataDir, 'artifacts')) ? readdirSync(join(service.dataDir, 'artifacts')) : [],
    ).toEqual([]);
    const whole = await fetch(cdnUrl);
    const content = Buffer.from(await whole.arrayBuffer());
    expect([whole.status, content.length, content.subarray(1, 4).toString()]).toEqual([200, bytes, 'PNG']);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes),
    });
    const part = await fetch(cdnUrl, { headers: { range: 'bytes=1-3' } });
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([
      206,
      'PNG',
      `bytes 1-3/${bytes}`,
    ]);
    expect((await service.post(wish(world))).body.data).toMatchObject({ cached: true, cdn_url: cdnUrl });
    expect((await service.get('/v1/health')).body.data).toMatchObject({ database: 'ready', storage: 'ready' });
  });

  it('loses and repeats no capture in an outage, refuses new ones meanwhile, and recovers within 5 s', async () => {
    await using world = await aWorld({ syncWaitMs: 1_000 });
    const { service, bucket } = world;
    const first = await service.post(wish(world), {}, '?mode=async');
    const { cdn_url: cdnUrl } = (await service.untilEnded(first.body.data.job_id)).body.data.result.data;
    const visits = () => world.site.hits.filter(({ path }) => path.startsWith('/static?')).length;
    // The storage keeps what it is sent, but no answer arrives.
    bucket.trouble('mute', /^PUT/);
    const held = await service.post(wish(world, '?1'), { 'idempotency-key': 'first' });
    expect(held.status).toBe(202);
    await expect.poll(() => bucket.names().length, { timeout: TWO_SWEEPS_MS }).toBeGreaterThan(1);
    bucket.trouble('down');
    await expect.poll(async () => (await service.get('/v1/health')).status, { timeout: TWO_SWEEPS_MS }).toBe(503);
    const refused = await service.post(wish(world, '?2'), { 'idempotency-key': 'second' });
    expect([refused.status, refused.body.error.details, refused.headers.get('retry-after')]).toEqual([
      503,
      undefined,
      '5',
    ]);
    // A repeated submission gets its job, as ever.
    const repeated = await service.post(wish(world, '?1'), { 'idempotency-key': 'first' });
    expect([repeated.status, repeated.body.data.job_id]).toEqual([202, held.body.data.job_id]);
    const health = await service.get('/v1/health');
    expect([health.status, health.body.data.storage, health.body.data.database]).toEqual([503, 'unavailable', 'ready']);
    const picture = await fetch(cdnUrl);
    expect([picture.status, picture.headers.get('retry-after'), picture.headers.get('etag')]).toEqual([503, '5', null]);
    expect(picture.headers.get('cache-control')).not.toContain('immutable');
    expect(await creditsOf(world)).toMatchObject({ credits: 1, reserved: 1 });
    bucket.trouble('none');
    const again = () => service.post(wish(world, '?2'), { 'idempotency-key': 'second' }, '?mode=async');
    await expect.poll(async () => (await again()).status, { timeout: BACK_MS }).toBe(202);
    await service.untilEnded((await again()).body.data.job_id);
    expect((await service.untilEnded(held.body.data.job_id)).body.data).toMatchObject({
      state: 'completed',
      attempts_made: 1,
    });
    expect(visits()).toBe(2);
    expect((await service.get('/v1/health')).status).toBe(200);
    expect((await fetch(cdnUrl)).status).toBe(200);
    expect(await creditsOf(world)).toMatchObject({ credits: 3, reserved: 0 });
    await expect.poll(() => bucket.names().length, { timeout: TWO_SWEEPS_MS }).toBe(3);
    expect(bucket.names()).toContain(nameOf(cdnUrl));
  });

  it('sends readers to the bucket if that is configured, after the same checks', async () => {
    await using world = await aWorld({ artifactLinks: 'redirect' });
    const { service, bucket } = world;
    const { cdn_url: cdnUrl, bytes } = (await service.post(wish(world))).body.data;
    const redirected = await fetch(cdnUrl, { redirect: 'manual' });
    expect([redirected.status, redirected.headers.get('cache-control')]).toEqual([302, 'private, max-age=60']);
    const { origin, pathname, searchParams } = new URL(redirected.headers.get('location') ?? '');
    expect([origin, pathname]).toEqual([bucket.options.endpoint, `/pictures/stillframe/${nameOf(cdnUrl)}`]);
    expect(searchParams.get('X-Amz-Expires')).toBe('300');
    const followed = await fetch(cdnUrl, { headers: { range: 'bytes=1-3' } });
    expect([followed.status, await followed.text(), followed.headers.get('content-type')]).toEqual([
      206,
      'PNG',
      'image/png',
    ]);
    expect(followed.headers.get('cache-control')).toContain('immutable');
    const head = await fetch(cdnUrl, { method: 'HEAD', redirect: 'manual' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes)]);
    const missing = cdnUrl.replace(nameOf(cdnUrl), `${'a'.repeat(32)}.png`);
    expect((await fetch(missing, { redirect: 'manual' })).status).toBe(404);
    const accept = { accept: 'image/png', authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const direct = await fetch(`${service.url}/v1/screenshot`, {
      method: 'POST',
      headers: accept,
      body: JSON.stringify(wish(world)),
    });
    expect([direct.status, direct.redirected, (await direct.arrayBuffer()).byteLength]).toEqual([200, false, bytes]);
  });

  it.each([
    [{ s3Endpoint: 'http://127.0.0.1:1' }, 'STILLFRAME_S3_BUCKET, STILLFRAME_S3_REGION, STILLFRAME_S3_ACCESS_KEY_ID'],
    [
      { s3Endpoint: 'http://127.0.0.1:1', s3Bucket: 'x', s3Region: 'y', s3AccessKeyId: 'z' },
      'STILLFRAME_S3_SECRET_ACCESS_KEY',
    ],
    [{ artifactLinks: 'redirect' as const }, 'STILLFRAME_ARTIFACT_LINKS'],
  ])('does not start with only a part of the settings: %o', async (over, named) => {
    await expect(startService(over)).rejects.toThrow(named);
  });
});
