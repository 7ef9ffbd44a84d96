/**
 * A pool of connections to PostgreSQL, and transactions that are repeated when they lose against another. Times and sums are `bigint`,
 * which the driver would return as text.
 */
import { createHash } from 'node:crypto';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { CaptureError } from '../../contract/capture-error.js';
import { type Queries, toFields } from '../rows.js';
import { StoreError } from '../store-error.js';

/** Seconds of `Retry-After` while the database is unavailable. */
const UNAVAILABLE_RETRY_S = 5;
/** Serialization failure, deadlock, and a row that another transaction inserted or deleted in the meantime; a repetition may succeed. */
const LOST_RACE = /^(40001|40P01|23503|23505)$/;
/** Failures of the connection, resources or files, the operator's intervention, and locks or statements that timed out. */
const UNAVAILABLE = /^(08...|53...|57...|58...|55P03|25006|25P0[23]|3D000|28...|E[A-Z_]+)$/;
/** Messages of driver errors that have no code. */
const DRIVER_MESSAGE =
  /timeout|Connection terminated|connection (error|is closed)|Client has encountered|not queryable|Cannot use a pool/i;

/** Maximum number of concurrent statements of one node. */
const POOL_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5_000;
/** How long an unused connection is kept: a new one costs the database about 20 ms, most of it for new plans of all statements. */
const IDLE_TIMEOUT_MS = 600_000;
/** How long a statement may take, and how long a client waits for its answer. */
const STATEMENT_TIMEOUT_MS = 15_000;
const ANSWER_TIMEOUT_MS = 20_000;
/** How long a server that is suspended in a transaction may hold its locks, and how long others wait for them. */
const HELD_TIMEOUT_MS = 4_000;
/** Settings for a connection that may wait. A zero in its own settings would leave the limits of the role and the database. */
export const NO_TIMEOUTS =
  'SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0';
/**
 * Settings of each connection, sent as a statement: a URL overrides connection parameters, and poolers refuse them. JIT costs more than it
 * saves. Plans are kept, so one made for a small table must not scan a large one; they do not depend on values, so none is made twice.
 */
const SETTINGS = {
  text: `SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET lock_timeout = ${HELD_TIMEOUT_MS};
    SET idle_in_transaction_session_timeout = ${HELD_TIMEOUT_MS}; SET jit = off; SET enable_seqscan = off;
    SET plan_cache_mode = force_generic_plan`,
  // A pooler may answer the login itself, and this statement only when it has a connection.
  query_timeout: CONNECT_TIMEOUT_MS,
};
/** Maximum number of tries; a transaction that loses as often as that is not going to succeed. */
const MAX_TRIES = 20;
const INT8 = 20;

/** Classes of the advisory locks: the first of their two numbers. The migrations name some of them as well. */
export const LOCKS = {
  migrations: 1,
  /** Held by a submission that may share a render; the second number is a hash of account and cache digest. */
  cacheDigest: 2,
  /** Held by a node while it lives; the second number is its `lock_key`. */
  node: 4,
  /** Held by a claim, in functions of drizzle-pg/. */
  jobClaim: 5,
  deliveryClaim: 6,
  sweep: 7,
  firstKey: 8,
  /** Held by a batch while it is accepted, so that all together exceed no limit. */
  batches: 9,
} as const;

