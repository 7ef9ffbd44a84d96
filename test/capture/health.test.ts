import { expect, test } from 'vitest';
import { checkHealth, type HealthDeps } from '../../src/capture/health.js';
import { DISK_FULL } from '../../src/contract/health.js';
import type { NodeFacts } from '../../src/store/store.js';

/** The health of a server with other servers beside it. */
function deps(given: Partial<HealthDeps>, others: Partial<NodeFacts>[]): HealthDeps {
  const known = { version: '0', roles: [], sandboxed: false, running: 0, concurrency: 2 };
  const nodes = others.map((facts, i) => ({ ...known, name: `other ${i}`, readyBrowsers: 1, ...facts }));
  const store = {
    ping: async () => {},
    nodes: async () => nodes.map((facts) => ({ id: facts.name, startedAt: 0, seenAt: 0, facts })),
    queueStatus: async () => ({
      waiting: 0,
      active: 0,
      prioritized: 0,
      delayed: 0,
      completed: 0,
      failed: 0,
      paused: false,
    }),
    settlement: async () => ({ pending: 0, settled: 0, released: 0, oldestPendingMs: 0 }),
    webhookTotals: async () => ({ delivered: 0, failed: 0, errors: 0 }),
  };
  return {
    store,
    rendersHere: false,
    ownNode: 'this',
    readyBrowsers: () => 0,
    sandboxed: () => false,
    diskProblem: async () => null,
    canStore: async () => true,
    storageRefusal: () => null,
    descriptors: async () => undefined,
    webhooksActive: () => true,
    draining: () => false,
    now: () => 0,
    since: (time) => -time,
    ...given,
  };
}

const here = { rendersHere: true, readyBrowsers: () => 1, sandboxed: () => true };

test.each<[string, Partial<HealthDeps>, Partial<NodeFacts>[], { ready_workers: number; sandboxed: boolean }]>([
  [
    'those of the others, for a server without',
    {},
    [{ sandboxed: true, readyBrowsers: 2 }],
    { ready_workers: 2, sandboxed: true },
  ],
  ['none', {}, [{ readyBrowsers: 0, sandboxed: true }], { ready_workers: 0, sandboxed: false }],
  ['its own, not counted twice', here, [{ name: 'this', sandboxed: true }], { ready_workers: 1, sandboxed: true }],
  ['one of them without a sandbox', here, [{ sandboxed: false }], { ready_workers: 2, sandboxed: false }],
])('browsers: %s', async (_, given, others, expected) => {
  const { ready, data } = await checkHealth(deps(given, others));
  expect(ready).toBe(true);
  expect(data).toMatchObject({ ...expected, worker_ready: expected.ready_workers > 0 });
});

test('own browsers that are not ready count unless other servers have some', async () => {
  const starting = { rendersHere: true, sandboxed: () => false };
  expect((await checkHealth(deps(starting, [{ sandboxed: true }]))).data).toMatchObject({
    ready_workers: 1,
    sandboxed: true,
  });
  const down = { rendersHere: true, sandboxed: () => true };
  expect((await checkHealth(deps(down, []))).data).toMatchObject({ ready_workers: 0, sandboxed: true });
});

test('health gives the reason why the storage refuses pictures, and none once it accepts them', async () => {
  const storageRefusal = () => 'The bucket refuses access.';
  const refusing = await checkHealth(deps({ ...here, storageRefusal, canStore: async () => false }, []));
  expect(refusing).toMatchObject({ ready: false, data: { storage: 'unavailable', problem: storageRefusal() } });
  expect((await checkHealth(deps({ ...here, storageRefusal }, []))).data).not.toHaveProperty('problem');
});

test.each([
  ['and the database answers', async () => {}],
  ['and the database does not', () => Promise.reject(new Error('SQLITE_IOERR_SHMSIZE'))],
])('health says that the disk is full %s', async (_, ping) => {
  const { store } = deps({}, []);
  const { ready, data } = await checkHealth(
    deps({ ...here, store: { ...store, ping }, diskProblem: async () => DISK_FULL }, []),
  );
  expect(ready).toBe(false);
  expect(data).toMatchObject({ database: 'unavailable', problem: DISK_FULL });
});

test.each([
  [899, 1_000, true],
  [901, 1_000, false],
])('%i of %i descriptors open: ready is %s', async (open, limit, ready) => {
  const descriptors = { open, limit };
  const health = await checkHealth(deps({ ...here, descriptors: async () => descriptors }, []));
  expect(health).toMatchObject({ ready, data: { descriptors } });
});

test('health is not ready when no descriptor is left to check with', async () => {
  const none = () => Promise.reject(new Error('EMFILE'));
  expect((await checkHealth(deps({ ...here, descriptors: none }, []))).ready).toBe(false);
});
