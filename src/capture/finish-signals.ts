/** Notifies waiters that a job has changed. Carries no data, since the row is the truth. */
export class FinishSignals {
  readonly #waiting = new Map<string, Set<() => void>>();
  #closed = false;

  announce(jobId: string): void {
    for (const wake of this.#waiting.get(jobId) ?? []) wake();
  }

  /** Ends every wait, and later ones at once, because the server is shutting down. */
  close(): void {
    this.#closed = true;
    for (const jobId of [...this.#waiting.keys()]) this.announce(jobId);
  }

  /** Ids of the jobs that somebody waits for. */
  get waitedFor(): string[] {
    return [...this.#waiting.keys()];
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Resolves when the job is announced, the timeout expires, or the signal aborts.
   * @param timeoutMs at least 0
   */
  async wait(jobId: string, timeoutMs: number, signal: AbortSignal | null): Promise<void> {
    if (timeoutMs <= 0 || signal?.aborted || this.#closed) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        this.#forget(jobId, done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      signal?.addEventListener('abort', done, { once: true });
      this.#remember(jobId, done);
    });
  }

  #remember(jobId: string, wake: () => void): void {
    const waiters = this.#waiting.get(jobId) ?? new Set();
    waiters.add(wake);
    this.#waiting.set(jobId, waiters);
  }

  #forget(jobId: string, wake: () => void): void {
    const waiters = this.#waiting.get(jobId);
    waiters?.delete(wake);
    if (waiters?.size === 0) this.#waiting.delete(jobId);
  }
}
