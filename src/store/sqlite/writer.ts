import { closeSync, fdatasync, fsync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { engineCodeOf, StoreError } from '../store-error.js';
import type { Checkpoints } from './checkpoints.js';
import { reconnect } from './connect.js';
import { Connection, type Sql } from './connection.js';
import type { DatabaseIntegrity } from './integrity.js';

/** Maximum number of steps in a transaction: enough to share its cost, few enough never to stall the event loop. */
const BATCH_LIMIT = 128;
/** The time for which a write waits, without blocking, for a lock that another process holds. */
const LOCK_WAIT_MS = 10_000;
const LOCK_RETRY_MS = 10;

interface Entry {
  step: () => unknown;
  /** In place of `step`, for one that takes long. */
  long?: (sql: Sql) => Promise<unknown>;
  /** Arrival time by performance.now(). */
  arrivedAt: number;
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

type Outcome = { value: unknown } | { reason: unknown };

/**
 * All writes of the process, in order of arrival. Those that arrive in one turn of the event loop, or during the previous sync, share a
 * transaction (group commit), each with its savepoint, and are answered only when the commit is on the disk.
 */
export class Writer {
  #entries: Entry[] = [];
  #turn: Promise<void> | null = null;
  #closed = false;

  constructor(
    private readonly connection: Connection,
    private readonly log: Pick<LogSync, 'committed' | 'room' | 'durable'>,
    private readonly integrity: Pick<DatabaseIntegrity, 'require' | 'translate'>,
    private readonly lockWaitMs: number = LOCK_WAIT_MS,
  ) {}

  /**
   * Runs a synchronous step of reads and writes; resolves once it is durable.
   *
   * @throws whatever the step throws; CaptureError `internal_error` 503 when nothing can be stored
   */
  run<T>(step: () => T): Promise<T> {
    return this.#add({ step });
  }

  /**
   * Runs a step that would hold the event loop for too long, in a transaction of its own, in which it may wait for turns of the loop. It has
   * another connection, so that reads in between see nothing of it; other writes wait.
   *
   * @throws as `run` does
   */
  runLong<T>(long: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#add({ step: () => undefined, long });
  }

  #add<T>(steps: Pick<Entry, 'step' | 'long'>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'));
    return new Promise<T>((resolve, reject) => {
      this.#entries.push({
        ...steps,
        arrivedAt: performance.now(),
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#turn ??= this.#drain();
    });
  }

  /** Refuses further writes; resolves when all accepted ones are done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#turn;
    await this.log.durable().catch(() => undefined);
  }

  async #drain(): Promise<void> {
    await nextTurn();
    while (this.#entries.length > 0) {
      await this.log.room();
      const long = this.#entries.findIndex((entry) => entry.long !== undefined);
      const [first] = this.#entries;
      if (long === 0 && first?.long !== undefined) await this.#commitLong(this.#entries.splice(0, 1), first.long);
      else await this.#commit(this.#entries.splice(0, long < 0 ? BATCH_LIMIT : Math.min(BATCH_LIMIT, long)));
      if (this.#entries.length > 0) await nextTurn();
    }
    this.#turn = null;
  }

  async #commit(batch: Entry[]): Promise<void> {
    try {
      this.integrity.require();
      await this.#begin(this.connection, batch[0]?.arrivedAt ?? performance.now());
      const outcomes = this.#attempt(batch);
      this.connection.run('COMMIT');
      void this.#answer(batch, outcomes);
    } catch (error) {
      this.#rejectAll(batch, error);
      this.#rollBack();
    }
  }

  async #commitLong(entries: Entry[], long: NonNullable<Entry['long']>): Promise<void> {
    let apart: Connection | null = null;
    try {
      this.integrity.require();
      apart = new Connection(reconnect(this.connection.db.name));
      await this.#begin(apart, entries[0]?.arrivedAt ?? performance.now());
      const value = await long(apart);
      apart.run('COMMIT');
      void this.#answer(entries, [{ value }]);
    } catch (error) {
      this.#rejectAll(entries, error);
    } finally {
      // Without a commit, this undoes the transaction.
      apart?.db.close();
    }
  }

  /** Answers once the commit is on the disk. If the sync fails, the commit may still be there, as after a lost connection. */
  async #answer(batch: readonly Entry[], outcomes: readonly Outcome[]): Promise<void> {
    try {
      await this.log.committed();
      this.integrity.require();
    } catch (error) {
      return this.#rejectAll(batch, error);
    }
    batch.forEach((entry, i) => {
      const outcome = outcomes[i];
      if (outcome !== undefined && 'value' in outcome) entry.resolve(outcome.value);
      else entry.reject(outcome?.reason);
    });
  }

  #rollBack(): void {
    try {
      if (this.#inTransaction) this.connection.run('ROLLBACK');
    } catch {
      try {
        // A transaction that cannot be rolled back would show reads data that was never committed, and no write would ever succeed.
        this.connection.reopen();
      } catch {
        // The next write reports this error and tries again.
      }
    }
  }

  get #inTransaction(): boolean {
    return this.connection.db.inTransaction;
  }

  /** Begins a transaction. Writes that arrived while others waited for a lock do not wait as long again. */
  async #begin(connection: Connection, since: number): Promise<void> {
    const deadline = since + this.lockWaitMs;
    for (;;) {
      try {
        if (connection.db.inTransaction) connection.reopen();
        connection.run('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (!engineCodeOf(error).startsWith('SQLITE_BUSY') || performance.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
      }
    }
  }

  #attempt(batch: Entry[]): Outcome[] {
    return batch.map(({ step }) => {
      this.connection.run('SAVEPOINT step');
      try {
        const value = step();
        this.connection.run('RELEASE step');
        return { value };
      } catch (error) {
        // A full or failing disk ends the whole transaction by itself.
        if (!this.#inTransaction) throw error;
        this.connection.run('ROLLBACK TO step');
        this.connection.run('RELEASE step');
        return { reason: this.integrity.translate(error) };
      }
    });
  }

  #rejectAll(batch: readonly Entry[], error: unknown): void {
    for (const entry of batch) entry.reject(this.integrity.translate(error));
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

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
      await new Promise<void>((resolve, reject) =>
        fsync(directory, (error) => (error === null ? resolve() : reject(error))),
      );
    } finally {
      closeSync(directory);
    }
    return openSync(`${name}-wal`, 'r+');
  }

  #call(handle: number): Promise<void> {
    return new Promise((resolve, reject) =>
      this.syncFile(handle, (error) => (error === null ? resolve() : reject(error))),
    );
  }
}

class SyncFailed extends StoreError {
  readonly code = 'SQLITE_IOERR_FSYNC';

  constructor() {
    super('The database could not be brought to the disk.');
  }
}
