import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Loop, type LoopOptions, withTaskSignal } from '../../src/work/loop.js';

/** A promise and its two ends. */
function signal<T = void>() {
  let [resolve, reject] = [(_value: T) => {}, (_error: Error) => {}];
  const promise = new Promise<T>((yes, no) => {
    [resolve, reject] = [yes, no];
  });
  return { promise, resolve, reject };
}

const NEVER_MS = 3_600_000;

function harness(overrides: Partial<LoopOptions<string>> = {}) {
  const [backlog, started, errors]: [string[], string[], unknown[]] = [[], [], []];
  const slots = new Map<string, number>();
  const ends = new Map<string, ReturnType<typeof signal<void>>>();
  let claims = 0;
  const loop = new Loop<string>({
    concurrency: 2,
    claim: async () => {
      claims++;
      return backlog.splice(0, 1);
    },
    run: async (task, slot) => {
      const end = signal();
      ends.set(task, end);
      started.push(task);
      slots.set(task, slot);
      await end.promise;
    },
    nextDueAt: async () => null,
    pollMs: NEVER_MS,
    onError: (error) => errors.push(error),
    ...overrides,
  });
  return {
    loop,
    backlog,
    started,
    slots,
    errors,
    claims: () => claims,
    /** Ends a running task. */
    end: (task: string, error?: Error) =>
      error === undefined ? ends.get(task)?.resolve() : ends.get(task)?.reject(error),
  };
}

