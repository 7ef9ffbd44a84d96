const TICK_MS = 5;

/**
 * How long the event loop was busy without a pause: the shorter of the time by the clock and the time on a processor, so that a busy
 * machine is not taken for a busy loop.
 */
export function startStallMeter() {
  let [longestMs, clock, cpu] = [0, performance.now(), process.cpuUsage()];
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    longestMs = Math.max(longestMs, Math.min(performance.now() - clock, (user + system) / 1_000) - TICK_MS);
    [clock, cpu] = [performance.now(), process.cpuUsage()];
  }, TICK_MS);
  return { longestMs: () => longestMs, stop: () => clearInterval(timer) };
}
