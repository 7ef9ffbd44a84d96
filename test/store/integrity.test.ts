import { closeSync, copyFileSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { silentLog } from '../../src/log.js';
import { STORE_FILES } from '../../src/package-files.js';
import { Database } from '../../src/store/sqlite/driver.js';
import { lockDataDir } from '../../src/store/sqlite/lock-data-dir.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';
import { aNewJob, openAt, RULES } from './factories.js';
import { test } from './store-test.js';

const REPLACED = { status: 503, message: expect.stringMatching(/deleted or replaced .*restore a backup/) };
const DAMAGED = { status: 503, message: expect.stringMatching(/damaged.*restore a backup/) };

const openForCommand = (dataDir: string) => openStore({ dataDir, ...STORE_FILES, migrates: 'no', log: silentLog() });

/** Overwrites the first page of a table in the file. */
function damage(file: string, table: string): void {
  const db = new Database(file);
  const page = Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table));
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
  closeSync(handle);
}

test.for(['', '-wal', '-shm'])(
  'no write is acknowledged after stillframe.db%s was deleted, and health fails',
  async (suffix, { it, store, user }) => {
    await store.accept(aNewJob(user), RULES);
    rmSync(join(it.dataDir, `stillframe.db${suffix}`));
    await expect(store.accept(aNewJob(user), RULES)).rejects.toMatchObject(REPLACED);
    await expect(store.ping()).rejects.toMatchObject(REPLACED);
  },
);

test.for([
  ['a replaced database file', (file: string) => renameSync(`${file}.copy`, file)],
  ['a deleted data directory', (file: string) => rmSync(dirname(file), { recursive: true })],
] as const)('the same applies to %s', async ([, change], { it, store }) => {
  const file = join(it.dataDir, 'stillframe.db');
  copyFileSync(file, `${file}.copy`);
  change(file);
  await expect(store.ping()).rejects.toMatchObject(REPLACED);
});

test('writes that were acknowledged before the log was deleted are in the database, although the process is killed', async ({
  it,
  store,
  user,
}) => {
  for (let i = 0; i < 20; i++) await store.accept(aNewJob(user), RULES);
  rmSync(join(it.dataDir, 'stillframe.db-wal'));
  await expect(store.ping()).rejects.toMatchObject(REPLACED);
  // A killed process leaves this behind.
  const left = folderOfTest();
  for (const name of ['stillframe.db', 'secret.key']) copyFileSync(join(it.dataDir, name), join(left, name));
  await using after = await openAt(left);
  expect((await after.queueStatus()).waiting).toBe(20);
  expect(await after.findDamage()).toBeNull();
});

test('a command does not open other files than the server has open, and does when no server runs', async ({
  it,
  store,
}) => {
  const lock = lockDataDir(it.dataDir);
  await using beside = await openForCommand(it.dataDir);
  await beside.ping();
  rmSync(join(it.dataDir, 'stillframe.db-wal'));
  await expect(openForCommand(it.dataDir)).rejects.toThrow(/stop the server first/);
  await store[Symbol.asyncDispose]();
  await beside[Symbol.asyncDispose]();
  lock[Symbol.dispose]();
  await using after = await openForCommand(it.dataDir);
  await after.ping();
});

test('a damaged page is remembered by all later steps, and found by the doctor', async ({ it, user }) => {
  await it.store.accept(aNewJob(user), RULES);
  await it.store[Symbol.asyncDispose]();
  damage(join(it.dataDir, 'stillframe.db'), 'jobs');
  it.store = await openAt(it.dataDir);
  await it.store.ping();
  await expect(it.store.accept(aNewJob(user), RULES)).rejects.toMatchObject(DAMAGED);
  await expect(it.store.ping()).rejects.toMatchObject(DAMAGED);
  const found = await it.store.findDamage().catch((error: Error) => error.message);
  expect(found).toMatch(/jobs|page|damaged|malformed/i);
});
