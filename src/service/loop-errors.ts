import { CaptureError } from '../contract/capture-error.js';
import type { Log } from '../log.js';

/** How often the log repeats that the database or the storage cannot be used. */
const REPEAT_MS = 30_000;

/**
 * Logs what background steps throw. While the database or the storage cannot be used, every step fails, several times a second: that is one
 * line, repeated every 30 s, without a stack.
 */
export function loopErrors(log: Log): (error: unknown) => void {
  let saidAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (!(error instanceof CaptureError) || error.status !== 503) {
      log.error({ err: error }, 'a background step failed; it will be retried');
      return;
    }
    if (performance.now() - saidAt < REPEAT_MS) return;
    saidAt = performance.now();
    const { cause } = error;
    log.error({ reason: cause instanceof Error ? cause.message : error.message }, 'background steps fail; they will be retried');
  };
}
