import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import type { Artifacts } from '../../src/artifacts/artifacts.js';
import { openArtifactDirectory } from '../../src/artifacts/directory.js';
import { asStorageError } from '../../src/artifacts/storage-error.js';
import { CaptureError } from '../../src/contract/capture-error.js';
import { silentLog } from '../../src/log.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';
import { countFiles } from './count-files.js';

let base: string;
let dir: string;
let artifacts: Artifacts;
beforeEach(async () => {
  base = folderOfTest();
  dir = join(base, 'artifacts');
  artifacts = await openThis();
  return () => artifacts[Symbol.asyncDispose]();
});

const openThis = () => openArtifactDirectory({ dir, log: silentLog() });

function pathOf(name: string): string {
  return join(dir, name.slice(0, 2), name);
}

async function listAll(artifacts: Artifacts, before: number): Promise<string[]> {
  const names: string[] = [];
  for await (const batch of artifacts.list(before)) names.push(...batch);
  return names.sort();
}

test('an artifact returns its bytes, whole or in part, under an unguessable name', async () => {
  const content = randomBytes(3_000_000);
  const stored = await artifacts.put(content, 'webp');
  const sha256 = createHash('sha256').update(content).digest('hex');
  expect(stored).toMatchObject({ name: expect.stringMatching(/^[a-z2-7]{32}\.webp$/), bytes: content.length, sha256 });
  const opened = await artifacts.open(stored.name);
  expect(opened?.bytes).toBe(content.length);
  expect(Math.abs((opened?.modifiedAt ?? 0) - Date.now())).toBeLessThan(60_000);
  expect(opened && (await buffer(await opened.read())).equals(content)).toBe(true);
  expect(opened && (await buffer(await opened.read({ start: 10, end: 19 }))).equals(content.subarray(10, 20))).toBe(
    true,
  );
});

test('a removed picture is not kept in memory', async () => {
  const { name } = await artifacts.put(Buffer.from('old'), 'png');
  const read = async () => (await buffer((await (await artifacts.open(name))?.read()) ?? Readable.from([]))).toString();
  expect([await read(), await read()]).toEqual(['old', 'old']);
  await artifacts.remove(name);
  await writeFile(pathOf(name), 'new');
  expect(await read()).toBe('new');
});

test('every capture format is an extension, and nothing else is', async () => {
  const stored = await Promise.all(
    ['png', 'jpeg', 'webp', 'pdf'].map((format) => artifacts.put(Buffer.from('x'), format)),
  );
  expect(new Set(stored.map(({ name }) => name.slice(0, 32))).size).toBe(4);
  await expect(artifacts.put(Buffer.from('x'), 'html')).rejects.toThrow('html');
  await expect(artifacts.put(Buffer.from('x'), '../png')).rejects.toThrow();
});

test('files are readable by their user only, and are in small subdirectories', async () => {
  const { name } = await artifacts.put(Buffer.from('x'), 'png');
  expect((await stat(pathOf(name))).mode & 0o777).toBe(0o600);
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
});

test('only names that the directory makes open anything', async () => {
  await writeFile(join(base, 'secret.png'), 'secret');
  await mkdir(join(dir, 'aa'), { recursive: true });
  await writeFile(join(dir, 'aa', 'a.png'), 'secret');
  const plain = 'a'.repeat(32);
  const paths = [
    '../secret.png',
    '..%2fsecret.png',
    '/etc/passwd',
    '',
    '.',
    '..',
    'aa',
    'a.png',
    `.unfinished/${plain}.png`,
  ];
  const names = [
    `${plain}.png`,
    `${plain}.png\0`,
    `${plain}.png\n`,
    `${plain}.exe`,
    `${plain}/../a.png`,
    `${'A'.repeat(32)}.png`,
  ];
  for (const name of [...paths, ...names]) {
    expect(await artifacts.open(name)).toBeNull();
    await artifacts.remove(name);
  }
  expect(await readdir(base)).toContain('secret.png');
});

test('removing an artifact twice, or one that never existed, is not an error', async () => {
  const { name } = await artifacts.put(Buffer.from('x'), 'png');
  await Promise.all([artifacts.remove(name), artifacts.remove(name)]);
  await artifacts.remove(name);
  await artifacts.remove(`${'c'.repeat(32)}.png`);
  expect(await artifacts.open(name)).toBeNull();
  expect(await countFiles(artifacts)).toBe(0);
});

test('incomplete files of an earlier run are removed at boot, and never listed or opened', async () => {
  await artifacts.put(Buffer.from('whole'), 'png');
  await writeFile(join(dir, '.unfinished', `${'d'.repeat(32)}.png`), 'half');
  await using later = await openThis();
  expect(await later.open(`${'d'.repeat(32)}.png`)).toBeNull();
  expect(await listAll(later, Date.now() + 60_000)).toHaveLength(1);
  expect(await later.removeLeftovers()).toBe(1);
  expect(await later.removeLeftovers()).toBe(0);
  expect(await countFiles(later)).toBe(1);
});

test('the list contains, in batches, the artifacts last modified before a time', async () => {
  const names = await Promise.all(
    Array.from({ length: 30 }, async () => (await artifacts.put(Buffer.from('x'), 'png')).name),
  );
  const old = names.slice(0, 10).sort();
  for (const name of old) await utimes(pathOf(name), new Date(1_000_000), new Date(1_000_000));
  expect(await listAll(artifacts, 2_000_000)).toEqual(old);
  expect(await listAll(artifacts, Date.now() + 60_000)).toEqual([...names].sort());
});

test('a put whose file cannot be created keeps nothing, and the next one works', async () => {
  // A file where the directory should be: root writes through any mode, but not here.
  await rm(join(dir, '.unfinished'), { recursive: true });
  await writeFile(join(dir, '.unfinished'), '');
  await expect(artifacts.put(Buffer.from('x'), 'png')).rejects.toBeDefined();
  await rm(join(dir, '.unfinished'));
  await mkdir(join(dir, '.unfinished'));
  const { name } = await artifacts.put(Buffer.from('x'), 'png');
  expect(await listAll(artifacts, Date.now() + 60_000)).toEqual([name]);
});

test('a full disk is reported as a temporary failure of the server', async () => {
  const translated = asStorageError(
    Object.assign(new Error('no space left on device, write'), { code: 'ENOSPC', syscall: 'write' }),
  );
  expect(translated).toBeInstanceOf(CaptureError);
  expect(translated).toMatchObject({ code: 'internal_error', status: 503, retriable: true });
  const bug = new TypeError('x');
  expect(asStorageError(bug)).toBe(bug);
});
