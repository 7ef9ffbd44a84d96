import { Worker } from 'node:worker_threads';
import type { CheckpointTask } from './checkpoint-thread.js';
import type { Connection } from './connection.js';
import { type CheckpointMode, checkpoint } from './driver.js';

/** Number of 4 KiB pages that only the log has at which they are copied: SQLite's own default. */
const COPY_FROM_PAGES = 1_000;
/**
 * Number of pages in the log at which it is restarted. Under constant writes it never restarts by itself, because each write adds pages
 * behind those that a checkpoint has copied. A restart delays writers, without blocking the event loop, for two disk syncs.
 */
const RESTART_FROM_PAGES = 4_000;
/** Number of pages in the log at which writes wait for the running checkpoint, which they would outrun on a busy disk. */
const FULL_FROM_PAGES = 12_000;
/** Delay between two checkpoints, longer after one that a reader or the disk obstructed. */
const PAUSE_MS = 100;
const PAUSE_AFTER_FAILURE_MS = 2_000;
/** The time for which the thread is kept after a checkpoint. */
const IDLE_MS = 10_000;

interface LogState {
  /** Pages in the log. */
  log: number;
  /** Number of those pages that the database file has. */
  checkpointed: number;
}

const EMPTY: LogState = { log: 0, checkpointed: 0 };

/** Keeps the write-ahead log short from its own thread, which starts when first needed and keeps the process alive only while it copies. */
export class Checkpoints {
  #worker: Worker | null = null;
  #ended: Promise<void> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  #underWay: Promise<boolean> | null = null;
  #pausedUntil = 0;
  #hasSucceeded = true;
  #pages = 0;
  #needsWritersOut = false;
  #closed = false;

  /** @param thread the built checkpoint-thread; while it cannot run, checkpoints block the connection instead */
  constructor(
    private readonly connection: Connection,
    private readonly thread: URL,
    private readonly times: { idleMs?: number } = {},
  ) {}

  /** Starts a checkpoint when one is due. Called after each commit. */
  afterCommit(): void {
    const { log, checkpointed } = this.#stateOrEmpty();
    this.#pages = log;
    if (this.#underWay !== null || this.#closed || this.#isPaused(log)) return;
    // Copies most pages first, without the lock that a restart holds.
    if (log >= RESTART_FROM_PAGES) void this.#start(['PASSIVE', 'RESTART']);
    else if (log - checkpointed >= COPY_FROM_PAGES) void this.#start(['PASSIVE']);
  }

  /** Returns whether to wait before the next checkpoint. On a fast disk, writes would fill the log many times over in that time. */
  #isPaused(log: number): boolean {
    return performance.now() < this.#pausedUntil && (log < FULL_FROM_PAGES || !this.#hasSucceeded);
  }

  /** Returns the checkpoint that a write must wait for: one that needs writers out, or any while the log is too long. */
  room(): Promise<unknown> | null {
    return this.#needsWritersOut || this.#pages >= FULL_FROM_PAGES ? this.#underWay : null;
  }

  /**
   * Copies the whole log, with all disk syncs, and empties it.
   * @returns whether that succeeded
   */
  async truncate(): Promise<boolean> {
    while (this.#underWay !== null) await this.#underWay;
    return this.#closed ? false : await this.#start(['PASSIVE', 'TRUNCATE']);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#underWay;
    await this.#stopThread();
  }

  /** Never rejects: pages that were not copied stay in the log, and are tried again after a later commit. */
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
      this.#pausedUntil = performance.now() + (succeeded ? PAUSE_MS : PAUSE_AFTER_FAILURE_MS);
      this.#underWay = null;
      this.#idle = setTimeout(() => void this.#stopThread(), this.times.idleMs ?? IDLE_MS).unref();
      return succeeded;
    };
    this.#underWay = run();
    return this.#underWay;
  }

  async #run(mode: CheckpointMode): Promise<boolean> {
    const { db } = this.connection;
    return (await this.#ask(mode)) ?? (!db.inTransaction && checkpoint(db, mode));
  }

  /** Returns null when the thread could not be started, or has ended instead of answering. */
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
      // Otherwise, a process with nothing else to do would end before the answer.
      worker.ref();
      worker.postMessage(mode satisfies CheckpointTask);
    });
  }

  #startThread(): Worker | null {
    const worker = this.#newThread();
    if (worker === null) return null;
    worker.unref();
    // An error is followed by the thread's end.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    this.#worker = worker;
    return worker;
  }

  /** Returns null where the system refuses a new thread (ERR_WORKER_INIT_FAILED, by a limit of processes). */
  #newThread(): Worker | null {
    try {
      return new Worker(this.thread, { workerData: this.connection.db.name, name: 'checkpoints' });
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

  /** Never throws, since the commit has succeeded. */
  #stateOrEmpty(): LogState {
    try {
      return this.connection.one<LogState>('PRAGMA wal_checkpoint(NOOP)') ?? EMPTY;
    } catch {
      return EMPTY;
    }
  }
}
