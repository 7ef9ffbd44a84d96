import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { StoreError } from '../store-error.js';
import { clientSettings, LOCKS, NO_TIMEOUTS } from './connect.js';

/** Number of comparisons between two connections. */
const PROBES = 4;
const PROBE_MS = 5_000;
const EMPTY = 'The database of STILLFRAME_DATABASE_URL has no tables of stillframe';
const OLDER = 'The database is of an older version of stillframe';

/**
 * Migrates the database, one node at a time. Migrations of a newer version are left alone, so that nodes of two versions may run during an
 * upgrade.
 * @returns the number of applied migrations
 * @throws StoreError if the database is older than this program and `isAllowed` is false, is not in UTF-8, or is behind a pooler in
 * transaction mode
 */
export async function migrate(url: string, { migrationsDir, isAllowed }: { migrationsDir: string; isAllowed: boolean }): Promise<number> {
  const client = new pg.Client({ ...clientSettings(url), query_timeout: 0 });
  // The statement that fails reports the error as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(NO_TIMEOUTS);
    if (isAllowed) await refusePooler(client, url);
    await refuseEncoding(client);
    await client.query('SELECT pg_advisory_lock($1, 0)', [LOCKS.migrations]);
    const last = await lastApplied(client);
    const missing = readMigrationFiles({ migrationsFolder: migrationsDir }).filter((migration) => migration.folderMillis > last);
    if (missing.length === 0) return 0;
    if (!isAllowed) throw new StoreError(`${last === 0 ? EMPTY : OLDER}: run stillframe migrate, or start a server.`);
    await applyMigrations(drizzle(client), { migrationsFolder: migrationsDir });
    return missing.length;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Refuses a pooler in transaction mode, which passes a client's locks and prepared statements to other clients. It gives a client another
 * connection at times, or the same one to two clients, which usually shows here but not always.
 */
async function refusePooler(client: pg.Client, url: string): Promise<void> {
  const other = new pg.Client({ ...clientSettings(url), query_timeout: PROBE_MS });
  other.on('error', () => undefined);
  const pairs = new Set<string>();
  let isOne = false;
  try {
    await other.connect();
    for (let round = 0; round < PROBES; round++) {
      const [own, others] = [await backendOf(client), await backendOf(other)];
      pairs.add(`${own} ${others}`);
      isOne ||= own === others;
    }
  } catch {
    // Without a second connection, nothing is known.
    return;
  } finally {
    await other.end().catch(() => undefined);
  }
  if (pairs.size === 1 && !isOne) return;
  throw new StoreError(
    'STILLFRAME_DATABASE_URL leads to a pooler that shares connections between transactions: use its session mode, or the address of PostgreSQL.',
  );
}

async function backendOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid;
}

/** Refuses other encodings than UTF-8, since pages and callers use characters that those lack. */
async function refuseEncoding(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding');
  const encoding = rows[0]?.server_encoding;
  if (encoding === 'UTF8') return;
  throw new StoreError(`The database of STILLFRAME_DATABASE_URL is encoded in ${encoding}: create it with ENCODING 'UTF8'.`);
}

/** Returns when the newest applied migration was written; 0 if there is none. */
async function lastApplied(client: pg.Client): Promise<number> {
  const known = await client.query<{ table: string | null }>(`SELECT to_regclass('drizzle.__drizzle_migrations')::text AS table`);
  if (known.rows[0]?.table == null) return 0;
  const last = await client.query<{ at: number | null }>('SELECT max(created_at) AS at FROM drizzle.__drizzle_migrations');
  return last.rows[0]?.at ?? 0;
}
