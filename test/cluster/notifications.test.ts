/** Notifications wake all servers, so a server sends none for what it can do itself. */
import { expect, test } from 'vitest';
import type { NodeFacts, Store } from '../../src/store/store.js';
import {
  aCaller,
  aCapture,
  aNewJob,
  type Caller,
  claimOf,
  FREE_NODE,
  NOON,
  openAt,
  RULES,
} from '../store/factories.js';
import { aDatabase } from './a-cluster.js';

const WEBHOOK = { url: 'https://hooks.example/', secret: 'a secret' };

test('a server wakes the others only for what it cannot do itself', async () => {
  await using database = await aDatabase();
  const { client, url } = database;
  const first = await openAt(url);
  const caller = await aCaller(first);
  await first[Symbol.asyncDispose]();
  await client.query('LISTEN stillframe');
  /** Returns the notifications that a server with these facts sends until it has closed. */
  const sentBy = async (facts: NodeFacts, steps: (store: Store) => Promise<unknown>): Promise<string[]> => {
    const sent: string[] = [];
    client.on('notification', ({ payload = '' }) => sent.push(payload));
    const store = await openAt(url, () => facts);
    await steps(store);
    await store[Symbol.asyncDispose]();
    // Notifications arrive before the result of the next statement.
    await client.query('SELECT 1');
    client.removeAllListeners('notification');
    return sent.flatMap((payload) => payload.split(' '));
  };
  expect(await sentBy(FREE_NODE, (store) => capture(store, caller, 1))).toEqual([]);
  expect(await sentBy(FREE_NODE, (store) => capture(store, caller, 1, WEBHOOK))).toEqual([]);
  // The second job may have been left to others, since the claim filled both slots.
  expect(await sentBy(FREE_NODE, (store) => capture(store, caller, 2))).toEqual(['queued']);
  for (const facts of [{ running: 2 }, { readyBrowsers: 0 }, { roles: ['api'] }] satisfies Partial<NodeFacts>[])
    expect(await sentBy({ ...FREE_NODE, ...facts }, (store) => capture(store, caller, 1))).toEqual(['queued']);
  expect(await sentBy({ ...FREE_NODE, roles: ['capture'] }, (store) => capture(store, caller, 1, WEBHOOK))).toEqual([
    'due',
  ]);
  // Somebody may wait on the server that has accepted a synchronous capture.
  const waited = aNewJob(caller, { mode: 'sync' });
  expect(await sentBy({ ...FREE_NODE, running: 2 }, (store) => store.accept(waited, RULES))).toEqual(['queued']);
  expect(await sentBy(FREE_NODE, endAll)).toEqual([`ended:${waited.id}`]);
});

async function capture(store: Store, caller: Caller, count: number, webhook: typeof WEBHOOK | null = null) {
  for (let nth = 0; nth < count; nth++) await store.accept(aNewJob(caller, { webhook }), RULES);
  await endAll(store);
}

async function endAll(store: Store): Promise<void> {
  const claims = ['a', 'b'].map((workerId) => ({ workerId, now: NOON, leaseMs: 30_000 }));
  for (const job of await store.claimNextJobs(claims)) await store.complete(claimOf(job), aCapture(), NOON);
}
