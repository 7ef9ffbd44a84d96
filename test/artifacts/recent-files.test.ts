import { createReadStream } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import { type FileSource, RecentFiles } from '../../src/artifacts/recent-files.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

/** The file on the disk is changed without the cache's knowledge, to see where an answer comes from. */
const [DISK, CHANGED] = ['from memory', 'of the disk'];
const { length } = DISK;

const ON_DISK: FileSource = {
  stream: async (path, _bytes, range) => createReadStream(path, range),
  load: (path) => readFile(path),
};

let dir: string;
let path: string;

beforeEach(async () => {
  dir = folderOfTest();
  path = await aFile('a.png');
});

async function aFile(name: string): Promise<string> {
  await writeFile(join(dir, name), DISK);
  return join(dir, name);
}

async function readTwice(files: RecentFiles, ...paths: string[]): Promise<void> {
  for (const each of [...paths, ...paths]) expect(await text(await files.read(each, length))).toBe(DISK);
}

test('keeps what is read twice, and gives parts of it', async () => {
  const files = new RecentFiles(ON_DISK);
  await readTwice(files, path);
  await writeFile(path, CHANGED);
  expect(await text(await files.read(path, length))).toBe(DISK);
  expect(await text(await files.read(path, length, { start: 5, end: 8 }))).toBe('memo');
  expect(files.lend(path, length, { start: 5, end: 8 })?.content.toString()).toBe('memo');
});

test('lends what is kept, until too much is lent', async () => {
  const files = new RecentFiles(ON_DISK, { keptBytes: 1_000, lentBytes: 2 * length, fileBytes: 100 });
  expect(files.lend(path, length)).toBeNull();
  await readTwice(files, path);
  expect(files.lend(path, length + 1)).toBeNull();
  const lent = [files.lend(path, length), files.lend(path, length)];
  expect(lent.map((each) => each?.content.toString())).toEqual([DISK, DISK]);
  expect(files.lend(path, length)).toBeNull();
  lent[0]?.release();
  lent[0]?.release();
  expect([files.lend(path, length), files.lend(path, length)].map((each) => each === null)).toEqual([false, true]);
});

test('keeps nothing that was read once', async () => {
  const files = new RecentFiles(ON_DISK);
  expect(await text(await files.read(path, length))).toBe(DISK);
  await writeFile(path, CHANGED);
  expect(await text(await files.read(path, length))).toBe(CHANGED);
});

test('drops what is removed, also while it is being read, and what has another size on the disk', async () => {
  const files = new RecentFiles(ON_DISK);
  await readTwice(files, path);
  files.forget(path);
  await writeFile(path, CHANGED);
  expect(await text(await files.read(path, length))).toBe(CHANGED);
  const reading = files.read(path, length);
  files.forget(path);
  await text(await reading);
  await writeFile(path, DISK);
  await readTwice(files, path);
  await writeFile(path, 'longer than before');
  expect(await text(await files.read(path, 18))).toBe('longer than before');
});

test('evicts what was not read for the longest time', async () => {
  const files = new RecentFiles(ON_DISK, { keptBytes: 2 * length, lentBytes: 1_000, fileBytes: 100 });
  const [second, third] = [await aFile('b.png'), await aFile('c.png')];
  await readTwice(files, path, second);
  await text(await files.read(path, length));
  await readTwice(files, third);
  for (const each of [path, second, third]) await writeFile(each, CHANGED);
  const found = [];
  for (const each of [path, third, second]) found.push(await text(await files.read(each, length)));
  expect(found).toEqual([DISK, DISK, CHANGED]);
});

test('streams large files, and any file while too much is being sent', async () => {
  const small = new RecentFiles(ON_DISK, { keptBytes: 1_000, lentBytes: 1_000, fileBytes: length - 1 });
  await readTwice(small, path);
  const busy = new RecentFiles(ON_DISK, { keptBytes: 1_000, lentBytes: length, fileBytes: 100 });
  await readTwice(busy, path);
  const unread = await busy.read(path, length);
  await writeFile(path, CHANGED);
  expect(await text(await small.read(path, length))).toBe(CHANGED);
  expect(await text(await busy.read(path, length))).toBe(CHANGED);
  await new Promise((closed) => unread.once('close', closed).destroy());
  expect(await text(await busy.read(path, length))).toBe(DISK);
});

test('a file that has gone is an error of the reader', async () => {
  const files = new RecentFiles(ON_DISK);
  await text(await files.read(path, length));
  await rm(path);
  await expect(files.read(path, length)).rejects.toThrow('ENOENT');
});
