import type { Log } from '../log.js';

const REPEAT_MS = 30_000;
/** Maximum number of remembered errors; when there are more, all are forgotten. */
const KNOWN_MAX = 100;
const CAUSES_MAX = 5;

/**
 * Logs the errors of background steps, each kind once every 30 s: while the database or the storage cannot be used, steps fail several
 * times a second.
 */
export function loopErrors(log: Log, now: () => number = () => performance.now()): (error: unknown) => void {
  const loggedAt = new Map<string, number>();
  return (error) => {
    const key = kindOf(error);
    const at = now();
    if (at - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    if (loggedAt.size >= KNOWN_MAX) loggedAt.clear();
    loggedAt.set(key, at);
    log.error({ err: error }, 'a background step failed; it will be retried');
  };
}

/** Identifies the kind of an error by the codes of the error and its causes, or by their messages, which may name a job or a picture. */
function kindOf(error: unknown): string {
  const kinds: string[] = [];
  for (let inner = error; inner instanceof Error && kinds.length < CAUSES_MAX; inner = inner.cause) {
    const code = 'code' in inner && typeof inner.code === 'string' ? inner.code : '';
    kinds.push(`${inner.name} ${code || inner.message}`);
  }
  return kinds.join('; ');
}
