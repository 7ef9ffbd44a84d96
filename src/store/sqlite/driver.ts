import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { StoreError } from '../store-error.js';

export type Db = BetterSqlite3.Database;

/** The oldest Node that can load the prebuilt driver, which would crash an older one. */
const PREBUILT_NODE_MAJOR = 22;

const NAME =
  Number.parseInt(process.versions.node, 10) >= PREBUILT_NODE_MAJOR ? 'better-sqlite3' : 'better-sqlite3-node20';

/**
 * SQLite's driver for this Node: with prebuilt binaries, or for Node 20 its predecessor, an optional dependency that the npm package has in
 * the directory `node20`. If it is missing, the class can be imported, but not constructed.
 */
export const Database: typeof BetterSqlite3 = load();

/** Returns whether opening a database failed because the native part of the driver is missing, or built for another Node or system. */
export function isDriverMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const notFound = code === 'MODULE_NOT_FOUND' && /better[-_]sqlite3/.test(message);
  return notFound || code === 'ERR_DLOPEN_FAILED' || /bindings file/.test(message ?? '');
}

/** The native part of the driver is missing, or not built for this Node. */
export class DriverMissing extends StoreError {
  readonly found = `The SQLite driver (${NAME}) cannot be loaded under Node ${process.version}`;
  readonly advice = advice();

  constructor(cause: unknown) {
    super('', { cause });
    this.message = `${this.found}: ${this.advice}`;
  }
}

function advice(): string {
  return NAME === 'better-sqlite3'
    ? 'Reinstall stillframe on this system. Prebuilt drivers exist for Linux, macOS and Windows on x64 and arm64.'
    : `Use Node ${PREBUILT_NODE_MAJOR} or newer, or install make, python3 and a C++ compiler, then reinstall stillframe.`;
}

function load(): typeof BetterSqlite3 {
  try {
    return createRequire(new URL('node20/', import.meta.url))(NAME) as typeof BetterSqlite3;
  } catch (error) {
    return class MissingDriver {
      constructor() {
        throw new DriverMissing(error);
      }
    } as unknown as typeof BetterSqlite3;
  }
}

/** Checkpoint modes by SQLite's names (https://sqlite.org/pragma.html#pragma_wal_checkpoint). */
export type CheckpointMode = 'PASSIVE' | 'RESTART' | 'TRUNCATE';

/**
 * Runs a checkpoint.
 * @returns whether it completed; false when another connection reads or writes meanwhile, or the disk fails
 */
export function checkpoint(db: Db, mode: CheckpointMode): boolean {
  try {
    const [answer] = db.pragma(`wal_checkpoint(${mode})`) as { busy: number }[];
    return answer?.busy === 0;
  } catch {
    return false;
  }
}
