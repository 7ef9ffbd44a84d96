import { Worker } from 'node:worker_threads';
import type { MarkdownAnswer, MarkdownTask } from './markdown-thread.js';
import type { MarkdownSource } from './to-markdown.js';

/** The memory limit of the thread, which is replaced if a page exceeds it. */
const THREAD_MEMORY_MB = 512;

interface Waiting {
  resolve(answer: MarkdownAnswer): void;
  fail(error: Error): void;
}

/** Converts pages to Markdown in one thread, which is started when first needed and replaced if a page exceeds its limits. */
export class MarkdownWorker implements AsyncDisposable {
  readonly #thread: URL;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;
  #stopped = false;

  /** @param options.thread URL of the bundled markdown-thread */
  constructor(options: { thread: URL }) {
    this.#thread = options.thread;
  }

  /**
   * The document's main content as Markdown; null if the conversion fails or takes too long.
   * @param timeoutMs includes the wait for other pages
   */
  async convert(source: MarkdownSource, timeoutMs: number): Promise<string | null> {
    if (this.#stopped) return null;
    const id = ++this.#lastId;
    const answer = new Promise<MarkdownAnswer>((resolve, fail) => this.#waiting.set(id, { resolve, fail }));
    const timer = setTimeout(() => this.#giveUp(id), timeoutMs);
    try {
      this.#start().postMessage({ id, ...source } satisfies MarkdownTask);
      const result = await answer;
      return 'markdown' in result ? result.markdown : null;
    } catch {
      return null;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  /** @throws Error if the system refuses a new thread */
  #start(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(this.#thread, { resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB }, name: 'markdown' });
    worker.unref();
    worker.on('message', (answer: MarkdownAnswer) => this.#waiting.get(answer.id)?.resolve(answer));
    worker.on('error', (error) => this.#drop(worker, error));
    worker.on('exit', () => this.#drop(worker, new Error('The Markdown thread ended.')));
    this.#worker = worker;
    return worker;
  }

  /** Replaces the thread, which cannot be interrupted. Captures that wait for it lose their Markdown, but do not fail. */
  #giveUp(id: number): void {
    const worker = this.#worker;
    const isOldest = this.#waiting.keys().next().value === id;
    this.#waiting.get(id)?.fail(new Error('Markdown took too long.'));
    if (!isOldest || worker === null) return;
    this.#drop(worker, new Error('The Markdown thread was replaced.'));
    void worker.terminate();
  }

  #drop(worker: Worker, reason: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const waiting of this.#waiting.values()) waiting.fail(reason);
    this.#waiting.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    const worker = this.#worker;
    if (worker === null) return;
    this.#drop(worker, new Error('The Markdown thread was stopped.'));
    await worker.terminate();
  }
}
