import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FairQueue } from '../../src/contract/fair-queue.js';

const never = new AbortController().signal;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Work of accounts, which is ended by its index. */
async function order(accounts: readonly string[], workMs: (account: string) => number): Promise<string> {
  const turns = new FairQueue(1);
  const began: string[] = [];
  const all = accounts.map(async (account) => {
    using _turn = await turns.take(account, never);
    began.push(account);
    await sleep(workMs(account));
  });
  await vi.runAllTimersAsync();
  await Promise.all(all);
  return began.join('');
}

it('lets accounts take turns, however many pieces of work each has', async () => {
  expect(await order(['a', 'a', 'a', 'b', 'b'], () => 5)).toMatch(/^ab(ab|ba)a$/);
});

it('lets an account whose work takes long wait for those whose work is short', async () => {
  expect(await order(['a', 'a', 'b', 'b', 'b'], (account) => (account === 'a' ? 60 : 1))).toBe('abbba');
});

it('gives no credit for idle time', async () => {
  const turns = new FairQueue(1);
  const began: string[] = [];
  const work = async (account: string, ms: number) => {
    using _turn = await turns.take(account, never);
    began.push(account);
    await sleep(ms);
  };
  const busy = [work('a', 30), work('a', 30), work('a', 1)];
  await vi.advanceTimersByTimeAsync(30);
  await busy[0];
  const all = [...busy, work('b', 30), work('b', 1)];
  await vi.runAllTimersAsync();
  await Promise.all(all);
  expect(began.join('')).toMatch(/^aaba?ba?$|^aabba$/);
});

it('forgets who no longer waits', async () => {
  const turns = new FairQueue(1);
  const first = await turns.take('a', never);
  const leaving = new AbortController();
  const left = turns.take('b', leaving.signal);
  const last = turns.take('c', never);
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  (await last)[Symbol.dispose]();
  await expect(turns.take('d', leaving.signal)).rejects.toThrow('gone');
});
