import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { engineCodeOf, StoreError } from '../store-error.js';
import { makeDirectory } from './data-directory.js';
import { Database, DriverMissing, isDriverMissing } from './driver.js';

const LOCK_FILE = 'server.lock';
/** A command that checks whether a server runs holds the lock for less than this. */
const LOCK_TIMEOUT_MS = 500;

/**
 * Makes this process the only server of a data directory, until disposed. The kernel holds the lock on an open file, so a killed process
 * leaves no lock behind.
 *
 * @throws StoreError if another server holds the lock
 */
export function lockDataDir(dataDir: string): Disposable {
  const file = join(dataDir, LOCK_FILE);
  try {
    makeDirectory(dataDir);
    const db = new Database(file, { timeout: LOCK_TIMEOUT_MS });
    chmodSync(file, 0o600);
    db.exec('BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: () => void db.close() };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (isDriverMissing(error)) throw new DriverMissing(error);
    if (/^SQLITE_(BUSY|LOCKED)/.test(engineCodeOf(error))) {
      throw new StoreError(
        `Another stillframe server runs on ${dataDir}. Stop it first, or give this one its own --data-dir.`,
      );
    }
    throw new StoreError(
      `The data directory ${dataDir} cannot be used: ${(error as Error).message}. Make it writable, or choose another with --data-dir.`,
    );
  }
}

/** Returns whether a server holds the lock. */
export function isServing(dataDir: string): boolean {
  const file = join(dataDir, LOCK_FILE);
  if (!existsSync(file)) return false;
  const db = new Database(file, { timeout: 0 });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    return /^SQLITE_(BUSY|LOCKED)/.test(engineCodeOf(error));
  } finally {
    db.close();
  }
}
