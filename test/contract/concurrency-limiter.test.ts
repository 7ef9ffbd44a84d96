import { describe, expect, it, vi } from 'vitest';
import { ConcurrencyLimiter } from '../../src/contract/concurrency-limiter.js';

const never = new AbortController().signal;
const LIMITS = { all: 3, ofAccount: 2, waiting: { all: 4, ofAccount: 3, ms: 50 }, message: 'full' };

/** Takes places for accounts, in their order. */
function entering(places: ConcurrencyLimiter, accounts: string) {
  const entered: string[] = [];
  const held = new Map<string, Disposable[]>();
  const all = [...accounts].map(async (account) => {
    const place = await places.wait(account, never);
    entered.push(account);
    held.set(account, [...(held.get(account) ?? []), place]);
  });
  const leave = async (account: string) => {
    held.get(account)?.shift()?.[Symbol.dispose]();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { all, entered, leave };
}

describe('places', () => {
  it('go to the account that has the fewest of them, then to who came first', async () => {
    const { entered, leave } = entering(new ConcurrencyLimiter(LIMITS), 'aaaabc');
    await leave('none');
    // A third place of the account would not be its own.
    expect(entered.join('')).toBe('aab');
    await leave('a');
    expect(entered.join('')).toBe('aabc');
    await leave('b');
    expect(entered.join('')).toBe('aabca');
    await leave('a');
    await leave('c');
    expect(entered.join('')).toBe('aabcaa');
  });

  it('are refused when too many wait, of one account or of all', async () => {
    const places = new ConcurrencyLimiter(LIMITS);
    const { all } = entering(places, 'aab' + 'aaa');
    await expect(places.wait('a', never)).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 5 });
    const other = places.wait('b', never);
    await expect(places.wait('c', never)).rejects.toThrow('full');
    for (const waiting of [...all.slice(3), other]) await expect(waiting).rejects.toThrow('full');
  });

  it('are not waited for longer than the limit, or than the caller does', async () => {
    vi.useFakeTimers();
    const places = new ConcurrencyLimiter({ ...LIMITS, all: 1 });
    const first = places.enter('a');
    const gone = new AbortController();
    const [left, late] = [places.wait('b', gone.signal), places.wait('b', never)];
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await expect(places.wait('b', gone.signal)).rejects.toThrow('gone');
    vi.advanceTimersByTime(50);
    await expect(late).rejects.toThrow('full');
    expect(() => places.enter('b')).toThrow('full');
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    places.enter('b')[Symbol.dispose]();
    vi.useRealTimers();
  });
});
