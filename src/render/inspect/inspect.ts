/**
 * Extracts a rendered page's text as Markdown of its main content and an accessibility outline. Knows nothing of pictures or
 * jobs. The results are untrusted page content.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Inspection } from '../../contract/capture-data.js';
import { INSPECTION_LIMIT_CHARS } from '../../contract/limits.js';
import { monotonicNow, orElse, timeLimit } from '../deadlines.js';
import { type BoundedPage, boundedPage, type PageSession, untilDeadline } from '../page-session.js';
import type { MarkdownSource } from './markdown-thread.js';

/** The memory limit of the thread, which is replaced if a page exceeds it. */
const THREAD_MEMORY_MB = 512;

/**
 * Reads the rendered document. Results that take too long are simplified or left empty.
 * @throws CaptureError `render_crashed`; `render_timeout` if the page does not respond at all
 */
export async function inspect(
  session: PageSession,
  options: { timeoutMs: number; worker: MarkdownWorker },
): Promise<Inspection> {
  const deadline = monotonicNow() + options.timeoutMs;
  const page = boundedPage(session, deadline);
  const { text, ...source } = await page.call('source.read');
  const [markdown, accessibleTree] = await Promise.all([
    options.worker.convert(source, Math.max(1, deadline - monotonicNow())),
    outline(session, page, deadline),
  ]);
  return { markdown: cutText(markdown ?? text), accessibleTree: cutText(accessibleTree) };
}

/**
 * The accessibility tree as an indented outline of roles and names; empty if not available by the deadline (ms by
 * `monotonicNow`). Must be the last step, since it removes the end of a long page.
 * @throws CaptureError `render_crashed`
 */
async function outline(session: PageSession, page: BoundedPage, deadline: number): Promise<string> {
  try {
    if (!(await page.call('source.shorten'))) return '';
    await session.allowEvaluation();
    const timeout = Math.max(1, deadline - monotonicNow());
    return await untilDeadline(session, deadline, () => session.page.locator('body').first().ariaSnapshot({ timeout }));
  } catch {
    // An outline that is too slow is left out; the capture succeeds without it.
    session.lost.throwIfAborted();
    return '';
  }
}

/** Cuts to the limit, in UTF-16 units, but not inside a surrogate pair. */
function cutText(text: string): string {
  return text.length > INSPECTION_LIMIT_CHARS
    ? text.slice(0, INSPECTION_LIMIT_CHARS).replace(/[\ud800-\udbff]$/, '')
    : text;
}

/**
 * Converts pages to Markdown, one after the other, in one thread, which is started when first needed and replaced if a page
 * exceeds its limits.
 */
export class MarkdownWorker implements AsyncDisposable {
  #worker: Worker | null = null;
  #latest: Promise<unknown> = Promise.resolve();
  readonly #stop = new AbortController();

  /** @param options.thread URL of the bundled markdown-thread */
  constructor(private readonly options: { thread: URL }) {}

  /**
   * The document's main content as Markdown; null if the conversion fails or takes too long.
   * @param timeoutMs includes the wait for other pages
   */
  async convert(source: MarkdownSource, timeoutMs: number): Promise<string | null> {
    const ends = AbortSignal.any([timeLimit(timeoutMs), this.#stop.signal]);
    const converted = this.#latest.then(() => this.#ask(source, ends));
    this.#latest = converted;
    return await orElse(converted, { ms: timeoutMs }, null);
  }

  async #ask(source: MarkdownSource, ends: AbortSignal): Promise<string | null> {
    if (ends.aborted) return null;
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage(source);
      const [markdown] = await once(this.#worker, 'message', { signal: ends });
      return markdown;
    } catch {
      // The thread cannot be interrupted.
      void this.#worker?.terminate();
      this.#worker = null;
      return null;
    }
  }

  /** @throws Error if the system refuses a new thread */
  #start(): Worker {
    const worker = new Worker(this.options.thread, {
      resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
      name: 'markdown',
    });
    worker.unref();
    worker.on('error', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#worker?.terminate();
  }
}
