import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { Connection, type Sql } from '../../src/store/sqlite/connection.js';
import { Database, type Db } from '../../src/store/sqlite/driver.js';
import { LogSync, Writer } from '../../src/store/sqlite/writer.js';
import { translateEngineError } from '../../src/store/store-error.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';
import { aNewJob, aQueued, aStore, NOON, RULES } from './factories.js';
import { test } from './store-test.js';

const SOUND = { require: () => undefined, translate: translateEngineError };

function aDatabase(options: { lockWaitMs?: number } = {}) {
  const statements: string[] = [];
  const file = join(folderOfTest(), 'test.db');
  const db = new Database(file, { verbose: (sql) => statements.push(String(sql)), timeout: 1 });
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)');
  onTestFinished(() => void db.close());
  const connection = new Connection(db);
  const log = new LogSync(connection, { afterCommit: () => undefined, room: () => null, truncate: async () => false });
  return { db, file, statements, writer: new Writer(connection, log, SOUND, options.lockWaitMs) };
}

test('a failing write affects no other, and leaves nothing behind', async () => {
  const { db, writer } = aDatabase();
  const insert = db.prepare('INSERT INTO rows (id) VALUES (?)');
  const outcomes = await Promise.allSettled([
    writer.run(() => insert.run(1)),
    writer.run(() => {
      insert.run(2);
      throw new Error('changed my mind');
    }),
    writer.run(() => insert.run(1)),
    writer.run(() => insert.run(3)),
  ]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect(db.prepare('SELECT id FROM rows').pluck().all()).toEqual([1, 3]);
});

test("a write waits for another process's lock while reads continue", async ({ it, store, user }) => {
  const job = await aQueued(store, user);
  const other = new Database(join(it.dataDir, 'stillframe.db'));
  other.exec('BEGIN IMMEDIATE');
  const done = vi.fn();
  const write = store.accept(aNewJob(user), RULES).finally(done);
  for (let turn = 0; turn < 20; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(await store.findJob(job.id)).toMatchObject({ id: job.id });
  }
  expect(done).not.toHaveBeenCalled();
  other.exec('COMMIT');
  expect((await write).kind).toBe('queued');
  other.close();
});

test('a lock that is never released, and a full disk, are answered with internal_error 503, and the next write succeeds', async () => {
  const { db, file, writer } = aDatabase({ lockWaitMs: 20 });
  const insert = db.prepare('INSERT INTO rows (body) VALUES (zeroblob(?))');
  const other = new Database(file);
  other.exec('BEGIN IMMEDIATE');
  const locked = await writer.run(() => insert.run(1)).catch((error: unknown) => error);
  other.exec('ROLLBACK');
  other.close();
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true })) + 2}`);
  const [full, fitting] = await Promise.allSettled([
    writer.run(() => insert.run(1_000_000)),
    writer.run(() => insert.run(10)),
  ]);
  for (const reason of [locked, full.status === 'rejected' ? full.reason : null]) {
    expect(reason).toBeInstanceOf(CaptureError);
    expect(reason).toMatchObject({
      code: 'internal_error',
      status: 503,
      retriable: true,
      retryAfterSeconds: expect.any(Number),
    });
  }
  // Never a success that was not kept.
  expect(db.prepare('SELECT count(*) FROM rows').pluck().get()).toBe(fitting.status === 'fulfilled' ? 1 : 0);
  db.pragma('max_page_count = 100000');
  await writer.run(() => insert.run(1_000_000));
});

/** From now on the first connection that is opened cannot roll back, and fails to commit as often as `commits` says. */
function aFailingConnection() {
  const prepare = Database.prototype.prepare;
  const trouble = { commits: 0, opened: new Set<Db>() };
  const fails = (db: Db, sql: string) =>
    db === [...trouble.opened][0] && (sql === 'ROLLBACK' || (sql === 'COMMIT' && trouble.commits-- > 0));
  const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Db, sql: string) {
    trouble.opened.add(this);
    const statement = prepare.call(this, sql);
    const run = statement.run.bind(statement) as (...values: unknown[]) => ReturnType<typeof statement.run>;
    statement.run = (...values: unknown[]) => {
      if (fails(this, sql)) throw engineError('SQLITE_IOERR');
      return run(...values);
    };
    return statement;
  } as typeof prepare);
  onTestFinished(() => spy.mockRestore());
  return trouble;
}

function engineError(code: string): Error {
  return Object.assign(new Error(`the engine says ${code}`), { code });
}

test('a failed rollback reopens the database, without its writes, and the next write succeeds', async () => {
  const trouble = aFailingConnection();
  await using it = await aStore();
  trouble.commits = 1;
  const lost = it.store.createAccount('lost', NOON);
  await expect(lost).rejects.toMatchObject({ code: 'internal_error', status: 503 });
  expect(await it.store.listAccounts()).toEqual([]);
  await it.store.createAccount('kept', NOON);
  expect((await it.store.listAccounts()).map(({ name }) => name)).toEqual(['kept']);
  expect([...trouble.opened].map((db) => db.open)).toEqual([false, true]);
});

test('reads in between see nothing of a long write, other writes come after it, and one that fails leaves nothing', async () => {
  const { db, writer } = aDatabase();
  const ids = () => db.prepare('SELECT id FROM rows').pluck().all();
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const order: string[] = [];
  const insertTwo = async (sql: Sql, first: number) => {
    for (const id of [first, first + 1]) {
      sql.run('INSERT INTO rows (id) VALUES ($1)', [id]);
      for (let turns = 0; turns < 5; turns++) await turn();
      order.push(`${id} beside ${ids().join()}`);
    }
  };
  const insert = (id: number) => writer.run(() => db.prepare('INSERT INTO rows (id) VALUES (?)').run(id));
  const outcomes = await Promise.allSettled([
    insert(1),
    writer.runLong((sql) => insertTwo(sql, 2)),
    insert(4),
    writer.runLong(async (sql) => {
      await insertTwo(sql, 5);
      throw new Error('changed my mind');
    }),
    insert(7),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(order).toEqual(['2 beside 1', '3 beside 1', '5 beside 1,2,3,4', '6 beside 1,2,3,4']);
  expect(ids()).toEqual([1, 2, 3, 4, 7]);
});

test('closing finishes the accepted writes, and accepts no more', async () => {
  const { db, writer } = aDatabase();
  const write = writer.run(() => db.prepare('INSERT INTO rows (id) VALUES (1)').run().changes);
  await writer.close();
  expect(await write).toBe(1);
  await expect(writer.run(() => 1)).rejects.toThrow('closed');
});
