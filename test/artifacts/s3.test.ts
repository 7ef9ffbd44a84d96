import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { newArtifactName, newPackName } from '../../src/artifacts/artifact-name.js';
import type { Artifacts } from '../../src/artifacts/artifacts.js';
import { Bucket, type BucketOptions } from '../../src/artifacts/bucket.js';
import { openArtifactDirectory } from '../../src/artifacts/directory.js';
import { NewPack, unpack } from '../../src/artifacts/page-pack.js';
import { openS3 } from '../../src/artifacts/s3.js';
import { StorageHealth } from '../../src/artifacts/storage-health.js';
import { silentLog } from '../../src/log.js';
import { hurryTimers } from '../egress/hurry-timers.js';
import { type BucketServer, startBucketServer } from '../fixtures/bucket-server.js';

const DAY_MS = 24 * 3_600_000;
const PICTURE = Buffer.from('the bytes of a picture');
const UNREACHABLE = { code: 'internal_error', status: 503, retriable: true, retryAfterSeconds: 5 };

interface World extends AsyncDisposable {
  server: BucketServer;
  artifacts: Artifacts;
}

async function aWorld(over: Partial<BucketOptions> = {}, log = silentLog()): Promise<World> {
  const server = await startBucketServer();
  const artifacts = openS3({ ...server.options, ...over, links: true, log });
  return {
    server,
    artifacts,
    async [Symbol.asyncDispose]() {
      await artifacts[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Another process with the same bucket: it remembers nothing. */
function another({ options }: BucketServer): Artifacts {
  return openS3({ ...options, links: true, log: silentLog() });
}

async function read(artifacts: Artifacts, name: string, range?: { start: number; end: number }): Promise<Buffer> {
  const opened = await artifacts.open(name);
  if (opened === null) throw new Error(`${name} is missing`);
  return await buffer(await opened.read(range));
}

test.each(['bucket', 'directory'])(
  'the files of a request are kept encrypted in a %s, read from any byte, and never opened as an artifact',
  async (kind) => {
    await using world = await aWorld();
    const dir = mkdtempSync(join(tmpdir(), 'stillframe-packs-'));
    const artifacts = kind === 'bucket' ? world.artifacts : await openArtifactDirectory({ dir, log: silentLog() });
    try {
      await using pack = await NewPack.open(join(dir, 'uploads'));
      const content = randomBytes(100_003);
      for (const [start, end] of [[0, 7], [7, 70_001], [70_001]] as const) await pack.write(content.subarray(start, end));
      const name = newPackName();
      await artifacts.putPack(name, pack);
      expect([await artifacts.open(name), await artifacts.openPack(newPackName())]).toEqual([null, null]);
      const stored = await artifacts.openPack(name);
      if (stored === null) throw new Error('the pack is missing');
      expect(stored.bytes).toBe(content.length);
      expect((await buffer(await stored.read())).equals(content)).toBe(false);
      for (const [start, end] of [
        [0, 100_002],
        [15, 16],
        [16, 16],
        [33_333, 70_000],
      ] as const) {
        const part = await buffer(unpack(await stored.read({ start, end }), pack.key, start));
        expect(part.equals(content.subarray(start, end + 1))).toBe(true);
      }
      await artifacts.remove(name);
      expect(await (kind === 'bucket' ? another(world.server) : artifacts).openPack(name)).toBeNull();
      expect(readdirSync(join(dir, 'uploads'))).toEqual([]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  },
);

async function listAll(artifacts: Artifacts, before = Date.now() + 60_000): Promise<string[]> {
  const names: string[] = [];
  for await (const batch of artifacts.list(before)) names.push(...batch);
  return names;
}

test('an artifact returns its bytes, whole or in part, in this process and in another', async () => {
  await using world = await aWorld();
  const content = randomBytes(3_000_000);
  const stored = await world.artifacts.put(content, 'webp');
  expect(stored).toMatchObject({ bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') });
  await using other = another(world.server);
  for (const artifacts of [world.artifacts, other]) {
    expect((await read(artifacts, stored.name)).equals(content)).toBe(true);
    expect((await read(artifacts, stored.name, { start: 10, end: 19 })).equals(content.subarray(10, 20))).toBe(true);
    const opened = await artifacts.open(stored.name);
    expect(Math.abs((opened?.modifiedAt ?? 0) - Date.now())).toBeLessThan(60_000);
  }
});

test('a missing object and one of a missing bucket are null, and only a call to the bucket distinguishes them', async () => {
  await using world = await aWorld();
  const { name } = await world.artifacts.put(PICTURE, 'png');
  await world.artifacts.remove(name);
  await world.artifacts.remove(name);
  expect([await world.artifacts.open(name), await world.artifacts.open('../etc/passwd')]).toEqual([null, null]);
  expect(await world.artifacts.isPresent()).toBe(true);
  await using elsewhere = openS3({ ...world.server.options, bucket: 'another-bucket', links: false, log: silentLog() });
  expect([await elsewhere.isPresent(), await elsewhere.isReady()]).toEqual([false, false]);
  await expect(elsewhere.put(PICTURE, 'png')).rejects.toMatchObject({ ...UNREACHABLE, cause: { code: 'NoSuchBucket' } });
  await expect(elsewhere.remove(name)).rejects.toMatchObject({ cause: { code: 'NoSuchBucket' } });
});

test('the name is announced before anything is sent, and nothing is sent if the announcement fails', async () => {
  await using world = await aWorld();
  const announced: string[] = [];
  const { name } = await world.artifacts.put(PICTURE, 'png', async (given) => {
    expect(world.server.requests).toEqual([]);
    announced.push(given);
  });
  expect(announced).toEqual([name]);
  const asked = world.server.requests.length;
  await expect(world.artifacts.put(PICTURE, 'png', () => Promise.reject(new Error('the claim was lost')))).rejects.toThrow('was lost');
  expect(world.server.requests.length).toBe(asked);
});

test('further tries survive a short outage, and a long one is answered with 503 until it is over', async () => {
  const lines: string[] = [];
  const log = pino(new Writable({ write: (line, _encoding, done) => done(void lines.push(String(line))) }));
  await using world = await aWorld({}, log);
  const { artifacts, server } = world;
  const { name } = await artifacts.put(PICTURE, 'png');
  server.trouble('down');
  const put = artifacts.put(PICTURE, 'png');
  await expect.poll(() => server.requests.length).toBeGreaterThan(1);
  server.trouble('none');
  await put;
  for (const kind of ['down', 503, 403] as const) {
    server.trouble(kind);
    await expect(artifacts.put(PICTURE, 'png')).rejects.toMatchObject(UNREACHABLE);
    expect([artifacts.isFailing, await artifacts.isReady()]).toEqual([true, false]);
    await using other = another(server);
    await expect(other.open(name)).rejects.toMatchObject(UNREACHABLE);
    await expect(listAll(other)).rejects.toMatchObject(UNREACHABLE);
    const opened = await artifacts.open(name);
    await expect(opened?.read()).rejects.toMatchObject(UNREACHABLE);
    server.trouble('none');
    expect([await artifacts.isReady(), artifacts.isFailing]).toEqual([true, false]);
  }
  const told = lines.join('');
  expect(lines).toHaveLength(6);
  expect(told).toContain('returned 503 SlowDown');
  expect(told).not.toMatch(/S3RVER|Signature|secret words/);
});

test('a bucket that refuses writes only is not ready until it accepts one, and reports the reason', async () => {
  const lines: string[] = [];
  const log = pino({}, new Writable({ write: (line, _encoding, done) => done(void lines.push(String(line))) }));
  await using world = await aWorld({}, log);
  const { artifacts, server } = world;
  server.trouble(403, /^PUT/);
  await expect(artifacts.put(PICTURE, 'png')).rejects.toMatchObject(UNREACHABLE);
  for (let i = 0; i < 2; i++) expect([await artifacts.isReady(), artifacts.isFailing]).toEqual([false, true]);
  expect(await artifacts.open(newArtifactName('png'))).toBeNull();
  expect(artifacts.isFailing).toBe(true);
  expect(artifacts.refusal).toContain('refuses access (403 SlowDown)');
  server.trouble('none');
  expect([await artifacts.isReady(), artifacts.isFailing, artifacts.refusal]).toEqual([true, false, null]);
  expect(server.names()).toEqual([]);
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'the bucket refuses access: captures are answered with 503 until its operator corrects that',
    'the bucket can be used again',
  ]);
});

test('no call waits for a storage that never answers', async () => {
  await using world = await aWorld();
  const timers = hurryTimers();
  world.server.trouble('silent');
  expect(await world.artifacts.isReady()).toBe(false);
  await expect(world.artifacts.open(newArtifactName('png'))).rejects.toMatchObject(UNREACHABLE);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual(expect.arrayContaining([2_000, 10_000]));
});

test('an object that something else deleted is an error for the first reader, and missing for the next', async () => {
  await using world = await aWorld();
  const { name } = await world.artifacts.put(PICTURE, 'png');
  await using other = another(world.server);
  await other.remove(name);
  await expect(read(world.artifacts, name)).rejects.toMatchObject(UNREACHABLE);
  expect(await world.artifacts.open(name)).toBeNull();
});

test('the list contains, page by page, objects older than a day, and none that are younger or of another prefix', async () => {
  await using world = await aWorld();
  const { artifacts, server } = world;
  await using neighbour = openS3({ ...server.options, prefix: 'stillframe-2/', links: false, log: silentLog() });
  const names = await Promise.all(Array.from({ length: 5 }, async () => (await artifacts.put(PICTURE, 'png')).name));
  await neighbour.put(PICTURE, 'png');
  expect(await listAll(artifacts)).toEqual([]);
  server.age(DAY_MS + 60_000);
  expect(await listAll(artifacts)).toEqual([...names].sort());
  expect(await listAll(artifacts, Date.now() - 2 * DAY_MS)).toEqual([]);
});

/** Pages of a list as AWS writes them: s3rver makes tokens with a cipher that OpenSSL 3 does not have. */
async function aPagedList(pages: string[][], token: string) {
  const server = createServer((asked, answer) => {
    const given = new URL(asked.url ?? '', 'http://x').searchParams.get('continuation-token');
    const at = given === null ? 0 : given === token ? 1 : pages.length;
    const entries = (pages[at] ?? []).map(
      (name) => `<Contents><Key>stillframe/${name}</Key><LastModified>2020-01-02T03:04:05.000Z</LastModified><Size>1</Size></Contents>`,
    );
    const more =
      at === 0 ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${token.replace('&', '&amp;')}</NextContinuationToken>` : '';
    answer.end(
      `<?xml version="1.0"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${more}${entries.join('\n')}</ListBucketResult>`,
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = { accessKeyId: 'a', secretAccessKey: 'b', region: 'us-east-1' };
  const artifacts = openS3({
    endpoint,
    bucket: 'pictures',
    prefix: 'stillframe/',
    virtualHosted: false,
    links: false,
    log: silentLog(),
    ...keys,
  });
  return {
    artifacts,
    async [Symbol.asyncDispose]() {
      await artifacts[Symbol.asyncDispose]();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('a list of more than one page is read to its end', async () => {
  const names = Array.from({ length: 1_203 }, () => newArtifactName('png'));
  await using world = await aPagedList([names.slice(0, 1_000), [...names.slice(1_000), 'not-a-picture.txt']], 'a+b/c=&d');
  const batches: string[][] = [];
  for await (const batch of world.artifacts.list(Date.now())) batches.push(batch);
  expect(batches.map((batch) => batch.length)).toEqual([200, 200, 200, 200, 200, 200, 3]);
  expect(batches.flat()).toEqual(names);
});

test('an answer with other bytes than requested reaches no reader', async () => {
  await using world = await aWorld();
  const { name } = await world.artifacts.put(PICTURE, 'png');
  world.server.store(name);
  const opened = await world.artifacts.open(name);
  await expect(opened?.read()).rejects.toMatchObject(UNREACHABLE);
  await expect(opened?.read({ start: 0, end: 2_000 })).rejects.toMatchObject(UNREACHABLE);
});

test('a response that breaks off is an error for its reader, and nothing of it stays in memory', async () => {
  await using world = await aWorld();
  const { artifacts, server } = world;
  const content = randomBytes(1_000_000);
  const { name } = await artifacts.put(content, 'png');
  server.trouble('cut', /^GET/);
  const streamed = await (await artifacts.open(name))?.read();
  await expect(streamed?.toArray()).rejects.toThrow();
  await expect((await artifacts.open(name))?.read()).rejects.toMatchObject(UNREACHABLE);
  server.trouble('none');
  expect((await read(artifacts, name)).equals(content)).toBe(true);
});

test('a bucket that is a subdomain gets signatures for the subdomain', async () => {
  await using world = await aWorld();
  const name = newArtifactName('png');
  const options = { ...world.server.options, endpoint: 'http://storage.example:9000', virtualHosted: true };
  const bucket = new Bucket(options, new StorageHealth(silentLog()));
  const { host, pathname } = new URL(await bucket.link(name, { query: {}, seconds: 60 }));
  expect([host, pathname]).toEqual(['pictures.storage.example:9000', `/stillframe/${name}`]);
  await bucket[Symbol.asyncDispose]();
});

test('a link shows the picture with the right headers for a short time, and nothing is shown without a signature', async () => {
  await using world = await aWorld();
  const { name } = await world.artifacts.put(PICTURE, 'png');
  const shown = { contentType: 'image/png', contentDisposition: `inline; filename="${name}"`, cacheControl: 'public, max-age=60' };
  const link = (await (await world.artifacts.open(name))?.link?.(shown)) ?? '';
  const answer = await fetch(link);
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': shown.contentType,
    'content-disposition': shown.contentDisposition,
    'cache-control': shown.cacheControl,
  });
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(PICTURE);
  expect(Number(new URL(link).searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(300);
  expect((await fetch(link.replace(/inline/, 'attachment'))).status).toBe(403);
});
