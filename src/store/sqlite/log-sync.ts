import { closeSync, fdatasync, fsync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../store-error.js';
import type { Checkpoints } from './checkpoints.js';
import type { Connection } from './connection.js';

/** Flushes the written data of a file to the disk. */
export type SyncFile = (handle: number, done: (error: Error | null) => void) => void;

/**
 * Makes commits durable without blocking the event loop: SQLite leaves the write-ahead log to the system (`synchronous = NORMAL`), and a
 * thread of Node's pool syncs it. Commits during a sync share the next one. A reopened connection has the same log file.
 */
export class LogSync {
  #handle: number | null = null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #mayBeDamaged = false;

  constructor(
    private readonly connection: Connection,
    private readonly checkpoints: Pick<Checkpoints, 'afterCommit' | 'room' | 'truncate'>,
    private readonly syncFile: SyncFile = fdatasync,
  ) {}

  /**
   * Resolves when a write may begin: when the log has room, and after the running sync, since each transaction writes its pages anew, so
   * that few large ones cost less.
   */
  async room(): Promise<void> {
    await this.#running?.catch(() => undefined);
    await this.checkpoints.room();
  }

  /**
   * Resolves when a commit, and all before it, are on the disk. Called after the commit.
   * @throws StoreError code `SQLITE_IOERR_FSYNC`
   */
  committed(): Promise<void> {
    this.checkpoints.afterCommit();
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.catch(() => undefined).then(() => this.#start());
    return this.#next;
  }

  /** Resolves when everything that a read can see at this moment is on the disk. */
  async durable(): Promise<void> {
    await (this.#next ?? this.#running ?? (this.#mayBeDamaged ? this.#start() : null));
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next]);
    if (this.#handle !== null) closeSync(this.#handle);
    this.#handle = null;
  }

  #start(): Promise<void> {
    this.#next = null;
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }

  /**
   * The system reports a failed sync once and may have lost the pages; a recovery would then end the log there, whatever is synced behind
   * it. So after a failure the whole log is copied into the database file before anything counts as durable again.
   */
  async #sync(): Promise<void> {
    try {
      if (!this.#mayBeDamaged) return await this.#syncLog();
    } catch {
      this.#mayBeDamaged = true;
    }
    if (!(await this.checkpoints.truncate())) throw new SyncFailed();
    this.#mayBeDamaged = false;
  }

  async #syncLog(): Promise<void> {
    this.#handle ??= await this.#openLog();
    await this.#call(this.#handle);
  }

  /** Opens the log, and syncs its entry in the directory once. */
  async #openLog(): Promise<number> {
    const { name } = this.connection.db;
    const directory = openSync(dirname(name), 'r');
    try {
      await new Promise<void>((resolve, reject) => fsync(directory, (error) => (error === null ? resolve() : reject(error))));
    } finally {
      closeSync(directory);
    }
    return openSync(`${name}-wal`, 'r+');
  }

  #call(handle: number): Promise<void> {
    return new Promise((resolve, reject) => this.syncFile(handle, (error) => (error === null ? resolve() : reject(error))));
  }
}

class SyncFailed extends StoreError {
  readonly code = 'SQLITE_IOERR_FSYNC';

  constructor() {
    super('The database could not be brought to the disk.');
  }
}
