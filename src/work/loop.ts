/** A durable job loop: claim → run, bounded by p-queue. Independent of what it claims and runs. */
import PQueue from 'p-queue';
import pTimeout from 'p-timeout';

export interface LoopOptions<Task> {
  /** Concurrent tasks. */
  concurrency: number;
  /**
   * Claims the next tasks, one per free slot in the given order, or fewer; slots are numbers from 0 to concurrency - 1. Returns none if none
   * is due.
   */
  claim(slots: readonly number[]): Promise<readonly Task[]>;
  /** Whether a claim for so many slots that returned so few tasks left none to be claimed before the next wake. Default: not known. */
  leavesNone?(slots: number, tasks: number): boolean;
  /** Runs one task. Never rejects for the task's own failure; a rejection is logged and the slot freed. */
  run(task: Task, slot: number): Promise<void>;
  /** When the next scheduled task becomes due (Unix ms), or null. */
  nextDueAt(): Promise<number | null>;
  /** Interval in ms at which to look for work that another process made due. */
  pollMs: number;
  /** The clock of `nextDueAt`. Default: the wall clock. */
  now?: () => number;
  onError(error: unknown): void;
}

/** Delay after a failed claim, doubled for each failure in a row up to the maximum. */
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 2_000;

/**
 * Claims while there is a free slot and a due task; otherwise sleeps until a wake, the next due time or `pollMs`. Makes one claim at a
 * time, so that no slot is given away twice.
 */
export class Loop<Task> implements AsyncDisposable {
  readonly #options: LoopOptions<Task>;
  /** The running tasks by their slots, which name their workers. */
  readonly #running = new Map<number, Task>();
  readonly #queue: PQueue;
  #state: 'new' | 'open' | 'closed' = 'new';
  #claiming: Promise<void> | null = null;
  /** Set by a wake during a claim, since it may be about newer work than the claim saw. */
  #claimAgain = false;
  /** Set by a claim that left no task, until the next wake: a slot that becomes free has nothing to claim. */
  #isDrained = false;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  /** A due time at which no task could be claimed; only a wake or a poll can change that. */
  #blockedDueAt: number | null = null;

  constructor(options: LoopOptions<Task>) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.concurrency });
  }

  get running(): number {
    return this.#running.size;
  }

  get tasks(): readonly Task[] {
    return [...this.#running.values()];
  }

  /** Starts claiming. No effect if already started, drained or disposed. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'open';
    this.wake();
  }

  /** Looks for tasks now. Cheap, and safe to call at any time. */
  wake(): void {
    if (this.#state !== 'open') return;
    this.#isDrained = false;
    this.#claimAgain = true;
    // After a failed claim the timer decides, so that wakes do not turn a failing store into a busy loop.
    if (this.#claiming !== null || this.#failures > 0) return;
    this.#claim();
  }

  /**
   * Stops claiming, and waits for the running tasks.
   * @param graceMs maximum wait
   * @returns `idle` if all have ended, `busy` if some still run
   */
  async drain(graceMs: number): Promise<'idle' | 'busy'> {
    this.#close();
    return await pTimeout(this.#ended(), { milliseconds: Math.max(1, graceMs), fallback: () => 'busy' as const });
  }

  /** Stops claiming, and waits for the running tasks without a limit. Abort them first. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.#ended();
  }

  #close(): void {
    this.#state = 'closed';
    this.#sleep(null);
  }

  async #ended(): Promise<'idle'> {
    // The current claim may still return a task. That task is recorded as claimed, so it is run.
    await this.#claiming;
    await this.#queue.onIdle();
    return 'idle';
  }

  #claim(): void {
    this.#sleep(null);
    this.#claiming = this.#claimAll().finally(() => {
      this.#claiming = null;
      if (this.#claimAgain && this.#failures === 0 && this.#hasRoom) this.wake();
    });
  }

  /** Claims until no task is due or no slot is free, then sets the timer. Never rejects. */
  async #claimAll(): Promise<void> {
    try {
      while (this.#hasRoom && this.#state === 'open') {
        this.#claimAgain = false;
        const slots = this.#freeSlots();
        const tasks = await this.#options.claim(slots);
        this.#failures = 0;
        this.#isDrained = !this.#claimAgain && this.#options.leavesNone?.(slots.length, tasks.length) === true;
        for (const [i, task] of tasks.entries()) this.#run(task, slots[i] ?? 0);
        if ((tasks.length === 0 || this.#isDrained) && !this.#claimAgain) break;
      }
      if (this.#hasRoom) await this.#sleepUntilDue();
    } catch (error) {
      this.#failures++;
      this.#options.onError(error);
      this.#sleep(Math.min(FIRST_BACKOFF_MS * 2 ** (this.#failures - 1), LONGEST_BACKOFF_MS));
    }
  }

  /** Whether a newly claimed task would start at once. */
  get #hasRoom(): boolean {
    return this.#running.size < this.#options.concurrency;
  }

  #freeSlots(): number[] {
    const all = Array.from({ length: this.#options.concurrency }, (_, slot) => slot);
    return all.filter((slot) => !this.#running.has(slot));
  }

  #run(task: Task, slot: number): void {
    const run = async () => {
      try {
        await this.#options.run(task, slot);
      } catch (error) {
        this.#options.onError(error);
      } finally {
        this.#running.delete(slot);
        if (!this.#isDrained) this.wake();
      }
    };
    this.#running.set(slot, task);
    void this.#queue.add(run);
  }

  async #sleepUntilDue(): Promise<void> {
    const dueAt = await this.#options.nextDueAt();
    if (dueAt === null) return this.#sleep(this.#options.pollMs);
    const wait = dueAt - (this.#options.now ?? Date.now)();
    if (wait > 0) return this.#sleep(Math.min(wait, this.#options.pollMs));
    // A task that became due since the claim gets one more look. One that was due before is held back, and looking again would never end.
    if (this.#blockedDueAt === dueAt) return this.#sleep(this.#options.pollMs);
    this.#blockedDueAt = dueAt;
    this.#claimAgain = true;
  }

  /** @param ms until the next look, or null for none by time */
  #sleep(ms: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (ms === null || this.#state !== 'open') return;
    this.#timer = setTimeout(() => {
      if (this.#claiming === null) this.#claim();
    }, ms);
  }
}

/**
 * Runs one task with its own signal that follows a longer-lived one. `AbortSignal.any` would leak, since a source signal keeps a reference
 * to each dependent signal for as long as it lives.
 */
export async function withTaskSignal<T>(source: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const task = new AbortController();
  const follow = () => task.abort(source.reason);
  if (source.aborted) follow();
  else source.addEventListener('abort', follow, { once: true });
  try {
    return await work(task.signal);
  } finally {
    source.removeEventListener('abort', follow);
  }
}

/** Bounds how many tasks run at once; the others wait for their turn, first come, first served. */
export class Slots {
  readonly #queue: PQueue;

  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency });
  }

  /**
   * Runs a task once a slot is free.
   * @param signal ends the wait with its reason; a running task must watch the signal itself
   */
  run<Result>(task: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    return this.#queue.add(task, { signal });
  }

  /** Resolves when no task runs or waits. */
  idle(): Promise<void> {
    return this.#queue.onIdle();
  }
}
