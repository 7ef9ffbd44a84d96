import type { Log } from '../log.js';

/** How long an answer stands for the state of the storage. */
const FRESH_MS = 5_000;

/** Whether a storage answers, by its last call. Logs when that changes. */
export class StoragePulse {
  readonly #log: Log;
  /** Of the monotonic clock. */
  #beatAt = Number.NEGATIVE_INFINITY;
  #isFailing = false;

  constructor(log: Log) {
    this.#log = log;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Whether it answered a moment ago. */
  get isFresh(): boolean {
    return !this.#isFailing && performance.now() - this.#beatAt < FRESH_MS;
  }

  beat(): void {
    if (this.#isFailing) this.#log.info('the bucket can be used again');
    this.#isFailing = false;
    this.#beatAt = performance.now();
  }

  miss(error: unknown): void {
    if (!this.#isFailing) this.#log.error({ err: error }, 'the bucket cannot be used: captures are answered with 503 until it can');
    this.#isFailing = true;
  }
}
