import { closeSync, copyFileSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/log.js';
import { STORE_FILES } from '../../src/package-files.js';
import { Database } from '../../src/store/sqlite/driver.js';
import { lockDataDir } from '../../src/store/sqlite/lock-data-dir.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import { aNewJob, aStore, openAt, RULES, withCaller } from './factories.js';

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

test.each(['', '-wal', '-shm'])('no write is acknowledged after stillframe.db%s was deleted, and health fails', async (suffix) => {
  await using it = await withCaller();
  await it.store.accept(aNewJob(it.caller), RULES);
  rmSync(join(it.dataDir, `stillframe.db${suffix}`));
  await expect(it.store.accept(aNewJob(it.caller), RULES)).rejects.toMatchObject(REPLACED);
  await expect(it.store.ping()).rejects.toMatchObject(REPLACED);
});

test('the same applies to a replaced database file, and to a deleted data directory', async () => {
  await using it = await aStore();
  const file = join(it.dataDir, 'stillframe.db');
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
  await expect(it.store.ping()).rejects.toMatchObject(REPLACED);
  await using other = await aStore();
  rmSync(other.dataDir, { recursive: true });
  await expect(other.store.ping()).rejects.toMatchObject(REPLACED);
});

test('writes that were acknowledged before the log was deleted are in the database, although the process is killed', async () => {
  await using it = await withCaller();
  for (let i = 0; i < 20; i++) await it.store.accept(aNewJob(it.caller), RULES);
  rmSync(join(it.dataDir, 'stillframe.db-wal'));
  await expect(it.store.ping()).rejects.toMatchObject(REPLACED);
  // A killed process leaves this behind.
  const left = mkdtempSync(join(tmpdir(), 'stillframe-left-'));
  onTestFinished(() => rmSync(left, { recursive: true, force: true }));
  for (const name of ['stillframe.db', 'secret.key']) copyFileSync(join(it.dataDir, name), join(left, name));
  await using after = await openAt(left);
  expect((await after.queueStatus()).waiting).toBe(20);
  expect(await after.findDamage()).toBeNull();
});

test('a command does not open other files than the server has open, and does when no server runs', async () => {
  await using it = await aStore();
  const lock = lockDataDir(it.dataDir);
  await using beside = await openForCommand(it.dataDir);
  await beside.ping();
  rmSync(join(it.dataDir, 'stillframe.db-wal'));
  await expect(openForCommand(it.dataDir)).rejects.toThrow(/stop the server first/);
  await it.store[Symbol.asyncDispose]();
  await beside[Symbol.asyncDispose]();
  lock[Symbol.dispose]();
  await using after = await openForCommand(it.dataDir);
  await after.ping();
});

test('a damaged page is remembered by all later steps, and found by the doctor', async () => {
  await using it = await withCaller();
  await it.store.accept(aNewJob(it.caller), RULES);
  await it.store[Symbol.asyncDispose]();
  damage(join(it.dataDir, 'stillframe.db'), 'jobs');
  it.store = await openAt(it.dataDir);
  await it.store.ping();
  await expect(it.store.accept(aNewJob(it.caller), RULES)).rejects.toMatchObject(DAMAGED);
  await expect(it.store.ping()).rejects.toMatchObject(DAMAGED);
  const found = await it.store.findDamage().catch((error: Error) => error.message);
  expect(found).toMatch(/jobs|page|damaged|malformed/i);
});
