import { createHash } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { silentLog } from '../../src/log.js';
import { STORE_FILES } from '../../src/package-files.js';
import { Database, type Db } from '../../src/store/sqlite/driver.js';
import { openStore, type StoreOptions } from '../../src/store/sqlite/open-store.js';
import { StoreError } from '../../src/store/store-error.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';
import {
  aCapture,
  aNewJob,
  aQueued,
  aStore,
  claimNext,
  claimOf,
  MIGRATIONS_DIR,
  NOON,
  openAt,
  RULES,
  someOptions,
} from './factories.js';
import { test } from './store-test.js';

/** This program's migrations and one more. */
function moreMigrations(sql = 'CREATE TABLE later (id text);'): string {
  const dir = folderOfTest();
  cpSync(MIGRATIONS_DIR, dir, { recursive: true });
  const journalFile = join(dir, 'meta/_journal.json');
  const { entries, ...journal } = JSON.parse(readFileSync(journalFile, 'utf8'));
  const { when, ...last } = entries.at(-1);
  const later = { ...last, idx: entries.length, when: when + 1, tag: '9999_later' };
  writeFileSync(journalFile, JSON.stringify({ ...journal, entries: [...entries, later] }));
  writeFileSync(join(dir, '9999_later.sql'), sql);
  return dir;
}

/** The data directory of this version. Versions of `moreMigrations` are newer. */
async function aDirectory(migrationsDir = MIGRATIONS_DIR): Promise<string> {
  const dataDir = folderOfTest();
  await (await open(dataDir, migrationsDir))[Symbol.asyncDispose]();
  return dataDir;
}

const open = (dataDir: string, migrationsDir: string, migrates: StoreOptions['migrates'] = 'at start') =>
  openStore({ dataDir, ...STORE_FILES, migrationsDir, migrates, log: silentLog() });

function tablesOf(dataDir: string): string[] {
  const db = new Database(join(dataDir, 'stillframe.db'), { readonly: true });
  const names = db
    .prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
    .pluck()
    .all();
  db.close();
  return names;
}

describe('the data directory', () => {
  test('is created with mode 0700, and everything in it with 0600', async () => {
    const dataDir = join(folderOfTest(), 'a/b');
    await using store = await openAt(dataDir);
    await store.ping();
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    const files = readdirSync(dataDir);
    expect(files.sort()).toEqual([
      'secret.key',
      'server.files',
      'stillframe.db',
      'stillframe.db-shm',
      'stillframe.db-wal',
    ]);
    for (const file of files) expect([file, statSync(join(dataDir, file)).mode & 0o777]).toEqual([file, 0o600]);
  });
});

describe('the engine', () => {
  test('is refused before version 3.51.3', async () => {
    const prepare = vi.spyOn(Database.prototype, 'prepare');
    onTestFinished(() => prepare.mockRestore());
    const openWith = async (version: string) => {
      prepare.mockImplementationOnce((text) => {
        expect(text).toBe('SELECT sqlite_version()');
        return { pluck: () => ({ get: () => version }) } as never;
      });
      await (await openAt(folderOfTest()))[Symbol.asyncDispose]();
    };
    for (const older of ['3.9.99', '3.51.2'])
      await expect(openWith(older)).rejects.toThrow(`SQLite ${older} is too old, 3.51.3 or newer`);
    for (const known of ['3.51.3', '3.100.0']) await openWith(known);
  });

  // The log is synced by writer.ts, and copied by checkpoints.ts.
  test('runs with the settings that durability needs', async () => {
    const pragma = vi.spyOn(Database.prototype, 'pragma');
    await using _it = await aStore();
    const db = pragma.mock.contexts[0] as Db;
    pragma.mockRestore();
    const names = ['journal_mode', 'synchronous', 'wal_autocheckpoint', 'foreign_keys', 'secure_delete', 'temp_store'];
    expect(names.map((name) => db.pragma(name, { simple: true }))).toEqual(['wal', 1, 0, 1, 1, 2]);
  });

  test('reports a damaged database', async () => {
    const dataDir = folderOfTest();
    writeFileSync(join(dataDir, 'stillframe.db'), 'no database at all '.repeat(1_000));
    await expect(openAt(dataDir)).rejects.toThrow(/is damaged .*restore it from a backup\.$/);
  });
});

