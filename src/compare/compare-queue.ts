import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { CaptureError } from '../contract/capture-error.js';
import type { Comparison } from '../contract/comparison.js';
import { Places } from '../contract/places.js';
import type { CompareAnswer, CompareTask } from './compare-thread.js';

/** Comparisons that run, wait, or are being received. */
const PLACES = { all: 4, ofAccount: 2, message: 'Too many pictures are being compared at the moment. Try again shortly.' };
/** Two pictures of the largest size take about 5 s on a slow machine. */
const TIMEOUT_MS = 30_000;
const THREAD_MEMORY_MB = 256;

/** Makes comparisons in a thread, one at a time, since each holds two decoded pictures. */
export class CompareQueue {
  readonly #places = new Places(PLACES);
  #last: Promise<unknown> = Promise.resolve();

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
   * @throws CaptureError `invalid_request` as comparePictures, `render_timeout`; whatever `load` throws
   */
  async compare(load: () => Promise<CompareTask & Disposable>): Promise<Comparison & { picture: Uint8Array | null }> {
    const comparing = this.#last.then(async () => {
      using task = await load();
      return await this.#run(task);
    });
    this.#last = comparing.catch(() => undefined);
    return await comparing;
  }

  async #run({ before, after, options }: CompareTask): Promise<Comparison & { picture: Uint8Array | null }> {
    const task: CompareTask = { before: ownBytes(before), after: ownBytes(after), options };
    const worker = new Worker(this.thread, {
      workerData: task,
      transferList: [task.before.buffer as ArrayBuffer, task.after.buffer as ArrayBuffer],
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

/** The bytes in a buffer of their own, which can be moved to the thread. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}
