import { Worker } from 'node:worker_threads';
import type { ListJob, ListWork } from './list-thread.js';

/** Parsing a typical list takes a second. */
const THREAD_MAX_MS = 60_000;

/** Runs each task in a new thread, which ends afterwards to release its memory: parsing takes 200 MB. */
export class ListThread {
  /** @param file the built list-thread.mjs */
  constructor(
    private readonly file: URL,
    private readonly maxMs = THREAD_MAX_MS,
  ) {}

  /** @throws Error if the task fails or takes too long; the signal's reason if it aborts */
  async run<Job extends ListJob>(job: Job, stop: AbortSignal): Promise<ListWork[Job['kind']]> {
    stop.throwIfAborted();
    const tooLong = AbortSignal.timeout(this.maxMs);
    const signal = AbortSignal.any([stop, tooLong]);
    const worker = new Worker(this.file, { workerData: job });
    const onAbort = () => void worker.terminate();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await new Promise<ListWork[Job['kind']]>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', (code) =>
          reject(stop.reason ?? new Error(tooLong.aborted ? 'takes too long to parse' : `the list thread ended with ${code}`)),
        );
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
      await worker.terminate();
    }
  }
}
