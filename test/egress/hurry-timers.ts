import { onTestFinished, vi } from 'vitest';

/** Timers of two seconds and more take a fiftieth of their time until the test ends. @returns the spy on `setTimeout` */
export function hurryTimers() {
  const actual = globalThis.setTimeout;
  const spy = vi.spyOn(globalThis, 'setTimeout');
  spy.mockImplementation(((run: () => void, ms = 0) => actual(run, ms < 2_000 ? ms : ms / 50)) as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  return spy;
}
