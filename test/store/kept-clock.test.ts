import { expect } from 'vitest';
import { NOON } from './factories.js';
import { test } from './store-test.js';

const MINUTE_MS = 60_000;
const DOUBT = { aheadMs: 31 * 24 * 60 * MINUTE_MS, forMs: 5_000 };

test('a new store has no clock, and the last one that was kept is there for the next run', async ({ it }) => {
  expect(await it.store.keptClock()).toBeNull();
  expect(await it.store.keepClock({ trusted: NOON, doubt: null })).toBe(true);
  expect(await it.store.keepClock({ trusted: NOON + MINUTE_MS, doubt: DOUBT })).toBe(true);
  await it.restart();
  expect(await it.store.keptClock()).toEqual({ trusted: NOON + MINUTE_MS, doubt: DOUBT });
});

test('the clock is written once a minute, and when a doubt begins or ends', async ({ store }) => {
  await store.keepClock({ trusted: NOON, doubt: null });
  await store.keepClock({ trusted: NOON + MINUTE_MS - 1, doubt: null });
  expect((await store.keptClock())?.trusted).toBe(NOON);
  await store.keepClock({ trusted: NOON + 1, doubt: DOUBT });
  expect(await store.keptClock()).toEqual({ trusted: NOON + 1, doubt: DOUBT });
  await store.keepClock({ trusted: NOON + 2, doubt: null });
  expect(await store.keptClock()).toEqual({ trusted: NOON + 2, doubt: null });
});

test('an accepted clock is reported to the running server once, and trusted by the next run', async ({ store }) => {
  await store.keepClock({ trusted: NOON, doubt: DOUBT });
  const accepted = NOON + DOUBT.aheadMs;
  await store.acceptClock(accepted);
  expect(await store.keepClock({ trusted: NOON + 5, doubt: DOUBT })).toBe(false);
  expect(await store.keptClock()).toEqual({ trusted: accepted, doubt: null });
  expect(await store.keepClock({ trusted: accepted + MINUTE_MS, doubt: null })).toBe(true);
});

test('a clock that was accepted while no server ran does not apply to a later start with a distant time', async ({
  store,
}) => {
  await store.keepClock({ trusted: NOON - MINUTE_MS, doubt: null });
  await store.acceptClock(NOON);
  expect(await store.keepClock({ trusted: NOON + 5, doubt: DOUBT })).toBe(true);
  expect(await store.keptClock()).toEqual({ trusted: NOON + 5, doubt: DOUBT });
  expect(await store.keepClock({ trusted: NOON + 6, doubt: DOUBT })).toBe(true);
});
