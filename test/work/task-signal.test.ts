import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { withTaskSignal } from '../../src/work/loop.js';

/** How many signals made of this one it remembers; Node keeps them under a symbol of this name. */
function remembered(signal: AbortSignal): number {
  const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
  return key === undefined ? 0 : (Reflect.get(signal, key)?.size ?? 0);
}

describe('a task under a signal of its own', () => {
  it('is stopped with the one that it follows, for its reason', async () => {
    const source = new AbortController();
    const reason = await withTaskSignal(source.signal, async (signal) => {
      source.abort('over');
      return signal.reason;
    });
    expect(reason).toBe('over');
  });

  it('is stopped at once when that has been aborted before', async () => {
    expect(await withTaskSignal(AbortSignal.abort('before'), async (signal) => signal.reason)).toBe('before');
  });

  it('leaves nothing behind on the one that it follows, however it ends', async () => {
    const { signal: source } = new AbortController();
    await withTaskSignal(source, async (signal) => AbortSignal.any([signal, AbortSignal.timeout(60_000)]));
    await expect(withTaskSignal(source, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(getEventListeners(source, 'abort')).toEqual([]);
    expect(remembered(source)).toBe(0);
    // The probe itself: made of the source directly, it is remembered.
    AbortSignal.any([source]);
    expect(remembered(source)).toBe(1);
  });
});
