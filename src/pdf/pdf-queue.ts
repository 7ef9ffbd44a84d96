import { CaptureError } from '../contract/capture-error.js';
import { ConcurrencyLimiter } from '../contract/concurrency-limiter.js';
import { FairQueue } from '../contract/fair-queue.js';
import type { PdfFiles } from './pdf-files.js';
import type { PdfFacts } from './read-pdfs.js';
import type { InputPdf, MadePdf, PdfWork } from './work-on-pdfs.js';

/** Requests with PDFs that are being received, wait, or run. */
const PLACES = {
  all: 8,
  ofAccount: 4,
  waiting: { all: 40, ofAccount: 20, ms: 20_000 },
  message: 'Too many PDFs are being worked on at the moment. Try again shortly.',
};
/** 5,000 pages take some seconds on a slow machine. */
const TIMEOUT_MS = 60_000;

interface PdfCaller {
  account: string;
  signal: AbortSignal;
}

/** Works on PDFs of callers, one request at a time: accounts take turns, and captures have the other processors. */
export class PdfQueue {
  readonly #places = new ConcurrencyLimiter(PLACES);
  readonly #turns = new FairQueue(1);

  constructor(private readonly files: Pick<PdfFiles, 'work' | 'read'>) {}

  /**
   * Waits for a place, which is free again on disposal. Must precede everything that the work costs.
   * @throws CaptureError `rate_limited` when too many wait, or no place gets free in time; the signal's reason
   */
  enter(accountId: string, signal: AbortSignal): Promise<Disposable> {
    return this.#places.wait(accountId, signal);
  }

  /** As `work`, for what files say about themselves. */
  async read(
    { account, signal }: PdfCaller,
    load: () => Promise<{ files: InputPdf[] } & Disposable>,
  ): Promise<PdfFacts[]> {
    using _turn = await this.#turns.take(account, signal);
    using loaded = await load();
    return await this.files.read(loaded.files, { timeoutMs: TIMEOUT_MS, signal, failed });
  }

  /**
   * @param load reads the files once it is their turn, and reserves memory for them
   * @throws CaptureError `invalid_request` for files that cannot be read, or take too much time or memory; whatever `load` throws; the signal's reason
   */
  async work({ account, signal }: PdfCaller, load: () => Promise<PdfWork & Disposable>): Promise<MadePdf[]> {
    using _turn = await this.#turns.take(account, signal);
    using loaded = await load();
    const { files, changes, bookmarks, edits } = loaded;
    return await this.files.work(
      { files, changes, ...(bookmarks && { bookmarks }), ...(edits && { edits }) },
      { timeoutMs: TIMEOUT_MS, signal, failed },
    );
  }
}

function failed(): CaptureError {
  const message = 'The PDFs take more time or memory than a request may use. Send fewer or smaller ones.';
  return new CaptureError({ code: 'invalid_request', message });
}
