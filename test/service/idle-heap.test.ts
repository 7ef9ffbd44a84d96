import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { IdleHeap } from '../../src/service/idle-heap.js';

const MB = 1_000_000;
const onError = (error: unknown) => expect.fail(String(error));

describe('IdleHeap', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A heap that falls to 60 MB when it is collected. */
  function heapOf(bytes: number, running = 0) {
    const seen = { bytes, running, collected: 0 };
    const collect = async () => {
      seen.collected++;
      seen.bytes = 60 * MB;
    };
    const heap = new IdleHeap({ running: () => seen.running, onError, heapBytes: () => seen.bytes, collect });
    return { heap, seen };
  }

  it('collects once, 3 s after the last of several captures, and not while one is under way', async () => {
    const { heap, seen } = heapOf(120 * MB, 1);
    heap.captureEnded();
    await vi.advanceTimersByTimeAsync(60_000);
    seen.running = 0;
    for (let ended = 0; ended < 2; ended++) {
      heap.captureEnded();
      await vi.advanceTimersByTimeAsync(2_900);
    }
    expect(seen.collected).toBe(0);
    await vi.advanceTimersByTimeAsync(200);
    expect(seen.collected).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen.collected).toBe(1);
  });

  it('does not collect a heap that has hardly grown since, and collects it when it has', async () => {
    const { heap, seen } = heapOf(120 * MB);
    for (const [bytes, collected] of [
      [120 * MB, 1],
      [71 * MB, 1],
      [72 * MB, 2],
    ] as const) {
      seen.bytes = bytes;
      heap.captureEnded();
      await vi.advanceTimersByTimeAsync(3_000);
      expect(seen.collected).toBe(collected);
    }
  });

  it('collects when only the memory outside of the heap has grown, as that of pictures', async () => {
    let collected = 0;
    const collect = async () => void collected++;
    const heap = new IdleHeap({ running: () => 0, onError, collect });
    const endOne = async () => {
      heap.captureEnded();
      await vi.advanceTimersByTimeAsync(3_000);
      return collected;
    };
    expect([await endOne(), await endOne()]).toEqual([1, 1]);
    const picture = Buffer.alloc(64 * MB);
    expect([await endOne(), picture.length]).toEqual([2, 64 * MB]);
  });

  it('frees unreferenced memory', async () => {
    const seen = new WeakRef({ of: 'nobody' });
    const heap = new IdleHeap({ running: () => 0, onError, heapBytes: () => Number.MAX_SAFE_INTEGER });
    heap.captureEnded();
    await vi.advanceTimersByTimeAsync(3_000);
    vi.useRealTimers();
    // Not the object itself: an assertion would keep what it was shown.
    await vi.waitFor(() => expect(seen.deref() === undefined).toBe(true), { timeout: 30_000 });
  });

  it('reports that it cannot collect', async () => {
    const told: unknown[] = [];
    const failure = new Error('no inspector');
    const collect = () => Promise.reject(failure);
    const heap = new IdleHeap({
      running: () => 0,
      heapBytes: () => 120 * MB,
      collect,
      onError: (error) => told.push(error),
    });
    heap.captureEnded();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(told).toEqual([failure]);
  });

  it('does nothing after its disposal', async () => {
    const { heap, seen } = heapOf(120 * MB);
    heap.captureEnded();
    heap[Symbol.dispose]();
    heap.captureEnded();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(seen.collected).toBe(0);
  });
});
