/** Ends work after a time, or when a signal aborts. `release` must be called once the work is done. */
export class Deadline {
  /** Aborts with the reason of the outer signal, or with the result of `lateness`. */
  readonly signal: AbortSignal;
  private readonly endsAt: number;
  private readonly timer: ReturnType<typeof setTimeout>;

  /**
   * @param ms from now
   * @param lateness makes the reason for an expired time
   */
  constructor(ms: number, outer: AbortSignal | undefined, lateness: () => unknown) {
    const timedOut = new AbortController();
    this.signal = outer === undefined ? timedOut.signal : AbortSignal.any([timedOut.signal, outer]);
    this.endsAt = performance.now() + ms;
    this.timer = setTimeout(() => timedOut.abort(lateness()), ms);
  }

  /** Returns the remaining ms; 0 when the time has passed. */
  left(): number {
    return this.signal.aborted ? 0 : Math.max(0, this.endsAt - performance.now());
  }

  /** Cancels the time limit, so that only the outer signal ends the work. */
  release(): void {
    clearTimeout(this.timer);
  }
}

/** Waits. Rejects with the signal's reason when it aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve();
    }, ms);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
