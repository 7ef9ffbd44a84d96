import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
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
import { readableLog } from '../fixtures/readable-log.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

const DAY_MS = 24 * 3_600_000;
const PICTURE = Buffer.from('the bytes of a picture');
const UNREACHABLE = { code: 'internal_error', status: 503, retriable: true, retryAfterSeconds: 5 };

const { lines, log } = readableLog();
let server: BucketServer;
let artifacts: Artifacts;
beforeEach(async () => {
  lines.length = 0;
  server = await startBucketServer();
  artifacts = openS3({ ...server.options, links: true, log });
  return async () => {
    await artifacts[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
});

/** Another process with the same bucket: it remembers nothing. */
const another = (over: Partial<BucketOptions> = {}) =>
  openS3({ ...server.options, links: false, log: silentLog(), ...over });

async function read(from: Artifacts, name: string, range?: { start: number; end: number }): Promise<Buffer> {
  const opened = await from.open(name);
  if (opened === null) throw new Error(`${name} is missing`);
  return await buffer(await opened.read(range));
}

test.each(['bucket', 'directory'])(
  'the files of a request are kept encrypted in a %s, read from any byte, and never opened as an artifact',
  async (kind) => {
    const dir = folderOfTest();
    const storage = kind === 'bucket' ? artifacts : await openArtifactDirectory({ dir, log: silentLog() });
    await using pack = await NewPack.open(join(dir, 'uploads'));
    const content = randomBytes(100_003);
    for (const [start, end] of [[0, 7], [7, 70_001], [70_001]] as const) await pack.write(content.subarray(start, end));
    const name = newPackName();
    await storage.putPack(name, pack);
    expect([await storage.open(name), await storage.openPack(newPackName())]).toEqual([null, null]);
    const stored = await storage.openPack(name);
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
    await storage.remove(name);
    expect(await (kind === 'bucket' ? another() : storage).openPack(name)).toBeNull();
    expect(readdirSync(join(dir, 'uploads'))).toEqual([]);
  },
);

async function listAll(artifacts: Artifacts, before = Date.now() + 60_000): Promise<string[]> {
  const names: string[] = [];
  for await (const batch of artifacts.list(before)) names.push(...batch);
  return names;
}

test('an artifact returns its bytes, whole or in part, in this process and in another', async () => {
  const content = randomBytes(3_000_000);
  const stored = await artifacts.put(content, 'webp');
  expect(stored).toMatchObject({ bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') });
  await using other = another();
  for (const process of [artifacts, other]) {
    expect((await read(process, stored.name)).equals(content)).toBe(true);
    expect((await read(process, stored.name, { start: 10, end: 19 })).equals(content.subarray(10, 20))).toBe(true);
    const opened = await process.open(stored.name);
    expect(Math.abs((opened?.modifiedAt ?? 0) - Date.now())).toBeLessThan(60_000);
  }
});

test('a missing object and one of a missing bucket are null, and only a call to the bucket distinguishes them', async () => {
  const { name } = await artifacts.put(PICTURE, 'png');
  await artifacts.remove(name);
  await artifacts.remove(name);
  expect([await artifacts.open(name), await artifacts.open('../etc/passwd')]).toEqual([null, null]);
  expect(await artifacts.isPresent()).toBe(true);
  await using elsewhere = another({ bucket: 'another-bucket' });
  expect([await elsewhere.isPresent(), await elsewhere.isReady()]).toEqual([false, false]);
  await expect(elsewhere.put(PICTURE, 'png')).rejects.toMatchObject({
    ...UNREACHABLE,
    cause: { code: 'NoSuchBucket' },
  });
  await expect(elsewhere.remove(name)).rejects.toMatchObject({ cause: { code: 'NoSuchBucket' } });
});

test('the name is announced before anything is sent, and nothing is sent if the announcement fails', async () => {
  const announced: string[] = [];
  const { name } = await artifacts.put(PICTURE, 'png', async (given) => {
    expect(server.requests).toEqual([]);
    announced.push(given);
  });
  expect(announced).toEqual([name]);
  const asked = server.requests.length;
  await expect(artifacts.put(PICTURE, 'png', () => Promise.reject(new Error('the claim was lost')))).rejects.toThrow(
    'was lost',
  );
  expect(server.requests.length).toBe(asked);
});

test('further tries survive a short outage, and a long one is answered with 503 until it is over', async () => {
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
    await using other = another();
    await expect(other.open(name)).rejects.toMatchObject(UNREACHABLE);
    await expect(listAll(other)).rejects.toMatchObject(UNREACHABLE);
    const opened = await artifacts.open(name);
    await expect(opened?.read()).rejects.toMatchObject(UNREACHABLE);
    server.trouble('none');
    expect([await artifacts.isReady(), artifacts.isFailing]).toEqual([true, false]);
  }
  const told = JSON.stringify(lines);
  expect(lines).toHaveLength(6);
  expect(told).toContain('returned 503 SlowDown');
  expect(told).not.toMatch(/S3RVER|Signature|secret words/);
});

test('a bucket that refuses writes only is not ready until it accepts one, and reports the reason', async () => {
  server.trouble(403, /^PUT/);
  await expect(artifacts.put(PICTURE, 'png')).rejects.toMatchObject(UNREACHABLE);
  for (let i = 0; i < 2; i++) expect([await artifacts.isReady(), artifacts.isFailing]).toEqual([false, true]);
  expect(await artifacts.open(newArtifactName('png'))).toBeNull();
  expect(artifacts.isFailing).toBe(true);
  expect(artifacts.refusal).toContain('refuses access (403 SlowDown)');
  server.trouble('none');
  expect([await artifacts.isReady(), artifacts.isFailing, artifacts.refusal]).toEqual([true, false, null]);
  expect(server.names()).toEqual([]);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'the bucket refuses access: captures are answered with 503 until its operator corrects that',
    'the bucket can be used again',
  ]);
});

test('no call waits for a storage that never answers', async () => {
  const timers = hurryTimers();
  server.trouble('silent');
  expect(await artifacts.isReady()).toBe(false);
  await expect(artifacts.open(newArtifactName('png'))).rejects.toMatchObject(UNREACHABLE);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual(expect.arrayContaining([2_000, 10_000]));
});

test('an object that something else deleted is an error for the first reader, and missing for the next', async () => {
  const { name } = await artifacts.put(PICTURE, 'png');
  await using other = another();
  await other.remove(name);
  await expect(read(artifacts, name)).rejects.toMatchObject(UNREACHABLE);
  expect(await artifacts.open(name)).toBeNull();
});

test('the list contains, page by page, objects older than a day, and none that are younger or of another prefix', async () => {
  await using neighbor = another({ prefix: 'stillframe-2/' });
  const names = await Promise.all(Array.from({ length: 5 }, async () => (await artifacts.put(PICTURE, 'png')).name));
  await neighbor.put(PICTURE, 'png');
  expect(await listAll(artifacts)).toEqual([]);
  server.age(DAY_MS + 60_000);
  expect(await listAll(artifacts)).toEqual([...names].sort());
  expect(await listAll(artifacts, Date.now() - 2 * DAY_MS)).toEqual([]);
});

/** Answers with pages of a list as AWS writes them: s3rver makes tokens with a cipher that OpenSSL 3 does not have. */
async function startPagedList(pages: string[][], token: string) {
  const pageServer = createServer((asked, answer) => {
    const given = new URL(asked.url ?? '', 'http://x').searchParams.get('continuation-token');
    const at = given === null ? 0 : given === token ? 1 : pages.length;
    const facts = '<LastModified>2020-01-02T03:04:05.000Z</LastModified><Size>1</Size>';
    const entries = (pages[at] ?? []).map((name) => `<Contents><Key>stillframe/${name}</Key>${facts}</Contents>`);
    const next = `<NextContinuationToken>${token.replace('&', '&amp;')}</NextContinuationToken>`;
    const more = at === 0 ? `<IsTruncated>true</IsTruncated>${next}` : '';
    answer.end(
      `<?xml version="1.0"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${more}${entries.join('\n')}</ListBucketResult>`,
    );
  });
  onTestFinished(() => void pageServer.close());
  await once(pageServer.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(pageServer.address() as AddressInfo).port}`;
}

test('a list of more than one page is read to its end', async () => {
  const names = Array.from({ length: 1_203 }, () => newArtifactName('png'));
  const endpoint = await startPagedList(
    [names.slice(0, 1_000), [...names.slice(1_000), 'not-a-picture.txt']],
    'a+b/c=&d',
  );
  await using paged = another({ endpoint });
  const batches: string[][] = [];
  for await (const batch of paged.list(Date.now())) batches.push(batch);
  expect(batches.map((batch) => batch.length)).toEqual([200, 200, 200, 200, 200, 200, 3]);
  expect(batches.flat()).toEqual(names);
});

test('an answer with other bytes than requested reaches no reader', async () => {
  const { name } = await artifacts.put(PICTURE, 'png');
  server.store(name);
  const opened = await artifacts.open(name);
  await expect(opened?.read()).rejects.toMatchObject(UNREACHABLE);
  await expect(opened?.read({ start: 0, end: 2_000 })).rejects.toMatchObject(UNREACHABLE);
});

test('a response that breaks off is an error for its reader, and nothing of it stays in memory', async () => {
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
  const name = newArtifactName('png');
  const options = { ...server.options, endpoint: 'http://storage.example:9000', virtualHosted: true };
  const bucket = new Bucket(options, new StorageHealth(silentLog()));
  const { host, pathname } = new URL(await bucket.link(name, { query: {}, seconds: 60 }));
  expect([host, pathname]).toEqual(['pictures.storage.example:9000', `/stillframe/${name}`]);
  await bucket[Symbol.asyncDispose]();
});

test('a link shows the picture with the right headers for a short time, and nothing is shown without a signature', async () => {
  const { name } = await artifacts.put(PICTURE, 'png');
  const shown = {
    contentType: 'image/png',
    contentDisposition: `inline; filename="${name}"`,
    cacheControl: 'public, max-age=60',
  };
  const link = (await (await artifacts.open(name))?.link?.(shown)) ?? '';
  const answer = await fetch(link);
  const headers = ['content-type', 'content-disposition', 'cache-control'].map((header) => answer.headers.get(header));
  expect([answer.status, ...headers]).toEqual([200, ...Object.values(shown)]);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(PICTURE);
  expect(Number(new URL(link).searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(300);
  expect((await fetch(link.replace(/inline/, 'attachment'))).status).toBe(403);
});
