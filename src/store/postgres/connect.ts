/**
 * A pool of connections to PostgreSQL, and transactions that are repeated when they lose against another. Times and sums are `bigint`,
 * which the driver would give as text.
 */
import { createHash } from 'node:crypto';
import pg from 'pg';
import { StoreError } from '../store-error.js';
import { isLostRace, translateEngineError } from './engine-error.js';

/** Concurrent statements of one node. */
const POOL_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5_000;
/** How long a statement may take, and how long a client waits for its answer. */
const STATEMENT_TIMEOUT_MS = 15_000;
const ANSWER_TIMEOUT_MS = 20_000;
/** How long a server that stands still in a transaction may hold its locks, and others wait for them. */
const HELD_TIMEOUT_MS = 4_000;
/** For a connection that may wait: a zero in its settings would leave the limits of the role and the database. */
export const NO_TIMEOUTS = 'SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0';
/**
 * Of each connection of the pool. Not as parameters of the connection: those of the URL would win, and poolers refuse them. Statements take a
 * millisecond; compiling one takes more. Plans are kept: one that was made while a table was small must not read all of it when it is large.
 */
const SETTINGS = {
  text: `SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET lock_timeout = ${HELD_TIMEOUT_MS};
    SET idle_in_transaction_session_timeout = ${HELD_TIMEOUT_MS}; SET jit = off; SET enable_seqscan = off`,
  // A pooler may answer the login itself, and this only when it has a connection.
  query_timeout: CONNECT_TIMEOUT_MS,
};
/** A transaction that meets another one that often is not going to succeed. */
const MOST_TRIES = 20;
const INT8 = 20;

export type Row = Record<string, unknown>;

/** Runs statements; inside a transaction, on its connection. */
export interface Queries {
  /** All rows, with the names of their columns as in the statement. */
  all<Found = Row>(text: string, values?: readonly unknown[]): Promise<Found[]>;
  /** The first row, or null. */
  one<Found = Row>(text: string, values?: readonly unknown[]): Promise<Found | null>;
  /** @returns the number of rows that were changed */
  run(text: string, values?: readonly unknown[]): Promise<number>;
}

/** Statements of their own, each atomic; a lost connection is reported as `internal_error` 503. */
export interface Database extends Queries, AsyncDisposable {
  /**
   * Runs statements as one transaction (READ COMMITTED), again from the start if it loses against another (serialization failure, deadlock).
   * @throws what `work` throws, rolled back; CaptureError `internal_error` 503 when nothing can be stored
   */
  transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>;
}

/** Connection settings for everything that talks to the database. @throws StoreError for an invalid URL */
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

/** Opens a pool; connects when a statement needs it. @throws StoreError for an invalid URL */
export function openDatabase(url: string): Database {
  const pool = new pg.Pool({ ...clientSettings(url), max: POOL_CONNECTIONS, onConnect: (client) => client.query(SETTINGS) });
  // An idle connection that breaks is replaced by the next statement.
  pool.on('error', () => undefined);
  // Between two users of a connection nobody else listens, and an error that nobody hears ends the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    ...queriesOf(pool),
    transaction: (work) => guarded(() => inTransaction(pool, work)),
    async [Symbol.asyncDispose]() {
      await pool.end();
    },
  };
}

function queriesOf(pool: pg.Pool): Queries {
  const send = (text: string, values: readonly unknown[] = []) => guarded(() => pool.query(named(text, values)));
  return rowsOf(send);
}

function rowsOf(send: (text: string, values?: readonly unknown[]) => Promise<pg.QueryResult>): Queries {
  return {
    all: async <Found>(text: string, values?: readonly unknown[]) => (await send(text, values)).rows as Found[],
    one: async <Found>(text: string, values?: readonly unknown[]) => ((await send(text, values)).rows[0] as Found | undefined) ?? null,
    run: async (text, values) => (await send(text, values)).rowCount ?? 0,
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
    const result = await work(rowsOf((text, values = []) => client.query(named(text, values))));
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // A connection that cannot even roll back is closed, not given to the next.
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** Repeats what lost against another transaction, and translates the errors of the connection. */
async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isLostRace(error) || tries === MOST_TRIES) throw translateEngineError(error);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * tries * 5));
    }
  }
}

const names = new Map<string, string>();

/** A prepared statement: parsed once per connection. */
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
