import { expect, test } from 'vitest';
import type { KeptClock } from '../../src/contract/kept-clock.js';
import { SteadyClock } from '../../src/work/steady-clock.js';

const NOON = Date.UTC(2026, 10, 15, 12);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MONTH_MS = 31 * DAY_MS;

/** A clock with two hands that the test moves. */
function aClock(kept: KeptClock | null = null, wall = NOON) {
  const hands = { wall, monotonic: 5_000 };
  const read = [() => hands.wall, () => hands.monotonic] as const;
  const clock = kept === null ? new SteadyClock(...read) : new SteadyClock(...read, kept);
  const pass = (ms: number) => {
    hands.wall += ms;
    hands.monotonic += ms;
  };
  return { hands, clock, pass };
}

/** The clock of the next run, with the wall clock so far from where it was. */
const nextRun = (kept: KeptClock, aheadMs: number) => aClock(kept, kept.trusted + aheadMs);

test('it follows the wall clock as long as that goes on evenly, or is set a little', () => {
  const { hands, clock, pass } = aClock();
  pass(10 * DAY_MS);
  hands.wall -= 40_000;
  expect([clock.now(), clock.cautious()]).toEqual([hands.wall, hands.wall]);
  hands.wall += 59_000;
  expect([clock.now(), clock.cautious()]).toEqual([hands.wall, hands.wall]);
});

test('a clock that is set back gives no earlier times, and one that is set ahead expires nothing', () => {
  const { hands, clock, pass } = aClock();
  hands.wall -= MONTH_MS;
  pass(1_000);
  expect([clock.now(), clock.cautious()]).toEqual([NOON + 1_000, NOON + 1_000 - MONTH_MS]);
  hands.wall += 2 * MONTH_MS;
  pass(1_000);
  expect([clock.now(), clock.cautious()]).toEqual([NOON + 2_000 + MONTH_MS, NOON + 2_000]);
  hands.wall -= MONTH_MS;
  expect([clock.now(), clock.cautious()]).toEqual([NOON + 2_000, NOON + 2_000]);
});

test('a wall clock that goes on evenly for a day after it was set is believed, one that jumps again begins anew', () => {
  const { hands, clock, pass } = aClock();
  hands.wall += MONTH_MS;
  expect(clock.cautious()).toBe(NOON);
  pass(DAY_MS - 1);
  expect(clock.cautious()).toBe(NOON + DAY_MS - 1);
  hands.wall += MONTH_MS;
  expect(clock.cautious()).toBe(NOON + DAY_MS - 1);
  pass(DAY_MS);
  expect(clock.cautious()).toBe(hands.wall);
});

test('a machine that was off for up to a day keeps its word about the time', () => {
  const { clock, hands } = nextRun(aClock().clock.keep(), DAY_MS);
  expect([clock.now(), clock.cautious(), clock.keep().doubt]).toEqual([hands.wall, hands.wall, null]);
});

test.each([
  ['ahead', 365 * DAY_MS],
  ['behind', -365 * DAY_MS],
])(
  'a clock that is a year %s of the last run makes nothing older until a day of running, over restarts',
  (_, aheadMs) => {
    const first = nextRun(aClock().clock.keep(), aheadMs);
    expect(first.clock.now()).toBe(Math.max(NOON, NOON + aheadMs));
    expect(first.clock.cautious()).toBe(Math.min(NOON, NOON + aheadMs));
    first.pass(DAY_MS / 2);
    const second = nextRun(first.clock.keep(), aheadMs);
    second.pass(DAY_MS / 2 - 1);
    expect(second.clock.keep().doubt).toMatchObject({ aheadMs });
    expect(second.clock.cautious()).toBe(Math.min(NOON + DAY_MS - 1, NOON + DAY_MS - 1 + aheadMs));
    second.pass(1);
    expect([second.clock.cautious(), second.clock.keep().doubt]).toEqual([second.hands.wall, null]);
  },
);

test('a clock that differs otherwise than in the last run is doubted anew, one that is right again is trusted', () => {
  const first = nextRun(aClock().clock.keep(), MONTH_MS);
  first.pass(DAY_MS - 1);
  const kept = first.clock.keep();
  expect(nextRun(kept, 3 * MONTH_MS).clock.keep().doubt).toEqual({ aheadMs: 3 * MONTH_MS, forMs: 0 });
  expect(nextRun(kept, 1_000).clock.keep().doubt).toBeNull();
});

test('an accepted clock is trusted at once', () => {
  const { clock, hands } = nextRun(aClock().clock.keep(), MONTH_MS);
  clock.accept();
  expect([clock.now(), clock.cautious(), clock.keep()]).toEqual([
    hands.wall,
    hands.wall,
    { trusted: hands.wall, doubt: null },
  ]);
});

test('it measures how long something took, whichever jumps are between, before and after', () => {
  const { hands, clock, pass } = aClock();
  const first = clock.now();
  pass(1_000);
  hands.wall += 2 * HOUR_MS;
  const [ahead, took] = [clock.now(), clock.since(first)];
  expect([ahead, took]).toEqual([NOON + 1_000 + 2 * HOUR_MS, 1_000]);
  pass(500);
  expect([clock.since(first), clock.since(ahead)]).toEqual([1_500, 500]);
  hands.wall -= 2 * HOUR_MS;
  pass(250);
  const back = clock.now();
  pass(250);
  hands.wall -= 2 * HOUR_MS;
  expect([clock.since(first), clock.since(ahead), clock.since(back)]).toEqual([2_000, 1_000, 250]);
});

test('it measures from before its start by the wall clock', () => {
  const { hands, clock, pass } = aClock();
  pass(1_000);
  expect(clock.since(NOON - 5_000)).toBe(6_000);
  hands.wall += MONTH_MS;
  expect(clock.since(NOON - 5_000)).toBe(6_000);
  expect(clock.since(clock.now() + 1)).toBe(0);
});
