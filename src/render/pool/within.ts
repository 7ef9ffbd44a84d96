/** The work did not settle in time. */
export class Late extends Error {}

/** A time is waited for in so many parts. */
const PARTS = 10;
/** A part that took so many times its time was not waited: this process did something else, and could hear nothing. */
const BLOCKED_FACTOR = 2;
/** So often, at most, a part is waited for again. */
const REPEATS_MAX = 50;

/** @returns whether it settled well in time */
export function settlesWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return within(work, timeoutMs).then(
    () => true,
    () => false,
  );
}

/**
 * Time in which this process itself was blocked does not count: a browser that has answered meanwhile is not late, it has not been heard.
 * @throws Late when the work has not settled within so many ms; what it throws itself
 */
export async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = everyPart(timeoutMs / PARTS, () => reject(new Late(`the browser did not answer within ${timeoutMs} ms`)));
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
  }
}

function everyPart(partMs: number, onOver: () => void): NodeJS.Timeout {
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
