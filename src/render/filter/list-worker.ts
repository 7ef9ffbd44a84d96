import { Worker } from 'node:worker_threads';
import type { ListJob, ListWork } from './list-thread.js';

/** Runs one task in a new thread, which then ends to release its memory: parsing takes 200 MB. */
export class ListThread {
  /** @param file the built list-thread.mjs */
  constructor(private readonly file: URL) {}

  /** @throws Error of the job's, or the signal's reason */
  async run(job: ListJob, signal: AbortSignal): Promise<ListWork> {
    signal.throwIfAborted();
    const worker = new Worker(this.file, { workerData: job });
    const onAbort = () => void worker.terminate();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await new Promise<ListWork>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', (code) => reject(signal.reason ?? new Error(`the list thread ended with ${code}`)));
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
      await worker.terminate();
    }
  }
}
