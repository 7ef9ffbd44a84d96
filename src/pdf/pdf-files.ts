/** Reads and edits PDFs in a thread, since large ones would block the server. Must not know what a capture is. */
import { CaptureError } from '../contract/capture-error.js';
import { KeptThreads, viewOf } from '../thread.js';
import type { PdfEdits, PdfTask, ReadPdf } from './edit-pdf.js';
import type { PdfFacts, ReadTask } from './read-pdfs.js';
import type { MadePdf, PdfWork } from './work-on-pdfs.js';

/** Objects of the PDF library. Measured: 170 MB for 2,000 pages that are all written anew. The bytes of the files are apart. */
const THREAD_MEMORY_MB = 512;

interface Limits {
  timeoutMs: number;
  signal: AbortSignal;
  /** The error for work that takes too much time or memory. */
  failed(cause: unknown): CaptureError;
}

export interface PdfFile extends ReadPdf {
  content: Buffer;
}

export class PdfFiles {
  readonly #threads: KeptThreads;

  /** @param thread URL of the bundled pdf-thread */
  constructor(thread: URL) {
    this.#threads = new KeptThreads(thread, THREAD_MEMORY_MB);
  }

  /** Starts a thread for a file that is expected soon. */
  prepare(): void {
    this.#threads.prepare();
  }

  /**
   * Makes the edits, and reads the first page's size and the number of pages.
   * @param content moved to the thread: the caller must not use it any more
   * @throws CaptureError `invalid_request` for edits that the file does not permit, `render_timeout`; the signal's reason
   */
  async edit(content: Buffer, edits: PdfEdits, limits: { timeoutMs: number; signal: AbortSignal }): Promise<PdfFile> {
    const task: PdfTask = { content, edits };
    const { content: edited, ...read } = await this.#threads.run<ReadPdf & { content: Uint8Array }>({
      task,
      ...limits,
      failed: (cause) =>
        new CaptureError({ code: 'render_timeout', message: 'The PDF was not completed in time.', cause }),
    });
    return { ...read, content: viewOf(edited) };
  }

  /**
   * Merges, splits and changes files.
   * @param work its contents are moved to the thread: the caller must not use them any more
   * @throws CaptureError `invalid_request` for files that cannot be read or do not permit the work, as `failed`; the signal's reason
   */
  async work(work: PdfWork, limits: Limits): Promise<MadePdf[]> {
    const made = await this.#threads.run<(Omit<MadePdf, 'content'> & { content: Uint8Array })[]>({
      task: work,
      ...limits,
    });
    return made.map((one) => ({ ...one, content: viewOf(one.content) }));
  }

  /** Reads what files say about themselves. As `work`. */
  async read(read: ReadTask['read'], limits: Limits): Promise<PdfFacts[]> {
    const task: ReadTask = { read };
    return await this.#threads.run<PdfFacts[]>({ task, ...limits });
  }
}
