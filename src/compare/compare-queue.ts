import { CaptureError } from '../contract/capture-error.js';
import type { Comparison } from '../contract/comparison.js';
import { ConcurrencyLimiter } from '../contract/concurrency-limiter.js';
import { FairQueue } from '../contract/fair-queue.js';
import { runInThread } from '../thread.js';
import type { CompareTask } from './compare-thread.js';

/** Comparisons that run, wait, or are being received. */
const PLACES = {
  all: 8,
  ofAccount: 2,
  message: 'Too many pictures are being compared at the moment. Try again shortly.',
};
/** Two pictures of the largest size take about 5 s on a slow machine. */
const TIMEOUT_MS = 30_000;
const THREAD_MEMORY_MB = 256;

/** The account that compares: accounts take turns. */
export interface Comparer {
  account: string;
  /** Aborted when nobody waits for the comparison any more, which then ends. */
  signal: AbortSignal;
}

/** Makes comparisons in a thread, one at a time, since each holds two decoded pictures. */
export class CompareQueue {
  readonly #places = new ConcurrencyLimiter(PLACES);
  readonly #turns = new FairQueue(1);

  /** @param thread URL of the bundled compare-thread */
  constructor(private readonly thread: URL) {}

  /**
   * Takes a place, which is free again on disposal. Must precede everything that a comparison costs.
   * @throws CaptureError `rate_limited` when all places, or those of the account, are taken
   */
  enter(accountId: string): Disposable {
    return this.#places.enter(accountId);
  }

  /**
   * @param load reads the pictures once it is their turn, and reserves memory for them
   * @throws CaptureError `invalid_request` as comparePictures, `render_timeout`; whatever `load` throws; the signal's reason
   */
  async compare(
    { account, signal }: Comparer,
    load: () => Promise<CompareTask & Disposable>,
  ): Promise<Comparison & { picture: Uint8Array | null }> {
    using _turn = await this.#turns.take(account, signal);
    using loaded = await load();
    const { before, after, options } = loaded;
    return await runInThread({
      file: this.thread,
      task: { before, after, options },
      memoryMb: THREAD_MEMORY_MB,
      timeoutMs: TIMEOUT_MS,
      signal,
      failed: (cause) =>
        new CaptureError({ code: 'render_timeout', message: 'The pictures could not be compared in time.', cause }),
    });
  }
}
