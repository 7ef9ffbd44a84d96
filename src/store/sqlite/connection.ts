import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Statement } from 'better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { toFields } from '../rows.js';
import type { BackedUp } from '../store.js';
import { StoreError } from '../store-error.js';
import { type Db, reconnect } from './connect.js';
import { Database } from './driver.js';

type Row = Record<string, unknown>;

/** Statements in the form of `Queries`, but synchronous: the caller owns the transaction. */
export interface Sql {
  all<Found>(text: string, values?: readonly unknown[]): Found[];
  one<Found>(text: string, values?: readonly unknown[]): Found | null;
  run(text: string, values?: readonly unknown[]): number;
}

/** The open database and its prepared statements, which are replaced together when the connection becomes unusable. */
export class Connection implements Sql {
  #db: Db;
  #statements = new Map<string, Statement<[object], Row>>();

  constructor(db: Db) {
    this.#db = db;
  }

  get db(): Db {
    return this.#db;
  }

  all<Found>(text: string, values: readonly unknown[] = []): Found[] {
    return this.#prepared(text)
      .all(named(values))
      .map((row) => toFields<Found>(row));
  }

  one<Found>(text: string, values: readonly unknown[] = []): Found | null {
    const row = this.#prepared(text).get(named(values));
    return row === undefined ? null : toFields<Found>(row);
  }

  run(text: string, values: readonly unknown[] = []): number {
    return this.#prepared(text).run(named(values)).changes;
  }

  /** Opens the database again, which undoes the writes of a running transaction. If it throws, the former connection stays. */
  reopen(): void {
    const former = this.#db;
    this.#db = reconnect(former.name);
    this.#statements.clear();
    former.close();
  }

  #prepared(text: string): Statement<[object], Row> {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#db.prepare<[object], Row>(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

/** Names parameters by their numbers: the first value is that of `$1`. */
function named(values: readonly unknown[]): object {
  return Object.fromEntries(values.map((value, i) => [i + 1, value]));
}

/** The name of drizzle's own table, so that its tools recognize the version of a database. */
const JOURNAL = '__drizzle_migrations';

interface MigrationRules {
  migrationsDir: string;
  /** Whether to migrate an older database, which a server may be using. */
  isAllowed: boolean;
}

/**
 * Migrates in ONE immediate transaction, so that two starting processes apply each migration once; drizzle's migrate() reads its journal
 * before its transaction.
 * @returns the number of applied migrations, and whether the database is new
 * @throws StoreError if the database is of a version before 1.0.0, has a migration that this program does not know, or lacks one that may
 * not be applied
 */
export function migrate(db: Db, rules: MigrationRules): { applied: number; made: boolean } {
  // Rebuilding a table drops it temporarily, so a check before the commit replaces the enforcement (connect.ts, startRunning).
  db.pragma('foreign_keys = OFF');
  return db.transaction(() => apply(db, rules)).immediate();
}

/**
 * @returns how many migrations a database has that lacks some of them; null for one that is new or up to date
 * @throws as `migrate` does
 */
export function outdatedAt(db: Db, migrationsDir: string): number | null {
  const { applied, missing } = readJournal(db, migrationsDir);
  return applied > 0 && missing.length > 0 ? applied : null;
}

function readJournal(
  db: Db,
  migrationsDir: string,
): { applied: number; missing: ReturnType<typeof readMigrationFiles> } {
  const migrations = readMigrationFiles({ migrationsFolder: migrationsDir });
  const known = migrations.map((migration) => migration.hash);
  const hasJournal = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '${JOURNAL}'`).get() !== undefined;
  const applied = hasJournal ? db.prepare<[], string>(`SELECT hash FROM ${JOURNAL}`).pluck().all() : [];
  if (applied.length > 0 && !applied.some((hash) => hash === known[0])) {
    throw new StoreError(
      `${db.name} was made before stillframe 1.0.0, and its data cannot be migrated: start with a new data directory (--data-dir or STILLFRAME_DATA_DIR), or move ${dirname(db.name)} away.`,
    );
  }
  if (applied.some((hash) => !known.includes(hash))) {
    throw new StoreError(
      `${db.name} was made by a newer stillframe: install that version or a newer one, or restore a backup made with this version.`,
    );
  }
  return { applied: applied.length, missing: migrations.filter((migration) => !applied.includes(migration.hash)) };
}

function apply(db: Db, { migrationsDir, isAllowed }: MigrationRules): { applied: number; made: boolean } {
  const { applied, missing } = readJournal(db, migrationsDir);
  const made = applied === 0;
  if (missing.length > 0 && !made && !isAllowed) {
    throw new StoreError(
      `${db.name} was made by an older stillframe: stop the server that uses it, if one runs, then run stillframe migrate.`,
    );
  }
  db.exec(`CREATE TABLE IF NOT EXISTS ${JOURNAL} (id INTEGER PRIMARY KEY, hash TEXT NOT NULL, created_at NUMERIC)`);
  for (const migration of missing) {
    for (const statement of migration.sql) db.exec(statement);
    db.prepare(`INSERT INTO ${JOURNAL} (hash, created_at) VALUES (?, ?)`).run(migration.hash, migration.folderMillis);
  }
  if (missing.length > 0 && (db.pragma('foreign_key_check') as unknown[]).length > 0) {
    throw new StoreError(`${db.name} has rows with dangling references and was not migrated. Restore a backup.`);
  }
  return { applied: missing.length, made };
}

/**
 * Copies a database in use, page by page, in its own read transaction: writes of other processes neither affect the copy nor restart it,
 * and it contains everything committed before the start. The file appears atomically, with mode 0600.
 * @returns the artifacts that the copy refers to
 * @throws StoreError if the file exists or cannot be written
 */
export async function backup(databaseFile: string, file: string): Promise<BackedUp> {
  if (existsSync(file)) throw new StoreError(`${file} already exists: name a new file.`);
  const draft = `${file}.${process.pid}.partial`;
  const source = new Database(databaseFile, { readonly: true, fileMustExist: true });
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    source.exec('BEGIN');
    const artifacts = source
      .prepare<[], BackedUp['artifacts'][number]>('SELECT name, bytes FROM artifacts WHERE gone_at IS NULL')
      .all();
    await source.backup(draft);
    chmodSync(draft, 0o600);
    sync(draft);
    linkSync(draft, file);
    sync(dirname(file));
    return { artifacts };
  } catch (error) {
    throw new StoreError(`The backup ${file} cannot be written (${(error as Error).message}).`, { cause: error });
  } finally {
    source.close();
    rmSync(draft, { force: true });
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
