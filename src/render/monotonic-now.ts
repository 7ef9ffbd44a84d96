const ORIGIN = performance.timeOrigin;

/** Whole ms on a monotonic clock that starts with the process. Its values must not be compared with stored dates. */
export function monotonicNow(): number {
  return Math.floor(ORIGIN + performance.now());
}
