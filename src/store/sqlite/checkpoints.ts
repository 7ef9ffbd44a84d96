import { Worker } from 'node:worker_threads';
import type { Statement } from 'better-sqlite3';
import { type CheckpointMode, checkpoint } from './checkpoint.js';
import type { CheckpointTask } from './checkpoint-thread.js';
import type { Db } from './connect.js';
import type { Connection } from './connection.js';

/** Pages of 4 KiB in the log that the database file does not have yet, from which on they are copied: SQLite's own default. */
const COPY_FROM_PAGES = 1_000;
/**
 * Pages in the log from which on it is restarted. Under constant writes it never restarts by itself, because each write adds pages behind
 * those that a checkpoint has copied. A restart keeps writers waiting, without blocking the event loop, for two disk syncs.
 */
const RESTART_FROM_PAGES = 4_000;
/** Pages in the log from which on writes wait for the checkpoint under way: they would outrun it on a busy disk. */
const FULL_FROM_PAGES = 12_000;
/** Between two checkpoints; longer after one that a reader or the disk got in the way of. */
const REST_MS = 100;
const REST_AFTER_FAILURE_MS = 2_000;
/** How long the thread is kept after a checkpoint. */
const IDLE_MS = 10_000;
/** How long the connection copies the log itself after the thread failed: the system may have had too many processes, or no memory. */
const WITHOUT_THREAD_MS = 60_000;

interface LogState {
  /** Pages in the log. */
  log: number;
  /** Those of them that the database file has. */
  checkpointed: number;
}

const EMPTY: LogState = { log: 0, checkpointed: 0 };

/** Keeps the write-ahead log short from a thread of its own, which is started when first needed and keeps the process alive only while it copies. */
export class Checkpoints {
  readonly #connection: Pick<Connection, 'db'>;
  readonly #thread: URL;
  readonly #idleMs: number;
  readonly #withoutThreadMs: number;
  #worker: Worker | null = null;
  #threadlessUntil = 0;
  #ended: Promise<void> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  #underWay: Promise<boolean> | null = null;
  #restsUntil = 0;
  #hasSucceeded = true;
  #pages = 0;
  #needsWritersOut = false;
  #closed = false;
  #state: { db: Db; statement: Statement<[], LogState> } | null = null;

  /** @param thread the built checkpoint-thread; while it cannot run, checkpoints block the connection instead */
  constructor(connection: Pick<Connection, 'db'>, thread: URL, times: { idleMs?: number; withoutThreadMs?: number } = {}) {
    this.#connection = connection;
    this.#thread = thread;
    this.#idleMs = times.idleMs ?? IDLE_MS;
    this.#withoutThreadMs = times.withoutThreadMs ?? WITHOUT_THREAD_MS;
  }

  /** To be called after each commit: starts a checkpoint when one is due. */
  afterCommit(): void {
    const { log, checkpointed } = this.#stateOrEmpty();
    this.#pages = log;
    if (this.#underWay !== null || this.#closed || this.#rests(log)) return;
    // Most pages first, without the lock that a restart holds.
    if (log >= RESTART_FROM_PAGES) void this.#start(['PASSIVE', 'RESTART']);
    else if (log - checkpointed >= COPY_FROM_PAGES) void this.#start(['PASSIVE']);
  }

  /** On a fast disk, writes would fill the log many times over in a rest. */
  #rests(log: number): boolean {
    return performance.now() < this.#restsUntil && (log < FULL_FROM_PAGES || !this.#hasSucceeded);
  }

  /** What a write waits for before it begins: a checkpoint that needs writers out, or any while the log is too long. */
  room(): Promise<unknown> | null {
    return this.#needsWritersOut || this.#pages >= FULL_FROM_PAGES ? this.#underWay : null;
  }

  /** Copies the whole log, with all disk syncs, and empties it; whether that succeeded. */
  async truncate(): Promise<boolean> {
    while (this.#underWay !== null) await this.#underWay;
    return this.#closed ? false : await this.#start(['PASSIVE', 'TRUNCATE']);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#underWay;
    await this.#stopThread();
  }

  /** Never rejects: what was not copied stays in the log, and is tried again after a later commit. */
  #start(modes: readonly CheckpointMode[]): Promise<boolean> {
    clearTimeout(this.#idle);
    const run = async (): Promise<boolean> => {
      let succeeded = true;
      for (const mode of modes) {
        this.#needsWritersOut = mode !== 'PASSIVE';
        succeeded = await this.#run(mode);
      }
      this.#needsWritersOut = false;
      this.#hasSucceeded = succeeded;
      this.#restsUntil = performance.now() + (succeeded ? REST_MS : REST_AFTER_FAILURE_MS);
      this.#underWay = null;
      this.#idle = setTimeout(() => void this.#stopThread(), this.#idleMs).unref();
      return succeeded;
    };
    this.#underWay = run();
    return this.#underWay;
  }

  async #run(mode: CheckpointMode): Promise<boolean> {
    if (performance.now() >= this.#threadlessUntil) {
      const answer = await this.#ask(mode);
      if (answer !== null) return answer;
      this.#threadlessUntil = performance.now() + this.#withoutThreadMs;
    }
    const { db } = this.#connection;
    return !db.inTransaction && checkpoint(db, mode);
  }

  /** Null when the thread could not be started, or has ended instead of answering. */
  async #ask(mode: CheckpointMode): Promise<boolean | null> {
    const worker = this.#worker ?? this.#startThread();
    if (worker === null) return null;
    return await new Promise((resolve) => {
      const onMessage = (succeeded: boolean) => {
        worker.off('exit', onExit);
        worker.unref();
        resolve(succeeded);
      };
      const onExit = () => resolve(null);
      worker.once('message', onMessage);
      worker.once('exit', onExit);
      // A process with nothing else to do would end before the answer.
      worker.ref();
      worker.postMessage(mode satisfies CheckpointTask);
    });
  }

  #startThread(): Worker | null {
    const worker = this.#newThread();
    if (worker === null) return null;
    worker.unref();
    // Its end follows.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    this.#worker = worker;
    return worker;
  }

  /** The constructor throws where the system refuses a new thread (ERR_WORKER_INIT_FAILED, by a limit of processes). */
  #newThread(): Worker | null {
    try {
      return new Worker(this.#thread, { workerData: this.#connection.db.name, name: 'checkpoints' });
    } catch {
      return null;
    }
  }

  #stopThread(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    if (worker === null) return this.#ended;
    this.#worker = null;
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    worker.postMessage('close' satisfies CheckpointTask);
    return this.#ended;
  }

  /** Never throws: the commit has succeeded. */
  #stateOrEmpty(): LogState {
    const { db } = this.#connection;
    try {
      if (this.#state?.db !== db) this.#state = { db, statement: db.prepare<[], LogState>('PRAGMA wal_checkpoint(NOOP)') };
      return this.#state.statement.get() ?? EMPTY;
    } catch {
      return EMPTY;
    }
  }
}
