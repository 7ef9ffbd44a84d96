import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { IdleEngine } from '../../src/cli/local-captures.js';
import type { Engine } from '../../src/library/engine.js';

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Engines that only count. */
function counting() {
  const counts = { opened: 0, closed: 0 };
  const open = async () => {
    counts.opened++;
    return { [Symbol.asyncDispose]: async () => void counts.closed++ } as Engine;
  };
  return { counts, open };
}

it('the engine is opened once for concurrent captures, and closed five minutes after the last one', async () => {
  const { counts, open } = counting();
  await using engine = new IdleEngine(open);
  await Promise.all([engine.use(async () => undefined), engine.use(async () => undefined)]);
  await vi.advanceTimersByTimeAsync(4 * MINUTE_MS);
  await engine.use(async () => undefined);
  await vi.advanceTimersByTimeAsync(4 * MINUTE_MS);
  expect(counts).toEqual({ opened: 1, closed: 0 });
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(counts).toEqual({ opened: 1, closed: 1 });
  await engine.use(async () => undefined);
  expect(counts).toEqual({ opened: 2, closed: 1 });
});

it('the engine stays open during a capture of any length', async () => {
  const { counts, open } = counting();
  await using engine = new IdleEngine(open);
  let finish = (): void => {};
  const long = engine.use(() => new Promise<void>((resolve) => (finish = resolve)));
  await engine.use(async () => undefined);
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  expect(counts.closed).toBe(0);
  finish();
  await long;
});

it('the engine is opened again after an attempt failed', async () => {
  const { counts, open } = counting();
  let fails = true;
  await using engine = new IdleEngine(async () => {
    if (fails) throw new Error('no browser');
    return await open();
  });
  await expect(engine.use(async () => undefined)).rejects.toThrow('no browser');
  fails = false;
  await engine.use(async () => undefined);
  expect(counts.opened).toBe(1);
});
