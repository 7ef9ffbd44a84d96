/** A durable loop that knows no one: claim → run, bounded by p-queue. What it claims and runs is given to it. */
import PQueue from 'p-queue';

export interface LoopOptions<Task> {
  /** Tasks run at once. */
  concurrency: number;
  /** The next task, or null when none is due. `slot` is 0 … concurrency-1 and free. */
  claim(slot: number): Promise<Task | null>;
  /** Never rejects for a task's own failure; a rejection is logged and the slot freed. */
  run(task: Task, slot: number): Promise<void>;
  /** When a task will become due by time alone (Unix ms), or null. */
  nextDueAt(): Promise<number | null>;
  /** Looks again at least this often, for work that another process made due. */
  pollMs: number;
  /** The clock of `nextDueAt`; the wall clock when absent. */
  now?: () => number;
  onError(error: unknown): void;
}

/** Waits after a claim that failed: doubled each time in a row, never longer than the second. */
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 2_000;

/**
 * Claims while the queue has room and something is due; otherwise rests until a wake, the next due time or `pollMs`. Claims come one
 * at a time, so that no room is promised twice.
 */
export class Loop<Task> implements AsyncDisposable {
  readonly #options: LoopOptions<Task>;
  readonly #queue: PQueue;
  /** Numbers of the running tasks, which name their workers; how many there may be is the queue's to say. */
  readonly #slots = new Set<number>();
  readonly #tasks = new Set<Task>();
  #state: 'new' | 'open' | 'closed' = 'new';
  #looking: Promise<void> | null = null;
  /** A wake came while a claim was under way: what it tells of may be newer than what the claim saw. */
  #lookAgain = false;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  /** A due time that was checked without finding a task to claim: only a wake or a poll can change that. */
  #heldBackDueAt: number | null = null;

  constructor(options: LoopOptions<Task>) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.concurrency });
    this.#queue.on('next', () => this.wake());
  }

  /** How many tasks are under way. */
  get running(): number {
    return this.#queue.pending;
  }

  /** The tasks under way. */
  get tasks(): readonly Task[] {
    return [...this.#tasks];
  }

  /** Begins to claim. Without effect once started, drained or disposed of. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'open';
    this.wake();
  }

  /** There may be something to claim: look now. Cheap, and safe at any time. */
  wake(): void {
    if (this.#state !== 'open') return;
    this.#lookAgain = true;
    // After a failed claim the timer decides: wakes must not turn a failing store into a busy loop.
    if (this.#looking !== null || this.#failures > 0) return;
    this.#look();
  }

  /**
   * Claims no more, and waits for the running tasks.
   *
   * @param graceMs how long at most
   * @returns `idle` when all have ended, `busy` when some still run
   */
  async drain(graceMs: number): Promise<'idle' | 'busy'> {
    this.#close();
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<'busy'>((resolve) => {
      timer = setTimeout(resolve, graceMs, 'busy');
    });
    const ended = await Promise.race([this.#ended(), expired]);
    clearTimeout(timer);
    return ended;
  }

  /** Claims no more, and waits for the running tasks however long they take: whoever can cut them short does so before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.#ended();
  }

  #close(): void {
    this.#state = 'closed';
    this.#rest(null);
  }

  async #ended(): Promise<'idle'> {
    // A claim under way may still bring a task; it is durable as claimed, so it is run.
    await this.#looking;
    await this.#queue.onIdle();
    return 'idle';
  }

  #look(): void {
    this.#rest(null);
    this.#looking = this.#claimAll().finally(() => {
      this.#looking = null;
      if (this.#lookAgain && this.#failures === 0 && this.#hasRoom) this.wake();
    });
  }

  /** Claims until nothing is due or the queue is full, then sets the timer. Never rejects. */
  async #claimAll(): Promise<void> {
    try {
      while (this.#hasRoom && this.#state === 'open') {
        this.#lookAgain = false;
        const slot = this.#freeSlot();
        const task = await this.#options.claim(slot);
        this.#failures = 0;
        if (task !== null) this.#run(task, slot);
        else if (!this.#lookAgain) break;
      }
      if (this.#hasRoom) await this.#restUntilDue();
    } catch (error) {
      this.#failures++;
      this.#report(error);
      this.#rest(Math.min(FIRST_BACKOFF_MS * 2 ** (this.#failures - 1), LONGEST_BACKOFF_MS));
    }
  }

  /** Whether a task that is claimed now would start at once. */
  get #hasRoom(): boolean {
    return this.#queue.pending + this.#queue.size < this.#options.concurrency;
  }

  #freeSlot(): number {
    let slot = 0;
    while (this.#slots.has(slot)) slot++;
    return slot;
  }

  #run(task: Task, slot: number): void {
    this.#slots.add(slot);
    this.#tasks.add(task);
    const run = async () => {
      try {
        await this.#options.run(task, slot);
      } finally {
        this.#slots.delete(slot);
        this.#tasks.delete(task);
      }
    };
    this.#queue.add(run).catch((error: unknown) => this.#report(error));
  }

  async #restUntilDue(): Promise<void> {
    const dueAt = await this.#options.nextDueAt();
    if (dueAt === null) return this.#rest(this.#options.pollMs);
    const wait = dueAt - (this.#options.now ?? Date.now)();
    if (wait > 0) return this.#rest(Math.min(wait, this.#options.pollMs));
    // Due since the claim: look once more. Due before it: something holds it back, and looking at once would never end.
    if (this.#heldBackDueAt === dueAt) return this.#rest(this.#options.pollMs);
    this.#heldBackDueAt = dueAt;
    this.#lookAgain = true;
  }

  /** @param ms until the next look, or null for none by time */
  #rest(ms: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (ms === null || this.#state !== 'open') return;
    this.#timer = setTimeout(() => {
      if (this.#looking === null) this.#look();
    }, ms);
  }

  #report(error: unknown): void {
    try {
      this.#options.onError(error);
    } catch {
      // A reporter that fails has nobody left to tell, and must not stop the work.
    }
  }
}
