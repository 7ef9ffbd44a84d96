import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CaptureError } from '../../contract/capture-error.js';
import type { Log } from '../../log.js';
import { engineCodeOf, StoreError, translateEngineError } from '../store-error.js';
import { DATABASE_FILE } from './connect.js';
import type { Connection } from './connection.js';
import { checkpoint } from './driver.js';
import { isServing } from './lock-data-dir.js';

/** A file that lists the inodes of the server's open files, for commands, which would otherwise open other files beside it. */
const OPEN_FILES = 'server.files';
const RETRY_SECONDS = 60;

const DAMAGED = 'The database is damaged. The operator has to stop the server and restore a backup.';
const REPLACED =
  'The files of the database were deleted or replaced while the server runs. The operator has to stop the server, restore a backup if files are missing, and start it again.';

/** Checks whether the open database is undamaged and still the one at its path. Once it is not, it stays so until it is opened again. */
export class DatabaseIntegrity {
  readonly #inodes: string;
  #problem: string | null = null;
  #isRescued = false;

  /**
   * Create this after the first statement, with which SQLite opens the log.
   * @param serves whether this process is the server of the data directory
   */
  constructor(
    private readonly connection: Connection,
    private readonly log: Log,
    serves: boolean,
  ) {
    const { name } = connection.db;
    this.#inodes = inodesOf(name);
    if (serves) this.#writeOpenFiles(join(dirname(name), OPEN_FILES));
  }

  /**
   * Called before a write is acknowledged. Inodes are not used again while SQLite has the files open.
   * @throws CaptureError `internal_error` (503)
   */
  require(): void {
    const { db } = this.connection;
    if (this.#problem !== DAMAGED && inodesOf(db.name) !== this.#inodes) {
      this.#note(REPLACED, null);
      this.#rescue();
    }
    if (this.#problem !== null) throw unusable(this.#problem);
  }

  /** Converts an error for the caller, and remembers that the database is damaged. */
  translate(error: unknown): unknown {
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(engineCodeOf(error))) return translateEngineError(error);
    this.#note(DAMAGED, error);
    return unusable(DAMAGED, error);
  }

  /**
   * Copies the log to the database, which may still be in place: writes that were acknowledged while the log was deleted are only in the
   * deleted file.
   */
  #rescue(): void {
    const { db } = this.connection;
    this.#isRescued ||= !db.inTransaction && checkpoint(db, 'TRUNCATE');
  }

  /** Writes the file for commands. On a full disk the server starts without it. */
  #writeOpenFiles(file: string): void {
    try {
      writeFileSync(file, this.#inodes, { mode: 0o600 });
    } catch {
      rmSync(file, { force: true });
    }
  }

  #note(problem: string, error: unknown): void {
    if (this.#problem === problem) return;
    this.#problem = problem;
    this.log.fatal({ err: error ?? undefined, file: this.connection.db.name }, problem);
  }
}

/**
 * Refuses to open files that a running server does not have open: both would write, and the database would be damaged.
 *
 * @throws StoreError
 */
export function refuseReplaced(dataDir: string): void {
  const open = readIfThere(join(dataDir, OPEN_FILES));
  if (open === null || open === inodesOf(join(dataDir, DATABASE_FILE)) || !isServing(dataDir)) return;
  throw new StoreError(
    `The files of the database in ${dataDir} were deleted or replaced while a server runs on it: stop the server first, restore a backup if files are missing, then start it again.`,
  );
}

function inodesOf(file: string): string {
  return ['', '-wal', '-shm']
    .map(
      (suffix) =>
        `${basename(file)}${suffix} ${statSync(`${file}${suffix}`, { bigint: true, throwIfNoEntry: false })?.ino ?? 'missing'}`,
    )
    .join('\n');
}

function readIfThere(file: string): string | null {
  return statSync(file, { throwIfNoEntry: false }) === undefined ? null : readFileSync(file, 'utf8');
}

function unusable(message: string, cause?: unknown): CaptureError {
  return new CaptureError({ code: 'internal_error', status: 503, message, retryAfterSeconds: RETRY_SECONDS, cause });
}
