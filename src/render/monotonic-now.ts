const ORIGIN = performance.timeOrigin;

/** Whole ms on a clock that the system's time does not move. It starts with the process: its values compare with each other alone, never with stored dates. */
export function monotonicNow(): number {
  return Math.floor(ORIGIN + performance.now());
}
