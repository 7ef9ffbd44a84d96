/** Ends work after a time, or when a signal aborts. `release` must be called once the work is done. */
export class Deadline {
  /** Aborts with the reason of the outer signal, or with the result of `lateness`. */
  readonly signal: AbortSignal;
  private readonly endsAt: number;
  private readonly timer: ReturnType<typeof setTimeout>;
  private readonly follow: () => void;

  /**
   * @param ms from now
   * @param lateness makes the reason for an expired time
   */
  constructor(
    ms: number,
    private readonly outer: AbortSignal | undefined,
    lateness: () => unknown,
  ) {
    const controller = new AbortController();
    this.signal = controller.signal;
    this.endsAt = performance.now() + ms;
    this.timer = setTimeout(() => controller.abort(lateness()), ms);
    this.follow = () => controller.abort(outer?.reason);
    if (outer?.aborted) this.follow();
    else outer?.addEventListener('abort', this.follow, { once: true });
  }

  /** Returns the remaining ms; 0 when the time has passed. */
  left(): number {
    return this.signal.aborted ? 0 : Math.max(0, this.endsAt - performance.now());
  }

  /** Cancels the time limit, so that only the outer signal ends the work. */
  lift(): void {
    clearTimeout(this.timer);
  }

  release(): void {
    this.lift();
    this.outer?.removeEventListener('abort', this.follow);
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
