import { expect, it } from 'vitest';
import { RunSignals } from '../../src/cli/run-signals.js';

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s ends a run with exit code %i, and has its default effect afterwards', (signal, code) => {
  const before = process.listeners(signal);
  const added = () => process.listeners(signal).filter((listener) => !before.includes(listener));
  using signals = new RunSignals();
  expect(added()).toHaveLength(1);
  expect([signals.signal.aborted, signals.exitCode]).toEqual([false, null]);
  added()[0]?.(signal);
  expect([signals.signal.aborted, signals.exitCode]).toEqual([true, code]);
  signals[Symbol.dispose]();
  expect(added()).toEqual([]);
});
