import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Deadlines } from '../../../src/render/budgets.js';

const MONTH_MS = 31 * 86_400_000;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it.each([
  ['ahead', MONTH_MS],
  ['back', -MONTH_MS],
])('a system clock set %s by a month does not change a deadline', (_, jumpMs) => {
  using deadlines = new Deadlines({ timeout: 1_000, delay: 0 }, []);
  vi.advanceTimersByTime(400);
  vi.setSystemTime(Date.now() + jumpMs);

  expect(deadlines.leftMs()).toBeGreaterThanOrEqual(599);
  expect(deadlines.leftMs()).toBeLessThanOrEqual(601);
  expect(deadlines.signal.aborted).toBe(false);
  vi.advanceTimersByTime(601);
  expect(deadlines.leftMs()).toBe(0);
});
