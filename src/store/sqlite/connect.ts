import { chmodSync, closeSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { engineCodeOf, StoreError } from '../store-error.js';
import { prepareDirectory, unwritable } from './data-directory.js';
import { Database, type Db, DriverMissing, isDriverMissing } from './driver.js';

export type { Db } from './driver.js';

export const DATABASE_FILE = 'stillframe.db';
/** The first version of SQLite with the WAL-reset fix. */
const SQLITE_FLOOR = '3.51.3';
/** The start may wait for another process's migration; the running server waits in writer.ts, without blocking. */
const BOOT_BUSY_MS = 10_000;
const RUNNING_BUSY_MS = 5;
/** The operating system caches the file's pages as well, so the driver's default of 16 MB would hold them twice. */
const CACHE_KIB = 4_096;
const WAL_KEPT_BYTES = 64 * 1024 * 1024;
const SHARED_MEMORY_BYTES = 32 * 1024;

/** Makes the data directory (0700) and opens its database (0600), ready to migrate. @throws StoreError */
export function connect(dataDir: string): Db {
  prepareDirectory(dataDir);
  const file = join(dataDir, DATABASE_FILE);
  try {
    // -wal and -shm get the mode of the database file.
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  } catch (error) {
    throw unwritable(dataDir, error);
  }
  return guardOpening(file, () => openDatabase(file, true));
}

/**
 * Opens another connection to an open database.
 * @throws SQLite's errors
 */
export function reconnect(file: string): Db {
  const db = openDatabase(file, false);
  startRunning(db);
  return db;
}

/**
 * Applies the settings for after the migration: enforces foreign keys, blocks the event loop only briefly for locks, and works where the
 * temporary directory is full. writer.ts and checkpoints.ts make the disk syncs of commits and checkpoints.
 */
export function startRunning(db: Db): void {
  db.pragma('foreign_keys = ON');
  db.pragma('synchronous = NORMAL');
  db.pragma('wal_autocheckpoint = 0');
  db.pragma('temp_store = MEMORY');
  db.pragma(`busy_timeout = ${RUNNING_BUSY_MS}`);
}

/** Runs a step of opening the database, and turns SQLite's errors into one-line messages. @throws StoreError */
export function guardOpening<T>(file: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    const code = engineCodeOf(error);
    if (code === '') throw isDriverMissing(error) ? new DriverMissing(error) : error;
    throw new StoreError(`${file} ${adviceFor(code, error as Error, file)}`, { cause: error });
  }
}

function adviceFor(code: string, error: Error, file: string): string {
  if (/BUSY|LOCKED/.test(code)) return 'is locked by another process: stop that process, then start again.';
  if (/NOTADB|CORRUPT/.test(code)) return `is damaged (${error.message}): restore it from a backup.`;
  // Without space for its shared memory file, SQLite reports an I/O error.
  if (/FULL/.test(code) || (/IOERR/.test(code) && !hasSharedMemoryRoom(file)))
    return 'cannot grow because the disk is full: free some space, then start again.';
  return `cannot be used (${error.message}): check that its directory is writable and on a local disk.`;
}

function hasSharedMemoryRoom(file: string): boolean {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize >= SHARED_MEMORY_BYTES;
}

function openDatabase(file: string, mayBeNew: boolean): Db {
  const db = new Database(file, { timeout: mayBeNew ? BOOT_BUSY_MS : RUNNING_BUSY_MS });
  try {
    checkVersion(db);
    // This must precede the first page, and would write to a database that has one.
    if (mayBeNew && statSync(file).size === 0) db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('secure_delete = ON');
    db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`);
    db.pragma(`cache_size = -${CACHE_KIB}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function checkVersion(db: Db): void {
  const version = String(db.prepare('SELECT sqlite_version()').pluck().get());
  if (version.localeCompare(SQLITE_FLOOR, 'en', { numeric: true }) >= 0) return;
  throw new StoreError(
    `SQLite ${version} is too old, ${SQLITE_FLOOR} or newer is needed: reinstall stillframe's dependencies (npm ci).`,
  );
}
