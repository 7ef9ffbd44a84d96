/** Steps that meet in the middle: what one transaction holds, another one must wait for. */
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { createDatabase, dropDatabase } from '../fixtures/postgres.js';
import { aCaller, aCapture, aNewJob, claimNext, claimOf, openAt, RULES } from '../store/factories.js';

test('a submission that joins a render which is just ending ends with it, without a sweep', async () => {
  const url = await createDatabase(inject('postgresUrl'));
  const client = new pg.Client({ connectionString: url });
  // A transaction goes on seeing the connections that there were when it first looked.
  const watcher = new pg.Client({ connectionString: url });
  {
    await using store = await openAt(url);
    await Promise.all([client.connect(), watcher.connect()]);
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
  }
  await Promise.all([client.end(), watcher.end()]);
  await dropDatabase(url);
});

/** Resolves when so many transactions wait for a lock. */
async function waiters(watcher: pg.Client, count: number): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; ) {
    const { rows } = await watcher.query<{ n: string }>(
      `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (Number(rows[0]?.n) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('nobody waits');
}
