import { expect, test } from 'vitest';
import { aStore, NOON } from './factories.js';

const MINUTE_MS = 60_000;
const DOUBT = { aheadMs: 31 * 24 * 60 * MINUTE_MS, forMs: 5_000 };

test('a new store has no clock, and the last one that was kept is there for the next run', async () => {
  await using it = await aStore();
  expect(await it.store.keptClock()).toBeNull();
  expect(await it.store.keepClock({ trusted: NOON, doubt: null })).toBe(true);
  expect(await it.store.keepClock({ trusted: NOON + MINUTE_MS, doubt: DOUBT })).toBe(true);
  await it.restart();
  expect(await it.store.keptClock()).toEqual({ trusted: NOON + MINUTE_MS, doubt: DOUBT });
});

test('the clock is written once a minute, and when a doubt begins or ends', async () => {
  await using it = await aStore();
  await it.store.keepClock({ trusted: NOON, doubt: null });
  await it.store.keepClock({ trusted: NOON + MINUTE_MS - 1, doubt: null });
  expect((await it.store.keptClock())?.trusted).toBe(NOON);
  await it.store.keepClock({ trusted: NOON + 1, doubt: DOUBT });
  expect(await it.store.keptClock()).toEqual({ trusted: NOON + 1, doubt: DOUBT });
  await it.store.keepClock({ trusted: NOON + 2, doubt: null });
  expect(await it.store.keptClock()).toEqual({ trusted: NOON + 2, doubt: null });
});

test('an accepted clock is reported to the running server once, and trusted by the next run', async () => {
  await using it = await aStore();
  await it.store.keepClock({ trusted: NOON, doubt: DOUBT });
  const accepted = NOON + DOUBT.aheadMs;
  await it.store.acceptClock(accepted);
  expect(await it.store.keptClock()).toEqual({ trusted: accepted, doubt: null });
  expect(await it.store.keepClock({ trusted: NOON + 5, doubt: DOUBT })).toBe(false);
  expect(await it.store.keptClock()).toEqual({ trusted: accepted, doubt: null });
  expect(await it.store.keepClock({ trusted: accepted + MINUTE_MS, doubt: null })).toBe(true);
});

test('a clock that was accepted while no server ran does not apply to a later start with a distant time', async () => {
  await using it = await aStore();
  await it.store.keepClock({ trusted: NOON - MINUTE_MS, doubt: null });
  await it.store.acceptClock(NOON);
  expect(await it.store.keepClock({ trusted: NOON + 5, doubt: DOUBT })).toBe(true);
  expect(await it.store.keptClock()).toEqual({ trusted: NOON + 5, doubt: DOUBT });
  expect(await it.store.keepClock({ trusted: NOON + 6, doubt: DOUBT })).toBe(true);
});
