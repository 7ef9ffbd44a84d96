import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { CaptureError } from '../contract/capture-error.js';
import type { Comparison } from '../contract/comparison.js';
import type { CompareAnswer, CompareTask } from './compare-thread.js';

/** Maximum number of waiting comparisons; more are rejected. */
const WAITING_MAX = 8;
/** Two pictures of the largest size take about 5 s on a slow machine. */
const TIMEOUT_MS = 60_000;
const THREAD_MEMORY_MB = 256;

/** Makes comparisons in a thread, one at a time, since each holds two decoded pictures. */
export class CompareQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** @param thread URL of the bundled compare-thread */
  constructor(private readonly thread: URL) {}

  /**
   * @param load reads the pictures once it is their turn
   * @throws CaptureError `invalid_request` as comparePictures, `rate_limited` when too many wait; whatever `load` throws
   */
  async compare(load: () => Promise<CompareTask>): Promise<Comparison & { picture: Uint8Array | null }> {
    if (this.#waiting >= WAITING_MAX) {
      const message = 'Too many pictures are being compared at the moment. Try again shortly.';
      throw new CaptureError({ code: 'rate_limited', message, retryAfterSeconds: 2 });
    }
    this.#waiting++;
    const comparing = this.#last.then(async () => await this.#run(await load()));
    this.#last = comparing.catch(() => undefined);
    return await comparing.finally(() => {
      this.#waiting--;
    });
  }

  async #run(task: CompareTask): Promise<Comparison & { picture: Uint8Array | null }> {
    const worker = new Worker(this.thread, {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
      name: 'compare',
    });
    try {
      const [answer] = (await once(worker, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) })) as [CompareAnswer];
      if ('error' in answer) throw new CaptureError(answer.error);
      return answer.comparison;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
      throw new CaptureError({ code: 'render_timeout', message: 'The pictures could not be compared in time.', cause: error });
    } finally {
      void worker.terminate();
    }
  }
}