/** Lets everything that is ready to go, go. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** What a promise that is ready resolves to, once everything that is ready has gone. */
async function soon<T>(promise: Promise<T>): Promise<T | 'pending'> {
  return await Promise.race([promise, settled().then(() => 'pending' as const)]);
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

test('runs as many tasks at once as there are slots, each in a slot of its own, and the next when one ends', async () => {
  const { loop, backlog, started, slots, end } = harness();
  backlog.push('a', 'b', 'c');
  loop.start();
  await settled();
  expect(started).toEqual(['a', 'b']);
  expect(loop.running).toBe(2);
  expect([slots.get('a'), slots.get('b')]).toEqual([0, 1]);
  end('b');
  await settled();
  expect(started).toHaveLength(3);
  expect(slots.get('c')).toBe(1);
  end('a');
  end('c');
  expect(await soon(loop.drain(NEVER_MS))).toBe('idle');
  expect(loop.running).toBe(0);
});

test('a claim for several free slots gives each of its tasks a slot of its own', async () => {
  const asked: number[][] = [];
  const { loop, backlog, slots, started, end } = harness({
    concurrency: 3,
    claim: async (free) => {
      asked.push([...free]);
      return backlog.splice(0, 2);
    },
  });
  backlog.push('a', 'b');
  loop.start();
  await settled();
  expect(started).toHaveLength(2);
  expect(asked).toEqual([[0, 1, 2], [2]]);
  backlog.push('c', 'd');
  end('a');
  await settled();
  expect(started).toHaveLength(4);
  expect(Object.fromEntries(slots)).toEqual({ a: 0, b: 1, c: 0, d: 2 });
  for (const task of ['b', 'c', 'd']) end(task);
  expect(await soon(loop.drain(NEVER_MS))).toBe('idle');
});

test('a wake during a claim that finds nothing makes it look again', async () => {
  const first = signal<string[]>();
  const answers = [first.promise, Promise.resolve(['late'])];
  const { loop, started, end } = harness({ claim: () => answers.shift() ?? Promise.resolve([]) });
  loop.start();
  loop.wake();
  first.resolve([]);
  await settled();
  expect(started).toHaveLength(1);
  end('late');
  expect(await soon(loop.drain(NEVER_MS))).toBe('idle');
});

test('looks again when a task becomes due by time', async () => {
  let due: number | null = Date.now() + 30;
  const { loop, started, end } = harness({
    claim: async () => {
      if (due === null || Date.now() < due) return [];
      due = null;
      return ['later'];
    },
    nextDueAt: async () => due,
  });
  loop.start();
  await settled();
  expect(started).toEqual([]);
  await vi.advanceTimersByTimeAsync(30);
  await settled();
  expect(started).toHaveLength(1);
  end('later');
  expect(await soon(loop.drain(NEVER_MS))).toBe('idle');
});

test('looks again after pollMs, for work that another process made due', async () => {
  const { loop, backlog, started, end } = harness({ pollMs: 20 });
  loop.start();
  await settled();
  backlog.push('a');
  await vi.advanceTimersByTimeAsync(20);
  await settled();
  expect(started).toHaveLength(1);
  end('a');
  expect(await soon(loop.drain(NEVER_MS))).toBe('idle');
});

test('a task that is due but held back makes no busy loop', async () => {
  const { loop, claims } = harness({ nextDueAt: async () => 1 });
  loop.start();
  await settled();
  const before = claims();
  expect(before).toBeLessThanOrEqual(3);
  await settled();
  expect(claims()).toBe(before);
  expect(await soon(loop.drain(0))).toBe('idle');
});

test('a claim that fails is reported and tried again after a bounded wait, despite wakes', async () => {
  let broken = true;
  let claims = 0;
  const { loop, errors, backlog, started, end } = harness({
    claim: async () => {
      claims++;
      if (broken) throw new Error('locked');
      return backlog.splice(0, 1);
    },
  });
  loop.start();
  await settled();
  for (let i = 0; i < 100; i++) loop.wake();
  await settled();
  expect(claims).toBe(1);
  for (let i = 0; i < 10; i++) {
    await vi.advanceTimersByTimeAsync(2_000);
    await settled();
  }
  expect(claims).toBeGreaterThanOrEqual(11);
  expect(claims).toBeLessThanOrEqual(16);
  expect(errors).toHaveLength(claims);
  broken = false;
  backlog.push('a');
  await vi.advanceTimersByTimeAsync(2_000);
  await settled();
  expect(started).toHaveLength(1);
  end('a');
  expect(await soon(loop.drain(NEVER_MS))).toBe('idle');
});

test('a task that rejects is reported and frees its slot', async () => {
  const { loop, backlog, errors, started, end } = harness({ concurrency: 1 });
  backlog.push('a', 'b');
  loop.start();
  await settled();
  expect(started).toHaveLength(1);
  end('a', new Error('unforeseen'));
  await settled();
  expect(started).toHaveLength(2);
  expect(errors).toEqual([new Error('unforeseen')]);
  end('b');
  expect(await soon(loop.drain(NEVER_MS))).toBe('idle');
});

test('drain claims no more, and returns busy when the grace ends first, or idle when the tasks do', async () => {
  const { loop, backlog, started, end } = harness({ concurrency: 1 });
  backlog.push('a', 'b');
  loop.start();
  await settled();
  expect(started).toHaveLength(1);
  const first = loop.drain(5);
  await vi.advanceTimersByTimeAsync(5);
  expect(await soon(first)).toBe('busy');
  const drained = loop.drain(NEVER_MS);
  end('a');
  expect(await soon(drained)).toBe('idle');
  loop.wake();
  await settled();
  expect(started).toEqual(['a']);
});

test('a task that a claim brings during the drain is run and waited for', async () => {
  const claim = signal<string[]>();
  const { loop, started, end } = harness({ claim: () => claim.promise });
  loop.start();
  let isDrained = false;
  const drained = loop.drain(NEVER_MS).finally(() => {
    isDrained = true;
  });
  await settled();
  claim.resolve(['a']);
  await settled();
  expect(started).toHaveLength(1);
  expect(isDrained).toBe(false);
  end('a');
  expect(await soon(drained)).toBe('idle');
  expect(started).toEqual(['a']);
});

test('it may be stopped twice, and before it was started', async () => {
  const { loop, claims } = harness();
  const stopped = Promise.all([loop[Symbol.asyncDispose](), loop[Symbol.asyncDispose](), loop.drain(0)]);
  expect(await soon(stopped)).toEqual([undefined, undefined, 'idle']);
  loop.start();
  await settled();
  expect(claims()).toBe(0);
});

/** How many signals made of this one it remembers; Node keeps them under a symbol of this name. */
function remembered(signal: AbortSignal): number {
  const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
  return key === undefined ? 0 : (Reflect.get(signal, key)?.size ?? 0);
}

describe('a task under a signal of its own', () => {
  test('is stopped with the one that it follows, or at once if that is aborted already, for its reason', async () => {
    const source = new AbortController();
    const reason = await withTaskSignal(source.signal, async (signal) => {
      source.abort('over');
      return signal.reason;
    });
    expect(reason).toBe('over');
    expect(await withTaskSignal(AbortSignal.abort('before'), async (signal) => signal.reason)).toBe('before');
  });

  test('leaves nothing behind on the one that it follows, however it ends', async () => {
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

test('a slot that becomes free looks for work only if the last claim may have left some', async () => {
  const { loop, backlog, end, claims, started } = harness({ leavesNone: (slots, tasks) => tasks < slots });
  loop.start();
  await settled();
  backlog.push('a');
  loop.wake();
  await settled();
  const before = claims();
  end('a');
  await settled();
  expect([started, claims()]).toEqual([['a'], before]);
  backlog.push('b');
  loop.wake();
  await settled();
  expect(started).toEqual(['a', 'b']);
  end('b');
  await loop[Symbol.asyncDispose]();
});
