import { animationGraceMs } from '../contract/animation.js';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { CAPTURE_GRACE_MS, TIMEOUT_MS } from '../contract/limits.js';

/** Delay before a second attempt. */
export const RETRY_DELAY_MS = 500;

/**
 * Returns whether a failure is retried within the same time budget (decisions.md, Jobs).
 * @param leftMs of the budget, at the second attempt
 */
export function shouldRetry(error: unknown, leftMs: number): boolean {
  if (!(error instanceof CaptureError) || !error.retriable || error.details?.own_browser === true) return false;
  const again = error.code === 'render_crashed' || error.code === 'navigation_failed' || error.code === 'egress_unavailable';
  return again && leftMs >= TIMEOUT_MS.min;
}

/** A limit that ends a capture by force (decisions.md, Jobs). Dispose of it when the capture has ended. */
export interface TimeLimit extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Starts the countdown, or restarts it. */
  begin(): void;
}

/** Creates a limit that aborts with `render_timeout`. */
export function timeLimit({ timeout, delay, animate }: Pick<CaptureOptions, 'timeout' | 'delay' | 'animate'>): TimeLimit {
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const exceed = () =>
    limit.abort(
      new CaptureError({
        code: 'render_timeout',
        message: `The capture exceeded its time limit (timeout ${timeout} ms, delay ${delay} ms) and was stopped.`,
      }),
    );
  return {
    signal: limit.signal,
    abort: (reason) => limit.abort(reason),
    begin: () => {
      clearTimeout(timer);
      timer = setTimeout(exceed, timeout + delay + CAPTURE_GRACE_MS + animationGraceMs({ animate }));
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
