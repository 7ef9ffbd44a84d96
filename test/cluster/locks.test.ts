/** Steps that meet in the middle: what one transaction holds, another one must wait for. */
import pg from 'pg';
import { expect, test } from 'vitest';
import { aCaller, aCapture, aNewJob, claimNext, claimOf, NOON, openAt, RULES } from '../store/factories.js';
import { aDatabase } from './a-cluster.js';

test('a submission that joins a render which is just ending ends with it, without a sweep', async () => {
  await using database = await aLockedStore();
  const { store, client, watcher } = database;
  const caller = await aCaller(store, { quota: 100 });
  await store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES);
  const claimed = await claimNext(store);
  // The submission has found the render in flight when it waits for the row of its account.
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [caller.accountId]);
  const follower = aNewJob(caller, { cacheIdentity: 'page' });
  const accepted = store.accept(follower, RULES);
  await waiters(watcher, 1);
  const completed = store.complete(claimOf(claimed), aCapture(), claimed.claimedAt + 1);
  await Promise.race([completed, waiters(watcher, 2)]);
  await client.query('COMMIT');
  expect((await accepted).kind).toBe('shared');
  expect((await completed).map(({ id }) => id)).toEqual([claimed.id, follower.id]);
});

test('of two recoveries that end a job at once, one reports it and corrects the turn of its account', async () => {
  await using database = await aLockedStore();
  const { store, client, watcher } = database;
  const caller = await aCaller(store);
  await store.accept(aNewJob(caller, { attemptBudget: 1 }), RULES);
  const { id } = await claimNext(store);
  const turn = async () =>
    Number((await client.query('SELECT tag FROM turns WHERE account_id = $1', [caller.accountId])).rows[0]?.tag);
  const charged = await turn();
  await client.query('BEGIN');
  const booked = await client.query('SELECT booked_ms FROM jobs WHERE id = $1 FOR UPDATE', [id]);
  const recoveries = [1, 2].map(() => store.recover({ now: NOON + 60_000, starting: false }));
  await waiters(watcher, 2);
  await client.query('COMMIT');
  expect((await Promise.all(recoveries)).flatMap(({ ended }) => ended.map((job) => job.id))).toEqual([id]);
  expect(await turn()).toBe(charged + 60_000 - Number(booked.rows[0]?.booked_ms));
});

/** A store, a client that holds locks, and one that watches, since a transaction goes on seeing the connections of its first look. */
async function aLockedStore() {
  const database = await aDatabase();
  const store = await openAt(database.url);
  const watcher = new pg.Client({ connectionString: database.url });
  await watcher.connect();
  return {
    store,
    client: database.client,
    watcher,
    async [Symbol.asyncDispose]() {
      await Promise.all([watcher.end(), store[Symbol.asyncDispose]()]);
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Resolves when so many transactions wait for a lock. */
async function waiters(watcher: pg.Client, count: number): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const look = async () => (await watcher.query(waiting)).rowCount;
  await expect.poll(look, { timeout: 10_000, interval: 10 }).toBeGreaterThanOrEqual(count);
}
