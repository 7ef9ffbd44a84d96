/**
 * Trial "concurrent": random steps over eight connections to one PostgreSQL at once. What must hold in whatever order they happen: each
 * change of a job's state is a legal one, ended jobs never change, each end and each attempt of a delivery is told once, an idempotency key
 * leads to one job, sums and quotas are exact, nothing is charged without a picture, no follower waits for ever; and no caller sees a
 * deadlock or any other error.
 *
 */
import pg from 'pg';
import type { Store } from '../../src/store/store.js';
import { createDatabase, startPostgres } from '../fixtures/postgres.js';
import { aKey, NOON, openAt } from '../store/factories.js';
import { Actor, LEASE_MS, type Stage } from './concurrent-actor.js';
import { Books } from './concurrent-books.js';
import { isLegalMove } from './model-comparison.js';
import type { ModelCaller } from './model-dice.js';
import { watchStore } from './model-watch.js';
import type { TrialResult } from './trial-result.js';

const CONNECTIONS = 8;
/** Of one of three accounts. */
const QUOTA = 500;

export interface ConcurrentOptions {
  operations?: number;
  seed?: number;
  /** URL of a database, removed by the caller; a server of its own without one. */
  place?: string;
}

export async function run({ place, ...options }: ConcurrentOptions): Promise<TrialResult> {
  if (place !== undefined) return await runAt(place, options);
  await using server = await startPostgres({ fsync: 'off' });
  return await runAt(await createDatabase(server.adminUrl), options);
}

async function runAt(place: string, { operations = 50_000, seed = 1 }: ConcurrentOptions): Promise<TrialResult> {
  const stores: Store[] = [await openAt(place)];
  for (let i = 1; i < CONNECTIONS; i++) stores.push(await openAt(place));
  const [store = await openAt(place)] = stores;
  const watch = await watchStore(place);
  const books = new Books();
  const stage: Stage = { callers: await callersOf(store), claims: [], deliveries: [], now: NOON };
  const actors = stores.map((each, i) => new Actor(each, stage, books, seed * 100 + i));
  let left = operations;
  const act = async (actor: Actor) => {
    while (left-- > 0) await actor.step();
  };
  await Promise.all(actors.map(act));
  await finish(store, actors, stage, books);
  const ids = stage.callers.map(({ accountId }) => accountId);
  await books.compare(store, ids, stage.now);
  const moves = await watch.takeMoves();
  const illegal = moves.filter((move) => !isLegalMove(move));
  if (illegal.length > 0) books.blame(`${illegal.length} illegal transitions, such as ${illegal[0]?.move}`);
  const deadlocks = await audit(place, books);
  await watch.close();
  await Promise.all(stores.map((each) => each[Symbol.asyncDispose]()));
  const figures = {
    seed,
    operations,
    ...books.counts,
    transitions: moves.length,
    illegal: illegal.length,
    'deadlocks repeated': deadlocks,
  };
  return { figures, problems: [...new Set(books.problems)] };
}

async function callersOf(store: Store): Promise<ModelCaller[]> {
  const callers: ModelCaller[] = [];
  for (const name of ['account 0', 'account 1', 'account with a quota']) {
    const account = await store.createAccount(name, NOON);
    if (account === null) throw new Error('the name is taken');
    const keyIds = [(await aKey(store, account.id)).keyId, (await aKey(store, account.id)).keyId];
    callers.push({ accountId: account.id, name, keyIds });
  }
  await store.setQuota('account with a quota', QUOTA);
  return callers;
}

/** Ends everything: what is held is recovered when its lease is over, and captured. */
async function finish(store: Store, actors: readonly Actor[], stage: Stage, books: Books): Promise<void> {
  await store.setQueuePaused(false);
  for (let round = 0; round < 1_000; round++) {
    stage.now += LEASE_MS + 1;
    for (const actor of actors) await actor.recover();
    const { waiting, prioritized, delayed, active } = await store.queueStatus();
    if (waiting + prioritized + delayed + active === 0) return;
    const before = stage.claims.length;
    for (const actor of actors) await actor.claim();
    await Promise.all(stage.claims.slice(before).map((claim, i) => actors[i % actors.length]?.complete(claim)));
  }
  books.blame('the jobs did not come to an end');
}

async function audit(place: string, books: Books): Promise<number> {
  const client = new pg.Client({ connectionString: place });
  await client.connect();
  const { rows } = await client.query<{ what: string; n: string }>(`
    SELECT 'followers that wait for an ended job' AS what, count(*) AS n FROM jobs WHERE leader_id IS NOT NULL
    UNION ALL SELECT 'queue entries', count(*) FROM queue_entries
    UNION ALL SELECT 'orders', count(*) FROM orders
    UNION ALL SELECT 'completed jobs that were not charged, or failed ones that were', count(*) FROM jobs JOIN reservations ON job_id = jobs.id
      WHERE (jobs.state = 'completed') <> (reservations.state = 'settled')
    UNION ALL SELECT 'charges without a picture', count(*) FROM jobs WHERE state = 'completed' AND artifact_name NOT IN (SELECT name FROM artifacts)
    UNION ALL SELECT 'credits beyond a quota', greatest(0, sum(settled) - ${QUOTA}) FROM sums
      WHERE account_id = (SELECT id FROM accounts WHERE quota IS NOT NULL)`);
  for (const { what, n } of rows) if (Number(n) !== 0) books.blame(`${n} ${what}`);
  const found = await client.query<{ n: string }>('SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()');
  await client.end();
  return Number(found.rows[0]?.n ?? 0);
}
