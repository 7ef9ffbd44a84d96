/** Databases that cannot be used as they are, and how that is told. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { LOCKS, openDatabase } from '../../src/store/postgres/connect.js';
import { StoreError } from '../../src/store/store-error.js';
import { dropDatabase } from '../fixtures/databases.js';
import { openAt } from '../store/factories.js';
import { aDatabase } from './a-cluster.js';

test('a database with an encoding other than UTF-8 is refused', async () => {
  await using database = await aDatabase();
  const narrow = `${database.name}_narrow`;
  await database.client.query(
    `CREATE DATABASE ${narrow} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  );
  const url = database.url.replace(database.name, narrow);
  const opened = openAt(url).then((store) => store[Symbol.asyncDispose]());
  await expect(opened).rejects.toThrow("is encoded in LATIN1: create it with ENCODING 'UTF8'");
  await dropDatabase(url);
});

test('the reason is reported: no right to create tables, a database that accepts no writes, an invalid URL', async () => {
  await using database = await aDatabase();
  const { client, name, url } = database;
  await client.query(`CREATE ROLE ${name} LOGIN`);
  await expect(openAt(url.replace(/\/\/[^@]*@/, `//${name}@`))).rejects.toThrow(
    /cannot be used \(permission denied for database/,
  );
  await client.query(`DROP ROLE ${name}`);
  await (await openAt(url))[Symbol.asyncDispose]();
  await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await expect(openAt(url)).rejects.toThrow(/cannot be used \(cannot execute INSERT in a read-only transaction/);
  await client.query('SET default_transaction_read_only = off');
  await client.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  await expect(openAt(`${url}%E0%A4%A`)).rejects.toThrow(StoreError);
});

test('a database of before 1.0.0 is refused, and not touched', async () => {
  await using database = await aDatabase();
  await (await openAt(database.url))[Symbol.asyncDispose]();
  await database.client.query(`UPDATE drizzle.__drizzle_migrations SET hash = 'another', created_at = 1`);
  const opened = openAt(database.url);
  await expect(opened).rejects.toThrow(
    `The database ${database.name} of STILLFRAME_DATABASE_URL was made before stillframe 1.0.0`,
  );
  await expect(opened).rejects.toBeInstanceOf(StoreError);
  const { rows } = await database.client.query('SELECT DISTINCT hash FROM drizzle.__drizzle_migrations');
  expect(rows).toEqual([{ hash: 'another' }]);
});

test('the tables are made in the first schema of the search path', async () => {
  await using database = await aDatabase();
  await database.client.query('CREATE SCHEMA apart');
  await (await openAt(`${database.url}?options=-c%20search_path%3Dapart`))[Symbol.asyncDispose]();
  const { rows } = await database.client.query(
    `SELECT DISTINCT table_schema AS schema FROM information_schema.tables WHERE table_schema IN ('apart', 'public')`,
  );
  expect(rows).toEqual([{ schema: 'apart' }]);
});

test('parameters of the URL change no limit of the database, and its options are kept', async () => {
  await using database = await aDatabase();
  await using opened = openDatabase(
    `${database.url}?statement_timeout=60000&lock_timeout=60000&options=-c%20work_mem%3D5MB`,
  );
  const names = [
    'enable_seqscan',
    'idle_in_transaction_session_timeout',
    'jit',
    'lock_timeout',
    'statement_timeout',
    'work_mem',
  ];
  const rows = await opened.all<{ name: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY($1) ORDER BY name',
    [names],
  );
  expect(rows).toEqual([
    { name: 'enable_seqscan', setting: 'off' },
    { name: 'idle_in_transaction_session_timeout', setting: '4000' },
    { name: 'jit', setting: 'off' },
    { name: 'lock_timeout', setting: '4000' },
    { name: 'statement_timeout', setting: '15000' },
    { name: 'work_mem', setting: '5120' },
  ]);
});

test('a pooler in transaction mode is refused', async () => {
  await using database = await aDatabase();
  await using pooler = await startTransactionPooler(database.url);
  await expect(openAt(pooler.url)).rejects.toThrow('leads to a pooler that shares connections between transactions');
});

/** All clients share one connection to the database, which answers the one that asked last. */
async function startTransactionPooler(databaseUrl: string) {
  const { hostname, port } = new URL(databaseUrl);
  const shared = connect(Number(port), hostname);
  const clients = new Set<Socket>();
  let asking: Socket | null = null;
  shared.on('data', (chunk) => asking?.write(chunk));
  const server = createServer((client) => {
    const isFirst = clients.size === 0;
    let isKnown = false;
    clients.add(client);
    client
      .on('error', () => undefined)
      .on('data', (chunk) => {
        if (!isKnown && !isFirst) client.write(WELCOME);
        else if (chunk[0] !== TERMINATE) {
          asking = client;
          shared.write(chunk);
        }
        isKnown = true;
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of [...clients, shared]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** AuthenticationOk and ReadyForQuery of PostgreSQL's protocol. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
const TERMINATE = 0x58;

test('a migration waits for that of another server, whatever limits the database has', async () => {
  await using database = await aDatabase();
  const { client, name, url } = database;
  for (const limit of ['lock_timeout', 'statement_timeout'])
    await client.query(`ALTER DATABASE ${name} SET ${limit} = '50ms'`);
  await client.query('SELECT pg_advisory_lock($1, 0)', [LOCKS.migrations]);
  const opening = openAt(url);
  opening.catch(() => undefined);
  await expect
    .poll(async () => (await client.query('SELECT 1 FROM pg_locks WHERE NOT granted')).rowCount, { timeout: 10_000 })
    .toBe(1);
  await client.query('SELECT pg_sleep(0.1)');
  await client.query('SELECT pg_advisory_unlock($1, 0)', [LOCKS.migrations]);
  await (await opening)[Symbol.asyncDispose]();
});