describe('migrations', () => {
  test('are not applied by a command, which gives advice and changes nothing', async () => {
    const [dataDir, later] = [await aDirectory(), moreMigrations()];
    const before = tablesOf(dataDir);
    await expect(open(dataDir, later, 'no')).rejects.toThrow(
      /made by an older .*: stop the server .*stillframe migrate\.$/,
    );
    expect(tablesOf(dataDir)).toEqual(before);
    await (await open(dataDir, later))[Symbol.asyncDispose]();
    await using store = await open(dataDir, later, 'no');
    await store.ping();
  });

  test('begin with a copy of the database, with which the version before can go on', async () => {
    const [dataDir, later] = [await aDirectory(), moreMigrations()];
    const copy = join(dataDir, 'stillframe.db.before-migration');
    await expect(open(dataDir, later, 'no')).rejects.toThrow('made by an older');
    expect(existsSync(copy)).toBe(false);
    const older = tablesOf(dataDir);
    for (let starts = 0; starts < 2; starts++) await (await open(dataDir, later))[Symbol.asyncDispose]();
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(tablesOf(dataDir)).not.toEqual(older);
    const restored = folderOfTest();
    cpSync(copy, join(restored, 'stillframe.db'));
    expect(tablesOf(restored)).toEqual(older);
    expect(readdirSync(await aDirectory(later))).not.toContain('stillframe.db.before-migration');
  });

  test('are not applied where the copy cannot be written', async () => {
    const dataDir = await aDirectory();
    const before = tablesOf(dataDir);
    mkdirSync(join(dataDir, 'stillframe.db.before-migration'));
    await expect(open(dataDir, moreMigrations())).rejects.toThrow('The database was not migrated');
    expect(tablesOf(dataDir)).toEqual(before);
  });

  test('create a new database by any command, with a notice', async () => {
    const dataDir = folderOfTest();
    const log = silentLog();
    const warned = vi.spyOn(log, 'warn');
    for (let i = 0; i < 2; i++)
      await (await openStore({ dataDir, ...STORE_FILES, migrates: 'no', log }))[Symbol.asyncDispose]();
    expect(warned.mock.calls).toEqual([
      [expect.stringContaining(`created a new, empty database: ${join(dataDir, 'stillframe.db')} (`)],
    ]);
  });

  test('leave the old schema whole and usable if one fails', async () => {
    const dataDir = await aDirectory();
    const before = tablesOf(dataDir);
    const bad = moreMigrations(
      'CREATE TABLE halfway (id text);--> statement-breakpoint\nCREATE TABLE halfway (id text);',
    );
    await expect(open(dataDir, bad)).rejects.toThrow(/cannot be used .*already exists/);
    expect(tablesOf(dataDir)).toEqual(before);
    await using store = await openAt(dataDir);
    await store.ping();
  });

  test('refuse a database newer than the program with one line, and do not change it', async () => {
    const dataDir = await aDirectory(moreMigrations());
    await expect(openAt(dataDir)).rejects.toThrow(/^.*made by a newer stillframe: install that version.*$/);
    await expect(openAt(dataDir)).rejects.toBeInstanceOf(StoreError);
    expect(tablesOf(dataDir)).toContain('later');
  });

  test.each(['no', 'at start', 'wholly'] as const)(
    'refuse a database of before 1.0.0, and do not touch it (%s)',
    async (migrates) => {
      const former = folderOfTest();
      cpSync(MIGRATIONS_DIR, former, { recursive: true });
      appendFileSync(join(former, '0000_tables.sql'), '-- Another first migration.');
      const dataDir = await aDirectory(former);
      const content = () =>
        readdirSync(dataDir).map((file) => [
          file,
          createHash('sha256')
            .update(readFileSync(join(dataDir, file)))
            .digest('hex'),
        ]);
      const before = content();
      const refused = open(dataDir, moreMigrations(), migrates);
      await expect(refused).rejects.toThrow(
        `${dataDir}/stillframe.db was made before stillframe 1.0.0, and its data cannot be migrated: `,
      );
      await expect(refused).rejects.toBeInstanceOf(StoreError);
      expect(content()).toEqual(before);
    },
  );
});

