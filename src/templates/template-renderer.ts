/** Renders templates in a thread with limits of time and memory. Must not know what a capture is, or where templates are stored. */
import { CaptureError } from '../contract/capture-error.js';
import { KeptThreads } from '../thread.js';
import type { TemplateTask } from './render-template.js';

const THREAD_MEMORY_MB = 192;
const RENDER_MS = 5_000;

export class TemplateRenderer {
  readonly #threads: KeptThreads;

  /** @param thread URL of the bundled template-thread */
  constructor(thread: URL) {
    this.#threads = new KeptThreads(thread, THREAD_MEMORY_MB);
  }

  /** @returns the document. @throws CaptureError `invalid_request`; the signal's reason */
  async render(task: TemplateTask, signal: AbortSignal): Promise<string> {
    return await this.#threads.run<string>({
      task,
      signal,
      timeoutMs: RENDER_MS,
      failed: (cause) =>
        new CaptureError({
          code: 'invalid_request',
          message: 'The template takes too much time or memory.',
          cause,
        }),
    });
  }
}
