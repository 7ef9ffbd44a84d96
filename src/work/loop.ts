/** A durable loop that knows no one: claim → run, bounded by p-queue. What it claims and runs is given to it. */
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
  onError(error: unknown): void;
}