describe('secrets', () => {
  const PLANTED = ['proxy-pass-7f3a', 'webhook-secret-7f3a', 'Bearer header-7f3a', 'cookie-7f3a', 'script-7f3a'];
  const planted = (user: { accountId: string; keyId: string }) =>
    aNewJob(user, {
      identity: PLANTED.join(),
      cacheIdentity: PLANTED.join(';'),
      idempotencyKey: 'k',
      webhook: { url: 'https://a.example/', secret: 'webhook-secret-7f3a' },
      options: someOptions({
        headers: { authorization: 'Bearer header-7f3a', cookie: 'cookie-7f3a' },
        customJs: 'script-7f3a',
        proxy: { server: 'http://p.example', bypass: null, username: 'u', password: 'proxy-pass-7f3a' },
      }),
    });
  const found = (dir: string, secrets: string[]) => {
    const bytes = readdirSync(dir).map((file) => readFileSync(join(dir, file)));
    return secrets.filter((secret) => bytes.some((content) => content.includes(secret)));
  };

  test('appear nowhere in the database, its log or a backup, before and after the job ends', async ({
    it,
    store,
    user,
  }) => {
    const job = planted(user);
    await store.accept(job, RULES);
    const secrets = [...PLANTED, user.secret];
    expect(found(it.dataDir, secrets)).toEqual([]);
    const claimed = await claimNext(store);
    expect(claimed.options.proxy?.password).toBe('proxy-pass-7f3a');
    await store.complete(claimOf(claimed), aCapture(), NOON);
    await store.backup(join(it.dataDir, 'copy.db'));
    expect(found(it.dataDir, secrets)).toEqual([]);
    // Without this content, the search would prove nothing.
    expect(found(it.dataDir, [job.id])).toEqual([job.id]);
  });

  test('a changed order, or one moved to another job, fails only that job', async ({ it, store, user }) => {
    const [first, second, third] = [await aQueued(store, user), await aQueued(store, user), await aQueued(store, user)];
    const db = new Database(join(it.dataDir, 'stillframe.db'));
    db.prepare('UPDATE orders SET sealed = (SELECT sealed FROM orders WHERE job_id = ?) WHERE job_id = ?').run(
      third.id,
      first.id,
    );
    db.close();
    expect((await claimNext(store)).id).toBe(second.id);
    expect((await store.findJob(first.id))?.result?.outcome).toMatchObject({
      ok: false,
      error: { code: 'internal_error' },
    });
  });

  test('a key file that does not belong to the database is refused', async () => {
    const dataDir = folderOfTest();
    await (await openAt(dataDir))[Symbol.asyncDispose]();
    rmSync(join(dataDir, 'secret.key'));
    await expect(openAt(dataDir)).rejects.toThrow(/secret\.key .* is not the key of its database/);
    writeFileSync(join(dataDir, 'secret.key'), 'short');
    await expect(openAt(dataDir)).rejects.toThrow(/not a key of 32 bytes/);
  });
});

describe('a backup', () => {
  test('taken under load holds every commit older than its start, is whole, and opens as a store', async ({
    it,
    store,
    user,
  }) => {
    const before = Array.from({ length: 100 }, () =>
      aNewJob(user, { options: someOptions({ customCss: 'x'.repeat(5_000) }) }),
    );
    await Promise.all(before.map((job) => store.accept(job, { ...RULES, maxQueue: 1e6 })));
    // The command is another process: no writes interfere with its copy.
    await using command = await openAt(it.dataDir);
    const dir = folderOfTest();
    let busy = true;
    const load = (async () => {
      while (busy) await store.accept(aNewJob(user), { ...RULES, maxQueue: 1e6 });
    })();
    await command.backup(join(dir, 'stillframe.db'));
    busy = false;
    await load;
    expect(statSync(join(dir, 'stillframe.db')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['stillframe.db']);
    const copy = new Database(join(dir, 'stillframe.db'));
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
    copy.close();
    cpSync(join(it.dataDir, 'secret.key'), join(dir, 'secret.key'));
    await using restored = await openAt(dir);
    for (const job of before) expect(await restored.findJob(job.id)).toMatchObject({ state: 'waiting' });
    expect((await claimNext(restored)).options.customCss).toHaveLength(5_000);
  });

  test('never overwrites a file', async ({ it, store }) => {
    const file = join(folderOfTest(), 'copy.db');
    writeFileSync(file, 'mine');
    await expect(store.backup(file)).rejects.toThrow(StoreError);
    await expect(store.backup(join(it.dataDir, 'no/such/place.db'))).rejects.toThrow(StoreError);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});
