import { expect, it } from 'vitest';
import type { HealthDeps } from '../../src/capture/health.js';
import { RecentHealth } from '../../src/service/recent.js';

function aRecentHealth() {
  const seen = { looks: 0, now: 1_000 };
  const deps = {
    store: {
      ping: () => {
        seen.looks += 1;
        return Promise.reject(new Error('no store'));
      },
    } as unknown as HealthDeps['store'],
    rendersHere: true,
    ownNode: 'this',
    readyBrowsers: () => seen.looks,
    sandboxed: () => true,
    diskProblem: async () => null,
    canStore: async () => true,
    storageRefusal: () => null,
    descriptors: async () => undefined,
    webhooksActive: () => true,
    draining: () => false,
    now: () => seen.now,
    since: (time: number) => seen.now - time,
  };
  return { health: new RecentHealth(deps), seen };
}

it('one check of the health answers all requests within 200 ms', async () => {
  const { health, seen } = aRecentHealth();
  const first = health.read();
  seen.now += 200;
  expect(await health.read()).toBe(await first);
  expect(seen.looks).toBe(1);
  seen.now += 1;
  expect((await health.read()).data.ready_workers).toBe(1);
  expect(seen.looks).toBe(2);
});

it('the cached health is dropped after a change, and when the clock is set back', async () => {
  const { health, seen } = aRecentHealth();
  await health.read();
  health.forget();
  await health.read();
  expect(seen.looks).toBe(2);
  seen.now -= 60_000;
  await health.read();
  expect(seen.looks).toBe(3);
});
