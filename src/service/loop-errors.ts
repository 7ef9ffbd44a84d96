import type { Log } from '../log.js';

const REPEAT_MS = 30_000;
/** Of different errors; when there are more, all are forgotten. */
const KNOWN_MAX = 100;

/**
 * Logs what background steps throw, the same error once every 30 s: while the database or the storage cannot be used, steps fail several
 * times a second.
 */
export function loopErrors(log: Log, now: () => number = () => performance.now()): (error: unknown) => void {
  const saidAt = new Map<string, number>();
  return (error) => {
    const key = textOf(error);
    const at = now();
    if (at - (saidAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    if (saidAt.size >= KNOWN_MAX) saidAt.clear();
    saidAt.set(key, at);
    log.error({ err: error }, 'a background step failed; it will be retried');
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name} ${error.message} ${textOf(error.cause)}` : String(error);
}
