import { expect, test } from 'vitest';
import { SteadyClock } from '../../src/work/steady-clock.js';

const NOON = Date.UTC(2026, 10, 15, 12);
const DAY_MS = 86_400_000;
const MONTH_MS = 31 * DAY_MS;

/** Two hands that the test moves. */
function aClock() {
  const hands = { wall: NOON, monotonic: 5_000 };
  const clock = new SteadyClock(
    () => hands.wall,
    () => hands.monotonic,
  );
  const pass = (ms: number) => {
    hands.wall += ms;
    hands.monotonic += ms;
  };
  return { hands, clock, pass };
}

test('it tells what the wall clock tells as long as that goes on evenly, or is set a little', () => {
  const { hands, clock, pass } = aClock();
  pass(10 * DAY_MS);
  hands.wall -= 40_000;
  expect([clock.now(), clock.cautious()]).toEqual([hands.wall, hands.wall]);
  hands.wall += 59_000;
  expect([clock.now(), clock.cautious()]).toEqual([hands.wall, hands.wall]);
});

test('set back, it dates nothing earlier; set ahead, it makes nothing older', () => {
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
