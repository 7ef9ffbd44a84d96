import { EventEmitter, once } from 'node:events';
import { fdatasync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { STORE_FILES } from '../../src/package-files.js';
import { Checkpoints } from '../../src/store/sqlite/checkpoints.js';
import { startRunning } from '../../src/store/sqlite/connect.js';
import { Connection } from '../../src/store/sqlite/connection.js';
import { Database } from '../../src/store/sqlite/driver.js';
import { LogSync, type SyncFile, Writer } from '../../src/store/sqlite/writer.js';
import { translateEngineError } from '../../src/store/store-error.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

/** Calls of the disk sync, each answered by the test. */
function heldSyncs() {
  const waiting: ((error: Error | null) => void)[] = [];
  const news = new EventEmitter();
  const syncFile: SyncFile = (_handle, done) => void news.emit('sync', waiting.push(done));
  const next = async () => {
    if (waiting.length === 0) await once(news, 'sync');
    return waiting.shift() as (error: Error | null) => void;
  };
  return { waiting, syncFile, next };
}

interface WriterOptions {
  syncFile?: SyncFile;
  thread?: URL;
  times?: ConstructorParameters<typeof Checkpoints>[2];
}

function aWriter({ syncFile, thread = STORE_FILES.checkpointThread, times }: WriterOptions = {}) {
  const dir = folderOfTest();
  const file = join(dir, 'test.db');
  const connection = new Connection(new Database(file));
  connection.db.pragma('journal_mode = WAL');
  startRunning(connection.db);
  connection.db.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)');
  const checkpoints = new Checkpoints(connection, thread, times);
  const log = new LogSync(connection, checkpoints, syncFile);
  const writer = new Writer(connection, log, { require: () => undefined, translate: translateEngineError });
  onTestFinished(async () => {
    await writer.close();
    await log.close();
    await checkpoints.close();
    connection.db.close();
  });
  const insert = (bytes = 1) =>
    writer.run(() => connection.db.prepare('INSERT INTO rows (body) VALUES (zeroblob(?))').run(bytes).changes);
  const connections = () => readdirSync('/proc/self/fd').filter((name) => linkOf(name) === `${file}-wal`).length;
  return {
    connection,
    file,
    checkpoints,
    log,
    writer,
    insert,
    connections,
    logBytes: () => statSync(`${file}-wal`).size,
  };
}

test('a write, and an answer to a client, wait for the end of a sync that began after the commit; later writes share the next one', async () => {
  const held = heldSyncs();
  const { insert, connection, log } = aWriter(held);
  const rows = () => connection.db.prepare('SELECT count(*) FROM rows').pluck().get();
  const answered: string[] = [];
  const first = insert().then(() => answered.push('first'));
  const firstSync = await held.next();
  const told = log.durable().then(() => answered.push('told'));
  const second = insert().then(() => answered.push('second'));
  await new Promise((resolve) => setImmediate(resolve));
  const third = insert().then(() => answered.push('third'));
  await new Promise((resolve) => setImmediate(resolve));
  expect({ answered, rows: rows() }).toEqual({ answered: [], rows: 1 });
  firstSync(null);
  await Promise.all([first, told]);
  const secondSync = await held.next();
  expect({ answered: answered.sort(), rows: rows() }).toEqual({ answered: ['first', 'told'], rows: 3 });
  secondSync(null);
  await Promise.all([second, third]);
  expect(held.waiting).toHaveLength(0);
});

test('after a sync that failed, nothing is answered before the whole log is in the database file', async () => {
  let failing = true;
  const syncs: boolean[] = [];
  const syncFile: SyncFile = (handle, done) => {
    syncs.push(failing);
    if (failing) setImmediate(() => done(new Error('EIO')));
    else fdatasync(handle, done);
  };
  const { insert, file, log, logBytes } = aWriter({ syncFile });
  const reader = new Database(file);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM rows').get();
  await expect(insert()).rejects.toMatchObject({ code: 'internal_error', status: 503 });
  failing = false;
  // The log cannot be emptied while it is read, so it may still lack what was written before.
  await expect(insert()).rejects.toMatchObject({ code: 'internal_error', status: 503 });
  await expect(log.durable()).rejects.toThrow('could not be');
  reader.exec('COMMIT');
  reader.close();
  expect(await insert()).toBe(1);
  expect(logBytes()).toBe(0);
  expect(syncs).toEqual([true]);
  await insert();
  expect(syncs).toEqual([true, false]);
});

test('a replaced connection is synced through the same file', async () => {
  const inodes = new Set<number>();
  const { log, connection, file } = aWriter({
    syncFile: (handle, done) => {
      inodes.add(statSync(`/proc/self/fd/${handle}`).ino);
      fdatasync(handle, done);
    },
  });
  const write = () => connection.db.exec('INSERT INTO rows (body) VALUES (1)');
  write();
  await log.committed();
  connection.reopen();
  write();
  await log.committed();
  expect([...inodes]).toEqual([statSync(`${file}-wal`).ino]);
});

test('the log stays short under constant writes, even without the thread', { timeout: 60_000 }, async () => {
  for (const thread of [STORE_FILES.checkpointThread, new URL('missing.js', STORE_FILES.checkpointThread)]) {
    const { insert, checkpoints, logBytes } = aWriter({ thread });
    let most = 0;
    for (let written = 0; written < 100_000_000; written += 500_000) {
      await insert(500_000);
      most = Math.max(most, logBytes());
    }
    expect(most).toBeLessThan(60_000_000);
    expect(await checkpoints.truncate()).toBe(true);
    expect(logBytes()).toBe(0);
  }
});

test('the checkpoint thread ends when it is idle, and starts again', async () => {
  const { checkpoints, connections } = aWriter({ times: { idleMs: 50 } });
  for (let round = 0; round < 2; round++) {
    expect(await checkpoints.truncate()).toBe(true);
    expect(connections()).toBe(2);
    await expect.poll(connections).toBe(1);
  }
});

test('writes and checkpoints continue where the system refuses a new thread, and a thread is started when possible', async () => {
  // The constructor throws, as it does at a limit of processes (ERR_WORKER_INIT_FAILED).
  const thread = new URL('http://127.0.0.1/checkpoint-thread.js');
  const { insert, checkpoints, logBytes, connections } = aWriter({ thread });
  for (let written = 0; written < 60_000_000; written += 500_000) await insert(500_000);
  expect(await checkpoints.truncate()).toBe(true);
  expect(logBytes()).toBe(0);
  const withoutThread = connections();
  thread.href = STORE_FILES.checkpointThread.href;
  expect(await checkpoints.truncate()).toBe(true);
  expect(connections()).toBe(withoutThread + 1);
});

/** Descriptors may close between listing and reading. */
function linkOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
  } catch {
    return '';
  }
}
