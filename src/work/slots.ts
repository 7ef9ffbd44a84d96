import PQueue from 'p-queue';

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
