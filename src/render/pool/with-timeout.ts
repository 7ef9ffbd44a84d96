import pTimeout from 'p-timeout';

/** A wait is divided into this many parts. */
const PARTS = 10;
/** A part that took this many times its length does not count, since the process was blocked and could not receive a response. */
const BLOCKED_FACTOR = 2;
/** The maximum number of repetitions of a part. */
const REPEATS_MAX = 50;

/** @returns whether the work succeeded in time */
export function endsInTime(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return withTimeout(work, timeoutMs).then(
    () => true,
    () => false,
  );
}

/**
 * Waits for work, not counting time in which this process was blocked: a browser that responded in the meantime is not late.
 * @param signal ends the wait with its reason
 * @throws TimeoutError if the work has not finished within this many ms; or the error of the work itself
 */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number, signal?: AbortSignal): Promise<T> {
  const message = `the browser did not answer within ${timeoutMs} ms`;
  const customTimers = { setTimeout: unblockedTimeout as typeof setTimeout, clearTimeout };
  return pTimeout(work, { milliseconds: timeoutMs, message, customTimers, ...(signal === undefined ? {} : { signal }) });
}

function unblockedTimeout(onOver: () => void, timeoutMs: number): NodeJS.Timeout {
  const partMs = timeoutMs / PARTS;
  let since = performance.now();
  let parts = 0;
  let repeats = 0;
  return setInterval(() => {
    const now = performance.now();
    const wasBlocked = now - since > BLOCKED_FACTOR * partMs;
    since = now;
    if (wasBlocked && repeats < REPEATS_MAX) repeats += 1;
    else parts += 1;
    if (parts >= PARTS) onOver();
  }, partMs);
}
