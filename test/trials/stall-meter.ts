import { readFileSync } from 'node:fs';

const TICK_MS = 5;

/**
 * How long the event loop was busy without a pause: the shorter of the time by the clock and the main thread's time on a processor, so that
 * a busy machine is not taken for a busy loop.
 */
export function startStallMeter() {
  let [longestMs, clock, cpu] = [0, performance.now(), mainThreadMs()];
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, Math.min(performance.now() - clock - TICK_MS, mainThreadMs() - cpu));
    [clock, cpu] = [performance.now(), mainThreadMs()];
  }, TICK_MS);
  return { longestMs: () => longestMs, stop: () => clearInterval(timer) };
}

/** The time that the main thread has spent on a processor. */
export function mainThreadMs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6;
}