/** The locks of rows of `nodes` that some connection holds: `objid` is their `lock_key`. */
export const HELD_LOCKS = `SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCKS.node}
  AND objsubid = 2 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * For the FROM clause of a statement whose loss in a crash of the database does no harm: its commit does not wait for the disk, so that
 * others do not wait for its row.
 */
export const RELAXED = `(SELECT set_config('synchronous_commit', 'off', true)) relaxed`;

/** Runs single statements, each atomic. A lost connection is reported as `internal_error` 503. */
export interface Database extends Queries, AsyncDisposable {
  /**
   * Runs statements as one transaction (READ COMMITTED), again from the start if it loses against another (serialization failure,
   * deadlock).
   * @throws the error of `work`, after a rollback; CaptureError `internal_error` 503 when nothing can be stored
   */
  transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>;
}

/**
 * Returns the connection settings that everything uses.
 * @throws StoreError for an invalid URL
 */
export function clientSettings(url: string): pg.ClientConfig {
  if (!/^postgres(ql)?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new StoreError('STILLFRAME_DATABASE_URL is not a URL such as postgres://user:password@host:5432/stillframe.');
  }
  return {
    connectionString: url,
    application_name: 'stillframe',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser: parserOf },
  };
}

/**
 * Opens a pool, which connects when a statement needs it.
 * @throws StoreError for an invalid URL
 */
export function openDatabase(url: string): Database {
  const pool = new pg.Pool({
    ...clientSettings(url),
    max: POOL_CONNECTIONS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    onConnect: (client) => client.query(SETTINGS),
  });
  // An idle connection that breaks is replaced by the next statement.
  pool.on('error', () => undefined);
  // Between two users of a connection nobody listens, and an unhandled error event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    ...queriesOf((statement) => guarded(() => pool.query(statement))),
    transaction: (work) => guarded(() => inTransaction(pool, work)),
    async [Symbol.asyncDispose]() {
      await pool.end();
    },
  };
}

function queriesOf(send: (statement: pg.QueryConfig) => Promise<pg.QueryResult>): Queries {
  const sent = (text: string, values: readonly unknown[] = []) => send(named(text, values));
  return {
    all: async <Found>(text: string, values?: readonly unknown[]) =>
      (await sent(text, values)).rows.map((row) => toFields<Found>(row)),
    async one<Found>(text: string, values?: readonly unknown[]) {
      const [row] = (await sent(text, values)).rows;
      return row === undefined ? null : toFields<Found>(row);
    },
    run: async (text, values) => (await sent(text, values)).rowCount ?? 0,
  };
}

async function inTransaction<Result>(pool: pg.Pool, work: (queries: Queries) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(queriesOf((statement) => client.query(statement)));
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // A connection that cannot even roll back is closed instead of reused.
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** Repeats a step that lost against another transaction, and translates the errors of the connection. */
async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isLostRace(error) || tries === MAX_TRIES) throw translateEngineError(error);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * tries * 5));
    }
  }
}

const names = new Map<string, string>();

/** Names a prepared statement, which is parsed once per connection. */
function named(text: string, values: readonly unknown[]): pg.QueryConfig {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
    names.set(text, name);
  }
  return { name, text, values: [...values] };
}

function parserOf(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format as 'text');
}

function isLostRace(error: unknown): boolean {
  return LOST_RACE.test(codeOf(error));
}

/** Turns errors of the connection and of the server's state into `internal_error` 503; others (bugs, broken invariants) stay unchanged. */
function translateEngineError(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new CaptureError({
    code: 'internal_error',
    message: 'The database cannot be reached at the moment. Try again shortly.',
    status: 503,
    retryAfterSeconds: UNAVAILABLE_RETRY_S,
    cause: error,
  });
}

function isUnavailable(error: unknown): boolean {
  // These are bugs, some of which have a code of Node.
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const code = codeOf(error);
  if (code !== '') return UNAVAILABLE.test(code);
  return error instanceof Error && !(error instanceof CaptureError) && DRIVER_MESSAGE.test(error.message);
}

/** Returns the SQLSTATE, or the system's code such as `ECONNREFUSED`; empty for an error without a code. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/** Number of comparisons between two connections. */
const PROBES = 4;
const PROBE_MS = 5_000;
const EMPTY = 'The database of STILLFRAME_DATABASE_URL has no tables of stillframe';
const OLDER = 'The database is of an older version of stillframe';

/**
 * Migrates the database, one node at a time. Migrations of a newer version are left alone, so that nodes of two versions may run during an
 * upgrade.
 * @returns the number of applied migrations
 * @throws StoreError if the database is of a version before 1.0.0, is older than this program and `isAllowed` is false, is not in UTF-8, or
 * is behind a pooler in transaction mode
 */
export async function migrate(
  url: string,
  { migrationsDir, isAllowed }: { migrationsDir: string; isAllowed: boolean },
): Promise<number> {
  const client = new pg.Client({ ...clientSettings(url), query_timeout: 0 });
  // The statement that fails reports the error as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(NO_TIMEOUTS);
    if (isAllowed) await refusePooler(client, url);
    await refuseEncoding(client);
    await client.query('SELECT pg_advisory_lock($1, 0)', [LOCKS.migrations]);
    const migrations = readMigrationFiles({ migrationsFolder: migrationsDir });
    const last = await lastApplied(client, migrations[0]?.hash);
    const missing = migrations.filter((migration) => migration.folderMillis > last);
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
  throw new StoreError(
    `The database of STILLFRAME_DATABASE_URL is encoded in ${encoding}: create it with ENCODING 'UTF8'.`,
  );
}

/**
 * Returns when the newest applied migration was written; 0 if there is none.
 * @throws StoreError if the database has migrations, but not the first one
 */
async function lastApplied(client: pg.Client, first: string | undefined): Promise<number> {
  const known = await client.query<{ table: string | null }>(
    `SELECT to_regclass('drizzle.__drizzle_migrations')::text AS table`,
  );
  if (known.rows[0]?.table == null) return 0;
  const applied = await client.query<{ hash: string; at: number }>(
    'SELECT hash, created_at AS at FROM drizzle.__drizzle_migrations',
  );
  if (applied.rows.length > 0 && !applied.rows.some(({ hash }) => hash === first)) {
    throw new StoreError(
      `The database ${client.database} of STILLFRAME_DATABASE_URL was made before stillframe 1.0.0, and its data cannot be migrated: start with a new, empty database.`,
    );
  }
  return Math.max(0, ...applied.rows.map(({ at }) => at));
}
